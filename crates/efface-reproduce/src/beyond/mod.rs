//! Beyond the paper: half of the rows leave, and nothing is lost.
//!
//! Under mechanism `release` rows leave one at a time and in batches, in random order and hardest first. At steps of a
//! schedule the weights are compared with the retrained ones, and the distance with what is claimed of it: a claim
//! that does not hold ends the experiment. Mechanism `objective` of the paper is simulated beside it until it would have to
//! retrain for the first time.

mod objective;
mod run;
mod schedule;
mod section;
#[cfg(test)]
mod tests;

use std::time::Instant;

use efface_core::loss::Logistic;
use efface_core::model::{TrainingConfig, TrainingPlan};
use serde::{Deserialize, Serialize};

use crate::data::{self, DataSet};
use crate::life::{Life, random_order, weights};
use crate::{ExperimentError, Progress, Setting};

pub use objective::ObjectiveResults;
pub use run::{Check, Checkpoint, Reference, RunResults};

/// What was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BeyondResults {
    /// One per data set that is there.
    pub data_sets: Vec<DataSetResults>,
    /// Names of the data sets that are not.
    pub missing: Vec<String>,
}

/// What was measured on one data set.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DataSetResults {
    /// Its name.
    pub name: String,
    /// n at the start.
    pub n_rows: usize,
    /// Rows that accuracy is measured on.
    pub n_test_rows: usize,
    /// d.
    pub dim: usize,
    /// Binary problems that make up the model.
    pub n_problems: usize,
    /// Fraction of the negatives that each problem keeps; `None`: all.
    pub negatives: Option<f64>,
    /// λ.
    pub l2_per_row: f64,
    /// ε.
    pub epsilon: f64,
    /// δ.
    pub delta: f64,
    /// Standard deviation of the noise of a release.
    pub noise_std: f64,
    /// Seconds of training on all rows.
    pub training_seconds: f64,
    /// Seconds of finding the influence of every row.
    pub influences_seconds: f64,
    /// Accuracy of the unperturbed weights on all rows.
    pub accuracy_at_start: f64,
    /// Rows leave under mechanism `release`.
    pub runs: Vec<RunResults>,
    /// Rows leave under mechanism `objective`, until it would have to retrain.
    pub objective: Vec<ObjectiveResults>,
}

/// The order in which rows leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Decided by the seed.
    Random,
    /// By their influence at the start, the largest first.
    HardestFirst,
}

impl Order {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "random order",
            Self::HardestFirst => "hardest first",
        }
    }
}

const L2_PER_ROW: f64 = 1e-3;

/// Of six classes each problem keeps a fifth of its negatives: as many as it has positives.
const NEGATIVES: f64 = 0.2;

/// Runs the experiment on the data sets that are there.
pub fn run(setting: &Setting, progress: &mut Progress<'_>) -> Result<BeyondResults, ExperimentError> {
    let mut results = BeyondResults { data_sets: Vec::new(), missing: Vec::new() };
    let mut absent = None;
    for load in [data::mnist_3_vs_8, data::sst, data::scenes] {
        match load(&setting.data, setting.quick) {
            Ok(set) => results.data_sets.push(on_data_set(&set, setting, progress)?),
            Err(error @ ExperimentError::Missing { source_of, .. }) => {
                results.missing.push(source_of.name.to_owned());
                absent = Some(error);
            }
            Err(error) => return Err(error),
        }
    }
    match absent {
        Some(error) if results.data_sets.is_empty() => Err(error),
        _ => Ok(results),
    }
}

fn on_data_set(
    set: &DataSet,
    setting: &Setting,
    progress: &mut Progress<'_>,
) -> Result<DataSetResults, ExperimentError> {
    let config = TrainingConfig {
        negatives: (set.n_classes > 2).then_some(NEGATIVES),
        ..TrainingConfig::new(&Logistic, L2_PER_ROW, Some(set.n_classes))
    };
    let plan = TrainingPlan::new(config.clone())?;
    progress.begin(format!("{}: training and influences", set.name), 2);
    let life = Life::begin(&plan, set.train_rows()?, setting.seed)?;
    progress.step();
    let start = Instant::now();
    let influences = life.model.influences(&life.rows)?;
    let influences_seconds = start.elapsed().as_secs_f64();
    progress.step();
    let orders =
        [(Order::Random, random_order(set.n_rows(), setting.seed)), (Order::HardestFirst, hardest_first(&influences))];
    let mut runs = Vec::new();
    for (order, positions) in &orders {
        runs.extend(run::runs(set, &life.model, *order, positions, setting, progress)?);
    }
    let objective = objective::run(set, &config, &orders, setting, progress)?;
    Ok(DataSetResults {
        name: set.name.to_owned(),
        n_rows: set.n_rows(),
        n_test_rows: set.test_labels.len(),
        dim: set.dim(),
        n_problems: life.model.state().fits.len(),
        negatives: config.negatives,
        l2_per_row: config.l2_per_row,
        epsilon: config.epsilon,
        delta: config.delta,
        noise_std: plan.noise_std(),
        training_seconds: life.training_seconds,
        influences_seconds,
        accuracy_at_start: set.accuracy(&weights(&life.model))?,
        runs,
        objective,
    })
}

/// Positions by influence, the largest first.
fn hardest_first(influences: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..influences.len()).collect();
    order.sort_by(|a, b| influences[*b].total_cmp(&influences[*a]));
    order
}

impl DataSetResults {
    /// The largest difference between the accuracy of released weights and that of the retrained model without noise,
    /// at the same point, over all runs: a fraction.
    pub fn largest_released_gap(&self) -> f64 {
        self.largest(|checkpoint| (checkpoint.released_accuracy - checkpoint.retrained_accuracy).abs())
    }

    /// The same for the secret weights, which carry no noise.
    pub fn largest_secret_gap(&self) -> f64 {
        self.largest(|checkpoint| (checkpoint.secret_accuracy - checkpoint.retrained_accuracy).abs())
    }

    fn largest(&self, gap: impl Fn(&Checkpoint) -> f64) -> f64 {
        self.runs.iter().flat_map(|run| &run.checkpoints).map(gap).fold(0.0, f64::max)
    }
}
