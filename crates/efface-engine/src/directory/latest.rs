//! The latest release of a model directory.

use std::fs;
use std::path::{Path, PathBuf};

use super::files::{CERTIFICATE_FILE, MODEL_FILE, RELEASES, REVOCATION_FILE};
use crate::error::{CertifyError, EngineError, OpenError};
use crate::published::PublishedModel;

impl PublishedModel {
    /// Reads a published model: the file itself, the folder of a release, or a model directory (its latest release).
    pub fn open(path: impl AsRef<Path>) -> Result<Self, EngineError> {
        Self::read_file(&find(path.as_ref())?)
    }
}

/// The certificate of the latest release of a model directory.
pub fn latest_certificate(directory: &Path) -> Result<PathBuf, EngineError> {
    Ok(find(directory)?.with_file_name(CERTIFICATE_FILE))
}

fn find(path: &Path) -> Result<PathBuf, EngineError> {
    if !path.is_dir() {
        return Ok(path.into());
    }
    if path.join(MODEL_FILE).is_file() {
        return Ok(path.join(MODEL_FILE));
    }
    let releases = path.join(RELEASES);
    if !releases.is_dir() {
        return Err(OpenError::NotAModel { path: path.into() }.into());
    }
    let entries = fs::read_dir(&releases).map_err(EngineError::io(&releases))?;
    let latest = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<usize>().ok()).max();
    let Some(release) = latest else { return Err(CertifyError::NoRelease { path: path.into() }.into()) };
    let folder = releases.join(release.to_string());
    // One before it may know people who have left since. Whoever means a certain release names its file.
    if folder.join(REVOCATION_FILE).exists() {
        return Err(CertifyError::Revoked { path: path.into(), release }.into());
    }
    Ok(folder.join(MODEL_FILE))
}
