//! A symmetric positive semi-definite sum of outer products that knows how far rounding has taken it from the exact one.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use zeroize::Zeroize;

use super::kernel;
use super::listed::Listed;
use crate::rounding::{UpperBound, operations};
use crate::rows::Sign;
use crate::sums::{GramSum, PointTag, SLACK, SumError, add_rows};

/// `A ≈ Σ a_i x_i x_iᵀ` with `‖A − exact‖_F ≤ error`.
///
/// Down-dating subtracts what was once added, and rounding stays behind: the bound grows with every change and is
/// charged wherever the matrix enters a claim. A few rows are listed as they came, and products go over the list; they are
/// folded into the matrix together, which reads and writes it once for all of them.
#[derive(Clone)]
pub struct TrackedMatrix {
    dim: usize,
    /// Lower triangle, column-major in a full square; the upper triangle is never read.
    lower: Vec<f64>,
    /// Rows times √a_i that are not in the matrix yet, each with its sign.
    listed: Listed,
    /// Bound on their `Σ a_i ‖x_i‖²`.
    listed_size: UpperBound,
    /// Of matrix and list as they are; folding adds [`Self::folding_error`].
    error: UpperBound,
    /// Bound on the trace of the exact matrix, and so on its Frobenius norm.
    trace: UpperBound,
    /// Where the sums were taken, once one was added.
    tag: Option<PointTag>,
}

/// Entries of a matrix, lower triangle, column-major in a full square. A copy is wiped when dropped.
pub struct Entries<'a>(Cow<'a, [f64]>);

impl Entries<'_> {
    /// A copy that the caller wipes.
    pub(crate) fn into_vec(mut self) -> Vec<f64> {
        std::mem::take(&mut self.0).into_owned()
    }
}

impl Deref for Entries<'_> {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.0
    }
}

impl Drop for Entries<'_> {
    fn drop(&mut self) {
        if let Cow::Owned(entries) = &mut self.0 {
            entries.zeroize();
        }
    }
}

/// Rows of so many numbers that are listed at most: products with them stay cheap beside those with the matrix.
fn most_listed(dim: usize) -> usize {
    (dim / 16).min(48)
}

impl From<GramSum> for TrackedMatrix {
    /// The sum as it is, without a copy.
    fn from(sum: GramSum) -> Self {
        let (dim, tag) = (sum.dim(), Some(sum.tag()));
        let sum = sum.added_up();
        let (error, trace) = (sum.error(), sum.size());
        let mut matrix = Self::of_lower(dim, sum.into_lower(), error, trace);
        matrix.tag = tag;
        matrix
    }
}

impl TrackedMatrix {
    /// The empty sum.
    pub fn zeros(dim: usize) -> Self {
        Self::of_lower(dim, vec![0.0; dim * dim], UpperBound::ZERO, UpperBound::ZERO)
    }

    fn of_lower(dim: usize, lower: Vec<f64>, error: UpperBound, trace: UpperBound) -> Self {
        Self { dim, lower, listed: Listed::default(), listed_size: UpperBound::ZERO, error, trace, tag: None }
    }

    /// A matrix read back from a file, as taken apart by [`Self::parts`].
    pub fn from_parts(dim: usize, lower: Vec<f64>, error: UpperBound, trace: UpperBound) -> Option<Self> {
        (Some(lower.len()) == dim.checked_mul(dim)).then(|| Self::of_lower(dim, lower, error, trace))
    }

    /// Entries (lower triangle, column-major in a full square), error bound and trace bound. How many rows are listed does
    /// not show.
    pub fn parts(&self) -> (Entries<'_>, UpperBound, UpperBound) {
        (self.lower(), self.error(), self.trace)
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

    /// Lower triangle, column-major, with all rows.
    pub(crate) fn lower(&self) -> Entries<'_> {
        if self.listed.len() == 0 {
            return Entries(Cow::Borrowed(&self.lower));
        }
        let mut lower = self.lower.clone();
        self.add_listed(&mut lower);
        Entries(Cow::Owned(lower))
    }

    /// Bound on the trace, and so on every norm, of the exact matrix.
    pub fn trace(&self) -> UpperBound {
        self.trace
    }

    /// Upper bound of the trace of the exact matrix, as it is: `Σ a_i ‖x_i‖²`. Listed rows that were retracted are left in it.
    ///
    /// ```text
    /// tr(exact) ≤ Σ_j A_jj + Σ_listed a_i ‖x_i‖² + √d · ‖A − exact‖_F
    /// ```
    pub fn square_sum(&self) -> UpperBound {
        let computed: f64 = self.lower.iter().step_by(self.dim + 1).sum();
        let slack = operations(self.dim) * self.touched() + UpperBound::count(self.dim).sqrt() * self.error();
        (UpperBound::new(computed.max(0.0)) + self.listed_size + slack).min(self.trace)
    }

    /// `‖A − exact‖_F` is at most this, whether or not rows are listed.
    pub fn error(&self) -> UpperBound {
        self.error + self.folding_error()
    }

    /// What folding the list rounds: each entry passes through as many operations as there are rows, on terms that add up,
    /// in absolute value, to at most the old entry and the new terms.
    fn folding_error(&self) -> UpperBound {
        match self.listed.len() {
            0 => UpperBound::ZERO,
            n => operations(n + SLACK) * self.touched(),
        }
    }

    /// Bound on the absolute values that a product, or folding, goes over: the matrix without the list is A less what is
    /// listed.
    fn touched(&self) -> UpperBound {
        self.trace + self.error + self.listed_size + self.listed_size
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
        if let Some(rows) = sum.listed() {
            // The rows are listed as they are: only their factors are rounded.
            self.error += sum.weight_error();
            self.listed.push(rows, self.dim, sign.factor(), most_listed(self.dim) + 1);
            self.listed_size += sum.size();
        } else {
            self.fold();
            let touched = self.trace + self.error + sum.size();
            self.error += operations(SLACK) * touched + sum.error();
            sum.update_lower(&mut self.lower, self.dim, sign.factor());
        }
        if sign == Sign::Add {
            self.trace += sum.size();
        }
        if self.listed.len() > most_listed(self.dim) {
            self.fold();
        }
        Ok(())
    }

    /// Takes the list into the matrix.
    fn fold(&mut self) {
        self.error = self.error();
        let mut lower = std::mem::take(&mut self.lower);
        self.add_listed(&mut lower);
        self.lower = lower;
        (self.listed, self.listed_size) = (Listed::default(), UpperBound::ZERO);
    }

    fn add_listed(&self, lower: &mut [f64]) {
        for (rows, sign) in self.listed.runs(self.dim) {
            add_rows(lower, self.dim, rows, rows.len() / self.dim, sign);
        }
    }

    /// `out = A v + ridge · v`, and a bound on its distance from the product with the exact matrix.
    pub fn multiply(&self, ridge: f64, v: &[f64], v_norm: UpperBound, out: &mut [f64]) -> UpperBound {
        kernel::symmetric_product(&self.lower, v, out);
        self.listed.add_product(v, out);
        kernel::axpy(ridge, v, out);
        // A chain of d operations, and for listed rows their dot product, and one for each.
        (self.error() + operations(self.dim + 4 + self.list_depth()) * self.size(ridge)) * v_norm
    }

    /// Operations that the list adds to the chain behind a number.
    fn list_depth(&self) -> usize {
        match self.listed.len() {
            0 => 0,
            n => kernel::dot_depth(self.dim) + kernel::scaled_rows_depth(n) + 3,
        }
    }

    /// Upper bound of every norm of `A + ridge · I` as products are made with it.
    pub(crate) fn size(&self, ridge: f64) -> UpperBound {
        self.touched() + UpperBound::new(ridge)
    }

    /// Upper bound of `vᵀ A v` for the exact matrix, which is `‖X v‖²` for a Gram matrix.
    pub fn quadratic_form(&self, v: &[f64], v_norm: UpperBound) -> UpperBound {
        let computed = (kernel::quadratic_form(&self.lower, v) + self.listed.quadratic_form(v)).max(0.0);
        // A chain of at most d operations per column and d columns; products add three. A listed row adds twice its dot
        // product, and one.
        let depth = 2 * self.dim + 6 + 2 * self.list_depth() + self.listed.len();
        let slack = self.error() + operations(depth) * self.touched();
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
