//! The measured rung: the gradient itself.

use crate::rounding::{UpperBound, norm};

/// Upper bound on the norm of the exact gradient, given a computed one and a bound on its error.
///
/// ```text
/// ‖∇L_b(w; D′)‖₂ ≤ ‖computed‖₂ + error
/// ```
///
/// Absolute: it replaces whatever was added up before. Rounded up.
///
#[doc = include_str!("measured.md")]
pub fn measured(gradient: &[f64], error: UpperBound) -> UpperBound {
    norm(gradient) + error
}
