//! Withdrawing a release: whoever uses models can be told, and the log remembers.

use std::path::{Path, PathBuf};

use efface_ledger::certificate::Withdrawal;
use efface_ledger::statement::Subject;
use serde::Serialize;

use super::sha256;
use crate::clock;
use crate::directory::ModelDirectory;
use crate::directory::database::ledger;
use crate::directory::files::{self, MODEL_FILE, RELEASES, REVOCATION_FILE};
use crate::error::{CertifyError, EngineError};

/// Gives withdrawals their names that a crash kept from getting them, and removes what was never committed.
pub(in crate::directory) fn finish(path: &Path, n_releases: usize, revoked: &[usize]) -> Result<(), EngineError> {
    for release in 1..=n_releases {
        let file = path.join(RELEASES).join(release.to_string()).join(REVOCATION_FILE);
        let aside = files::with_suffix(&file, ".partial");
        if !aside.exists() {
            continue;
        }
        if revoked.contains(&release) && !file.exists() {
            std::fs::rename(&aside, &file).map_err(EngineError::io(&file))?;
        } else {
            std::fs::remove_file(&aside).map_err(EngineError::io(&aside))?;
        }
        files::sync_parent(&file)?;
    }
    Ok(())
}

/// Withdrawals of the first releases that are there and not listed: the database was restored, they were not.
pub(in crate::directory) fn unlisted(path: &Path, n_releases: usize, revoked: &[usize]) -> Vec<usize> {
    let file = |release: &usize| path.join(RELEASES).join(release.to_string()).join(REVOCATION_FILE);
    (1..=n_releases).filter(|release| !revoked.contains(release) && file(release).exists()).collect()
}

/// What a revocation led to.
#[derive(Clone, Debug, Serialize)]
pub struct RevocationReport {
    /// k.
    pub release: usize,
    /// Releases that are withdrawn by now.
    pub revoked: Vec<usize>,
    /// The signed withdrawal.
    #[serde(serialize_with = "crate::path_text::one")]
    pub revocation: PathBuf,
}

impl ModelDirectory {
    /// Withdraws release k. Its files stay; `predict` does not use it any more.
    pub fn revoke(&mut self, release: usize, reason: Option<String>) -> Result<RevocationReport, EngineError> {
        let n_releases = self.keeper.head.account.n_releases;
        if release == 0 || release > n_releases {
            return Err(CertifyError::NoSuchRelease { release, n_releases }.into());
        }
        if self.keeper.head.ledger.revoked.contains(&release) {
            return Err(CertifyError::AlreadyRevoked { release }.into());
        }
        let folder = self.keeper.path.join(RELEASES).join(release.to_string());
        files::make_private_directory(&folder)?;
        files::sync_parent(&folder)?;
        let model = folder.join(MODEL_FILE);
        // Where the file is gone already, the release is named instead.
        let name = format!("efface/{}/release/{release}", self.keeper.head.history.model);
        let found =
            files::if_there(std::fs::read(&model), &model)?.map(|bytes| Subject::new(MODEL_FILE, sha256(&bytes)));
        let subject = found.unwrap_or_else(|| Subject::new(&name, sha256(name.as_bytes())));
        let release_certificate = self.keeper.database.release(release)?.and_then(|entry| entry.certificate);
        let withdrawal = Withdrawal { release, release_certificate, reason };
        let certified = self.keeper.certify(subject, withdrawal, clock::now(), &self.keeper.signing_key()?, &[])?;
        let path = folder.join(REVOCATION_FILE);
        let aside = files::with_suffix(&path, ".partial");
        files::write_synced(&aside, certified.text.as_bytes())?;
        // Its name too: what the head counts as withdrawn must be found, or `predict` would go on using it.
        files::sync_parent(&aside)?;
        self.commit_head(|tables, head| {
            head.ledger.revoked.push(release);
            head.ledger.revoked.sort_unstable();
            ledger::append(tables, &mut head.ledger, &certified.entry)
        })?;
        std::fs::rename(&aside, &path).map_err(EngineError::io(&path))?;
        files::sync_parent(&path)?;
        Ok(RevocationReport { release, revoked: self.keeper.head.ledger.revoked.clone(), revocation: path })
    }
}
