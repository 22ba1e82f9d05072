//! The step-norm rung: the norm of the step.

use super::CurvatureChange;
use crate::rounding::UpperBound;
use crate::rows::WeightSum;

/// Upper bound on the gradient left by the curvature error of one Newton step, from the norm of the step.
///
/// ```text
/// ‖(H̄ − S) v‖ ≤ κ γ R³ (n−m) ‖v‖²      κ = ½ (as printed: 1), n−m: what the remaining rows weigh
/// ```
///
/// Guo et al. 2020, proof of Theorems 1 and 4, before the norm of the step is bounded. Rounded up.
///
#[doc = include_str!("step_norm.md")]
pub fn step_norm(change: &CurvatureChange, remaining: WeightSum, step: UpperBound) -> UpperBound {
    let cube = change.row_norm.squared() * change.row_norm;
    change.mean_position * change.lipschitz * cube * remaining.upper() * step.squared()
}
