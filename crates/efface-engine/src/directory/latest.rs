//! The latest release of a model directory.

use std::fs;
use std::path::{Path, PathBuf};

use efface_ledger::verify::subjects;

use super::certify;
use super::files::{self, CERTIFICATE_FILE, MODEL_FILE, RELEASES, REVOCATION_FILE};
use crate::error::{CertifyError, EngineError, OpenError};
use crate::published::PublishedModel;

impl PublishedModel {
    /// Reads a published model: the file itself, the folder of a release, or a model directory (its latest release).
    ///
    /// In a folder with its certificate, the file must be the one that the certificate speaks of. Whether the certificate is
    /// to be believed is another question, which [`verify`](efface_ledger::verify::verify) answers.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, EngineError> {
        let path = path.as_ref();
        let file = find(path)?;
        let bytes = fs::read(&file).map_err(EngineError::io(&file))?;
        if path.is_dir() {
            check_is_certified(&file, &bytes)?;
        }
        Self::from_bytes(&file, &bytes)
    }
}

/// Refuses a model that was changed after it was certified.
fn check_is_certified(file: &Path, model: &[u8]) -> Result<(), EngineError> {
    let path = file.with_file_name(CERTIFICATE_FILE);
    let Some(text) = files::if_there(fs::read(&path), &path)? else { return Ok(()) };
    let bad = |path: &Path, reason: &str| CertifyError::BadPublished { path: path.into(), reason: reason.into() };
    let subjects = subjects(&text).map_err(|check| bad(&path, &check.message))?;
    if subjects.iter().any(|subject| subject.digest.sha256 == certify::sha256(model)) {
        Ok(())
    } else {
        Err(bad(file, "not the model that its certificate speaks of: it was changed after its release").into())
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
