//! Sums over rows as values: they add a block, merge, retract, travel as bytes, and carry what bounds their error.
//!
//! Whoever can add up rows can make them: the threads of this process (`rows::fold`), another process, a device. A sum
//! knows the point it was taken at, and refuses one from another point. It declares how deep its additions are nested
//! ([`SumDepth`]), and from that, whoever made it, follows a bound on its rounding error.

mod bytes;
mod entries;
mod gradient;
mod gram;
mod powers;
mod request;

pub use bytes::DecodeError;
pub(crate) use entries::add_rows;
pub use gradient::{GradientParts, GradientSum};
pub(crate) use gradient::{GradientScratch, add_to_all};
pub use gram::{GramParts, GramSum, GramWeights};
pub(crate) use gram::{GramScratch, SLACK};
pub use powers::StepPowers;
pub use request::{SumRequest, Sums};

pub(crate) use bytes::{Reader, Writer};

pub use crate::exact::{ColumnRanges, IntegerSum};

use crate::linalg::kernel;
use crate::loss::Loss;
use crate::rounding::{UpperBound, norm, operations};
use crate::rows::{Point, RowCount};

/// Longest chains of rounded operations in a sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SumDepth {
    /// Behind one margin `wᵀx`.
    pub margins: usize,
    /// Behind one number of the sum, given the rows' own shares of it.
    pub accumulation: usize,
}

impl SumDepth {
    /// Margins by this crate's own kernels, nothing added up yet.
    pub(crate) fn of_kernel(dim: usize) -> Self {
        Self { margins: kernel::dot_depth(dim), accumulation: 0 }
    }

    /// The scores of K classes by these kernels, and probabilities of them.
    ///
    /// What is subtracted from the scores before exponentials are taken is one of them, and at most max |z|: the norm of what
    /// that rounds is at most 2√K u · max |z|. Probabilities, their complements and products of three of them pass through at most
    /// 8K more operations than the slope of a single score, relative to themselves.
    pub(crate) fn of_scores(dim: usize, n_scores: usize) -> Self {
        match n_scores {
            1 => Self::of_kernel(dim),
            _ => Self { margins: kernel::dot_depth(dim) + 2 * (n_scores.isqrt() + 1), accumulation: 8 * n_scores },
        }
    }

    /// Of two sums added to each other.
    pub(crate) fn merge(&mut self, other: Self) {
        self.margins = self.margins.max(other.margins);
        self.accumulation = self.accumulation.max(other.accumulation) + 1;
    }
}

/// A digest of where a sum was taken: loss, problem and weights. Guards against mistakes, not against forgery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointTag(u64);

impl PointTag {
    /// Of sums that are the same everywhere.
    pub const EVERYWHERE: Self = Self(0);

    /// Of a point, for a loss.
    pub fn of(loss: &dyn Loss, point: &Point<'_>) -> Self {
        Self::digest(loss.tag(), point)
    }

    /// Of a step, whatever the loss.
    pub(crate) fn of_step(point: &Point<'_>) -> Self {
        Self::digest("step", point)
    }

    fn digest(name: &str, point: &Point<'_>) -> Self {
        let mut words = Writer::new(0);
        words.problem(point.problem);
        words.raw(name.as_bytes());
        let mut digest = point.weights.len() as u64 ^ 0x9e37_79b9_7f4a_7c15;
        let head = words.finish();
        let head = head.chunks(8).map(|bytes| bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)));
        for word in head.chain(point.weights.iter().map(|weight| weight.to_bits())) {
            // One multiplication and one rotation per word, each a bijection.
            digest = (digest ^ word).wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(29);
        }
        Self(digest | 1)
    }
}

/// Where a sum is taken and what its error bound needs to know of that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Origin {
    pub(crate) dim: usize,
    pub(crate) tag: PointTag,
    /// R: bound on the norm of every row.
    pub(crate) row_norm: UpperBound,
    /// ‖w‖.
    pub(crate) weights_norm: UpperBound,
    /// γ of the loss.
    pub(crate) lipschitz: UpperBound,
}

impl Origin {
    pub(crate) fn at(loss: &dyn Loss, point: &Point<'_>, row_norm: UpperBound) -> Self {
        Self {
            dim: point.weights.len(),
            tag: PointTag::of(loss, point),
            row_norm,
            weights_norm: norm(point.weights),
            // In the Frobenius norm where the curvature of a row is a matrix.
            lipschitz: UpperBound::new(loss.curvature_lipschitz())
                * match point.problem.n_scores() {
                    1 => UpperBound::new(1.0),
                    n_scores => UpperBound::count(n_scores).sqrt(),
                },
        }
    }

    pub(crate) fn of_step(point: &Point<'_>, row_norm: UpperBound) -> Self {
        Self {
            dim: point.weights.len(),
            tag: PointTag::of_step(point),
            row_norm,
            weights_norm: norm(point.weights),
            lipschitz: UpperBound::ZERO,
        }
    }

    pub(crate) fn everywhere(dim: usize, row_norm: UpperBound) -> Self {
        let (weights_norm, lipschitz) = (UpperBound::ZERO, UpperBound::ZERO);
        Self { dim, tag: PointTag::EVERYWHERE, row_norm, weights_norm, lipschitz }
    }

    /// The same with rows from elsewhere; refused where those were summed at another point.
    fn merge(&mut self, other: &Self) -> Result<(), SumError> {
        if self.dim != other.dim {
            return Err(SumError::Dimension { expected: self.dim, got: other.dim });
        }
        if self.tag != other.tag {
            return Err(SumError::AnotherPoint);
        }
        self.row_norm = self.row_norm.max(other.row_norm);
        Ok(())
    }

    /// Refuses a point that is not this one.
    fn check(mut self, tag: PointTag, dim: usize) -> Result<(), SumError> {
        let asked = Self { dim, tag, ..self };
        self.merge(&asked)
    }

    /// Bound on the error of one margin: `γ_depth · R · ‖w‖`.
    fn margin_error(&self, depth: SumDepth) -> UpperBound {
        operations(depth.margins) * self.row_norm * self.weights_norm
    }
}

/// Sums that do not belong together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SumError {
    /// Sums over rows of different lengths.
    #[error("a sum over rows of {got} features where {expected} are expected")]
    Dimension {
        /// d of this sum.
        expected: usize,
        /// d of the other one.
        got: usize,
    },
    /// Sums at different points, or of different losses or problems.
    #[error("sums were taken at different points")]
    AnotherPoint,
    /// Integers on different grids.
    #[error("sums of integers are on different grids")]
    AnotherGrid,
    /// A store answered with another sum than was asked for.
    #[error("a store answered with another sum than was asked for")]
    AnotherSum,
}

/// What sums of so many products may have lost to underflow: the smallest normal number for each row, and for each as
/// often as it counts.
pub(crate) fn least_size(count: &RowCount) -> UpperBound {
    (UpperBound::count(count.n_rows) + count.weight_sum.upper()) * UpperBound::new(f64::MIN_POSITIVE)
}
