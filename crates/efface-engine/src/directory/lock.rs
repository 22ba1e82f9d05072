//! The right to change a model directory, or to use a witness: one process has it, and says who it is. What killed
//! trainings left aside is removed, as nobody holds it.

use std::fs::{self, File, TryLockError};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::clock::now;
use crate::directory::files::{
    self, DATABASE, LOCK, OWN_KEY, PARTIAL, RELEASES, REMOVED, ROWS, STATES, private_options,
};
use crate::error::{EngineError, Holder, OpenError, StorageError};

const WITNESS_LOCK: &str = ".lock";

/// Removing a directory that is all but empty takes less than so many milliseconds.
const ATTEMPTS: usize = 100;

const PAUSE: Duration = Duration::from_millis(20);

/// Holds the right to change a model directory or to use a witness, until dropped (or until the process ends, however it
/// ends).
#[derive(Debug)]
pub(crate) struct WriterLock {
    file: File,
    /// Who took it. A process that is forked off shares the open file, and not the right.
    process: u32,
}

impl WriterLock {
    /// Waits for a directory that somebody else has, for so long.
    pub(crate) fn acquire(directory: &Path, patience: Duration) -> Result<Self, EngineError> {
        let taken = Self::take_within(&directory.join(LOCK), patience)?;
        taken.map_err(|holder| EngineError::Open(OpenError::Locked { path: directory.into(), holder }))
    }

    /// Keeps others from changing a directory that is only read. `None`: nobody ever changed it in this place, as a copy that
    /// cannot be written.
    pub(crate) fn acquire_to_read(directory: &Path, patience: Duration) -> Result<Option<Self>, EngineError> {
        let (path, start) = (directory.join(LOCK), Instant::now());
        let Some(file) = files::if_there(File::open(&path), &path)? else { return Ok(None) };
        loop {
            match file.try_lock_shared() {
                Ok(()) => return Ok(Some(Self { file, process: std::process::id() })),
                Err(TryLockError::WouldBlock) if start.elapsed() < patience => std::thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => {
                    return Err(OpenError::Locked { path: directory.into(), holder: holder(&path) }.into());
                }
                Err(TryLockError::Error(source)) => return Err(StorageError::Io { path, source }.into()),
            }
        }
    }

    /// The same for a witness, whose lock lies beside it: two copies of a directory have a lock each, and one witness.
    pub(crate) fn acquire_witness(witness: &Path, patience: Duration) -> Result<Self, EngineError> {
        let taken = Self::take_within(&files::with_suffix(witness, WITNESS_LOCK), patience)?;
        taken.map_err(|holder| EngineError::Open(OpenError::WitnessLocked { path: witness.into(), holder }))
    }

    /// Takes a lock, or says who has it after so long a wait.
    fn take_within(path: &Path, patience: Duration) -> Result<Result<Self, Option<Holder>>, EngineError> {
        let start = Instant::now();
        loop {
            match Self::take(path)? {
                Some(lock) => return Ok(Ok(lock)),
                None if start.elapsed() < patience => std::thread::sleep(PAUSE),
                None => return Ok(Err(holder(path))),
            }
        }
    }

    /// Takes a lock; `None`: somebody else has it.
    fn take(path: &Path) -> Result<Option<Self>, EngineError> {
        let file = private_options().create(true).truncate(false).open(path).map_err(EngineError::io(path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(source)) => return Err(StorageError::Io { path: path.into(), source }.into()),
        }
        if !is_still_there(&file, path) {
            // Removed and made again by somebody while it was being opened: that one counts.
            return Ok(None);
        }
        let lock = Self { file, process: std::process::id() };
        lock.sign();
        Ok(Some(lock))
    }

    /// Makes a directory and takes it. For an instant it has no lock, and somebody who tidies up may take it for abandoned:
    /// then it is made again.
    pub(crate) fn acquire_new(directory: &Path) -> Result<Self, EngineError> {
        for _ in 0..ATTEMPTS {
            files::make_private_directory(directory)?;
            match Self::acquire(directory, Duration::ZERO) {
                // Whoever removes a directory holds its lock until all of it is gone.
                Ok(lock) if directory.join(LOCK).exists() => return Ok(lock),
                Err(EngineError::Storage(StorageError::Io { source, .. }))
                    if source.kind() != std::io::ErrorKind::NotFound =>
                {
                    return Err(StorageError::Io { path: directory.join(LOCK), source }.into());
                }
                _ => std::thread::sleep(Duration::from_millis(1)),
            }
        }
        files::make_private_directory(directory)?;
        Self::acquire(directory, Duration::ZERO)
    }

    /// Best effort: who holds the lock is told to others, and nothing depends on it.
    fn sign(&self) {
        let holder = Holder { process: self.process, since: now() };
        let text = serde_json::to_vec(&holder).unwrap_or_default();
        let mut file = &self.file;
        let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(&text));
    }
}

impl Drop for WriterLock {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            return;
        }
        // Best effort: nobody holds it any more. Unlocked by name, because a process that was just forked
        // elsewhere in this one shares the open file for a moment.
        let _ = self.file.set_len(0);
        let _ = self.file.unlock();
    }
}

/// Whether an open file is the one under its name.
fn is_still_there(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;

        let number = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
        file.metadata().map(number).ok() == fs::metadata(path).map(number).ok()
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        path.exists()
    }
}

fn holder(lock: &Path) -> Option<Holder> {
    serde_json::from_slice(&fs::read(lock).ok()?).ok()
}

/// Removes what killed trainings of the same model left aside, at whatever point they were killed, and answers where that
/// was. One that is still at work holds the lock of its part.
pub(crate) fn remove_abandoned(out: &Path) -> Vec<PathBuf> {
    let mut removed = Vec::new();
    for path in begun_beside(out) {
        // Locked as well where there was no lock yet: a training that has just begun makes its directory again.
        if let Ok(_lock) = WriterLock::acquire(&path, Duration::ZERO) {
            // Best effort: it is not a model, and nothing depends on it.
            let _ = fs::remove_dir_all(&path);
            removed.extend((!path.exists()).then_some(path));
        }
    }
    removed
}

/// What killed trainings of a model left aside, rows among it. Nothing is changed.
pub(crate) fn abandoned(out: &Path) -> Vec<PathBuf> {
    let is_at_work = |path: &Path| match File::open(path.join(LOCK)) {
        Ok(lock) => lock.try_lock_shared().is_err(),
        // One that has just begun, unless it is the rest of one that was being removed.
        Err(_) => !path.join(ROWS).exists(),
    };
    begun_beside(out).into_iter().filter(|path| !is_at_work(path)).collect()
}

/// Folders in which trainings of a model are at work, or were.
fn begun_beside(out: &Path) -> Vec<PathBuf> {
    let Some(name) = out.file_name() else { return Vec::new() };
    let prefix = [name.as_encoded_bytes(), PARTIAL.as_bytes(), b"-"].concat();
    let Ok(entries) = fs::read_dir(efface_data::files::parent_of(out)) else { return Vec::new() };
    let is_ours = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        let number = name.as_encoded_bytes().strip_prefix(prefix.as_slice());
        number.is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
            && entry.file_type().is_ok_and(|kind| kind.is_dir())
            && is_left_by_training(&entry.path())
    };
    let mut found: Vec<PathBuf> =
        entries.flatten().filter(is_ours).map(|entry| out.with_file_name(entry.file_name())).collect();
    found.sort();
    found
}

/// Whether there is nothing in a folder but what a training puts there before its model has a name.
fn is_left_by_training(folder: &Path) -> bool {
    let all = |folder: &Path, known: &dyn Fn(&str) -> bool| {
        let Ok(mut entries) = fs::read_dir(folder) else { return false };
        entries.all(|entry| entry.is_ok_and(|entry| entry.file_name().to_str().is_some_and(known)))
    };
    let holds = |name: &str, known: &dyn Fn(&str) -> bool| {
        let inside = folder.join(name);
        !inside.exists() || all(&inside, known)
    };
    let is_database = |name: &str| {
        let suffix = name.strip_prefix(DATABASE);
        suffix.is_some_and(|suffix| ["", "-wal", "-shm", "-journal"].contains(&suffix))
    };
    let is_key = |name: &str| {
        let name = name.strip_suffix(PARTIAL).unwrap_or(name);
        name.strip_suffix(".pub").unwrap_or(name) == OWN_KEY
    };
    all(folder, &|name| [LOCK, ROWS, STATES, RELEASES].contains(&name) || is_database(name) || is_key(name))
        && holds(ROWS, &|name| name.strip_suffix(".rows").is_some_and(is_number))
        && holds(STATES, &|name| {
            let name = name.strip_suffix(PARTIAL).unwrap_or(name);
            is_number(name) || name == REMOVED
        })
        && holds(RELEASES, &|_| false)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
