//! Files of a model directory: where they are, and how they are replaced as a whole or not at all.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::EngineError;

pub(crate) const STATE: &str = "state.efface";
pub(crate) const ROWS: &str = "rows.bin";
pub(crate) const RELEASES: &str = "releases";
const LOCK: &str = "lock";

/// Holds the right to change a model directory, until dropped (or until the process ends, however it ends).
#[derive(Debug)]
pub(crate) struct WriterLock(#[expect(dead_code, reason = "the open file is the lock")] File);

impl WriterLock {
    pub(crate) fn acquire(directory: &Path) -> Result<Self, EngineError> {
        let path = directory.join(LOCK);
        let file = private_options().create(true).truncate(false).open(&path).map_err(EngineError::io(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(TryLockError::WouldBlock) => Err(EngineError::Locked { path: directory.into() }),
            Err(TryLockError::Error(source)) => Err(EngineError::Io { path, source }),
        }
    }
}

/// Replaces `path` by `bytes`: written aside, synced, renamed, and the directory synced. After a crash at any point the
/// file is the old one or the new one.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), EngineError> {
    let aside = with_suffix(path, ".partial");
    let written = write_synced(&aside, bytes).and_then(|()| {
        fs::rename(&aside, path).map_err(EngineError::io(path))?;
        sync_parent(path)
    });
    if written.is_err() {
        // Best effort: the file is not part of the model, and the next write replaces it.
        let _ = fs::remove_file(&aside);
    }
    written
}

/// Writes a new private file and returns once it is on the disk.
pub(crate) fn write_synced(path: &Path, bytes: &[u8]) -> Result<(), EngineError> {
    let failed = || EngineError::io(path);
    let mut file = private_options().create(true).truncate(true).open(path).map_err(failed())?;
    file.write_all(bytes).map_err(failed())?;
    file.sync_all().map_err(failed())
}

/// Returns once the directory that holds `path` is on the disk.
pub(crate) fn sync_parent(path: &Path) -> Result<(), EngineError> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    // Directories can be opened and synced on unix only.
    if cfg!(unix) {
        File::open(parent).and_then(|directory| directory.sync_all()).map_err(EngineError::io(parent))?;
    }
    Ok(())
}

/// Removes what killed trainings of the same model left aside. One that is still at work holds the lock of its part.
pub(crate) fn remove_abandoned(out: &Path) {
    let (Some(parent), Some(name)) = (out.parent(), out.file_name().and_then(|name| name.to_str())) else { return };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let prefix = format!("{name}.partial-");
    let Ok(entries) = fs::read_dir(parent) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let number = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix(&prefix));
        let ours = number.is_some_and(|number| number.parse::<u32>().is_ok()) && path.join(RELEASES).is_dir();
        if ours && WriterLock::acquire(&path).is_ok() {
            // Best effort: it is not a model, and nothing depends on it.
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// Makes a directory that only its owner can enter.
pub(crate) fn make_private_directory(path: &Path) -> Result<(), EngineError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(EngineError::io(path))
}

/// `path` with `suffix` appended to its last component.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(suffix);
    path.with_file_name(name)
}

fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
