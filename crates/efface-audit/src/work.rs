//! How much an attack on somebody's own model may cost: sizes follow from the model's, so that an audit ends in minutes.

use efface_core::model::TrainingPlan;
use efface_core::rows::Problem;

use crate::audit::Settings;
use crate::membership;

/// Rows of a model that are looked at one by one.
pub(crate) const MOST_ROWS: usize = 2_000;

/// Operations (additions of products) that each attack may cost; two cores do some 5·10⁹ a second.
const BUDGET: f64 = 2e11;

/// The least that is worth doing may cost so many times the budget.
const PATIENCE: f64 = 10.0;

/// Passes over the rows while training.
const PASSES: f64 = 20.0;

/// Estimated cost of training a plan once.
fn training(plan: &TrainingPlan, n_rows: usize, dim: usize) -> f64 {
    let n_scores = n_scores(plan);
    let (n, d) = (n_rows as f64, (dim * n_scores) as f64);
    // The Hessian of all classes together has K² blocks, half of which are made; a Gram matrix counts double.
    let matrices = if dim * n_scores <= plan.config().max_matrix_dim {
        2.0 * n * d * d + d.powi(3)
    } else {
        10.0 * PASSES * n * d
    };
    plan.problems().len() as f64 * (PASSES * n * d + matrices) + OVERHEAD
}

/// How many weights a feature has, over all problems.
pub(crate) fn n_weights_per_feature(plan: &TrainingPlan) -> usize {
    plan.problems().iter().map(Problem::n_scores).sum()
}

/// K where all classes are taken together, else 1.
fn n_scores(plan: &TrainingPlan) -> usize {
    plan.problems().first().map_or(1, Problem::n_scores)
}

/// What even the smallest training costs.
const OVERHEAD: f64 = 1e6;

/// Rows that can be ranked by their influence.
pub(crate) fn rankable(plan: &TrainingPlan, dim: usize) -> usize {
    let each = plan.problems().len() as f64 * 2.0 * ((dim * n_scores(plan)) as f64).powi(2) + 1e4;
    ((0.1 * BUDGET / each) as usize).clamp(20, MOST_ROWS)
}

/// Canaries of the distribution test: each needs one training on all rows.
pub(crate) fn canaries(plan: &TrainingPlan, n_rows: usize, dim: usize) -> usize {
    ((BUDGET / training(plan, n_rows, dim)) as usize).clamp(1, 3)
}

/// Lives of the distribution test that can be drawn in each world, of so many weights each.
pub(crate) fn draws(n_weights: usize, most: usize) -> usize {
    ((0.01 * BUDGET / n_weights.max(1) as f64) as usize).clamp(LEAST_DRAWS.min(most), most)
}

/// With fewer draws the noise itself could hardly be checked.
const LEAST_DRAWS: usize = 200;

/// The membership attack on random halves of so many rows; `None`: even a small one would take too long.
pub(crate) fn membership(plan: &TrainingPlan, n_rows: usize, dim: usize, most: &Settings) -> Option<membership::Size> {
    let trainings = BUDGET / training(plan, n_rows / 2, dim);
    let per_trial = 3.0 * most.n_examples as f64;
    let trials = (0.8 * trainings / per_trial) as usize;
    let least = 10.0 * per_trial + 16.0;
    (least <= PATIENCE * trainings).then_some(membership::Size {
        shadows: ((0.2 * trainings) as usize).clamp(16, most.membership.shadows.max(16)),
        trials: trials.clamp(10, most.membership.trials.max(10)),
        ..most.membership
    })
}

/// Trials of the reconstruction per number of removals; `None`: even a few would take too long.
pub(crate) fn reconstruction(plan: &TrainingPlan, n_rows: usize, dim: usize, most: &Settings) -> Option<usize> {
    // Each trial trains once from scratch, and the attacker squares a matrix for each problem once.
    let (each, once) = (
        6.0 * training(plan, n_rows, dim),
        8.0 * plan.problems().len() as f64 * ((dim * n_scores(plan)) as f64).powi(3),
    );
    let trials = ((BUDGET / each) as usize).clamp(3, most.reconstruction_trials.max(3));
    (3.0 * each + once <= PATIENCE * BUDGET).then_some(trials)
}
