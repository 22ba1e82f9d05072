//! Directories that this process has begun and that have no name yet. Whoever ends the process before its time, as on a
//! signal, removes them first: they hold rows.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use crate::directory::ModelDirectory;

/// Held while a directory is begun, and while it gets its name or goes: it is whole, or it is listed here.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

pub(super) type Unfinished = MutexGuard<'static, Vec<PathBuf>>;

pub(super) fn unfinished() -> Unfinished {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ModelDirectory {
    /// Removes the directories that are being made, beside threads that are still writing to them, and answers where they
    /// were. Only for whoever is about to end the process: none can be begun or finished any more, and whoever tries waits for
    /// ever. One that is getting its name at this moment is waited for, for so long, and left alone after that.
    pub fn abandon_unfinished(patience: Duration) -> Vec<PathBuf> {
        let Some(unfinished) = unfinished_within(patience) else { return Vec::new() };
        let left = unfinished.clone();
        for directory in &left {
            remove(directory);
        }
        // Not given back: what was removed is not to come again.
        std::mem::forget(unfinished);
        left
    }
}

fn unfinished_within(patience: Duration) -> Option<Unfinished> {
    let start = Instant::now();
    loop {
        match UNFINISHED.try_lock() {
            Ok(unfinished) => return Some(unfinished),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if start.elapsed() < patience => std::thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => return None,
        }
    }
}

/// Best effort, until nothing is there twice in a row: the thread that writes may put a file where one was just removed.
fn remove(directory: &Path) {
    let mut times_gone = 0;
    for _ in 0..ATTEMPTS {
        match fs::remove_dir_all(directory) {
            Err(error) if error.kind() == ErrorKind::NotFound => times_gone += 1,
            _ => times_gone = 0,
        }
        if times_gone == 2 {
            return;
        }
        std::thread::sleep(PAUSE);
    }
}

const ATTEMPTS: usize = 200;

const PAUSE: Duration = Duration::from_millis(5);
