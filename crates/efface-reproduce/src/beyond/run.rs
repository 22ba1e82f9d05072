//! One life under mechanism `release`: rows leave until half of them are gone.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::hash::{DefaultHasher, Hash, Hasher};

use efface_core::model::{Model, ReleaseClaim, ReleaseOutcome};
use efface_core::noise::NoiseSource;

use super::Order;
use super::numbers::{Check, Checkpoint, Reference, RunResults};
use super::proof::ProvedSteps;
use super::schedule::{Density, schedule};
use crate::data::DataSet;
use crate::life::{Life, distance, weights};
use crate::measure::{mean, median, try_timed};
use crate::{ExperimentError, Result, Setting};

/// Releases whose accuracies are averaged.
const N_RELEASES: usize = 5;

/// Rows leave copies of `model` in the order of `positions`: a run for each size of steps.
///
/// At the percentages the same rows have left in each of them, so that one model trained from zero serves all.
pub(super) fn runs(
    set: &DataSet,
    model: &Model,
    order: Order,
    positions: &[usize],
    setting: &Setting<'_>,
) -> Result<Vec<RunResults>> {
    let mut retrained = BTreeMap::new();
    BATCHES
        .into_iter()
        .map(|batch_rows| run(set, model, (order, positions), batch_rows, &mut retrained, setting))
        .collect()
}

/// Rows that leave in one step.
const BATCHES: [usize; 2] = [1, 100];

fn run(
    set: &DataSet,
    model: &Model,
    (order, positions): (Order, &[usize]),
    batch_rows: usize,
    retrained: &mut BTreeMap<usize, Other>,
    setting: &Setting<'_>,
) -> Result<RunResults> {
    let several = model.state().fits.len() > 1;
    let stops = schedule(set.n_rows(), batch_rows, density(several, setting.quick));
    let first_percentage = stops.iter().find(|stop| stop.percent.is_some()).map_or(0, |stop| stop.n_removed);
    // A pass over the rows of several problems after every single row would take a quarter of an hour.
    let every = if several && batch_rows == 1 { 25 } else { 1 };
    let proved_steps = ProvedSteps::new(every);
    let mut results = RunResults { order, batch_rows, proved_steps, checks: Vec::new(), checkpoints: Vec::new() };
    let what = format!("{}: {}", set.name, results.name());
    setting.begin(what.clone(), stops.len());
    let life = Life::new(model.clone(), set.train_rows()?);
    let mut run = Run { set, what, life, seed: setting.seed };
    let (mut n_removed, mut step_seconds, mut row_seconds) = (0, Vec::new(), Vec::new());
    for (step, stop) in stops.into_iter().enumerate() {
        let n_leaving = stop.n_removed - n_removed;
        let (_, seconds) = run.life.remove(&positions[n_removed..stop.n_removed])?;
        step_seconds.push(seconds);
        row_seconds.push(seconds / n_leaving as f64);
        let what = format!("{}, {} rows removed", run.what, stop.n_removed);
        results.proved_steps.after(step + 1, &run.life, &what)?;
        n_removed = stop.n_removed;
        if let Some(percent) = stop.percent {
            let seconds = [&mut step_seconds, &mut row_seconds].map(|times| median(std::mem::take(times)));
            let other = match retrained.entry(n_removed) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => entry.insert(run.retrained()?),
            };
            let (check, checkpoint) = run.checkpoint(percent, n_removed, seconds, other)?;
            results.checks.push(check);
            results.checkpoints.push(checkpoint);
        } else if stop.compare {
            let early = n_removed < first_percentage;
            let other = if early || several { run.settled_copy()? } else { run.retrained()? };
            results.checks.push(run.compare(n_removed, &other)?);
        }
        setting.step();
    }
    Ok(results)
}

/// Settling a copy of several problems takes seconds.
fn density(several: bool, quick: bool) -> Density {
    match (several, quick) {
        (_, true) => Density { every_early_step: false, n_spread: 2 },
        (false, false) => Density { every_early_step: true, n_spread: 30 },
        (true, false) => Density { every_early_step: false, n_spread: 6 },
    }
}

/// Weights that a model is compared with.
struct Other {
    reference: Reference,
    weights: Vec<Vec<f64>>,
    distance_bound: f64,
    accuracy: f64,
    /// Seconds that they took.
    seconds: f64,
}

struct Run<'a> {
    set: &'a DataSet,
    /// Data set and run, for errors.
    what: String,
    life: Life,
    seed: u64,
}

impl Run<'_> {
    /// A model that is trained from zero on the rows that are left.
    fn retrained(&self) -> Result<Other> {
        let (model, seconds) = self.life.retrain(self.seed)?;
        self.other(Reference::Retrained, &model, seconds)
    }

    /// A copy of the model as it is, settled.
    fn settled_copy(&self) -> Result<Other> {
        let mut copy = self.life.model.clone();
        let (_, seconds) = try_timed(|| copy.settle(&self.life.rows, None))?;
        self.other(Reference::SettledCopy, &copy, seconds)
    }

    fn other(&self, reference: Reference, model: &Model, seconds: f64) -> Result<Other> {
        let weights = weights(model);
        let accuracy = self.set.accuracy(&weights)?;
        Ok(Other { reference, weights, distance_bound: model.claim().distance_bound.get(), accuracy, seconds })
    }

    fn compare(&self, n_removed: usize, other: &Other) -> Result<Check> {
        let weights = weights(&self.life.model);
        let check = Check {
            n_removed,
            reference: other.reference,
            distance: distance(&weights, &other.weights),
            distance_bound: self.life.model.claim().distance_bound.get(),
            reference_bound: other.distance_bound,
            accuracy: self.set.accuracy(&weights)?,
            reference_accuracy: other.accuracy,
        };
        check.hold(&self.what)?;
        Ok(check)
    }

    /// Compares with a model trained from zero, settles, compares again, and releases.
    fn checkpoint(
        &mut self,
        percent: usize,
        n_removed: usize,
        [step_seconds, row_seconds]: [f64; 2],
        retrained: &Other,
    ) -> Result<(Check, Checkpoint)> {
        let instant = self.compare(n_removed, retrained)?;
        let (settle_passes, settle_seconds) = try_timed(|| self.life.model.settle_before_release(&self.life.rows))?;
        let settled = self.compare(n_removed, retrained)?;
        let (accuracies, claim) = self.release(n_removed)?;
        let gaps = accuracies.iter().map(|accuracy| (accuracy - settled.reference_accuracy).abs());
        let checkpoint = Checkpoint {
            percent,
            n_removed,
            instant_distance: instant.distance,
            instant_bound: instant.distance_bound,
            settled_distance: settled.distance,
            settled_bound: settled.distance_bound,
            retrained_bound: settled.reference_bound,
            secret_accuracy: settled.accuracy,
            released_accuracy: mean(&accuracies),
            n_releases: accuracies.len(),
            largest_released_gap: gaps.fold(0.0, f64::max),
            retrained_accuracy: settled.reference_accuracy,
            mu_spent: claim.mu_total.get(),
            mu_limit: claim.mu_limit.get(),
            epsilon_spent: claim.epsilon_spent,
            step_seconds,
            row_seconds,
            settle_seconds,
            settle_passes,
            retrain_seconds: retrained.seconds,
        };
        Ok((instant, checkpoint))
    }

    /// Releases once, and a copy a few times more: the accuracies, and the claim of the one release.
    fn release(&mut self, n_removed: usize) -> Result<(Vec<f64>, ReleaseClaim)> {
        let what = format!("{}, {n_removed} rows removed: the model", self.what);
        let mut noise = NoiseSource::danger_fixed_seed(self.noise_seed(n_removed));
        let mut copy = self.life.model.clone();
        let accuracies = accuracies(self.set, &mut copy, &mut noise, &what)?;
        match self.life.model.release(&mut noise) {
            ReleaseOutcome::Published(release) => Ok((accuracies, release.claim)),
            _ => Err(ExperimentError::NotReleased { what }),
        }
    }

    /// Another one for every run and every point of it.
    fn noise_seed(&self, n_removed: usize) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.what, n_removed, self.seed).hash(&mut hasher);
        hasher.finish()
    }
}

/// Mean accuracy of releases of a model from which nothing has left.
pub(super) fn released_at_start(set: &DataSet, life: &Life, seed: u64) -> Result<f64> {
    let mut noise = NoiseSource::danger_fixed_seed(seed);
    Ok(mean(&accuracies(set, &mut life.model.clone(), &mut noise, set.name)?))
}

/// Accuracies of a few releases.
fn accuracies(set: &DataSet, model: &mut Model, noise: &mut NoiseSource, what: &str) -> Result<Vec<f64>> {
    let release = |_| match model.release(noise) {
        ReleaseOutcome::Published(release) => set.accuracy(&release.weights),
        _ => Err(ExperimentError::NotReleased { what: what.to_owned() }),
    };
    (0..N_RELEASES).map(release).collect()
}
