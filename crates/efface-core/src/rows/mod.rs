//! Rows as the mathematics sees them: blocks of features, and a store that can be summed over.
//!
//! A row i has a weight s_i and counts as s_i rows: every sum is weighted, and n stands for Σ s_i wherever rows are counted.
//! Without weights all s_i are 1.
//!
//! Training, removal and settling see rows only through the sums of [`RowStore`].

mod change;
pub(crate) mod fold;
mod problem;
mod value;
mod weight;

pub use change::Change;
pub use fold::BLOCK_ROWS;
pub use problem::{NegativeSampling, Problem, TargetRule};
pub use value::RowValue;
pub use weight::{MOST_ROW_WEIGHT, UNIT_WEIGHTS, WeightSum, round_row_weight};

use std::ops::Range;

use crate::exact;
use crate::loss::Loss;
use crate::rounding::UpperBound;
use crate::sums::{ColumnRanges, GradientSum, GramSum, IntegerSum, StepPowers, SumError, SumRequest, Sums};

/// Feature values of a block, row-major, in the precision they are stored in. Arithmetic is always in `f64`.
#[derive(Clone, Copy)]
pub enum Features<'a> {
    /// Single precision.
    F32(&'a [f32]),
    /// Double precision.
    F64(&'a [f64]),
}

impl Features<'_> {
    /// A run of values in double precision.
    ///
    /// # Panics
    ///
    /// When the range ends beyond them.
    pub fn widened(&self, range: Range<usize>) -> Vec<f64> {
        match self {
            Self::F32(values) => values[range].iter().map(|x| f64::from(*x)).collect(),
            Self::F64(values) => values[range].to_vec(),
        }
    }
}

/// A run of consecutive rows.
#[derive(Clone, Copy)]
pub struct RowBlock<'a> {
    /// `n × dim` values, row-major.
    pub features: Features<'a>,
    /// One per row: a number (squared loss) or a class index 0, 1, … (logistic loss).
    pub labels: &'a [f64],
    /// One per row: a keyed hash of the row's id, for rules that must not change when other rows leave.
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

/// How many rows a store has, how long they are, and what they weigh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowShape {
    /// d: number of features, the intercept's constant included.
    pub dim: usize,
    /// Number of rows present.
    pub n_rows: usize,
    /// What the rows present weigh together.
    pub weight_sum: WeightSum,
    /// R: a public bound on the norm of every row.
    pub row_norm_bound: UpperBound,
}

/// A set of rows that can be summed over. Sums are bit-identical for any number of threads.
///
/// A store that has rows at hand produces blocks ([`RowBlocks`]) and gets the sums from the shared fold. One that sums
/// elsewhere, on a device, in another process, on a cluster, answers [`SumRequest`]s: both are data.
pub trait RowStore: Sync {
    /// How many rows there are, how long they are, and what they weigh.
    fn shape(&self) -> RowShape;

    /// Adds up what is asked for, in as few passes over the rows as memory allows.
    fn sum(&self, request: &SumRequest<'_>) -> Result<Sums, StoreError>;

    /// d: number of features, the intercept's constant included.
    fn dim(&self) -> usize {
        self.shape().dim
    }

    /// Number of rows present.
    fn n_rows(&self) -> usize {
        self.shape().n_rows
    }

    /// What the rows present weigh together.
    fn weight_sum(&self) -> WeightSum {
        self.shape().weight_sum
    }

    /// R: a public bound on the norm of every row.
    fn row_norm_bound(&self) -> UpperBound {
        self.shape().row_norm_bound
    }

    /// Rows present and what they weigh.
    fn row_count(&self) -> RowCount {
        let RowShape { n_rows, weight_sum, .. } = self.shape();
        RowCount { n_rows, weight_sum }
    }

    /// How many rows take part in each problem, and what they weigh.
    fn counts(&self, problems: &[Problem]) -> Result<Vec<RowCount>, StoreError> {
        self.sum(&SumRequest::Counts { problems })?.counts(problems)
    }

    /// Losses and their gradients at several points, in one pass.
    fn gradients(&self, loss: &dyn Loss, points: &[Point<'_>]) -> Result<Vec<GradientSum>, StoreError> {
        self.sum(&SumRequest::Gradients { loss, points })?.gradients(loss, points)
    }

    /// `Σ s_i ℓ″(wᵀx_i, y_i) x_i x_iᵀ` at several points.
    fn curvature(&self, loss: &dyn Loss, points: &[Point<'_>]) -> Result<Vec<GramSum>, StoreError> {
        self.sum(&SumRequest::Curvature { loss, points })?.curvature(loss, points)
    }

    /// `Σ s_i x_i x_iᵀ` over all rows present.
    fn gram(&self) -> Result<GramSum, StoreError> {
        self.sum(&SumRequest::Gram)?.gram(self.dim())
    }

    /// `Σ s_i (x_iᵀ v)⁴` over the rows of a problem, for the step v in `weights`, at several such points.
    fn step_powers(&self, points: &[Point<'_>]) -> Result<Vec<StepPowers>, StoreError> {
        self.sum(&SumRequest::StepPowers { points })?.step_powers(points)
    }

    /// How large the values of each column are, the targets of these problems as the last columns.
    fn column_ranges(&self, problems: &[Problem]) -> Result<ColumnRanges, StoreError> {
        self.sum(&SumRequest::Ranges { problems })?.ranges(self.dim(), problems)
    }

    /// `Σ a_i a_iᵀ` in integers on the grid of these exponents, one per column.
    fn integers(&self, problems: &[Problem], exponents: &[Option<i32>]) -> Result<IntegerSum, StoreError> {
        self.sum(&SumRequest::Integers { problems, exponents })?.integers(exponents)
    }
}

/// Rows at hand, in blocks. Every sum follows from them.
pub trait RowBlocks: RowStore {
    /// How many rows there are, how long they are, and what they weigh.
    fn row_shape(&self) -> RowShape;

    /// Number of blocks, each of at most [`BLOCK_ROWS`] rows.
    fn n_blocks(&self) -> usize;

    /// Hands block `index` to `visitor`.
    fn visit_block(&self, index: usize, visitor: &mut dyn FnMut(&RowBlock<'_>)) -> Result<(), StoreError>;
}

impl<S: RowBlocks + ?Sized> RowStore for S {
    fn shape(&self) -> RowShape {
        self.row_shape()
    }

    fn sum(&self, request: &SumRequest<'_>) -> Result<Sums, StoreError> {
        Ok(match *request {
            SumRequest::Counts { problems } => Sums::Counts(fold::counts(self, problems)?),
            SumRequest::Gradients { loss, points } => Sums::Gradients(fold::gradients(self, loss, points)?),
            SumRequest::Curvature { loss, points } => Sums::Curvature(fold::curvature(self, loss, points)?),
            SumRequest::Gram => Sums::Gram(fold::gram(self)?),
            SumRequest::StepPowers { points } => Sums::StepPowers(fold::step_powers(self, points)?),
            SumRequest::Ranges { problems } => Sums::Ranges(exact::ranges_of(self, problems)?),
            SumRequest::Integers { problems, exponents } => {
                Sums::Integers(exact::integers_of(self, problems, exponents)?)
            }
        })
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
    pub(crate) fn count(&mut self, row_weight: f64) {
        self.n_rows += 1;
        self.weight_sum += WeightSum::of_row(row_weight);
    }

    /// With other rows.
    pub fn merge(&mut self, other: &Self) {
        self.n_rows += other.n_rows;
        self.weight_sum += other.weight_sum;
    }

    /// With other rows, or without them.
    pub(crate) fn update(&mut self, other: &Self, sign: Sign) {
        match sign {
            Sign::Add => self.merge(other),
            Sign::Retract => *self = self.without(other),
        }
    }

    /// What is left when these rows leave, or nothing.
    #[must_use]
    pub fn without(self, leaving: &Self) -> Self {
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
    /// The other one.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Self::Add => Self::Retract,
            Self::Retract => Self::Add,
        }
    }

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

impl From<SumError> for StoreError {
    fn from(error: SumError) -> Self {
        Self(Box::new(error))
    }
}
