//! The per-row rung: each remaining row's own change of margin.

use super::CurvatureChange;
use crate::rounding::UpperBound;
use crate::sums::StepPowers;

/// Upper bound on the gradient left by the curvature error of one Newton step, from every remaining row's own margin.
///
/// ```text
/// ‖(H̄ − S) v‖ ≤ κ γ ‖X‖₂ √(Σ_i s_i t_i⁴)      t_i = x_iᵀ v, κ = ½ (as printed: 1), X = remaining rows
/// ```
///
/// One pass over the rows, no Hessian. The rounding error of each computed t_i is charged. Rounded up.
///
#[doc = include_str!("per_row.md")]
pub fn per_row(change: &CurvatureChange, design: UpperBound, powers: &StepPowers) -> UpperBound {
    change.mean_position * change.lipschitz * design * powers.root_of_fourth_powers()
}
