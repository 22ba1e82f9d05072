//! Training: from zero weights to a measured gradient near zero.
//!
//! With a d × d matrix at hand: L-BFGS on the factor of a fixed majorizer of the Hessian, down to a rough gradient, then
//! Newton steps on the factor of the true Hessian, which removal needs anyway. Beyond: L-BFGS alone. All problems go in
//! lock-step, and one pass over the rows serves them all.

mod course;
mod lbfgs;
mod polish;

pub(crate) use course::{CourseError, Effort, Means, Route, run};
use lbfgs::Lbfgs;
use polish::Polish;

/// Where training is, for progress displays.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Phase {
    /// Number of problems that have arrived.
    pub n_done: usize,
    /// Number of problems.
    pub n_problems: usize,
    /// Passes over the rows so far.
    pub passes: usize,
    /// Largest gradient norm of a problem now.
    pub gradient_norm: f64,
}
