//! The large run: trained, rows removed one at a time, settled, and checked against a model trained from zero.

use efface_core::model::{Model, ReleaseOutcome, TrainingPlan};
use efface_core::noise::NoiseSource;
use efface_core::rows::RowStore;
use efface_data::MemoryRows;
use serde::{Deserialize, Serialize};

use super::Sizes;
use super::synthetic::{ClassMoments, ClassRows};
use crate::data::accuracy;
use crate::life::{Life, distance, random_order, weights};
use crate::measure::{median, peak_memory, quantile, try_timed};
use crate::{ExperimentError, Result, Setting};

/// What the large run measured. There is none unless every claim held.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LargeRun {
    pub(crate) n_rows: usize,
    pub(crate) dim: usize,
    pub(crate) l2_per_row: f64,
    /// Rows that left, one at a time.
    pub(crate) n_removed: usize,
    pub(crate) rows_bytes: u64,
    /// Drawing the rows and checking their norms.
    pub(crate) draw_seconds: f64,
    pub(crate) train_seconds: f64,
    pub(crate) removal_median_seconds: f64,
    /// One removal: 95 % take at most this.
    pub(crate) removal_95_seconds: f64,
    pub(crate) removals_seconds: f64,
    pub(crate) settle_seconds: f64,
    pub(crate) settle_passes: usize,
    pub(crate) settle_hessians: usize,
    /// Training from zero on the rows that were left.
    pub(crate) retrain_seconds: f64,
    /// Bound on the distance of the retrained weights from the exact ones.
    pub(crate) retrained_claimed_distance: f64,
    /// The model after the last removal, before it was settled.
    pub(crate) instant: Checked,
    pub(crate) settled: Checked,
    pub(crate) release_noise_std: f64,
    /// Distance that the release claims, whatever the rows are.
    pub(crate) release_distance: f64,
    /// ε that the release spends at the promised δ.
    pub(crate) release_epsilon: f64,
    pub(crate) n_test_rows: usize,
    pub(crate) settled_accuracy: f64,
    pub(crate) released_accuracy: f64,
    pub(crate) retrained_accuracy: f64,
    /// Peak of the process's resident memory at the end of the run, where the system tells.
    pub(crate) peak_memory_bytes: Option<u64>,
}

/// A claim beside what was measured of the same weights. It holds: one that does not ends the experiment.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Checked {
    pub(crate) claimed_residual: f64,
    /// The gradient's norm is at least this, by one pass over the rows.
    pub(crate) measured_residual: f64,
    /// Bound on the distance from the exact weights.
    pub(crate) claimed_distance: f64,
    /// Distance from the weights that were trained from zero.
    pub(crate) measured_distance: f64,
}

/// Runs it. A claim that does not hold is an error.
pub(super) fn run(
    moments: &ClassMoments,
    sizes: &Sizes,
    test: &MemoryRows,
    plan: &TrainingPlan,
    setting: &Setting<'_>,
) -> Result<LargeRun> {
    let n_rows = sizes.large_rows;
    setting.begin(format!("drawing {n_rows} rows"), 1);
    let (rows, draw_seconds) = try_timed(|| ClassRows::draw(moments, n_rows, setting.seed).into_rows())?;
    setting.step();
    let (dim, rows_bytes) = (rows.dim(), rows.memory_bytes() as u64);

    setting.begin(format!("training on {n_rows} rows of {dim} features"), 1);
    let mut life = Life::begin(plan, rows, setting.seed)?;
    setting.step();

    setting.begin("removing rows one at a time", sizes.large_removals);
    let leaving = random_order(n_rows, setting.seed).into_iter().take(sizes.large_removals);
    let removal_seconds = life.remove_each(leaving, setting)?;
    let instant = life.model.clone();
    let instant_residual = least_residual(&instant, &life)?;

    setting.begin("settling", 1);
    let (settling, settle_seconds) = life.settle()?;
    let settled_residual = least_residual(&life.model, &life)?;
    setting.step();

    setting.begin("training from zero on the rows left", 1);
    let (retrained, retrain_seconds) = life.retrain(setting.seed)?;
    setting.step();
    let instant = check(&instant, instant_residual, &retrained)?;
    let settled = check(&life.model, settled_residual, &retrained)?;

    let settled_accuracy = accuracy(test, &weights(&life.model))?;
    let ReleaseOutcome::Published(released) = life.model.release(&mut NoiseSource::danger_fixed_seed(setting.seed))
    else {
        return Err(ExperimentError::NotReleased { what: "the settled model".to_owned() });
    };
    Ok(LargeRun {
        n_rows,
        dim,
        l2_per_row: plan.config().ridge.strength(),
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
        n_test_rows: test.len(),
        settled_accuracy,
        released_accuracy: accuracy(test, &released.weights)?,
        retrained_accuracy: accuracy(test, &weights(&retrained))?,
        peak_memory_bytes: peak_memory(),
    })
}

/// The gradient of these weights over the rows now present is at least this.
fn least_residual(model: &Model, life: &Life) -> Result<f64> {
    Ok(model.measure(&life.rows)?.residual_at_least.get())
}

/// Holds a model's claim against what was measured. Both models are near the same exact weights, so their distance is
/// at most the sum of what they claim.
fn check(model: &Model, measured_residual: f64, retrained: &Model) -> Result<Checked> {
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
