//! Files of a model directory: where they are, and how they are replaced as a whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

pub(crate) use efface_data::files::{percent_encoded, private_options};

use crate::directory::lock;
use crate::error::{EngineError, OpenError, StorageError};

pub(crate) const LOCK: &str = "lock";
pub(crate) const DATABASE: &str = "efface.db";
pub(crate) const ROWS: &str = "rows";
pub(crate) const STATES: &str = "state";

/// The list of removed ids and subjects, in the folder of states.
pub(crate) const REMOVED: &str = "removed";
pub(crate) const RELEASES: &str = "releases";
/// Files of the networks that make features, under their digests.
pub(crate) const NETWORKS: &str = "networks";

/// The private key that a model directory has when no other is named.
pub(crate) const OWN_KEY: &str = "signing.key";

pub(crate) const MODEL_FILE: &str = "model.json";
pub(crate) const CERTIFICATE_FILE: &str = "certificate.json";

/// The signed withdrawal, in the folder of its release.
pub(crate) const REVOCATION_FILE: &str = "revocation.json";

pub(crate) const PARTIAL: &str = ".partial";

pub(crate) fn check_is_model(path: &Path) -> Result<(), EngineError> {
    let database = path.join(DATABASE);
    match fs::metadata(&database) {
        Ok(file) if file.is_file() => Ok(()),
        Err(source) if source.kind() == io::ErrorKind::PermissionDenied => {
            Err(StorageError::Io { path: database, source }.into())
        }
        _ => match lock::abandoned(path).into_iter().next() {
            Some(left) if !path.exists() => Err(OpenError::Unfinished { path: path.into(), left }.into()),
            _ => Err(OpenError::NotAModel { path: path.into() }.into()),
        },
    }
}

pub(crate) fn state_path(directory: &Path, generation: u64) -> PathBuf {
    directory.join(STATES).join(generation.to_string())
}

pub(crate) fn state_generations(directory: &Path) -> Result<Vec<u64>, EngineError> {
    numbers_in(&directory.join(STATES))
}

/// The names in a folder that are numbers, ascending; none where there is no such folder.
pub(crate) fn numbers_in<T: FromStr + Ord>(folder: &Path) -> Result<Vec<T>, EngineError> {
    let entries = if_there(fs::read_dir(folder), folder)?.into_iter().flatten();
    let mut numbers: Vec<T> = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// What was found at a path; `None`: nothing is there.
pub(crate) fn if_there<T>(found: io::Result<T>, path: &Path) -> Result<Option<T>, EngineError> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(StorageError::Io { path: path.into(), source }.into()),
    }
}

/// Removes every state file but the one of `generation`, and what was left half written. They know the removed rows, so they are
/// overwritten first, and before that they lose their names: a state that has one is whole.
pub(crate) fn remove_other_states(directory: &Path, generation: u64) -> Result<(), EngineError> {
    let states = directory.join(STATES);
    let kept = [state_path(directory, generation), states.join(REMOVED)];
    let (mut others, mut is_renamed) = (Vec::new(), false);
    for entry in fs::read_dir(&states).map_err(EngineError::io(&states))? {
        let path = entry.map_err(EngineError::io(&states))?.path();
        if kept.contains(&path) {
            continue;
        }
        let is_named = path.extension().is_none();
        let nameless = if is_named { with_suffix(&path, PARTIAL) } else { path.clone() };
        if is_named {
            fs::rename(&path, &nameless).map_err(EngineError::io(&path))?;
            is_renamed = true;
        }
        others.push(nameless);
    }
    if is_renamed {
        sync_directory(&states)?;
    }
    for path in &others {
        efface_data::files::erase(path).map_err(EngineError::io(path))?;
    }
    if others.is_empty() { Ok(()) } else { sync_directory(&states) }
}

/// Replaces `path` by `bytes`: written aside, synced, renamed, and the directory synced. After a crash at any point the
/// file is the old one or the new one.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), EngineError> {
    let aside = with_suffix(path, PARTIAL);
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
    // Not into what somebody else put there, a link or a file that others can read.
    if_there(fs::remove_file(path), path)?;
    let mut file = private_options().create_new(true).open(path).map_err(failed())?;
    file.write_all(bytes).map_err(failed())?;
    file.sync_all().map_err(failed())
}

/// Makes an empty file where [`publish`] writes first: a folder that is missing or not writable is noticed here.
pub(crate) fn reserve(path: &Path) -> Result<(), EngineError> {
    // With the usual permissions: what is published is meant to be read.
    File::create(aside(path)).map(drop).map_err(EngineError::io(path))
}

/// Writes a file with the usual permissions, whole or not at all: what is published is meant to be read.
pub(crate) fn publish(path: &Path, bytes: &[u8]) -> Result<(), EngineError> {
    let aside = write_aside(path, bytes)?;
    let named = fs::rename(&aside, path).map_err(EngineError::io(path));
    if named.is_err() {
        // Best effort: it is nothing without its name.
        let _ = fs::remove_file(&aside);
    }
    named.and_then(|()| sync_parent(path))
}

/// The same of a file that is not there: one that came meanwhile is left alone. A failure leaves nothing.
pub(crate) fn publish_new(path: &Path, bytes: &[u8]) -> Result<(), EngineError> {
    let aside = write_aside(path, bytes)?;
    // A file system without hard links renames, and looks a moment before.
    let named = fs::hard_link(&aside, path).or_else(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Err(error),
        _ if path.exists() => Err(io::ErrorKind::AlreadyExists.into()),
        _ => fs::rename(&aside, path),
    });
    let _ = fs::remove_file(&aside);
    named.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => StorageError::Exists { path: path.into() }.into(),
        _ => EngineError::io(path)(error),
    })?;
    sync_parent(path).inspect_err(|_| {
        let _ = fs::remove_file(path);
    })
}

/// Writes what gets its name later.
fn write_aside(path: &Path, bytes: &[u8]) -> Result<PathBuf, EngineError> {
    let aside = aside(path);
    let written = fs::write(&aside, bytes).and_then(|()| File::open(&aside)?.sync_all());
    if written.is_err() {
        let _ = fs::remove_file(&aside);
    }
    written.map(|()| aside).map_err(EngineError::io(path))
}

/// Returns once the directory that holds `path` is on the disk.
pub(crate) fn sync_parent(path: &Path) -> Result<(), EngineError> {
    efface_data::files::sync_parent(path).map_err(EngineError::io(path))
}

pub(crate) fn sync_directory(path: &Path) -> Result<(), EngineError> {
    efface_data::files::sync_directory(path).map_err(EngineError::io(path))
}

pub(crate) fn make_private_directory(path: &Path) -> Result<(), EngineError> {
    efface_data::files::make_private_directory(path).map_err(EngineError::io(path))
}

pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(suffix);
    path.with_file_name(name)
}

/// Where something is written by this process until it is whole.
pub(crate) fn aside(path: &Path) -> PathBuf {
    with_suffix(path, &format!("{PARTIAL}-{}", std::process::id()))
}

/// Files and folders of a model directory that others than their owner may use, as a restored backup may leave them.
pub(crate) fn open_to_others(directory: &Path) -> Vec<PathBuf> {
    let inside = |folder: &str| {
        let entries = fs::read_dir(directory.join(folder)).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let database = [DATABASE.to_owned(), format!("{DATABASE}-wal"), OWN_KEY.to_owned()];
    let named = [ROWS, STATES, RELEASES].into_iter().map(str::to_owned).chain(database);
    let mut found: Vec<PathBuf> = named.map(|name| directory.join(name)).chain([directory.to_owned()]).collect();
    found.extend([ROWS, STATES].into_iter().flat_map(inside));
    found.retain(|path| is_open_to_others(path));
    found.sort();
    found
}

pub(crate) fn is_open_to_others(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;

        fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o077 != 0)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// Takes the rights of others off all of a model directory. Best effort: whoever is not its owner cannot, and can still use
/// it.
pub(crate) fn close_to_others(directory: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;

        for path in open_to_others(directory) {
            let mode = if path.is_dir() { 0o700 } else { 0o600 };
            let _ = fs::set_permissions(&path, fs::Permissions::from_mode(mode));
        }
    }
    #[cfg(not(unix))]
    let _ = directory;
}

/// Refuses a path that could not be kept as text.
pub(crate) fn check_is_unicode(path: &Path, what: &'static str) -> Result<(), EngineError> {
    if path.to_str().is_some() { Ok(()) } else { Err(OpenError::NotUnicode { path: path.into(), what }.into()) }
}

pub(crate) fn make_private(file: &File, path: &Path) -> Result<(), EngineError> {
    efface_data::files::make_private(file).map_err(EngineError::io(path))
}
