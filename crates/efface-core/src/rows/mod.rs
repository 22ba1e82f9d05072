//! Rows as the mathematics sees them: blocks of features, and a store that can be summed over.
//!
//! A row i has a weight s_i and counts as s_i rows: every sum is weighted, and n stands for Σ s_i wherever rows are counted.
//! Without weights all s_i are 1.
//!
//! Training, removal and settling see rows only through the sums of [`RowStore`]. A backend produces blocks and gets
//! the sums from the shared fold; one with its own way to add up (a GPU, a cluster) overrides the sums instead.

pub(crate) mod fold;
mod problem;
mod value;
mod weight;

pub use fold::BLOCK_ROWS;
pub(crate) use fold::margin_error;
pub use problem::{NegativeSampling, Problem, TargetRule};
pub use value::RowValue;
pub use weight::{MOST_ROW_WEIGHT, UNIT_WEIGHTS, WeightSum, round_row_weight};

use crate::linalg::TrackedMatrix;
use crate::loss::Loss;
use crate::rounding::UpperBound;
use crate::statistic::{GradientSum, StepPowers};

/// Feature values of a block, row-major, in the precision they are stored in. Arithmetic is always in `f64`.
#[derive(Clone, Copy)]
pub enum Features<'a> {
    /// Single precision.
    F32(&'a [f32]),
    /// Double precision.
    F64(&'a [f64]),
}

/// A run of consecutive rows.
#[derive(Clone, Copy)]
pub struct RowBlock<'a> {
    /// `n × dim` values, row-major.
    pub features: Features<'a>,
    /// One per row: a number (squared loss) or a class index 0, 1, … (logistic loss).
    pub labels: &'a [f64],
    /// One per row: a salted hash of the row's id, for rules that must not change when other rows leave.
    pub selectors: &'a [u64],
    /// One per row: `false` for a row that has been removed. Its features are zero.
    pub present: &'a [bool],
    /// One per row: as how many rows it counts, a number that [`round_row_weight`] gave. [`UNIT_WEIGHTS`] where all
    /// count once.
    pub row_weights: &'a [f64],
}

/// Where a sum is taken: the weights, and the binary problem that turns labels into targets.
#[derive(Clone, Copy, Debug)]
pub struct Point<'a> {
    /// Which rows count, and with which target.
    pub problem: &'a Problem,
    /// w, of length `dim`.
    pub weights: &'a [f64],
}

/// A set of rows that can be summed over. Sums are bit-identical for any number of threads.
pub trait RowStore: Sync {
    /// d: number of features, the intercept's constant included.
    fn dim(&self) -> usize;

    /// Number of rows present.
    fn n_rows(&self) -> usize;

    /// What the rows present weigh together.
    fn weight_sum(&self) -> WeightSum {
        WeightSum::of_rows(self.n_rows())
    }

    /// R: a public bound on the norm of every row.
    fn row_norm_bound(&self) -> UpperBound;

    /// Number of blocks, each of at most [`BLOCK_ROWS`] rows.
    fn n_blocks(&self) -> usize;

    /// Hands block `index` to `visitor`.
    fn visit_block(&self, index: usize, visitor: &mut dyn FnMut(&RowBlock<'_>)) -> Result<(), StoreError>;

    /// How many rows take part in `problem`, and what they weigh.
    fn count(&self, problem: &Problem) -> Result<RowCount, StoreError> {
        fold::count(self, problem)
    }

    /// Losses and their gradients at several points, in one pass.
    fn gradients(&self, loss: &dyn Loss, points: &[Point<'_>]) -> Result<Vec<GradientSum>, StoreError> {
        fold::gradients(self, loss, points)
    }

    /// Adds (`sign` = 1) or retracts (`sign` = −1) `Σ s_i ℓ″(wᵀx_i, y_i) x_i x_iᵀ`.
    fn add_curvature(
        &self,
        loss: &dyn Loss,
        point: &Point<'_>,
        sign: Sign,
        into: &mut TrackedMatrix,
    ) -> Result<(), StoreError> {
        fold::add_weighted_gram(self, fold::Weighting::Curvature { loss, point }, sign, into)
    }

    /// Adds or retracts `Σ s_i x_i x_iᵀ` over all rows present.
    fn add_gram(&self, sign: Sign, into: &mut TrackedMatrix) -> Result<(), StoreError> {
        fold::add_weighted_gram(self, fold::Weighting::One, sign, into)
    }

    /// `Σ s_i (x_iᵀ v)⁴` over the rows of a problem, for the step v in `point.weights`.
    fn step_powers(&self, point: &Point<'_>) -> Result<StepPowers, StoreError> {
        fold::step_powers(self, point)
    }
}

/// How many rows there are, and what they weigh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowCount {
    /// Number of rows.
    pub n_rows: usize,
    /// Σ s_i.
    pub weight_sum: WeightSum,
}

impl RowCount {
    /// With one more row.
    fn count(&mut self, row_weight: f64) {
        self.n_rows += 1;
        self.weight_sum += WeightSum::of_row(row_weight);
    }

    /// With other rows.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.n_rows += other.n_rows;
        self.weight_sum += other.weight_sum;
    }

    /// What is left when these rows leave, or nothing.
    pub(crate) fn without(self, leaving: &Self) -> Self {
        let n_rows = self.n_rows.saturating_sub(leaving.n_rows);
        Self { n_rows, weight_sum: self.weight_sum.without(leaving.weight_sum) }
    }
}

/// Whether rows are added to a sum or retracted from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Rows arrive.
    Add,
    /// Rows leave.
    Retract,
}

impl Sign {
    /// +1 or −1.
    pub fn factor(self) -> f64 {
        match self {
            Self::Add => 1.0,
            Self::Retract => -1.0,
        }
    }
}

/// A store could not produce a block.
#[derive(Debug, thiserror::Error)]
#[error("rows could not be read: {0}")]
pub struct StoreError(#[from] pub Box<dyn std::error::Error + Send + Sync>);
