//! Releasing: the model and its certificate are written aside, the account is committed, and only then do they appear
//! under their name. A crash can waste a release, never hide one.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use efface_core::model::{Release, ReleaseOutcome};
use efface_core::noise::NoiseSource;
use efface_ledger::certificate::ReleaseCertificate;
use efface_ledger::key::{PublicKey, SigningKey};
use efface_ledger::statement::Subject;
use efface_ledger::verify::{CheckOutcome, Evidence, verify};
use serde::Serialize;

use crate::database::{ReleaseEntry, ledger, now, timestamp};
use crate::error::EngineError;
use crate::files::{self, RELEASES};
use crate::model_directory::ModelDirectory;
use crate::policy::HeldBack;
use crate::published::PublishedModel;
use crate::requests::sha256;

/// Whether a release was published.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum ReleaseAnswer {
    /// It was.
    Published(ReleaseReport),
    /// The policy asks to wait.
    HeldBack(HeldBack),
    /// The promise does not allow it.
    Refused {
        /// `retrain-required`, `budget-exhausted`, `out-of-reach`, `one-class`, `singular`, `off-lattice` or
        /// `extractor-exhausted`.
        outcome: &'static str,
        /// What is spent: a residual (mechanism `objective`), a distance (`out-of-reach`), classes (`one-class`), l2
        /// (`singular`), a weight that is too large (`off-lattice`), δ (`extractor-exhausted`; `null`: beyond all numbers),
        /// or μ.
        spent: f64,
        /// What the promise allows.
        budget: f64,
    },
}

impl ReleaseAnswer {
    pub(crate) fn refused(outcome: &ReleaseOutcome) -> Self {
        let (outcome, spent, budget) = match outcome {
            ReleaseOutcome::RetrainRequired { spent, budget } => ("retrain-required", spent.get(), budget.get()),
            ReleaseOutcome::OutOfReach { distance, limit } => ("out-of-reach", distance.get(), limit.get()),
            ReleaseOutcome::OneClass => ("one-class", 1.0, 2.0),
            ReleaseOutcome::Singular { l2_per_row } => ("singular", *l2_per_row, 0.0),
            ReleaseOutcome::BudgetExhausted { mu_total, mu_limit } => {
                ("budget-exhausted", mu_total.get(), mu_limit.get())
            }
            ReleaseOutcome::ExtractorExhausted { delta, .. } => ("extractor-exhausted", delta.get(), 1.0),
            ReleaseOutcome::OffLattice { value, limit } => ("off-lattice", value.abs(), *limit),
            ReleaseOutcome::Published(_) => ("published", 0.0, 0.0),
        };
        Self::Refused { outcome, spent, budget }
    }
}

/// What a release led to.
#[derive(Clone, Debug, Serialize)]
pub struct ReleaseReport {
    /// k.
    pub release: usize,
    /// Scale of the noise.
    pub noise_std: f64,
    /// μ of this release.
    pub mu: f64,
    /// μ of all releases.
    pub mu_total: f64,
    /// Promised for the model's life.
    pub epsilon: f64,
    /// Likewise.
    pub delta: f64,
    /// The least ε that the releases so far prove.
    pub epsilon_spent: f64,
    /// r, as claimed.
    pub distance_bound: f64,
    /// r, as verified. It is a function of the rows: keep it inside.
    pub verified_distance_bound: f64,
    /// Whether the randomness was unpredictable.
    pub certified: bool,
    /// Requests that this release is the first to cover.
    pub n_requests: usize,
    /// What whoever has this release and the one before could learn.
    pub exposure: String,
    /// Passes over the rows made to settle first.
    pub settle_passes: usize,
    /// The published model.
    pub model: PathBuf,
    /// Its certificate.
    pub certificate: PathBuf,
    /// Time of the certificate: putting it together, signing, its place in the log, and checking it as a stranger would.
    pub certificate_seconds: f64,
    /// Time of the whole call.
    pub seconds: f64,
}

pub(crate) const MODEL_FILE: &str = "model.json";
pub(crate) const CERTIFICATE_FILE: &str = "certificate.json";

impl ModelDirectory {
    /// Publishes the model: settles first where the promise asks for it, adds noise, writes model and certificate. With
    /// `out`, a copy of the model goes there and of the certificate beside it.
    pub fn release(&mut self, noise: &mut NoiseSource, out: Option<&Path>) -> Result<ReleaseAnswer, EngineError> {
        let start = Instant::now();
        let copies = out.map(Copies::beside).transpose()?;
        if let Some(held_back) = self.held_back()? {
            return Ok(ReleaseAnswer::HeldBack(held_back));
        }
        // Whatever is wrong with the key is said before anything is spent.
        let key = self.signing_key()?;
        let answer = self.transaction(|this| {
            let settle_passes = this.model.settle_before_release(&this.rows)?;
            let release = match this.model.release(noise) {
                ReleaseOutcome::Published(release) => release,
                refused => {
                    if settle_passes > 0 {
                        // The weights have moved: what the status says must be what the state holds.
                        this.commit_state(|_, _| Ok(()))?;
                    }
                    return Ok(ReleaseAnswer::refused(&refused));
                }
            };
            let Publication { folder, certificate, certificate_seconds } =
                this.publish(&release, &key, copies.as_ref())?;
            let (n_requests, exposure) = (certificate.requests.len(), certificate.since_previous.exposure);
            let claim = &release.claim;
            let (model, certificate) = match &copies {
                Some(copies) => (copies.model.clone(), copies.certificate.clone()),
                None => (folder.join(MODEL_FILE), folder.join(CERTIFICATE_FILE)),
            };
            Ok(ReleaseAnswer::Published(ReleaseReport {
                release: claim.release,
                noise_std: claim.noise_std,
                mu: claim.mu.get(),
                mu_total: claim.mu_total.get(),
                epsilon: claim.guarantee.epsilon,
                delta: claim.guarantee.delta,
                epsilon_spent: claim.epsilon_spent,
                distance_bound: claim.distance_bound.get(),
                verified_distance_bound: claim.verified_distance.get(),
                certified: claim.certified,
                n_requests,
                exposure,
                settle_passes,
                model,
                certificate,
                certificate_seconds,
                seconds: start.elapsed().as_secs_f64(),
            }))
        })?;
        match answer {
            ReleaseAnswer::Published(_) => self.purge()?,
            // What was removed before is still in the journal.
            ReleaseAnswer::HeldBack(_) | ReleaseAnswer::Refused { .. } => self.checkpoint()?,
        }
        Ok(answer)
    }

    fn publish(
        &mut self,
        release: &Release,
        key: &SigningKey,
        copies: Option<&Copies>,
    ) -> Result<Publication, EngineError> {
        let model = PublishedModel::new(&self.settings, self.model.plan(), release).to_json().into_bytes();
        let (start, time) = (Instant::now(), now());
        let certificate = self.release_certificate(&release.claim, &timestamp(time))?;
        let subject = vec![Subject::new(MODEL_FILE, sha256(&model))];
        let certified = self.certify(subject, certificate.clone(), key, &[])?;
        check_own_certificate(certified.text.as_bytes(), &model, &key.public())?;
        let certificate_seconds = start.elapsed().as_secs_f64();
        let (aside, folder) = release_folders(&self.path, release.claim.release);
        let entry = ReleaseEntry {
            release: release.claim.release,
            time: Some(time),
            n_removed: self.head.n_removed,
            distance_bound: release.claim.distance_bound.get(),
            certified: release.claim.certified,
            certificate: Some(certified.digest),
            sequence: Some(self.head.sequence),
        };
        let text = certified.text.as_bytes();
        // After the commit the account counts this release, whether or not it ever appears under its name.
        let counted =
            write_aside(&aside, &model, text).and_then(|()| copies.map_or(Ok(()), Copies::reserve)).and_then(|()| {
                self.commit_state(|tables, head| {
                    entry.insert(tables)?;
                    ledger::untouch(tables, head)?;
                    ledger::append(tables, head, &certified.entry)
                })
            });
        if let Err(error) = counted {
            // Best effort: what is not counted must not be found.
            let _ = fs::remove_dir_all(&aside);
            return Err(error);
        }
        fs::rename(&aside, &folder).map_err(EngineError::io(&folder))?;
        files::sync_parent(&folder)?;
        if let Some(copies) = copies {
            let copied = copies.publish(&model, text);
            copied.map_err(|error| EngineError::NotCopied { folder: folder.clone(), source: Box::new(error) })?;
        }
        Ok(Publication { folder, certificate, certificate_seconds })
    }
}

/// What was published, and where.
struct Publication {
    folder: PathBuf,
    certificate: ReleaseCertificate,
    certificate_seconds: f64,
}

/// Fails closed: a certificate that a stranger would refuse is not published. Only `certified` may be missing, and the
/// certificate says so.
fn check_own_certificate(text: &[u8], model: &[u8], key: &PublicKey) -> Result<(), EngineError> {
    let evidence = Evidence { key: Some(key), model: Some(model), ..Evidence::default() };
    let wrong = verify(text, &evidence).checks.into_iter().find(|check| {
        !matches!(check.outcome, CheckOutcome::Passed | CheckOutcome::NotChecked) && check.check != "certified"
    });
    match wrong {
        None => Ok(()),
        Some(check) => Err(EngineError::NotSigned { reason: format!("{}: {}", check.check, check.message) }),
    }
}

fn write_aside(aside: &Path, model: &[u8], certificate: &[u8]) -> Result<(), EngineError> {
    if aside.exists() {
        fs::remove_dir_all(aside).map_err(EngineError::io(aside))?;
    }
    files::make_private_directory(aside)?;
    files::write_synced(&aside.join(MODEL_FILE), model)?;
    files::write_synced(&aside.join(CERTIFICATE_FILE), certificate)?;
    files::sync_directory(aside)?;
    // The folder itself too: what the account counts must be found.
    files::sync_parent(aside)
}

/// Copies of a release elsewhere. Their place is tried before anything is spent; what is in them is written once the
/// release counts, so that no draw of the noise can be found that is counted nowhere.
struct Copies {
    model: PathBuf,
    certificate: PathBuf,
}

impl Copies {
    fn beside(out: &Path) -> Result<Self, EngineError> {
        let (model, certificate) = (out.to_path_buf(), files::with_suffix(out, ".certificate.json"));
        if let Some(taken) = [&model, &certificate].into_iter().find(|path| path.exists()) {
            return Err(EngineError::Exists { path: taken.clone() });
        }
        Ok(Self { model, certificate })
    }

    fn reserve(&self) -> Result<(), EngineError> {
        [&self.model, &self.certificate].into_iter().try_for_each(|path| files::reserve(path))
    }

    fn publish(&self, model: &[u8], certificate: &[u8]) -> Result<(), EngineError> {
        for (path, bytes) in [(&self.certificate, certificate), (&self.model, model)] {
            files::write_synced(&files::aside(path), bytes)?;
            fs::rename(files::aside(path), path).map_err(EngineError::io(path))?;
        }
        files::sync_parent(&self.model)
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        // Best effort: what was renamed is not there any more, and what was not is not published.
        let _ = fs::remove_file(files::aside(&self.model));
        let _ = fs::remove_file(files::aside(&self.certificate));
    }
}

/// Gives a release its name if a crash came between its commit and its renaming, and removes what was never counted.
pub(crate) fn finish_publication(path: &Path, n_releases: usize) -> Result<(), EngineError> {
    let releases = path.join(RELEASES);
    let (counted, folder) = release_folders(path, n_releases);
    for entry in fs::read_dir(&releases).map_err(EngineError::io(&releases))? {
        let left = entry.map_err(EngineError::io(&releases))?.path();
        if left.extension().is_none_or(|extension| extension != "partial") {
            continue;
        }
        if left == counted && !folder.exists() {
            fs::rename(&left, &folder).map_err(EngineError::io(&folder))?;
        } else {
            fs::remove_dir_all(&left).map_err(EngineError::io(&left))?;
        }
    }
    files::sync_parent(&folder)
}

/// Where a release is written aside, and where it goes.
pub(crate) fn release_folders(path: &Path, release: usize) -> (PathBuf, PathBuf) {
    let releases = path.join(RELEASES);
    (releases.join(format!("{release}.partial")), releases.join(release.to_string()))
}
