//! Cholesky factors: the preconditioner of every solve. A factor never enters a claim, only what is measured with it.

use std::fmt;
use std::sync::OnceLock;

use faer::linalg::cholesky::llt::factor::{LltParams, LltRegularization, cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::prelude::ReborrowMut;
use faer::{MatMut, MatRef, Par, Spec};
use zeroize::Zeroize;

use super::{TrackedMatrix, kernel};

/// Lower triangular L with `L Lᵀ ≈ A`.
#[derive(Clone)]
pub struct Cholesky {
    dim: usize,
    lower: Vec<f64>,
    /// Made when it is first solved with.
    narrow: OnceLock<NarrowCholesky>,
}

impl Cholesky {
    /// Factor of `A + ridge · I`, or `None` when that is not positive definite (or not finite).
    pub fn of(matrix: &TrackedMatrix, ridge: f64) -> Option<Self> {
        Self::with_ridge(matrix, ridge, parallelism(matrix.dim()))
    }

    /// The same by one thread, so that the factor of a matrix is always the same to the last bit.
    pub(crate) fn on_one_thread(matrix: &TrackedMatrix, ridge: f64) -> Option<Self> {
        Self::with_ridge(matrix, ridge, Par::Seq)
    }

    fn with_ridge(matrix: &TrackedMatrix, ridge: f64, parallel: Par) -> Option<Self> {
        let dim = matrix.dim();
        let mut lower = matrix.lower().into_vec();
        for entry in lower.iter_mut().step_by(dim + 1) {
            *entry += ridge;
        }
        Self::factorize(dim, lower, parallel)
    }

    /// Factor of the matrix whose lower triangle is given, column-major.
    pub(crate) fn of_lower(dim: usize, lower: Vec<f64>) -> Option<Self> {
        Self::factorize(dim, lower, parallelism(dim))
    }

    fn factorize(dim: usize, mut lower: Vec<f64>, parallel: Par) -> Option<Self> {
        let params: Spec<LltParams, f64> = Spec::default();
        let mut memory = faer::dyn_stack::MemBuffer::new(cholesky_in_place_scratch::<f64>(dim, parallel, params));
        let stack = faer::dyn_stack::MemStack::new(&mut memory);
        let view = MatMut::from_column_major_slice_mut(&mut lower, dim, dim);
        let done = cholesky_in_place(view, LltRegularization::default(), parallel, stack, params);
        let factor = Self { dim, lower, narrow: OnceLock::new() };
        // faer lets NaN through: a factor counts only if its whole diagonal is positive and finite.
        (done.is_ok() && factor.diagonal().all(|l| l > 0.0 && l.is_finite())).then_some(factor)
    }

    /// Number of rows and of columns.
    pub(crate) fn dim(&self) -> usize {
        self.dim
    }

    /// Replaces b by the solution of `L Lᵀ x = b`.
    pub fn solve(&self, b: &mut [f64]) {
        kernel::forward_solve(&self.lower, self.dim, b);
        kernel::backward_solve(&self.lower, b);
    }

    /// The same factor in half the memory.
    pub(crate) fn narrow(&self) -> &NarrowCholesky {
        self.narrow.get_or_init(|| self.narrowed())
    }

    fn narrowed(&self) -> NarrowCholesky {
        // Numbers beyond single precision make a poor preconditioner, and still one.
        let finite = |entry: &f64| (*entry as f32).clamp(f32::MIN, f32::MAX);
        let mut lower: Vec<f32> = self.lower.iter().map(finite).collect();
        for entry in lower.iter_mut().step_by(self.dim + 1) {
            *entry = entry.max(f32::MIN_POSITIVE);
        }
        NarrowCholesky { dim: self.dim, lower }
    }

    /// Replaces each column of `columns` by its solution; `dim` numbers each, one after the other. Reads the factor once
    /// for all of them.
    pub(crate) fn solve_columns(&self, columns: &mut [f64]) {
        let lower = MatRef::from_column_major_slice(&self.lower, self.dim, self.dim);
        let n = columns.len() / self.dim.max(1);
        let mut columns = MatMut::from_column_major_slice_mut(columns, self.dim, n);
        solve_lower_triangular_in_place(lower, columns.rb_mut(), Par::Seq);
        solve_upper_triangular_in_place(lower.transpose(), columns, Par::Seq);
    }

    fn diagonal(&self) -> impl Iterator<Item = f64> + '_ {
        self.lower.iter().step_by(self.dim + 1).copied()
    }
}

/// A factor in single precision: half as much to read, and near enough to precondition with.
#[derive(Clone)]
pub(crate) struct NarrowCholesky {
    dim: usize,
    lower: Vec<f32>,
}

impl NarrowCholesky {
    /// Replaces b by the solution of `L x = b`; or several, one after the other, in one pass over the factor.
    pub(crate) fn solve_forward(&self, b: &mut [f64]) {
        kernel::forward_solve(&self.lower, self.dim, b);
    }

    /// Replaces b by the solution of `Lᵀ x = b`.
    pub(crate) fn solve_backward(&self, b: &mut [f64]) {
        kernel::backward_solve(&self.lower, b);
    }
}

impl Drop for NarrowCholesky {
    fn drop(&mut self) {
        self.lower.zeroize();
    }
}

/// Small factors are made by one thread.
fn parallelism(dim: usize) -> Par {
    if dim < 256 { Par::Seq } else { Par::rayon(0) }
}

/// Shape only.
impl fmt::Debug for Cholesky {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cholesky").field("dim", &self.dim).finish_non_exhaustive()
    }
}

impl Drop for Cholesky {
    fn drop(&mut self) {
        self.lower.zeroize();
    }
}
