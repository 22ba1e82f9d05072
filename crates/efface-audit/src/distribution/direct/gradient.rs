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
        let slopes = slopes_of(plan.loss().tag())?;
        let (mut distance, mut slack, mut gradient, mut terms) = (0.0, 0.0, 0.0, 0.0);
        for (problem, weights) in plan.problems().iter().zip(&model.weights()) {
            let sums = sum_rows(slopes, problem, weights, rows)?;
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

    fn add(&mut self, slopes: Slopes, problem: &Problem, weights: &[f64], block: &RowBlock<'_>) {
        let dim = weights.len() / problem.n_scores();
        for i in 0..block.labels.len() {
            let target = problem.target(block.labels[i], block.selectors[i]).filter(|_| block.present[i]);
            let Some(target) = target else { continue };
            let row = Zeroizing::new(block.features.widened(i * dim..(i + 1) * dim));
            let score = |weights: &[f64]| {
                let products = row.iter().zip(weights).map(|(x, w)| x * w);
                products.fold(Compensated::default(), Compensated::plus).value()
            };
            let scores: Vec<f64> = weights.chunks_exact(dim).map(score).collect();
            let (slopes, weight) = (slopes(&scores, target), block.row_weights[i]);
            for (slope, gradient) in slopes.iter().zip(self.gradient.chunks_exact_mut(dim)) {
                for (sum, x) in gradient.iter_mut().zip(&*row) {
                    *sum = sum.plus(weight * slope * x);
                }
            }
            self.n = self.n.plus(weight);
            let long = length(&row);
            self.size += weight * long * (length(&slopes) + long * length(weights));
        }
    }
}

fn sum_rows(slopes: Slopes, problem: &Problem, weights: &[f64], rows: &dyn RowBlocks) -> Result<RowSums, StoreError> {
    let blocks: Vec<RowSums> = (0..rows.n_blocks())
        .into_par_iter()
        .map(|index| {
            let mut sums = RowSums::zero(weights.len());
            rows.visit_block(index, &mut |block| sums.add(slopes, problem, weights, block))?;
            Ok(sums)
        })
        .collect::<Result<_, StoreError>>()?;
    Ok(blocks.iter().fold(RowSums::zero(weights.len()), RowSums::merge))
}

/// ∂ℓ/∂z for each score z of a row.
type Slopes = fn(&[f64], f64) -> Vec<f64>;

/// The slopes of a loss, written out again. One that is not here is refused: the engine's own would check nothing.
fn slopes_of(loss: &'static str) -> Result<Slopes, AuditError> {
    match loss {
        "logistic" => Ok(|scores, target| scores.iter().map(|z| -target / (1.0 + (target * z).exp())).collect()),
        "softmax" => Ok(|scores, target| {
            // p_k = 1 / Σ_j e^(z_j − z_k), and 1 − p_y = (Σ_{j≠y} e^(z_j − z_y)) p_y
            let odds = |k: usize, but: Option<usize>| -> f64 {
                (0..scores.len()).filter(|j| Some(*j) != but).map(|j| (scores[j] - scores[k]).exp()).sum()
            };
            let own = target as usize;
            let others = odds(own, Some(own));
            let own_slope = if others.is_finite() { -others / (1.0 + others) } else { -1.0 };
            (0..scores.len()).map(|k| if k == own { own_slope } else { 1.0 / odds(k, None) }).collect()
        }),
        "squared" => Ok(|scores, target| scores.iter().map(|z| z - target).collect()),
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
        for loss in loss::SCALAR {
            let slopes = slopes_of(loss.tag()).expect("written out");
            for margin in [-30.0, -1.5, 0.0, 0.25, 7.0] {
                for target in [-1.0, 1.0] {
                    let (ours, theirs) = (slopes(&[margin], target)[0], loss.slope(margin, target));
                    assert!((ours - theirs).abs() <= 1e-14 * theirs.abs(), "{}: {ours} {theirs}", loss.tag());
                }
            }
        }
    }

    #[test]
    fn the_softmax_of_two_classes_is_the_logistic_loss() {
        let (softmax, logistic) = (slopes_of("softmax").expect("there"), slopes_of("logistic").expect("there"));
        for margin in [-800.0, -30.0, -1.5, 0.0, 0.25, 7.0, 800.0] {
            for (class, target) in [(0.0, -1.0), (1.0, 1.0)] {
                let (both, one) = (softmax(&[0.0, margin], class), logistic(&[margin], target)[0]);
                assert!((both[1] - one).abs() <= 1e-14 * one.abs() && (both[0] + one).abs() <= 1e-14 * one.abs());
            }
        }
    }

    #[test]
    fn a_loss_that_is_not_written_out_is_refused() {
        let refused = slopes_of("hinge").expect_err("unknown");
        assert_eq!(
            refused.to_string(),
            "the audit cannot check the gradient of the `hinge` loss: it has no slope for it"
        );
    }
}
