//! Paths in reports: as text, whatever their bytes. What is not Unicode is shown as well as it can be.

use std::path::{Path, PathBuf};

use serde::Serializer;

pub(crate) fn one<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

#[expect(clippy::ref_option, reason = "serde hands the field over as it is")]
pub(crate) fn maybe<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    match path {
        Some(path) => one(path, serializer),
        None => serializer.serialize_none(),
    }
}

pub(crate) fn each<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| path.to_string_lossy()))
}
