//! Mechanism `objective` beside it: how many removals the paper's budget covers before the first retraining.

use efface_core::model::Outcome;
use efface_core::rounding::LowerBound;
use serde::{Deserialize, Serialize};

use super::{L2_PER_ROW, Order};
use crate::data::DataSet;
use crate::life::{Life, weights};
use crate::measure::median;
use crate::objective::{EPSILON, Strength, published_plan};
use crate::{Result, Setting};

/// A life under mechanism `objective` with the paper's constants and budget, rows leaving one at a time until it would
/// have to retrain.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ObjectiveResults {
    pub(crate) noise_std: f64,
    pub(crate) order: Order,
    /// σε/c: the residual that the perturbation covers.
    pub(crate) removal_budget: f64,
    /// Accuracy of the perturbed weights on all rows.
    pub(crate) accuracy: f64,
    pub(crate) n_simulated: usize,
    /// β after them.
    pub(crate) residual_spent: f64,
    /// The removal that the budget no longer covers.
    pub(crate) first_retraining: f64,
    /// Whether the simulation ended before that, so that it follows from the mean bound of the removals simulated.
    pub(crate) extrapolated: bool,
    /// Retrainings until half of the rows have left, were all stretches as long as the first.
    pub(crate) retrainings_to_half: f64,
    pub(crate) removal_seconds: f64,
}

const PERTURBATIONS: [f64; 2] = [1.0, 10.0];

/// Simulates both orders at each σ.
pub(super) fn run(
    set: &DataSet,
    orders: &[(Order, Vec<usize>)],
    setting: &Setting<'_>,
) -> Result<Vec<ObjectiveResults>> {
    // Each removal forms a Hessian.
    let limit = match (set.n_classes, setting.quick) {
        (_, true) => 3,
        (..=2, false) => 400,
        (_, false) => 12,
    };
    let mut results = Vec::new();
    for noise_std in PERTURBATIONS {
        let strength = Strength { l2_per_row: L2_PER_ROW, noise_std };
        let plan = published_plan(set, strength, EPSILON)?;
        setting.begin(format!("{}: mechanism objective, σ = {noise_std}", set.name), 1 + orders.len());
        let trained = Life::begin(&plan, set.train_rows()?, setting.seed)?;
        let accuracy = set.accuracy(&weights(&trained.model))?;
        setting.step();
        for (order, positions) in orders {
            let mut life = Life::new(trained.model.clone(), set.train_rows()?);
            let at_start = life.model.claim().gradient_residual.get();
            let (times, exhausted) = spend(&mut life, &positions[..limit.min(positions.len())])?;
            let removal_budget = life.model.removal_budget().map_or(f64::INFINITY, LowerBound::get);
            let residual_spent = life.model.claim().gradient_residual.get();
            let mut first_retraining = times.len() as f64;
            if !exhausted {
                // If the bounds go on as they did.
                let mean_bound = (residual_spent - at_start) / times.len() as f64;
                first_retraining = ((removal_budget - at_start) / mean_bound).floor() + 1.0;
            }
            results.push(ObjectiveResults {
                noise_std,
                order: *order,
                removal_budget,
                accuracy,
                n_simulated: times.len(),
                residual_spent,
                first_retraining,
                extrapolated: !exhausted,
                retrainings_to_half: (set.n_rows() as f64 / 2.0 / first_retraining).floor(),
                removal_seconds: median(times),
            });
            setting.step();
        }
    }
    Ok(results)
}

/// Removes these rows one at a time until the budget is exhausted; the seconds of each, and whether it is.
fn spend(life: &mut Life, positions: &[usize]) -> Result<(Vec<f64>, bool)> {
    let mut times = Vec::with_capacity(positions.len());
    for position in positions {
        let (report, seconds) = life.remove(&[*position])?;
        times.push(seconds);
        if report.outcome == Outcome::RetrainRequired {
            return Ok((times, true));
        }
    }
    Ok((times, false))
}
