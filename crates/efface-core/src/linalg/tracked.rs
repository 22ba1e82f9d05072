//! A symmetric positive semi-definite sum of outer products that knows how far rounding has taken it from the exact one.

use std::fmt;

use zeroize::Zeroize;

use super::kernel;
use crate::rounding::{UpperBound, operations};

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
}

impl TrackedMatrix {
    /// The empty sum.
    pub fn zeros(dim: usize) -> Self {
        Self { dim, lower: vec![0.0; dim * dim], error: UpperBound::ZERO, trace: UpperBound::ZERO }
    }

    /// A matrix read back from a file, as taken apart by [`Self::parts`].
    pub fn from_parts(dim: usize, lower: Vec<f64>, error: UpperBound, trace: UpperBound) -> Option<Self> {
        (lower.len() == dim * dim).then_some(Self { dim, lower, error, trace })
    }

    /// Entries (lower triangle, column-major in a full square), error bound and trace bound.
    pub fn parts(&self) -> (&[f64], UpperBound, UpperBound) {
        (&self.lower, self.error, self.trace)
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

    /// Changes the entries by `change`, which adds or retracts a sum with the given size and error.
    pub(crate) fn update(&mut self, sum: &SumSize, retracted: bool, change: impl FnOnce(&mut [f64])) {
        // Each entry passes through at most `depth` rounded operations on terms that add up, in absolute value, to at
        // most the old entry and the new terms; the Frobenius norm of |x||x|ᵀ is ‖x‖².
        let touched = self.trace + self.error + sum.size;
        self.error += operations(sum.depth) * touched + sum.weight_error;
        if !retracted {
            self.trace += sum.size;
        }
        change(&mut self.lower);
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

/// What a sum of outer products brings along for the error bound.
pub(crate) struct SumSize {
    /// Bound on `Σ a_i ‖x_i‖²`.
    pub(crate) size: UpperBound,
    /// Bound on `Σ |error of a_i| ‖x_i‖²`.
    pub(crate) weight_error: UpperBound,
    /// Longest chain of rounded operations behind one entry.
    pub(crate) depth: usize,
}
