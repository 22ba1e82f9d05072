//! Figure 2: what the bounds promise of the gradient residual, and what is true.

use efface_core::loss::Logistic;
use efface_core::residual::{Constants, CurvatureChange, RemovalSize, worst_case};
use efface_core::ridge::Ridge;
use efface_core::rounding::{UpperBound, norm};
use efface_core::rows::{RowStore, WeightSum};
use serde::{Deserialize, Serialize};

use crate::data::DataSet;
use crate::life::{Life, random_order, weights};
use crate::objective::{EPSILON, Strength, published_plan, release_plan};
use crate::{Result, Setting};

/// λ and σ of the figure.
pub(super) const STRENGTH: Strength = Strength { l2_per_row: 1e-3, noise_std: 10.0 };

/// Rows per step of the lines of batches.
pub(super) const BATCH: usize = 10;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Residuals {
    pub(crate) strength: Strength,
    pub(crate) lines: Vec<ResidualLine>,
}

/// A residual, or a bound of it, after so many removals.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ResidualLine {
    pub(crate) name: String,
    /// Rows that leave in one step.
    pub(crate) batch: usize,
    /// `(removals, residual)`.
    pub(crate) points: Vec<(usize, f64)>,
}

pub(super) fn run(data: &DataSet, setting: &Setting<'_>) -> Result<Residuals> {
    let n_removals = if setting.quick { 20 } else { 1_000 };
    let (mut measured, mut bounds) = (Vec::new(), Vec::new());
    let published = published_plan(data, STRENGTH, EPSILON)?;
    for batch in [1, BATCH] {
        setting.begin(format!("MNIST: residuals, {batch} at a time"), n_removals / batch);
        let life = Life::begin(&published, data.train_rows()?, setting.seed)?;
        let followed = follow(life, batch, n_removals, setting)?;
        let line = |name: &str, points| ResidualLine { name: name.to_owned(), batch, points };
        measured.push(line("measured", followed.measured));
        bounds.extend([line("worst case", followed.worst_case), line("data-dependent", followed.claimed)]);
    }
    setting.begin("MNIST: residuals, the bound of mechanism release", n_removals);
    let life = Life::begin(&release_plan(data, STRENGTH.l2_per_row)?, data.train_rows()?, setting.seed)?;
    let ours = follow(life, 1, n_removals, setting)?;
    bounds.push(ResidualLine { name: "Efface, instant".to_owned(), batch: 1, points: ours.claimed });
    measured.append(&mut bounds);
    Ok(Residuals { strength: STRENGTH, lines: measured })
}

#[derive(Default)]
struct Followed {
    claimed: Vec<(usize, f64)>,
    worst_case: Vec<(usize, f64)>,
    measured: Vec<(usize, f64)>,
}

/// Removes rows and notes, after each tenth, what is claimed, what the worst case would add up to, and what is true.
fn follow(mut life: Life, batch: usize, n_removals: usize, setting: &Setting<'_>) -> Result<Followed> {
    let order = random_order(life.rows.len(), setting.seed);
    let mut followed = Followed::default();
    let mut worst = life.model.claim().gradient_residual;
    for (step, positions) in order.chunks(batch).take(n_removals / batch).enumerate() {
        let before = norm(&weights(&life.model).concat());
        let (report, _) = life.remove(positions)?;
        worst += printed_worst_case(before, positions.len(), life.rows.n_rows());
        let removed = (step + 1) * batch;
        if removed.is_multiple_of(BATCH) || removed == 1 {
            followed.claimed.push((removed, report.claim.gradient_residual.get()));
            followed.worst_case.push((removed, worst.get()));
            followed.measured.push((removed, life.model.measure(&life.rows)?.claim.gradient_residual.get()));
        }
        setting.step();
    }
    Ok(followed)
}

/// Guo et al. 2020, Theorem 4 with the erratum, for an exact solver and printed constants: `γ m² (λ‖w‖ + 1)² / (λ² (n−m))`.
fn printed_worst_case(weights_norm: UpperBound, n_changed: usize, n_remaining: usize) -> UpperBound {
    let one = UpperBound::new(1.0);
    let size = RemovalSize {
        changed: WeightSum::of_rows(n_changed),
        remaining: WeightSum::of_rows(n_remaining),
        ridge: Ridge::PerRow(STRENGTH.l2_per_row),
        gradient_norm_bound: one,
        weights_norm,
        solver: UpperBound::ZERO,
        hessian_error: UpperBound::ZERO,
    };
    worst_case(&CurvatureChange::new(&Logistic, Constants::Paper, one), &size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_case_is_the_printed_one() {
        // With λ‖w‖ = C = 1 it is 4γm²/(λ²(n − m)), γ = 1/4.
        let bound = printed_worst_case(UpperBound::new(1e3), 10, 11_972).get();
        let printed = 4.0 * 0.25 * 100.0 / (1e-6 * 11_972.0);
        assert!(bound >= printed && bound <= 1.000_001 * printed, "{bound}, printed {printed}");
    }
}
