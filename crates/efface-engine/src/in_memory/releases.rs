//! Settling, retraining and releasing a model in memory. Certificates have the fields of signed ones as far as they apply,
//! and say that they are not signed.

use std::collections::HashMap;
use std::time::Instant;

use efface_core::model::{Phase, Release, ReleaseAccount, ReleaseOutcome};
use efface_core::noise::NoiseSource;
use efface_ledger::certificate::{CoveredRequest, LogPosition, ReleaseCertificate, ReleasePolicy, SincePrevious};
use efface_ledger::entry::{Change, Entry, Event};
use efface_ledger::verify::exposure;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::rows::LentRows;
use super::{MemoryModel, SinceRelease};
use crate::certificate::{History, certificate};
use crate::database::{now, timestamp};
use crate::error::EngineError;
use crate::model_directory::check_is_bounded;
use crate::past::{AdoptedRelease, ChangeTally};
use crate::published::PublishedModel;
use crate::releases::ReleaseAnswer;
use crate::settling::{RetrainReport, SettleReport};

/// A release of a model in memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MemoryRelease {
    /// One vector per problem, the intercept last.
    pub weights: Vec<Vec<f64>>,
    /// What is claimed of it, as JSON. Not signed.
    pub certificate: String,
    /// The published model, as JSON.
    pub model: String,
    /// When, in seconds since 1970.
    pub time: u64,
}

/// Whether a model in memory was released.
#[derive(Debug)]
pub enum ReleaseMade {
    /// It was, and [`MemoryModel::latest`] has it.
    Published {
        /// Passes over the rows made to settle first.
        settle_passes: usize,
    },
    /// The promise does not allow it.
    Refused(ReleaseAnswer),
}

/// Fields of a signed certificate that mean nothing without a log and a key.
const SIGNED_ONLY: [&str; 4] = ["key_id", "log", "policy", "revoked"];

impl MemoryModel {
    /// Measures the residual and polishes the weights until it is at most `tolerance` (`None`: the plan's).
    pub fn settle(&mut self, lent: &LentRows<'_>, tolerance: Option<f64>) -> Result<SettleReport, EngineError> {
        if let Some(value) = tolerance.filter(|value| !(*value > 0.0 && value.is_finite())) {
            return Err(EngineError::Tolerance { value });
        }
        let start = Instant::now();
        // Settling that is stopped half-way leaves weights of which nothing is known.
        let mut model = self.model.clone();
        let settled = self.rows.read(lent, |rows| Ok(model.settle(rows, tolerance)?))?;
        self.model = model;
        Ok(SettleReport {
            passes: settled.passes,
            hessians: settled.hessians,
            gradient_residual: settled.claim.gradient_residual.get(),
            distance_bound: settled.claim.distance_bound.get(),
            outcome: self.model.outcome().into(),
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    /// Trains again from zero on the rows that are left. What earlier releases spent stays spent.
    pub fn retrain(
        &mut self,
        lent: &LentRows<'_>,
        noise: &mut NoiseSource,
        report: &mut dyn FnMut(Phase),
    ) -> Result<RetrainReport, EngineError> {
        let start = Instant::now();
        let trained = self.rows.read(lent, |rows| Ok(self.model.plan().train_again(rows, noise, report)?))?;
        check_is_bounded(&trained.model)?;
        self.model = trained.model.with_account(self.model.state().account);
        self.iterations = trained.iterations;
        self.since.is_stale = true;
        let claim = self.model.claim();
        Ok(RetrainReport {
            n_rows: self.model.state().count.n_rows,
            gradient_residual: claim.gradient_residual.get(),
            distance_bound: claim.distance_bound.get(),
            iterations: trained.iterations,
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    /// Releases the model: settles first where the promise asks for it, adds noise, and puts the certificate together.
    pub fn release(&mut self, lent: &LentRows<'_>, noise: &mut NoiseSource) -> Result<ReleaseMade, EngineError> {
        let mut settle_passes = 0;
        if self.model.should_settle_before_release() {
            let mut model = self.model.clone();
            settle_passes = self.rows.read(lent, |rows| Ok(model.settle_before_release(rows)?))?;
            self.model = model;
        }
        let before = self.model.state().account;
        let release = match self.model.release(noise) {
            ReleaseOutcome::Published(release) => release,
            refused => return Ok(ReleaseMade::Refused(ReleaseAnswer::refused(&refused))),
        };
        let time = now();
        let certificate = self.unsigned_certificate(&release, before, time);
        let model = PublishedModel::new(&self.settings, self.model.plan(), &release).to_json();
        let previous = AdoptedRelease {
            release: release.claim.release,
            time,
            n_removed: self.n_removed,
            distance_bound: release.claim.distance_bound.get(),
            certified: release.claim.certified,
            n_changes: self.sequence,
        };
        self.latest = Some(MemoryRelease { weights: release.weights, certificate, model, time });
        self.since = SinceRelease { previous: Some(previous), ..SinceRelease::default() };
        Ok(ReleaseMade::Published { settle_passes })
    }

    /// Releases so far.
    pub fn n_releases(&self) -> usize {
        self.model.state().account.n_releases
    }

    /// The latest release.
    pub fn latest(&self) -> Option<&MemoryRelease> {
        self.latest.as_ref()
    }

    /// Whether rows changed, or the model was trained again, since the latest release.
    pub fn is_stale(&self) -> bool {
        self.since.is_stale
    }

    fn unsigned_certificate(&self, release: &Release, before: ReleaseAccount, time: u64) -> String {
        let ChangeTally { removed: n_removed, corrected: n_corrected, added: n_added } = self.since.tally();
        let people = &self.since.people;
        let previous = release.claim.release.checked_sub(1).filter(|release| *release > 0);
        let history = History {
            model: self.name.clone(),
            issued: timestamp(time),
            key_id: String::new(),
            log: LogPosition { origin: String::new(), position: 0 },
            n_removed: self.n_removed,
            weighted: self.rows.row_weights.is_some(),
            requests: self.covered_requests(),
            since_previous: SincePrevious {
                release: previous,
                certificate: None,
                n_people: people.len(),
                n_removed,
                n_corrected,
                n_added,
                exposure: exposure(previous.is_some(), people.len()).into(),
            },
            policy: ReleasePolicy::default(),
            revoked: Vec::new(),
            before,
        };
        unsigned(&certificate(&self.model, &self.settings, &release.claim, history))
    }

    /// Removals since the latest release, as certificates name them.
    fn covered_requests(&self) -> Vec<CoveredRequest> {
        let ids: HashMap<u64, &str> = self.requests.values().map(|request| (request.change, &*request.id)).collect();
        let covered = |entry: &Entry| {
            let Event::Removal(Change { change, n_rows, .. }) = entry.event else { return None };
            let id = ids.get(&change).map_or_else(|| format!("change-{change}"), |id| (*id).into());
            let time = entry.time.clone();
            Some(CoveredRequest { id, time, change, n_rows, rows: None, salt: None, position: 0 })
        };
        self.since.changes.iter().filter_map(covered).collect()
    }
}

impl SinceRelease {
    /// How many rows left, came and were corrected.
    pub(super) fn tally(&self) -> ChangeTally {
        ChangeTally::of(self.changes.iter().map(|entry| &entry.event))
    }
}

/// A certificate without what only a log and a key could vouch for.
fn unsigned(certificate: &ReleaseCertificate) -> String {
    let mut value = serde_json::to_value(certificate).expect("plain structures with string keys");
    if let Value::Object(fields) = &mut value {
        for name in SIGNED_ONLY {
            fields.remove(name);
        }
        fields.insert("signed".into(), false.into());
        for request in fields.get_mut("requests").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Value::Object(request) = request {
                for name in ["rows", "position"] {
                    request.remove(name);
                }
            }
        }
    }
    value.to_string()
}
