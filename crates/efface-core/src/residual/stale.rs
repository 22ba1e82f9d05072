//! The stale rung: a Hessian that was taken earlier.

use super::{CurvatureChange, StepNorms};
use crate::rounding::UpperBound;

/// Upper bound on the gradient left by one step on a Hessian that was taken earlier, at w₀.
///
/// ```text
/// ‖(H̄ − S) v‖ ≤ γ R ‖X‖₂ (‖w − w₀‖₂ + κ ‖v‖₂) ‖X v‖₂      κ = ½ (as printed: 1), X = remaining rows
/// ```
///
/// S is the Hessian at w₀ of the rows that remain: rows that left were subtracted with their curvature at w₀. This is
/// what makes a removal O(m d²), independent of the number of rows. With w = w₀ it is the data-dependent rung. Rounded up.
///
#[doc = include_str!("stale.md")]
pub fn stale(change: &CurvatureChange, norms: &StepNorms, anchor_distance: UpperBound) -> UpperBound {
    let reach = anchor_distance + change.mean_position * norms.step;
    change.lipschitz * change.row_norm * norms.design * reach * norms.step_image
}
