//! A third opinion on the secret weights: a fault that both worlds share leaves them as close to each other as claimed, and
//! far from what the rows say.
//!
//! ```text
//! ‖w − w*‖ ≤ ‖∇L(w)‖ / (λ n),   ∇L(w) = Σ_i s_i ℓ′(wᵀx_i, y_i) x_i + λ n w
//! ```
//!
//! The gradient is computed here from the rows, one by one and in compensated sums, with the slopes of the losses
//! written out again. Nothing is taken from the core but which rows count, and with which target.

use efface_core::model::{Model, ReleaseClaim, TrainingPlan};
use efface_core::ridge::Ridge;
use efface_core::rows::{Problem, RowBlock, RowBlocks, StoreError};
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::check::{DirectCheck, closest};
use crate::dense::length;
use crate::engine::{Case, distance_bound_of};
use crate::error::AuditError;
use crate::rows::HiddenRows;

/// The secret weights of every release in both worlds: after removal within the claimed distance of the minimiser,
/// after retraining within what the retrained model verifies of itself. Without noise nothing is claimed of the
/// minimiser; there the gradient must be a rounding error of its own terms.
pub(super) fn check(
    case: &Case<'_>,
    removed: &[Model],
    retrained: &[Model],
    claims: &[ReleaseClaim],
) -> Result<DirectCheck, AuditError> {
    let plan = case.trained.plan();
    let mut gone = Vec::new();
    let mut found = Vec::new();
    for (((ours, theirs), claim), removal) in removed.iter().zip(retrained).zip(claims).zip(&case.removals) {
        gone.extend(removal);
        let left = HiddenRows::new(case.rows, &gone)?;
        for (model, limit) in [(ours, claim.distance_bound.get()), (theirs, distance_bound_of(theirs))] {
            let measured = Measured::of(plan, model, &left)?;
            found.push(if plan.is_exact() {
                DirectCheck::at_most("gradient", measured.relative, ROUNDED)
            } else {
                DirectCheck::at_most("gradient", measured.distance, limit * (1.0 + 1e-12) + measured.slack)
            });
        }
    }
    Ok(closest(found.into_iter()).unwrap_or(DirectCheck::count("gradient", 0, 0)))
}

/// A gradient smaller than 2⁻²⁴ of its terms counts as rounding where a model claims no distance: values of 41 bits and
/// their sums stay far below, a forgotten row or a wrong ridge does not.
const ROUNDED: f64 = 1.0 / (1 << 24) as f64;

/// What the rows say of some weights.
struct Measured {
    /// √(Σ_k (‖∇L_k‖ / λn_k)²): the distance to the minimiser is no larger.
    distance: f64,
    /// What rounding may have added to it.
    slack: f64,
    /// ‖∇L‖ as a share of its terms.
    relative: f64,
}

/// Roundings of a term, relative to its size, and of a compensated sum.
const ROUNDING: f64 = 32.0 * f64::EPSILON;

impl Measured {
    fn of(plan: &TrainingPlan, model: &Model, rows: &dyn RowBlocks) -> Result<Self, AuditError> {
        let slope = slope_of(plan.loss().tag())?;
        let (mut distance, mut slack, mut gradient, mut terms) = (0.0, 0.0, 0.0, 0.0);
        for (problem, weights) in plan.problems().iter().zip(&model.weights()) {
            let sums = sum_rows(slope, problem, weights, rows)?;
            let n = sums.n.value();
            let ridge = match plan.config().ridge {
                Ridge::PerRow(lambda) => lambda * n,
                Ridge::Total(alpha) => alpha,
            };
            let own = |(i, sum): (usize, &Compensated)| sum.plus(ridge * weights[i]).value().powi(2);
            let squares: f64 = sums.gradient.iter().enumerate().map(own).sum();
            let size = sums.size + ridge * length(weights);
            distance += squares / ridge.powi(2);
            slack += ROUNDING * size / ridge;
            gradient += squares;
            terms += size;
        }
        let relative = if terms > 0.0 { gradient.sqrt() / terms } else { 0.0 };
        Ok(Self { distance: distance.sqrt(), slack, relative })
    }
}

/// Sums over the rows of one problem.
struct RowSums {
    gradient: Vec<Compensated>,
    /// n = Σ s_i.
    n: Compensated,
    /// Σ s_i ‖x_i‖ (|ℓ′| + ‖x_i‖ ‖w‖): the size of the terms, and of what an error of a margin does to them.
    size: f64,
}

impl RowSums {
    fn zero(dim: usize) -> Self {
        Self { gradient: vec![Compensated::default(); dim], n: Compensated::default(), size: 0.0 }
    }

    fn merge(mut self, other: &Self) -> Self {
        for (sum, more) in self.gradient.iter_mut().zip(&other.gradient) {
            *sum = sum.plus(more.sum).plus(more.error);
        }
        self.n = self.n.plus(other.n.sum).plus(other.n.error);
        self.size += other.size;
        self
    }

    fn add(&mut self, slope: Slope, problem: &Problem, weights: &[f64], block: &RowBlock<'_>) {
        let dim = weights.len();
        for i in 0..block.labels.len() {
            let target = problem.target(block.labels[i], block.selectors[i]).filter(|_| block.present[i]);
            let Some(target) = target else { continue };
            let row = Zeroizing::new(block.features.widened(i * dim..(i + 1) * dim));
            let products = row.iter().zip(weights).map(|(x, w)| x * w);
            let margin = products.fold(Compensated::default(), Compensated::plus).value();
            let (slope, weight) = (slope(margin, target), block.row_weights[i]);
            for (sum, x) in self.gradient.iter_mut().zip(&*row) {
                *sum = sum.plus(weight * slope * x);
            }
            self.n = self.n.plus(weight);
            let long = length(&row);
            self.size += weight * long * (slope.abs() + long * length(weights));
        }
    }
}

fn sum_rows(slope: Slope, problem: &Problem, weights: &[f64], rows: &dyn RowBlocks) -> Result<RowSums, StoreError> {
    let blocks: Vec<RowSums> = (0..rows.n_blocks())
        .into_par_iter()
        .map(|index| {
            let mut sums = RowSums::zero(weights.len());
            rows.visit_block(index, &mut |block| sums.add(slope, problem, weights, block))?;
            Ok(sums)
        })
        .collect::<Result<_, StoreError>>()?;
    Ok(blocks.iter().fold(RowSums::zero(weights.len()), RowSums::merge))
}

/// ℓ′(z, y).
type Slope = fn(f64, f64) -> f64;

/// The slope of a loss, written out again. One that is not here is refused: the engine's own would check nothing.
fn slope_of(loss: &'static str) -> Result<Slope, AuditError> {
    match loss {
        "logistic" => Ok(|margin, target| -target / (1.0 + (target * margin).exp())),
        "squared" => Ok(|margin, target| margin - target),
        _ => Err(AuditError::UnknownLoss { loss }),
    }
}

/// A sum and what rounding lost of it. Neumaier 1974.
#[derive(Clone, Copy, Default)]
struct Compensated {
    sum: f64,
    error: f64,
}

impl Compensated {
    fn plus(self, x: f64) -> Self {
        let sum = self.sum + x;
        let lost = if self.sum.abs() >= x.abs() { (self.sum - sum) + x } else { (x - sum) + self.sum };
        Self { sum, error: self.error + lost }
    }

    fn value(self) -> f64 {
        self.sum + self.error
    }
}

#[cfg(test)]
mod tests {
    use efface_core::loss;

    use super::*;

    #[test]
    fn every_loss_has_a_slope_of_its_own_here() {
        for loss in loss::ALL {
            let slope = slope_of(loss.tag()).expect("written out");
            for margin in [-30.0, -1.5, 0.0, 0.25, 7.0] {
                for target in [-1.0, 1.0] {
                    let (ours, theirs) = (slope(margin, target), loss.slope(margin, target));
                    assert!((ours - theirs).abs() <= 1e-14 * theirs.abs(), "{}: {ours} {theirs}", loss.tag());
                }
            }
        }
    }

    #[test]
    fn a_loss_that_is_not_written_out_is_refused() {
        let refused = slope_of("hinge").expect_err("unknown");
        assert_eq!(
            refused.to_string(),
            "the audit cannot check the gradient of the `hinge` loss: it has no slope for it"
        );
    }
}
