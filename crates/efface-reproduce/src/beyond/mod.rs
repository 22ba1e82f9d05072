//! Beyond the paper: half of the rows leave, and nothing is lost.
//!
//! Under mechanism `release` rows leave one at a time and in batches, in random order and hardest first. At steps of a
//! schedule the weights are compared with the retrained ones, and the distance with what is claimed of it: a claim
//! that does not hold ends the experiment. Mechanism `objective` of the paper is simulated beside it until it would have to
//! retrain for the first time.

mod numbers;
mod objective;
mod proof;
mod run;
mod schedule;
mod section;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::data::{self, DataSet, Load, on_each};
use crate::life::{Life, hardest_first, random_order, weights};
use crate::measure::try_timed;
use crate::objective::release_plan;
use crate::{Result, Setting};
use numbers::{Checkpoint, RunResults};
use objective::ObjectiveResults;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct BeyondResults {
    pub(crate) data_sets: Vec<DataSetResults>,
    /// The data sets that are not, each with what is missing.
    pub(crate) missing: Vec<String>,
}

/// What was measured on one data set.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct DataSetResults {
    pub(crate) name: String,
    /// n at the start.
    pub(crate) n_rows: usize,
    pub(crate) n_test_rows: usize,
    pub(crate) dim: usize,
    pub(crate) n_problems: usize,
    /// Fraction of the negatives that each problem keeps; `None`: all.
    pub(crate) negatives: Option<f64>,
    pub(crate) l2_per_row: f64,
    pub(crate) epsilon: f64,
    pub(crate) delta: f64,
    /// Of a release.
    pub(crate) noise_std: f64,
    pub(crate) training_seconds: f64,
    pub(crate) influences_seconds: f64,
    /// Accuracy of the unperturbed weights on all rows.
    pub(crate) accuracy_at_start: f64,
    /// Mean accuracy of releases before any removal.
    pub(crate) released_accuracy_at_start: f64,
    /// Rows leave under mechanism `release`.
    pub(crate) runs: Vec<RunResults>,
    /// Rows leave under mechanism `objective`, until it would have to retrain.
    pub(crate) objective: Vec<ObjectiveResults>,
}

/// The order in which rows leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Order {
    Random,
    /// By their influence at the start, the largest first.
    HardestFirst,
}

impl Order {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Random => "random order",
            Self::HardestFirst => "hardest first",
        }
    }
}

/// λ of all models.
const L2_PER_ROW: f64 = 1e-3;

/// Runs the experiment on the data sets that are there.
pub(crate) fn run(setting: &Setting<'_>) -> Result<BeyondResults> {
    let loads: [Load; 3] = [data::mnist_3_vs_8, data::sst, data::scenes];
    let (data_sets, missing) = on_each(&loads, setting, |_, set| on_data_set(set, setting))?;
    Ok(BeyondResults { data_sets, missing })
}

fn on_data_set(set: &DataSet, setting: &Setting<'_>) -> Result<DataSetResults> {
    let plan = release_plan(set, L2_PER_ROW)?;
    let config = plan.config();
    setting.begin(format!("{}: training and influences", set.name), 2);
    let life = Life::begin(&plan, set.train_rows()?, setting.seed)?;
    setting.step();
    let (influences, influences_seconds) = try_timed(|| life.model.influences(&life.rows))?;
    setting.step();
    let orders =
        [(Order::Random, random_order(set.n_rows(), setting.seed)), (Order::HardestFirst, hardest_first(&influences))];
    let released_accuracy_at_start = run::released_at_start(set, &life, setting.seed)?;
    let mut runs = Vec::new();
    for (order, positions) in &orders {
        runs.extend(run::runs(set, &life.model, *order, positions, setting)?);
    }
    let objective = objective::run(set, &orders, setting)?;
    Ok(DataSetResults {
        name: set.name.to_owned(),
        n_rows: set.n_rows(),
        n_test_rows: set.test.len(),
        dim: set.dim(),
        n_problems: life.model.state().fits.len(),
        negatives: config.negatives,
        l2_per_row: config.ridge.strength(),
        epsilon: config.epsilon,
        delta: config.delta,
        noise_std: plan.noise_std(),
        training_seconds: life.training_seconds,
        influences_seconds,
        accuracy_at_start: set.accuracy(&weights(&life.model))?,
        released_accuracy_at_start,
        runs,
        objective,
    })
}

/// The most that a released model may lose to the unperturbed one, as a fraction.
pub(super) const GAP_ALLOWED: f64 = 1e-3;

impl BeyondResults {
    /// What was to hold and does not.
    pub(crate) fn shortfalls(&self) -> Vec<String> {
        let beyond = self.data_sets.iter().filter(|set| set.largest_released_gap() > GAP_ALLOWED);
        let told = beyond.map(|set| {
            let gap = 100.0 * set.largest_released_gap();
            format!("{}: a release differs by {gap:.3} points from the retrained model", set.name)
        });
        told.collect()
    }
}

impl DataSetResults {
    /// The largest difference between the mean accuracy of released weights and that of the retrained model without noise,
    /// at the same point, over all runs: a fraction.
    pub(crate) fn largest_released_gap(&self) -> f64 {
        self.largest(|checkpoint| (checkpoint.released_accuracy - checkpoint.retrained_accuracy).abs())
    }

    /// The same of the single release that is furthest off.
    pub(crate) fn largest_single_gap(&self) -> f64 {
        self.largest(|checkpoint| checkpoint.largest_released_gap)
    }

    /// The same for the secret weights, which carry no noise.
    pub(crate) fn largest_secret_gap(&self) -> f64 {
        self.largest(|checkpoint| (checkpoint.secret_accuracy - checkpoint.retrained_accuracy).abs())
    }

    fn largest(&self, value: impl Fn(&Checkpoint) -> f64) -> f64 {
        self.checkpoints().map(|(_, point)| value(point)).fold(0.0, f64::max)
    }

    fn checkpoints(&self) -> impl Iterator<Item = (&RunResults, &Checkpoint)> {
        self.runs.iter().flat_map(|run| run.checkpoints.iter().map(move |point| (run, point)))
    }
}
