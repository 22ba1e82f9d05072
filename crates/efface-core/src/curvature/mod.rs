//! What a removal knows of the Hessian: enough to solve with it, to bound what the solution leaves, and to follow rows that
//! leave and arrive.
//!
//! Two implementations: [`Dense`] matrices, and none at all (`NoMatrix`) where there are too many features for
//! one.

mod dense;
mod no_matrix;

pub use dense::Dense;
pub(crate) use dense::WithGram;
pub(crate) use no_matrix::NoMatrix;

use crate::linalg::Operator;
use crate::rounding::UpperBound;
use crate::rows::Sign;
use crate::sums::GramSum;

/// S, a Hessian without its ridge that was taken at an earlier point w₀, over the rows now present.
///
/// Its products come with their error ([`Operator`]); its preconditioner never enters a claim, only what is measured with
/// it does.
pub trait Curvature: Operator {
    /// Whether there is anything to solve with. Without it no step is taken, and the gradient stays as it is.
    fn is_known(&self) -> bool;

    /// Upper bound of `‖w − w₀‖`.
    fn distance_from(&self, weights: &[f64]) -> UpperBound;

    /// Upper bound of `‖X v‖` for the exact rows.
    fn image_norm(&self, v: &[f64], v_norm: UpperBound) -> UpperBound;

    /// Rows leave or arrive: their `Σ s_i ℓ″ x_i x_iᵀ` at w₀.
    fn update(&mut self, sum: &GramSum, sign: Sign);

    /// Whether the preconditioner is due, after a solution that took so many iterations.
    fn is_worn(&self, iterations: usize) -> bool;

    /// Makes the preconditioner anew for the rows now present.
    fn refresh(&mut self, ridge: f64);
}
