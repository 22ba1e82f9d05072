//! The linear algebra that removal needs, on top of faer: symmetric matrices that know their rounding error, Cholesky
//! factors, an upper bound of the largest eigenvalue, and preconditioned conjugate gradients.

mod cholesky;
mod conjugate_gradient;
mod inverse;
pub(crate) mod kernel;
mod listed;
mod spectral;
pub(crate) mod tracked;

pub use cholesky::Cholesky;
pub use conjugate_gradient::Operator;
pub(crate) use conjugate_gradient::{Factored, Solution, solve};
pub(crate) use inverse::Inverse;
pub use spectral::largest_eigenvalue;
pub use tracked::{Entries, TrackedMatrix};
