//! The worst case: sizes alone.

use super::CurvatureChange;
use crate::ridge::Ridge;
use crate::rounding::UpperBound;
use crate::rows::WeightSum;

/// What the worst case knows of a removal.
#[derive(Clone, Copy, Debug)]
pub struct RemovalSize {
    /// What the rows that change weigh: m, where each counts once.
    pub changed: WeightSum,
    /// What the rows that remain weigh: n − m.
    pub remaining: WeightSum,
    /// λ or α.
    pub ridge: Ridge,
    /// C: bound on the norm of one row's gradient.
    pub gradient_norm_bound: UpperBound,
    /// ‖w‖ before the step, measured.
    pub weights_norm: UpperBound,
    /// What the solver had to remove besides the rows' gradients, and what it left: ‖g‖ + ‖leftover‖.
    pub solver: UpperBound,
    /// ‖S − exact Hessian‖: how far rounding can lower the smallest eigenvalue of S.
    pub hessian_error: UpperBound,
}

/// Upper bound on the gradient left by the curvature error of one Newton step, from sizes alone.
///
/// ```text
/// κ γ R³ (n−m) ‖v‖²      with ‖v‖ ≤ (m (λ‖w‖ + C) + ‖g‖ + ‖leftover‖) / (λ (n−m)),   κ = ½ (as printed: 1)
/// ```
///
/// Under a total ridge the rows bring no λ‖w‖, and λ (n−m) is α.
///
/// Guo et al. 2020, Theorems 1 and 4 with the erratum: `2C` is replaced by the measured `λ‖w‖ + C`. With ‖w‖ ≤ C/λ,
/// g = 0 and R = κ = 1 it is the printed `4 γ C² m² / (λ² (n−m))`. Rounded up.
///
#[doc = include_str!("worst_case.md")]
pub fn worst_case(change: &CurvatureChange, removal: &RemovalSize) -> UpperBound {
    let lambda = if let Ridge::PerRow(lambda) = removal.ridge { UpperBound::new(lambda) } else { UpperBound::ZERO };
    let per_row = lambda * removal.weights_norm + removal.gradient_norm_bound;
    let right_hand_side = removal.changed.upper() * per_row + removal.solver;
    let least_curvature = removal.ridge.lower(removal.remaining).minus(removal.hessian_error);
    super::step_norm(change, removal.remaining, right_hand_side.over(least_curvature))
}
