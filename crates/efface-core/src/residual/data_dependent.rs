//! The data-dependent rung: norms of the design and of the step.

use super::{CurvatureChange, StepNorms};
use crate::rounding::UpperBound;

/// Upper bound on the gradient left by the curvature error of one Newton step, from the data at hand.
///
/// ```text
/// ‖(H̄ − S) v‖ ≤ κ γ R ‖X‖₂ ‖v‖₂ ‖X v‖₂      κ = ½ (as printed: 1), X = remaining rows
/// ```
///
/// Guo et al. 2020, Corollary 1 (one row) and Corollary 2 (a batch). Both norms of X come from the Gram matrix, so
/// no pass over the rows is made. Rounded up.
///
#[doc = include_str!("data_dependent.md")]
pub fn data_dependent(change: &CurvatureChange, norms: &StepNorms) -> UpperBound {
    change.mean_position * change.lipschitz * change.row_norm * norms.design * norms.step * norms.step_image
}
