//! A folder of each thread for the files that targets read.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

thread_local! {
    static FOLDER: TempDir = tempfile::tempdir().expect("a temporary folder");
}

/// A file of this name and content. The next file of the same name replaces it.
pub(crate) fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = path(name);
    write(&path, bytes);
    path
}

/// A folder of this name without anything in it.
pub(crate) fn empty_folder(name: &str) -> PathBuf {
    let path = path(name);
    if path.exists() {
        fs::remove_dir_all(&path).expect("our own folder");
    }
    fs::create_dir(&path).expect("writable");
    path
}

pub(crate) fn write(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).expect("writable");
}

/// The path of a file or folder of this name.
pub(crate) fn path(name: &str) -> PathBuf {
    FOLDER.with(|folder| folder.path().join(name))
}
