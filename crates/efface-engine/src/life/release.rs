//! Releasing: the model is settled where the promise asks for it, noise is added, and what is claimed of the result is
//! certified. The keeper counts a release before anybody can see it.

use std::path::PathBuf;
use std::time::Instant;

use efface_core::model::Refused;
use efface_core::noise::NoiseSource;
use efface_data::derived::Preparation;
use efface_ledger::certificate::tags::Exposure;
use efface_ledger::certificate::{CoveredRequest, SincePrevious};
use efface_ledger::entry::{Change, Event};
use efface_ledger::verify::exposure;
use serde::{Deserialize, Serialize};

use super::Life;
use super::keeper::{Keeper, LoggedEntry, NewRelease};
use crate::certify::{Draft, HeldBack};
use crate::clock;
use crate::error::EngineError;
use crate::history::{Kept, ReleaseEntry};
use crate::path_text;
use crate::published::PublishedModel;
use crate::settings::Settings;

/// Whether a release was published.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum ReleaseAnswer {
    /// It was.
    Published(ReleaseReport),
    /// The policy asks to wait.
    HeldBack(HeldBack),
    /// The promise does not allow it.
    Refused(Refused),
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
    /// How many more the promise allows; `None`: any number.
    pub releases_left: Option<u64>,
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
    pub exposure: Exposure,
    /// Whether location, scale or categories of a column had changed with the rows, and the model was trained again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub constants_changed: bool,
    /// Passes over the rows made to settle first.
    pub settle_passes: usize,
    /// The published model; empty where nothing is a file.
    #[serde(serialize_with = "path_text::one")]
    pub model: PathBuf,
    /// Its certificate, likewise.
    #[serde(serialize_with = "path_text::one")]
    pub certificate: PathBuf,
    /// Time of the certificate: putting it together, signing, its place in the log, and checking it as a stranger would.
    pub certificate_seconds: f64,
    /// Time of the whole call.
    pub seconds: f64,
}

/// A release as it was published.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LatestRelease {
    /// The model.
    pub model: PublishedModel,
    /// Its certificate, as it was issued. Nothing of it is verified here.
    pub certificate: String,
}

impl Life<'_> {
    /// Publishes the model: settles first where the promise asks for it, adds noise, and certifies what it claims.
    pub fn release(&mut self, noise: &mut NoiseSource) -> Result<ReleaseAnswer, EngineError> {
        let start = Instant::now();
        self.keeper.check_usable()?;
        if let Some(held_back) = self.keeper.before_release()? {
            return Ok(ReleaseAnswer::HeldBack(held_back));
        }
        // Asked before the weights move: an error leaves them as they were.
        let (requests, since_previous, exposure) = since_previous(self.keeper, self.settings)?;
        let constants_changed = self.follow_constants()?;
        let settle_passes = if self.model.should_settle_before_release() {
            self.over_rows(|model, rows| model.settle_before_release(rows))??
        } else {
            0
        };
        let before = self.model.state().account;
        let release = match self.model.release(noise).into_result() {
            Ok(release) => release,
            Err(refused) => {
                if settle_passes > 0 {
                    // The weights have moved: what the status says must be what the state holds.
                    self.commit_weights(false)?;
                }
                return Ok(ReleaseAnswer::Refused(refused));
            }
        };
        let n_requests = requests.len();
        let time = clock::now();
        let certificate = Draft {
            of: Kept { settings: self.settings, model: self.model, preparation: self.rows.preparation() },
            claim: &release.claim,
            requests,
            since_previous,
            before,
        };
        let encoder = self.rows.preparation().map(Preparation::encoder);
        let model = PublishedModel::new(self.settings, self.model.plan(), &release, encoder);
        let new = NewRelease { release: &release, model, certificate, time };
        let of = Kept { settings: self.settings, model: self.model, preparation: self.rows.preparation() };
        let certified_in = self.keeper.publish(new, of)?;
        let claim = &release.claim;
        Ok(ReleaseAnswer::Published(ReleaseReport {
            release: claim.release,
            noise_std: claim.noise_std,
            mu: claim.mu.get(),
            mu_total: claim.mu_total.get(),
            releases_left: self.model.releases_left(),
            epsilon: claim.guarantee.epsilon,
            delta: claim.guarantee.delta,
            epsilon_spent: claim.epsilon_spent,
            distance_bound: claim.distance_bound.get(),
            verified_distance_bound: claim.verified_distance.get(),
            certified: claim.certified,
            n_requests,
            exposure,
            constants_changed,
            settle_passes,
            model: PathBuf::new(),
            certificate: PathBuf::new(),
            certificate_seconds: certified_in.as_secs_f64(),
            seconds: start.elapsed().as_secs_f64(),
        }))
    }
}

/// Requests since the release before, and what an observer of both releases could learn.
fn since_previous(
    keeper: &dyn Keeper,
    settings: &Settings,
) -> Result<(Vec<CoveredRequest>, SincePrevious, Exposure), EngineError> {
    let previous = keeper.latest_release()?;
    let covered = previous.as_ref().and_then(|previous| previous.n_changes).unwrap_or(0);
    let n_people = keeper.history().n_people;
    let release = previous.as_ref().map(|previous| previous.release);
    let certificate = previous.and_then(|ReleaseEntry { certificate, .. }| certificate);
    let exposure = exposure(release.is_some(), n_people);
    let mut since = SincePrevious {
        release,
        certificate,
        n_people,
        n_removed: 0,
        n_corrected: 0,
        n_added: 0,
        exposure: exposure.tag().into(),
    };
    let mut requests = Vec::new();
    for LoggedEntry { position, entry } in keeper.changes_after(covered)? {
        match entry.event {
            Event::Removal(change) => {
                since.n_removed += change.n_rows;
                requests.push(covered_request(keeper, settings, position, entry.time, change)?);
            }
            Event::Correction(change) => since.n_corrected += change.n_rows,
            Event::Addition(change) => since.n_added += change.n_rows,
            _ => {}
        }
    }
    Ok((requests, since, exposure))
}

pub(crate) fn covered_request(
    keeper: &dyn Keeper,
    settings: &Settings,
    position: u64,
    time: String,
    change: Change,
) -> Result<CoveredRequest, EngineError> {
    let Change { change, n_rows, rows, .. } = change;
    let named = keeper.request_of_change(change)?;
    let salt = named.is_some().then(|| settings.request_salt(change));
    let id = named.unwrap_or_else(|| format!("change-{change}"));
    Ok(CoveredRequest { id, time, change, n_rows, rows, salt, position })
}
