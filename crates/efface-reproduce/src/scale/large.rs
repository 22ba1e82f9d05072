//! The large run: trained, rows removed one at a time, settled, and checked against a model trained from zero.

use std::time::Instant;

use efface_core::model::{Model, ReleaseOutcome, TrainingPlan};
use efface_core::noise::NoiseSource;
use efface_core::rows::RowStore;
use serde::{Deserialize, Serialize};

use super::synthetic::{ClassMoments, ClassRows};
use super::{Sizes, TestRows};
use crate::life::{Life, distance, random_order, weights};
use crate::measure::{median, peak_memory, quantile};
use crate::{ExperimentError, Progress};

/// What the large run measured. There is none unless every claim held.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LargeRun {
    /// n: rows that were trained on.
    pub n_rows: usize,
    /// d: features of a row.
    pub dim: usize,
    /// λ.
    pub l2_per_row: f64,
    /// Rows that left, one at a time.
    pub n_removed: usize,
    /// The rows in memory.
    pub rows_bytes: u64,
    /// Drawing the rows and checking their norms.
    pub draw_seconds: f64,
    /// Training.
    pub train_seconds: f64,
    /// One removal, in the middle.
    pub removal_median_seconds: f64,
    /// One removal: 95 % take at most this.
    pub removal_95_seconds: f64,
    /// All removals together.
    pub removals_seconds: f64,
    /// Settling after the removals.
    pub settle_seconds: f64,
    /// Passes over the rows that settling took.
    pub settle_passes: usize,
    /// Hessians that settling had to form.
    pub settle_hessians: usize,
    /// Training from zero on the rows that were left.
    pub retrain_seconds: f64,
    /// Bound on the distance of the retrained weights from the exact ones.
    pub retrained_claimed_distance: f64,
    /// The model after the last removal, before it was settled.
    pub instant: Checked,
    /// The model once it was settled.
    pub settled: Checked,
    /// Standard deviation of the noise of a release.
    pub release_noise_std: f64,
    /// Distance that the release claims, whatever the rows are.
    pub release_distance: f64,
    /// ε that the release spends at the promised δ.
    pub release_epsilon: f64,
    /// Real rows behind the accuracies.
    pub n_test_rows: usize,
    /// Accuracy of the settled weights, which stay secret.
    pub settled_accuracy: f64,
    /// Accuracy of the released weights.
    pub released_accuracy: f64,
    /// Accuracy of the weights that were trained from zero.
    pub retrained_accuracy: f64,
    /// Peak of the process's resident memory at the end of the run, where the system tells.
    pub peak_memory_bytes: Option<u64>,
}

/// A claim beside what was measured of the same weights. It holds: one that does not ends the experiment.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Checked {
    /// Bound on the norm of the gradient.
    pub claimed_residual: f64,
    /// The gradient's norm is at least this, by one pass over the rows.
    pub measured_residual: f64,
    /// Bound on the distance from the exact weights.
    pub claimed_distance: f64,
    /// Distance from the weights that were trained from zero.
    pub measured_distance: f64,
}

/// Runs it. A claim that does not hold is an error.
pub(super) fn run(
    moments: &ClassMoments,
    sizes: &Sizes,
    test: &TestRows,
    plan: &TrainingPlan,
    seed: u64,
    progress: &mut Progress<'_>,
) -> Result<LargeRun, ExperimentError> {
    let n_rows = sizes.large_rows;
    progress.begin(format!("drawing {n_rows} rows"), 1);
    let start = Instant::now();
    let rows = ClassRows::draw(moments, n_rows, seed).into_rows()?;
    let draw_seconds = start.elapsed().as_secs_f64();
    progress.step();
    let (dim, rows_bytes) = (rows.dim(), rows.memory_bytes() as u64);

    progress.begin(format!("training on {n_rows} rows of {dim} features"), 1);
    let mut life = Life::begin(plan, rows, seed)?;
    progress.step();

    progress.begin("removing rows one at a time", sizes.large_removals);
    let mut removal_seconds = Vec::with_capacity(sizes.large_removals);
    for position in random_order(n_rows, seed).into_iter().take(sizes.large_removals) {
        removal_seconds.push(life.remove(&[position])?.1);
        progress.step();
    }
    let instant = life.model.clone();
    let instant_residual = least_residual(&instant, &life)?;

    progress.begin("settling", 1);
    let start = Instant::now();
    let settling = life.model.settle(&life.rows, None)?;
    let settle_seconds = start.elapsed().as_secs_f64();
    let settled_residual = least_residual(&life.model, &life)?;
    progress.step();

    progress.begin("training from zero on the rows left", 1);
    let (retrained, retrain_seconds) = life.retrain(seed)?;
    progress.step();
    let instant = check(&instant, instant_residual, &retrained)?;
    let settled = check(&life.model, settled_residual, &retrained)?;

    let settled_accuracy = test.accuracy(&weights(&life.model))?;
    let ReleaseOutcome::Published(released) = life.model.release(&mut NoiseSource::danger_fixed_seed(seed)) else {
        return Err(ExperimentError::NotReleased { what: "the settled model".to_owned() });
    };
    Ok(LargeRun {
        n_rows,
        dim,
        l2_per_row: plan.config().l2_per_row,
        n_removed: removal_seconds.len(),
        rows_bytes,
        draw_seconds,
        train_seconds: life.training_seconds,
        removals_seconds: removal_seconds.iter().sum(),
        removal_95_seconds: quantile(removal_seconds.clone(), 0.95),
        removal_median_seconds: median(removal_seconds),
        settle_seconds,
        settle_passes: settling.passes,
        settle_hessians: settling.hessians,
        retrain_seconds,
        retrained_claimed_distance: retrained.claim().distance_bound.get(),
        instant,
        settled,
        release_noise_std: released.claim.noise_std,
        release_distance: released.claim.distance_bound.get(),
        release_epsilon: released.claim.epsilon_spent,
        n_test_rows: test.labels.len(),
        settled_accuracy,
        released_accuracy: test.accuracy(&released.weights)?,
        retrained_accuracy: test.accuracy(&weights(&retrained))?,
        peak_memory_bytes: peak_memory(),
    })
}

/// The gradient of these weights over the rows now present is at least this.
fn least_residual(model: &Model, life: &Life) -> Result<f64, ExperimentError> {
    Ok(model.measure(&life.rows)?.residual_at_least.get())
}

/// Holds a model's claim against what was measured. Both models are near the same exact weights, so their distance is
/// at most the sum of what they claim.
fn check(model: &Model, measured_residual: f64, retrained: &Model) -> Result<Checked, ExperimentError> {
    let claim = model.claim();
    let (claimed_residual, claimed_distance) = (claim.gradient_residual.get(), claim.distance_bound.get());
    let measured_distance = distance(&weights(model), &weights(retrained));
    ExperimentError::unless_within("the gradient's norm", measured_residual, claimed_residual)?;
    let of_both = claimed_distance + retrained.claim().distance_bound.get();
    ExperimentError::unless_within("the distance from the retrained weights", measured_distance, of_both)?;
    Ok(Checked { claimed_residual, measured_residual, claimed_distance, measured_distance })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_claim_is_an_error() {
        assert!(ExperimentError::unless_within("it", 1.0, 1.0).is_ok());
        let message =
            |found| ExperimentError::unless_within("it", found, 1.0).expect_err("must be refused").to_string();
        assert_eq!(message(2.0), "it is `2e0` where at most `1e0` is claimed");
        assert_eq!(message(f64::NAN), "it is `NaN` where at most `1e0` is claimed");
    }
}
