//! Checking a whole directory, inside the trust boundary: the log from its entries, every release against the log and its
//! files, and, on demand, the claim of the secret state against the rows.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use efface_core::model::Measured;
use efface_ledger::envelope::Envelope;
use efface_ledger::key::PublicKey;
use efface_ledger::merkle::{self, Hash};
use efface_ledger::verify::{Check, CheckOutcome, Evidence, Verdict, Verification, verify};
use serde::Serialize;

use crate::error::EngineError;
use crate::files::RELEASES;
use crate::model_directory::ModelDirectory;
use crate::releases::{CERTIFICATE_FILE, MODEL_FILE};

/// What was found in a directory.
#[derive(Clone, Debug, Serialize)]
pub struct DirectoryReport {
    /// What is to be thought of it.
    pub verdict: Verdict,
    /// The checks, in order.
    pub checks: Vec<Check>,
    /// Entries of the log.
    pub log_size: u64,
    /// What the secret state claims.
    pub gradient_residual: f64,
    /// What one pass over the rows gives, with a bound on its own rounding; `--replay` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured_gradient_residual: Option<f64>,
    /// Time of the whole call.
    pub seconds: f64,
}

impl ModelDirectory {
    /// Checks the log and every release, and with `replay` also what the secret state claims, in one pass over the rows.
    pub fn verify(&self, replay: bool) -> Result<DirectoryReport, EngineError> {
        let start = Instant::now();
        let key = self.public_key()?;
        let mut checks = vec![self.check_key(&key), self.check_log()?];
        for release in 1..=self.head.account.n_releases {
            checks.push(self.check_release(release, &key)?);
        }
        let claim = self.model.claim();
        let mut measured = None;
        if replay {
            let found = self.model.measure(&self.rows)?;
            checks.push(compare(&found, claim.gradient_residual.get()));
            measured = Some(found.claim.gradient_residual.get());
        } else {
            checks.push(Check::not_checked("replay", "the residual was not measured: ask for it with --replay"));
        }
        let Verification { verdict, checks } = Verification::of(checks);
        Ok(DirectoryReport {
            verdict,
            checks,
            log_size: self.head.ledger.size,
            gradient_residual: claim.gradient_residual.get(),
            measured_gradient_residual: measured,
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    /// The key is the one that the log names.
    fn check_key(&self, key: &PublicKey) -> Check {
        let (found, expected) = (key.id(), &self.head.ledger.key_id);
        if found == *expected {
            return Check::passed("signature", format!("signed by {} ({found})", key.name()));
        }
        Check::failed(
            "signature",
            format!("the public key beside the private one is {found}, the log names {expected}"),
        )
    }

    /// The log's hashes follow from its entries, and there are as many as the head says.
    fn check_log(&self) -> Result<Check, EngineError> {
        let ledger = &self.head.ledger;
        let mut hashes: Vec<Hash> = Vec::new();
        let (mut size, mut in_order) = (0, true);
        self.database.visit_leaves(&ledger.log, |position, leaf| {
            in_order &= position == size;
            hashes.extend(merkle::append(&hashes, size, merkle::leaf_hash(leaf.as_bytes())).unwrap_or_default());
            size += 1;
        })?;
        if !in_order || size != ledger.size {
            let message = format!("the log has {size} entries in the place of {}: some were taken out", ledger.size);
            return Ok(Check::failed("log", message));
        }
        let computed = merkle::root(&hashes, size).unwrap_or(merkle::EMPTY_ROOT);
        let stored = self.database.ask_hashes(&ledger.log, |stored| merkle::root(stored, size))?;
        if computed != stored {
            return Ok(Check::failed("log", "the log's entries do not lead to its root: it was rewritten"));
        }
        Ok(Check::passed("log", format!("{size} entries lead to the root of the log")))
    }

    /// The files of a release: its certificate as a stranger would check it, and the log as the certificate knows it.
    fn check_release(&self, release: usize, key: &PublicKey) -> Result<Check, EngineError> {
        let folder = self.path.join(RELEASES).join(release.to_string());
        let read = |path: PathBuf| match fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(EngineError::Io { path, source }),
        };
        let (certificate, model) = (read(folder.join(CERTIFICATE_FILE))?, read(folder.join(MODEL_FILE))?);
        let (Some(certificate), Some(model)) = (certificate, model) else {
            return Ok(Check::not_checked("release", format!("release {release}: its files are not there any more")));
        };
        let Some(digest) = self.database.release(release)?.and_then(|entry| entry.certificate) else {
            let message =
                format!("release {release} is from before certificates were signed, or known from its file only");
            return Ok(Check::not_checked("release", message));
        };
        let envelope = match Envelope::parse(&certificate) {
            Ok(envelope) => envelope,
            Err(error) => return Ok(Check::failed("release", format!("release {release}: {error}"))),
        };
        if crate::requests::sha256_hex(envelope.unverified_payload()) != digest {
            let message = format!("release {release}: its certificate is not the one that was issued");
            return Ok(Check::failed("release", message));
        }
        if envelope.key_id() != key.id() {
            let message = format!("release {release} was signed by an earlier key ({})", envelope.key_id());
            return Ok(Check::not_checked("release", message));
        }
        let evidence = Evidence { key: Some(key), model: Some(&model), ..Evidence::default() };
        let wrong = verify(&certificate, &evidence).checks.into_iter().find(|check| {
            matches!(check.outcome, CheckOutcome::Failed | CheckOutcome::Unsupported) && check.check != "certified"
        });
        if let Some(check) = wrong {
            return Ok(Check { check: "release", message: format!("release {release}: {}", check.message), ..check });
        }
        self.check_checkpoint(release, &envelope, key)
    }

    /// The log still is the one that the certificate's checkpoint speaks of.
    fn check_checkpoint(&self, release: usize, envelope: &Envelope, key: &PublicKey) -> Result<Check, EngineError> {
        let Some(log) = envelope.log() else {
            return Ok(Check::failed("release", format!("release {release}: its certificate has no place in the log")));
        };
        let Ok(checkpoint) = efface_ledger::checkpoint::Checkpoint::open(&log.checkpoint, key, &self.origin()) else {
            let message = format!("release {release} is in an earlier log, of which entries were lost");
            return Ok(Check::not_checked("release", message));
        };
        if checkpoint.size > self.head.ledger.size {
            let (found, limit) = (self.head.ledger.size, checkpoint.size);
            let message =
                format!("release {release} is in a log of {limit} entries, there are {found}: the log was cut");
            return Ok(Check::failed("release", message));
        }
        let root = self.database.ask_hashes(&self.head.ledger.log, |stored| merkle::root(stored, checkpoint.size))?;
        if root != checkpoint.root {
            let message = format!("release {release}: the log up to it was rewritten");
            return Ok(Check::failed("release", message));
        }
        Ok(Check::passed("release", format!("release {release}: certificate, model and log belong together")))
    }
}

/// A claim is wrong when it is below what was measured, rounding errors of the measurement taken off.
fn compare(measured: &Measured, claimed: f64) -> Check {
    let (least, most) = (measured.residual_at_least.get(), measured.claim.gradient_residual.get());
    if least <= claimed {
        return Check::passed(
            "replay",
            format!("the residual on the rows is at most {most:e}, claimed is {claimed:e}"),
        );
    }
    Check::failed("replay", format!("the residual on the rows is at least {least:e}, but only {claimed:e} is claimed"))
}
