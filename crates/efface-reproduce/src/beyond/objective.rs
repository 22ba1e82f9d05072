//! Mechanism `objective` beside it: how many removals the paper's budget covers before the first retraining.

use efface_core::model::Outcome;
use efface_core::rounding::LowerBound;
use serde::{Deserialize, Serialize};

use super::{L2_PER_ROW, Order};
use crate::data::DataSet;
use crate::life::{Life, weights};
use crate::measure::median;
use crate::objective::{EPSILON, Strength, published_plan};
use crate::{ExperimentError, Progress, Setting};

/// A life under mechanism `objective` with the paper's constants and budget, rows leaving one at a time until it would
/// have to retrain.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ObjectiveResults {
    /// σ.
    pub noise_std: f64,
    /// Which rows leave first.
    pub order: Order,
    /// σε/c: the residual that the perturbation covers.
    pub removal_budget: f64,
    /// Accuracy of the perturbed weights on all rows.
    pub accuracy: f64,
    /// Removals that were simulated.
    pub n_simulated: usize,
    /// β after them.
    pub residual_spent: f64,
    /// The removal that the budget no longer covers.
    pub first_retraining: f64,
    /// Whether the simulation ended before that, so that it follows from the mean bound of the removals simulated.
    pub extrapolated: bool,
    /// Retrainings until half of the rows have left, were all stretches as long as the first.
    pub retrainings_to_half: f64,
    /// Median seconds of one removal.
    pub removal_seconds: f64,
}

const PERTURBATIONS: [f64; 2] = [1.0, 10.0];

/// Simulates both orders at each σ.
pub(super) fn run(
    set: &DataSet,
    orders: &[(Order, Vec<usize>)],
    setting: &Setting,
    progress: &mut Progress<'_>,
) -> Result<Vec<ObjectiveResults>, ExperimentError> {
    let limit = n_simulated_at_most(set.n_classes > 2, setting.quick);
    let mut results = Vec::new();
    for noise_std in PERTURBATIONS {
        let strength = Strength { l2_per_row: L2_PER_ROW, noise_std };
        let plan = published_plan(set, strength, EPSILON)?;
        progress.begin(format!("{}: mechanism objective, σ = {noise_std}", set.name), 1 + orders.len());
        let trained = Life::begin(&plan, set.train_rows()?, setting.seed)?;
        let accuracy = set.accuracy(&weights(&trained.model))?;
        progress.step();
        for (order, positions) in orders {
            let life = Life { model: trained.model.clone(), rows: set.train_rows()?, training_seconds: 0.0 };
            let spent = spend(life, &positions[..limit.min(positions.len())])?;
            results.push(ObjectiveResults {
                noise_std,
                order: *order,
                removal_budget: spent.budget,
                accuracy,
                n_simulated: spent.n_removals,
                residual_spent: spent.residual,
                first_retraining: spent.first_retraining(),
                extrapolated: !spent.exhausted,
                retrainings_to_half: (set.n_rows() as f64 / 2.0 / spent.first_retraining()).floor(),
                removal_seconds: spent.removal_seconds,
            });
            progress.step();
        }
    }
    Ok(results)
}

/// Each removal forms a Hessian.
fn n_simulated_at_most(several: bool, quick: bool) -> usize {
    match (several, quick) {
        (_, true) => 3,
        (false, false) => 400,
        (true, false) => 12,
    }
}

/// What removals have spent of a budget.
struct Spent {
    budget: f64,
    residual_at_start: f64,
    residual: f64,
    n_removals: usize,
    exhausted: bool,
    removal_seconds: f64,
}

impl Spent {
    /// The removal that exhausted the budget, or the one that will, if the bounds go on as they did.
    fn first_retraining(&self) -> f64 {
        if self.exhausted {
            return self.n_removals as f64;
        }
        let mean_bound = (self.residual - self.residual_at_start) / self.n_removals as f64;
        ((self.budget - self.residual_at_start) / mean_bound).floor() + 1.0
    }
}

/// Removes these rows one at a time until the budget is exhausted.
fn spend(mut life: Life, positions: &[usize]) -> Result<Spent, ExperimentError> {
    let residual_at_start = life.model.claim().gradient_residual.get();
    let (mut residual, mut n_removals, mut exhausted) = (residual_at_start, 0, false);
    let mut times = Vec::with_capacity(positions.len());
    for position in positions {
        let (report, seconds) = life.remove(&[*position])?;
        times.push(seconds);
        n_removals += 1;
        residual = report.claim.gradient_residual.get();
        exhausted = report.outcome == Outcome::RetrainRequired;
        if exhausted {
            break;
        }
    }
    let budget = life.model.removal_budget().map_or(f64::INFINITY, LowerBound::get);
    Ok(Spent { budget, residual_at_start, residual, n_removals, exhausted, removal_seconds: median(times) })
}
