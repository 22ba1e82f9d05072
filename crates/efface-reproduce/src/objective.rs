//! Mechanism `objective` as it was published: one perturbation for the model's life, printed constants, and a budget
//! that removals use up.

use efface_core::loss;
use efface_core::model::{BudgetRule, Mechanism, PlanError, TrainingConfig, TrainingPlan};
use efface_core::residual::{Constants, Rung};
use efface_core::rounding::LowerBound;
use efface_report::numbers::setting;
use efface_report::{Axis, Chart, Point, Series};
use serde::{Deserialize, Serialize};

use crate::data::DataSet;
use crate::life::{Life, random_order, weights};
use crate::measure::{mean, median};
use crate::{Result, Setting};

/// ε of every experiment that does not vary it.
pub(crate) const EPSILON: f64 = 1.0;

/// δ of every experiment.
pub(crate) const DELTA: f64 = 1e-4;

/// λ and σ of one model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Strength {
    pub(crate) l2_per_row: f64,
    pub(crate) noise_std: f64,
}

/// What was measured of one choice of λ and σ.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ObjectiveRun {
    #[serde(flatten)]
    pub(crate) strength: Strength,
    /// Accuracy on the test rows, mean over the draws of b.
    pub(crate) accuracy: f64,
    /// Accuracy of each draw.
    pub(crate) accuracies: Vec<f64>,
    /// Removals that were made, one row at a time in a random order.
    pub(crate) n_removals: usize,
    /// Sum of the bounds after these removals: printed constants, data-dependent, fresh Hessian.
    pub(crate) accumulated_bound: f64,
    /// Gradient residual measured after these removals.
    pub(crate) measured_residual: f64,
    /// Largest residual that the perturbation covers, σε/c.
    pub(crate) budget: f64,
    /// Removals that the budget covers: the budget over the mean bound of one removal, what training left taken off.
    pub(crate) supported_removals: f64,
    pub(crate) removal_seconds: f64,
}

/// Accuracy of the model of one λ that is not perturbed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Unperturbed {
    pub(crate) l2_per_row: f64,
    pub(crate) accuracy: f64,
}

/// Trains without a perturbation, for each λ.
pub(crate) fn unperturbed(data: &DataSet, l2_per_row: &[f64], setting: &Setting<'_>) -> Result<Vec<Unperturbed>> {
    setting.begin(format!("{}: unperturbed models", data.name), l2_per_row.len());
    let train = |&l2_per_row: &f64| {
        let life = Life::begin(&release_plan(data, l2_per_row)?, data.train_rows()?, setting.seed)?;
        setting.step();
        Ok(Unperturbed { l2_per_row, accuracy: data.accuracy(&weights(&life.model))? })
    };
    l2_per_row.iter().map(train).collect()
}

/// How much is measured of each choice of λ and σ.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    pub(crate) n_removals: usize,
    /// Draws of b over which accuracy is averaged.
    pub(crate) n_draws: usize,
}

impl Effort {
    /// A few of both in a quick run.
    pub(crate) fn of(setting: &Setting<'_>) -> Self {
        let (n_removals, n_draws) = if setting.quick { (3, 1) } else { (100, 5) };
        Self { n_removals, n_draws }
    }
}

/// Guo et al. 2020, Algorithms 1 and 2 with the data-dependent bound, the constants and the budget as printed.
pub(crate) fn published_plan(data: &DataSet, strength: Strength, epsilon: f64) -> Result<TrainingPlan, PlanError> {
    let config = TrainingConfig::new(&loss::Logistic, strength.l2_per_row, Some(data.n_classes));
    TrainingPlan::new(TrainingConfig {
        mechanism: Mechanism::Objective { budget: BudgetRule::Paper },
        noise_std: Some(strength.noise_std),
        epsilon,
        delta: DELTA,
        bound: Some(Rung::DataDependent),
        constants: Constants::Paper,
        negatives: balancing_negatives(data),
        ..config
    })
}

/// Mechanism `release` with its defaults, on the same problems.
pub(crate) fn release_plan(data: &DataSet, l2_per_row: f64) -> Result<TrainingPlan, PlanError> {
    let config = TrainingConfig::new(&loss::Logistic, l2_per_row, Some(data.n_classes));
    TrainingPlan::new(TrainingConfig { negatives: balancing_negatives(data), ..config })
}

/// The fraction of negatives that makes K classes of about equal size balanced one-vs-all problems.
fn balancing_negatives(data: &DataSet) -> Option<f64> {
    (data.n_classes > 2).then(|| 1.0 / f64::from(data.n_classes - 1))
}

/// Trains with several draws of b: the first life, and the accuracy of each.
pub(crate) fn drawn(
    data: &DataSet,
    plan: &TrainingPlan,
    n_draws: usize,
    setting: &Setting<'_>,
) -> Result<(Life, Vec<f64>)> {
    let life = |draw| -> Result<(f64, Life)> {
        let life = Life::begin(plan, data.train_rows()?, setting.seed.wrapping_add(draw))?;
        setting.step();
        Ok((data.accuracy(&weights(&life.model))?, life))
    };
    let (accuracy, first) = life(0)?;
    let mut accuracies = vec![accuracy];
    for draw in 1..n_draws as u64 {
        accuracies.push(life(draw)?.0);
    }
    Ok((first, accuracies))
}

/// Trains, removes rows one at a time, and measures what is left of the budget.
pub(crate) fn measure(
    data: &DataSet,
    strength: Strength,
    effort: Effort,
    setting: &Setting<'_>,
) -> Result<ObjectiveRun> {
    let plan = published_plan(data, strength, EPSILON)?;
    let (mut life, accuracies) = drawn(data, &plan, effort.n_draws, setting)?;
    let trained = life.model.claim().gradient_residual.get();
    let n_removals = effort.n_removals.min(data.n_rows() / 2);
    let times = life.remove_each(random_order(data.n_rows(), setting.seed).into_iter().take(n_removals), setting)?;
    let accumulated_bound = life.model.claim().gradient_residual.get();
    let budget = plan.removal_budget().map_or(f64::INFINITY, LowerBound::get);
    Ok(ObjectiveRun {
        strength,
        accuracy: mean(&accuracies),
        accuracies,
        n_removals,
        accumulated_bound,
        measured_residual: life.model.measure(&life.rows)?.claim.gradient_residual.get(),
        budget,
        supported_removals: budget * n_removals as f64 / (accumulated_bound - trained),
        removal_seconds: median(times),
    })
}

/// Measures every pair of these λ and σ, λ by λ.
pub(crate) fn measure_grid(
    data: &DataSet,
    l2_per_row: &[f64],
    noise_std: &[f64],
    effort: Effort,
    setting: &Setting<'_>,
) -> Result<Vec<ObjectiveRun>> {
    let steps = effort.n_draws + effort.n_removals.min(data.n_rows() / 2);
    let pairs = l2_per_row.iter().flat_map(|l2| noise_std.iter().map(move |std| (*l2, *std)));
    setting.begin(format!("{}: mechanism objective, λ and σ", data.name), pairs.clone().count() * steps);
    let strengths = pairs.map(|(l2_per_row, noise_std)| Strength { l2_per_row, noise_std });
    strengths.map(|strength| measure(data, strength, effort, setting)).collect()
}

/// The runs of each λ.
pub(crate) fn by_l2(runs: &[ObjectiveRun]) -> impl Iterator<Item = (f64, &[ObjectiveRun])> {
    let groups = runs.chunk_by(|a, b| a.strength.l2_per_row == b.strength.l2_per_row);
    groups.map(|runs| (runs[0].strength.l2_per_row, runs))
}

/// Accuracy against supported removals, one line per λ, every point labelled with its σ.
pub(crate) fn accuracy_against_removals(id: &str, title: &str, runs: &[ObjectiveRun], unperturbed: f64) -> Chart {
    let ends = runs.iter().map(|run| run.supported_removals);
    let (low, high) = ends.fold((f64::INFINITY, 0.0_f64), |(low, high), x| (low.min(x), high.max(x)));
    let mut series = vec![Series::line("best λ without a perturbation", [(low, unperturbed), (high, unperturbed)])];
    for (l2_per_row, group) in by_l2(runs) {
        let points = group.iter().map(|run| Point {
            x: run.supported_removals,
            y: run.accuracy,
            label: Some(format!("σ = {}", setting(run.strength.noise_std))),
        });
        series.push(Series { name: format!("λ = {}", setting(l2_per_row)), points: points.collect(), joined: true });
    }
    Chart {
        id: id.to_owned(),
        title: title.to_owned(),
        caption: "More noise buys more removals before the model must be retrained, and \
                  costs accuracy; too much of it makes the weights, and with them the bound, grow as fast as the budget. \
                  Supported removals: budget over the mean bound of one removal."
            .to_owned(),
        x: Axis::log("supported removals before retraining"),
        y: Axis::percent("test accuracy"),
        series,
        ..Chart::default()
    }
}
