//! Releasing: the model and its certificate are written aside, the account is committed, and only then do they appear
//! under their name. A crash can waste a release, never hide one.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use efface_core::model::{Release, ReleaseOutcome};
use efface_core::noise::NoiseSource;
use serde::Serialize;

use crate::certificate::Certificate;
use crate::directory::{self, RELEASES};
use crate::error::EngineError;
use crate::model_directory::ModelDirectory;
use crate::published::PublishedModel;

/// Whether a release was published.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum ReleaseAnswer {
    /// It was.
    Published(ReleaseReport),
    /// The promise does not allow it.
    Refused {
        /// `retrain-required` or `budget-exhausted`.
        outcome: &'static str,
        /// What is spent: a residual (mechanism `objective`), or μ.
        spent: f64,
        /// What the promise allows.
        budget: f64,
    },
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
    /// r.
    pub distance_bound: f64,
    /// Whether the randomness was unpredictable.
    pub certified: bool,
    /// Passes over the rows made to settle first.
    pub settle_passes: usize,
    /// The published model.
    pub model: PathBuf,
    /// Its certificate.
    pub certificate: PathBuf,
    /// Time of the whole call.
    pub seconds: f64,
}

pub(crate) const MODEL_FILE: &str = "model.json";
const CERTIFICATE_FILE: &str = "certificate.json";

impl ModelDirectory {
    /// Publishes the model: settles first where the promise asks for it, adds noise, writes model and certificate. With
    /// `out`, a copy of the model goes there and of the certificate beside it.
    pub fn release(&mut self, noise: &mut NoiseSource, out: Option<&Path>) -> Result<ReleaseAnswer, EngineError> {
        let start = Instant::now();
        if let Some(out) = out.filter(|out| out.exists()) {
            return Err(EngineError::Exists { path: out.into() });
        }
        self.transaction(|this| {
            let settle_passes =
                if this.model.should_settle_before_release() { this.model.settle(&this.rows, None)?.passes } else { 0 };
            let release = match this.model.release(noise) {
                ReleaseOutcome::Published(release) => release,
                ReleaseOutcome::RetrainRequired { spent, budget } => {
                    let (spent, budget) = (spent.get(), budget.get());
                    return Ok(ReleaseAnswer::Refused { outcome: "retrain-required", spent, budget });
                }
                ReleaseOutcome::BudgetExhausted { mu_total, mu_limit } => {
                    let (spent, budget) = (mu_total.get(), mu_limit.get());
                    return Ok(ReleaseAnswer::Refused { outcome: "budget-exhausted", spent, budget });
                }
            };
            let folder = this.publish(&release)?;
            let claim = &release.claim;
            let (mut model, mut certificate) = (folder.join(MODEL_FILE), folder.join(CERTIFICATE_FILE));
            if let Some(out) = out {
                let beside = directory::with_suffix(out, ".certificate.json");
                fs::copy(&model, out).map_err(EngineError::io(out))?;
                fs::copy(&certificate, &beside).map_err(EngineError::io(&beside))?;
                (model, certificate) = (out.into(), beside);
            }
            Ok(ReleaseAnswer::Published(ReleaseReport {
                release: claim.release,
                noise_std: claim.noise_std,
                mu: claim.mu.get(),
                mu_total: claim.mu_total.get(),
                epsilon: claim.guarantee.epsilon,
                delta: claim.guarantee.delta,
                epsilon_spent: claim.epsilon_spent,
                distance_bound: claim.distance_bound.get(),
                certified: claim.certified,
                settle_passes,
                model,
                certificate,
                seconds: start.elapsed().as_secs_f64(),
            }))
        })
    }

    fn publish(&mut self, release: &Release) -> Result<PathBuf, EngineError> {
        let published = PublishedModel::new(&self.settings, release);
        let certificate = Certificate::new(self, &release.claim);
        let (aside, folder) = release_folders(&self.path, release.claim.release);
        if aside.exists() {
            fs::remove_dir_all(&aside).map_err(EngineError::io(&aside))?;
        }
        directory::make_private_directory(&aside)?;
        directory::write_synced(&aside.join(MODEL_FILE), &pretty(&published))?;
        directory::write_synced(&aside.join(CERTIFICATE_FILE), &pretty(&certificate))?;
        directory::sync_parent(&aside.join(MODEL_FILE))?;
        // From here on the account counts this release, whether or not it ever appears under its name.
        self.commit()?;
        fs::rename(&aside, &folder).map_err(EngineError::io(&folder))?;
        directory::sync_parent(&folder)?;
        Ok(folder)
    }
}

/// Gives a release its name if a crash came between its commit and its renaming.
pub(crate) fn finish_publication(path: &Path, n_releases: usize) -> Result<(), EngineError> {
    if n_releases == 0 {
        return Ok(());
    }
    let (aside, folder) = release_folders(path, n_releases);
    if aside.exists() && !folder.exists() {
        fs::rename(&aside, &folder).map_err(EngineError::io(&folder))?;
        directory::sync_parent(&folder)?;
    }
    Ok(())
}

fn release_folders(path: &Path, release: usize) -> (PathBuf, PathBuf) {
    let releases = path.join(RELEASES);
    (releases.join(format!("{release}.partial")), releases.join(release.to_string()))
}

fn pretty(value: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).expect("plain structures with string keys");
    text.push(b'\n');
    text
}
