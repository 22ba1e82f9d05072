//! Files that are there as a whole or not at all: written aside, and renamed when they are done.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::Context;

use crate::output::in_one_line;

/// A file that is being written. What was there under its name stays until [`finish`](Self::finish); a file that is not
/// finished leaves nothing. A device is written as it is.
pub(crate) struct WholeFile {
    path: PathBuf,
    aside: Option<PathBuf>,
    file: File,
}

/// The files that are being written, for whatever ends the program before they are done.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

impl WholeFile {
    pub(crate) fn create(path: &Path) -> anyhow::Result<Self> {
        let aside = (!path.exists() || path.is_file()).then(|| {
            let mut name = path.file_name().unwrap_or_default().to_os_string();
            name.push(format!(".partial-{}", std::process::id()));
            path.with_file_name(name)
        });
        let file = File::create(aside.as_deref().unwrap_or(path)).with_context(|| shown(path))?;
        UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).extend(aside.clone());
        Ok(Self { path: path.into(), aside, file })
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.file.write_all(bytes).with_context(|| shown(&self.path))
    }

    /// Gives the file its name.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        if let Some(aside) = &self.aside {
            fs::rename(aside, &self.path).with_context(|| shown(&self.path))?;
            forget(aside);
            self.aside = None;
        }
        Ok(())
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if let Some(aside) = &self.aside {
            // Best effort: half a file helps nobody.
            let _ = fs::remove_file(aside);
            forget(aside);
        }
    }
}

/// Writes a file as a whole: a full disk leaves what was there before.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let mut file = WholeFile::create(path)?;
    file.write(bytes)?;
    file.finish()
}

/// Removes what is there of files that will not be finished, and says whether there was any. Waits for no other thread: it may
/// be the one that ends.
pub(crate) fn abandon_unfinished() -> bool {
    let Ok(unfinished) = UNFINISHED.try_lock() else { return false };
    unfinished.iter().filter(|aside| fs::remove_file(aside).is_ok()).count() > 0
}

fn forget(aside: &Path) {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).retain(|unfinished| unfinished != aside);
}

fn shown(path: &Path) -> String {
    in_one_line(&path.display().to_string())
}
