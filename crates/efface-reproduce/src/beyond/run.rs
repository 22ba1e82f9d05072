//! One life under mechanism `release`: rows leave until half of them are gone.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Instant;

use efface_core::model::{Model, ReleaseClaim, ReleaseOutcome};
use efface_core::noise::NoiseSource;
use serde::{Deserialize, Serialize};

use super::Order;
use super::schedule::{Density, schedule};
use super::shadow::{EveryStep, Shadow};
use crate::data::DataSet;
use crate::life::{Life, distance, median, weights};
use crate::{ExperimentError, Progress, Setting};

/// Rows leave in one order, in steps of one size.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunResults {
    /// Which rows leave first.
    pub order: Order,
    /// Rows per step.
    pub batch_rows: usize,
    /// Where every single step was checked, what came out.
    pub every_step: Option<EveryStep>,
    /// Comparisons with the retrained model on the way, of weights as the steps left them.
    pub checks: Vec<Check>,
    /// What a release costs and is worth after 1, 5, 20 and 50 % of the rows.
    pub checkpoints: Vec<Checkpoint>,
}

/// Weights as instant steps left them, not settled, beside the weights of a model without the removed rows.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Check {
    /// Rows removed so far.
    pub n_removed: usize,
    /// Where the other weights come from.
    pub reference: Reference,
    /// Distance of the weights.
    pub distance: f64,
    /// What is claimed of the distance to the exact minimiser.
    pub distance_bound: f64,
    /// What is claimed of the other weights' distance to it.
    pub reference_bound: f64,
    /// Accuracy of the weights.
    pub accuracy: f64,
    /// Accuracy of the other weights.
    pub reference_accuracy: f64,
}

/// Where the weights come from that a model is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reference {
    /// Trained from zero on the rows that are left.
    Retrained,
    /// A copy of the model, settled; its distance to the exact minimiser is measured over the rows that are left.
    SettledCopy,
}

/// A model is settled and released, and compared with one that is trained from zero.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Share of the rows that have left.
    pub percent: usize,
    /// Rows removed so far.
    pub n_removed: usize,
    /// Distance to the retrained model before settling.
    pub instant_distance: f64,
    /// What was claimed of it.
    pub instant_bound: f64,
    /// Distance to the retrained model after settling.
    pub settled_distance: f64,
    /// What is claimed of the distance to the exact minimiser then.
    pub settled_bound: f64,
    /// What is claimed of the retrained model's distance to it.
    pub retrained_bound: f64,
    /// Accuracy of the secret weights, settled.
    pub secret_accuracy: f64,
    /// Mean accuracy of released weights.
    pub released_accuracy: f64,
    /// Releases that the mean is over.
    pub n_releases: usize,
    /// Accuracy of the model that is trained from zero, without noise.
    pub retrained_accuracy: f64,
    /// μ of the releases so far: one per checkpoint.
    pub mu_spent: f64,
    /// The most that the promise allows.
    pub mu_limit: f64,
    /// ε that these releases prove at the promised δ.
    pub epsilon_spent: f64,
    /// Median seconds of one step since the checkpoint before.
    pub step_seconds: f64,
    /// The same per row; the last step before a checkpoint may be a short one.
    pub row_seconds: f64,
    /// Seconds of settling.
    pub settle_seconds: f64,
    /// Passes over the rows of settling, over all problems.
    pub settle_passes: usize,
    /// Seconds of training from zero.
    pub retrain_seconds: f64,
}

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
    setting: &Setting,
    progress: &mut Progress<'_>,
) -> Result<Vec<RunResults>, ExperimentError> {
    let mut retrained = BTreeMap::new();
    BATCHES
        .into_iter()
        .map(|batch_rows| run(set, model, (order, positions), batch_rows, &mut retrained, setting, progress))
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
    setting: &Setting,
    progress: &mut Progress<'_>,
) -> Result<RunResults, ExperimentError> {
    let several = model.state().fits.len() > 1;
    let stops = schedule(set.n_rows(), batch_rows, density(several, setting.quick));
    let first_percentage = stops.iter().find(|stop| stop.percent.is_some()).map_or(0, |stop| stop.n_removed);
    let steps = if batch_rows == 1 { "one at a time".to_owned() } else { format!("{batch_rows} at a time") };
    let what = format!("{}: {}, {steps}", set.name, order.name());
    progress.begin(what.clone(), stops.len());
    let life = Life { model: model.clone(), rows: set.train_rows()?, training_seconds: 0.0 };
    let mut run = Run { set, what, life, seed: setting.seed };
    let mut results = RunResults { order, batch_rows, every_step: None, checks: Vec::new(), checkpoints: Vec::new() };
    let (mut n_removed, mut step_seconds, mut row_seconds) = (0, Vec::new(), Vec::new());
    // A pass over the rows of several problems after every single row would take a quarter of an hour.
    let mut shadow = (batch_rows > 1 || !several).then(|| Shadow::new(model));
    for stop in stops {
        let leaving = &positions[n_removed..stop.n_removed];
        let gone = run.life.rows.batch(leaving)?;
        let (_, seconds) = run.life.remove(leaving)?;
        if let Some(shadow) = &mut shadow {
            shadow.follow(&gone, &run.life, &format!("{}, {} rows removed", run.what, stop.n_removed))?;
        }
        step_seconds.push(seconds);
        row_seconds.push(seconds / (stop.n_removed - n_removed) as f64);
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
        progress.step();
    }
    results.every_step = shadow.map(|shadow| shadow.checked());
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
    fn retrained(&self) -> Result<Other, ExperimentError> {
        let (model, seconds) = self.life.retrain(self.seed)?;
        self.other(Reference::Retrained, &model, seconds)
    }

    /// A copy of the model as it is, settled.
    fn settled_copy(&self) -> Result<Other, ExperimentError> {
        let start = Instant::now();
        let mut copy = self.life.model.clone();
        copy.settle(&self.life.rows, None)?;
        self.other(Reference::SettledCopy, &copy, start.elapsed().as_secs_f64())
    }

    fn other(&self, reference: Reference, model: &Model, seconds: f64) -> Result<Other, ExperimentError> {
        let weights = weights(model);
        let accuracy = self.set.accuracy(&weights)?;
        Ok(Other { reference, weights, distance_bound: model.claim().distance_bound.get(), accuracy, seconds })
    }

    fn compare(&self, n_removed: usize, other: &Other) -> Result<Check, ExperimentError> {
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
    ) -> Result<(Check, Checkpoint), ExperimentError> {
        let instant = self.compare(n_removed, retrained)?;
        let start = Instant::now();
        let settle_passes = self.life.model.settle_before_release(&self.life.rows)?;
        let settle_seconds = start.elapsed().as_secs_f64();
        let settled = self.compare(n_removed, retrained)?;
        let (released_accuracy, claim) = self.release(n_removed)?;
        let checkpoint = Checkpoint {
            percent,
            n_removed,
            instant_distance: instant.distance,
            instant_bound: instant.distance_bound,
            settled_distance: settled.distance,
            settled_bound: settled.distance_bound,
            retrained_bound: settled.reference_bound,
            secret_accuracy: settled.accuracy,
            released_accuracy,
            n_releases: N_RELEASES,
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

    /// Releases once, and a copy a few times more: the mean accuracy, and the claim of the one release.
    fn release(&mut self, n_removed: usize) -> Result<(f64, ReleaseClaim), ExperimentError> {
        let mut noise = NoiseSource::danger_fixed_seed(self.seed.wrapping_add(n_removed as u64));
        let refused =
            || ExperimentError::NotReleased { what: format!("{}, {n_removed} rows removed: the model", self.what) };
        let mut copy = self.life.model.clone();
        let ReleaseOutcome::Published(release) = self.life.model.release(&mut noise) else { return Err(refused()) };
        let mut sum = self.set.accuracy(&release.weights)?;
        for _ in 1..N_RELEASES {
            let ReleaseOutcome::Published(again) = copy.release(&mut noise) else { return Err(refused()) };
            sum += self.set.accuracy(&again.weights)?;
        }
        Ok((sum / N_RELEASES as f64, release.claim))
    }
}

impl Check {
    /// Both weights are within their own bound of the exact minimiser, so their distance is within the sum.
    pub(super) fn hold(&self, what: &str) -> Result<(), ExperimentError> {
        let what = format!("{what}, {} rows removed: the distance to the retrained model", self.n_removed);
        ExperimentError::unless_within(what, self.distance, self.distance_bound + self.reference_bound)
    }
}
