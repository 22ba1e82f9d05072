//! A symmetric positive semi-definite sum of outer products that knows how far rounding has taken it from the exact one.

use std::fmt;

use zeroize::Zeroize;

use super::kernel;
use crate::rounding::{UpperBound, operations};
use crate::rows::Sign;
use crate::sums::{GramSum, PointTag, SLACK, SumError};

/// `A ≈ Σ a_i x_i x_iᵀ` with `‖A − exact‖_F ≤ error`.
///
/// Down-dating subtracts what was once added, and rounding stays behind: the bound grows with every change and is
/// charged wherever the matrix enters a claim.
#[derive(Clone)]
pub struct TrackedMatrix {
    dim: usize,
    /// Lower triangle, column-major in a full square; the upper triangle is never read.
    lower: Vec<f64>,
    error: UpperBound,
    /// Bound on the trace of the exact matrix, and so on its Frobenius norm.
    trace: UpperBound,
    /// Where the sums were taken, once one was added.
    tag: Option<PointTag>,
}

impl From<GramSum> for TrackedMatrix {
    /// The sum as it is, without a copy.
    fn from(sum: GramSum) -> Self {
        let (dim, tag) = (sum.dim(), Some(sum.tag()));
        let sum = sum.added_up();
        Self { dim, error: sum.error(), trace: sum.size(), tag, lower: sum.into_lower() }
    }
}

impl TrackedMatrix {
    /// The empty sum.
    pub fn zeros(dim: usize) -> Self {
        Self { dim, lower: vec![0.0; dim * dim], error: UpperBound::ZERO, trace: UpperBound::ZERO, tag: None }
    }

    /// A matrix read back from a file, as taken apart by [`Self::parts`].
    pub fn from_parts(dim: usize, lower: Vec<f64>, error: UpperBound, trace: UpperBound) -> Option<Self> {
        (lower.len() == dim * dim).then_some(Self { dim, lower, error, trace, tag: None })
    }

    /// Entries (lower triangle, column-major in a full square), error bound and trace bound.
    pub fn parts(&self) -> (&[f64], UpperBound, UpperBound) {
        (&self.lower, self.error, self.trace)
    }

    /// The same sum for a loss whose curvature is 1 everywhere: it is the same at every point.
    pub(crate) fn at_any_point(mut self) -> Self {
        self.tag = None;
        self
    }

    /// Number of rows and of columns.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Lower triangle, column-major.
    pub(crate) fn lower(&self) -> &[f64] {
        &self.lower
    }

    /// Bound on the trace, and so on every norm, of the exact matrix.
    pub fn trace(&self) -> UpperBound {
        self.trace
    }

    /// `‖A − exact‖_F` is at most this.
    pub fn error(&self) -> UpperBound {
        self.error
    }

    /// Adds a sum over other rows, taken at the same point.
    pub fn add(&mut self, sum: &GramSum) -> Result<(), SumError> {
        self.update(sum, Sign::Add)
    }

    /// Takes the sum over some of the rows back. Rounding stays behind.
    pub fn retract(&mut self, sum: &GramSum) -> Result<(), SumError> {
        self.update(sum, Sign::Retract)
    }

    /// Adds or retracts a sum.
    pub(crate) fn update(&mut self, sum: &GramSum, sign: Sign) -> Result<(), SumError> {
        if sum.dim() != self.dim {
            return Err(SumError::Dimension { expected: self.dim, got: sum.dim() });
        }
        if *self.tag.get_or_insert(sum.tag()) != sum.tag() {
            return Err(SumError::AnotherPoint);
        }
        // Each entry passes through as many rounded operations as the sum has rows, or one where they are added up already,
        // on terms that add up, in absolute value, to at most the old entry and the new terms.
        let touched = self.trace + self.error + sum.size();
        self.error += operations(sum.n_listed() + SLACK) * touched + sum.error();
        if sign == Sign::Add {
            self.trace += sum.size();
        }
        sum.update_lower(&mut self.lower, self.dim, sign.factor());
        Ok(())
    }

    /// `out = A v + ridge · v`, and a bound on its distance from the product with the exact matrix.
    pub fn multiply(&self, ridge: f64, v: &[f64], v_norm: UpperBound, out: &mut [f64]) -> UpperBound {
        kernel::symmetric_product(&self.lower, v, out);
        kernel::axpy(ridge, v, out);
        (self.error + operations(self.dim + 4) * self.size(ridge)) * v_norm
    }

    /// Upper bound of every norm of `A + ridge · I` as it is stored.
    pub(crate) fn size(&self, ridge: f64) -> UpperBound {
        self.trace + self.error + UpperBound::new(ridge)
    }

    /// Upper bound of `vᵀ A v` for the exact matrix, which is `‖X v‖²` for a Gram matrix.
    pub fn quadratic_form(&self, v: &[f64], v_norm: UpperBound) -> UpperBound {
        let computed = kernel::quadratic_form(&self.lower, v).max(0.0);
        // A chain of at most d operations per column and d columns; products add three.
        let slack = self.error + operations(2 * self.dim + 6) * (self.trace + self.error);
        UpperBound::new(computed) + slack * v_norm.squared()
    }
}

/// Shape and bounds only: the entries are second moments of the rows.
impl fmt::Debug for TrackedMatrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shape = f.debug_struct("TrackedMatrix");
        shape.field("dim", &self.dim).field("error", &self.error).field("trace", &self.trace).finish_non_exhaustive()
    }
}

impl Drop for TrackedMatrix {
    fn drop(&mut self) {
        self.lower.zeroize();
    }
}
