//! Losses, pointwise in the margin `z = wᵀx`, or in the scores of all classes. A loss knows nothing of matrices,
//! regularization or optimizers.
//!
//! To add one: a file here, an entry in [`SCALAR`] and [`ALL`], and what `CONTRIBUTING.md` lists; the conformance suite then runs on it.

#[cfg(test)]
mod conformance;
mod logistic;
pub(crate) mod softmax;
mod squared;

use std::fmt;

pub use logistic::Logistic;
pub use softmax::Softmax;
pub use squared::Squared;

/// A convex loss of one row, with the constants that the residual bounds need.
pub trait Loss: Send + Sync + fmt::Debug {
    /// Stable name, used on the command line, in files and in certificates.
    fn tag(&self) -> &'static str;

    /// ℓ(z, y), its first and its second derivative in z, from one evaluation.
    fn evaluate(&self, margin: f64, target: f64) -> Derivatives;

    /// ℓ(z, y).
    fn value(&self, margin: f64, target: f64) -> f64 {
        self.evaluate(margin, target).value
    }

    /// ℓ′(z, y).
    fn slope(&self, margin: f64, target: f64) -> f64 {
        self.evaluate(margin, target).slope
    }

    /// ℓ″(z, y) ≥ 0.
    fn curvature(&self, margin: f64, target: f64) -> f64 {
        self.evaluate(margin, target).curvature
    }

    /// γ: the least number with |ℓ″(z, y) − ℓ″(z′, y)| ≤ γ |z − z′|, rounded up.
    fn curvature_lipschitz(&self) -> f64;

    /// γ as the paper prints it, valid but not the least.
    fn printed_curvature_lipschitz(&self) -> f64;

    /// Largest ℓ″.
    fn curvature_bound(&self) -> f64;

    /// Largest |ℓ′|, or `None` when there is none. With rows of norm at most R the gradient bound is C = R times this.
    fn slope_bound(&self) -> Option<f64>;

    /// Whether targets are the two signs ±1 (`true`) or any finite number (`false`).
    fn is_classification(&self) -> bool;
}

/// Value and derivatives of a loss at one margin.
///
/// `slope` and `curvature` are within a relative [`EVALUATION_ROUNDING`] of the exact ones for the margin given (or
/// within the smallest normal number, where the exact one is smaller than that).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Derivatives {
    /// ℓ.
    pub value: f64,
    /// ℓ′.
    pub slope: f64,
    /// ℓ″.
    pub curvature: f64,
}

/// Relative error of an evaluated slope or curvature, in units of the unit roundoff. An exponential of a mathematical
/// library is good to 2 units (1 ulp); the few operations after it add less than 10.
pub const EVALUATION_ROUNDING: usize = 16;

/// Losses of one score, which can be asked for: the conformance suite runs over this list.
pub const SCALAR: [&dyn Loss; 2] = [&Logistic, &Squared];

/// Every loss there is.
pub const ALL: [&dyn Loss; 3] = [&Logistic, &Softmax, &Squared];

/// The loss of that tag.
pub fn by_tag(tag: &str) -> Option<&'static dyn Loss> {
    ALL.into_iter().find(|loss| loss.tag() == tag)
}
