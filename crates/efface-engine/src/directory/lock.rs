//! The right to change a model directory, or to use a witness: one process has it, and says who it is.

use std::fs::{self, File, TryLockError};
use std::io::{Seek, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::clock::now;
use crate::directory::files::{self, private_options};
use crate::error::{EngineError, OpenError, StorageError};

pub(crate) const LOCK: &str = "lock";

const WITNESS_LOCK: &str = ".lock";

/// Removing a directory that is all but empty takes less than so many milliseconds.
const ATTEMPTS: usize = 100;

const PAUSE: Duration = Duration::from_millis(20);

/// Holds the right to change a model directory or to use a witness, until dropped (or until the process ends, however it
/// ends).
#[derive(Debug)]
pub(crate) struct WriterLock(File);

/// Who holds a directory or a witness, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process number.
    pub process: u32,
    /// When it took it, in seconds since 1970.
    pub since: u64,
}

impl WriterLock {
    /// Waits for a directory that somebody else has, for so long.
    pub(crate) fn acquire(directory: &Path, patience: Duration) -> Result<Self, EngineError> {
        let taken = Self::take_within(&directory.join(LOCK), patience)?;
        taken.map_err(|holder| EngineError::Open(OpenError::Locked { path: directory.into(), holder }))
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
        let lock = Self(file);
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
        let holder = Holder { process: std::process::id(), since: now() };
        let text = serde_json::to_vec(&holder).unwrap_or_default();
        let mut file = &self.0;
        let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(&text));
    }
}

impl Drop for WriterLock {
    fn drop(&mut self) {
        // Best effort: nobody holds it any more. Unlocked by name, because a process that was just forked
        // elsewhere in this one shares the open file for a moment.
        let _ = self.0.set_len(0);
        let _ = self.0.unlock();
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
