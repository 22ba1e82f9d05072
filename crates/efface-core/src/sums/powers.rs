//! Powers of the margins' changes along a step.

use zeroize::Zeroizing;

use super::{DecodeError, Origin, PointTag, Reader, SumDepth, SumError, Writer, least_size};
use crate::predict::block_margins;
use crate::rounding::UpperBound;
use crate::rows::{Point, RowBlock, RowCount};

/// Powers of the margins' change `t_i = x_iᵀ v` along a step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepPowers {
    /// Rows that took part.
    pub count: RowCount,
    /// `Σ s_i t_i⁴`.
    pub fourth_powers: f64,
    origin: Origin,
    depth: SumDepth,
}

const KIND: u8 = b'p';

impl StepPowers {
    /// No rows yet, along the step v in `point.weights`, for rows of norm at most `row_norm`.
    pub fn zeros(point: &Point<'_>, row_norm: UpperBound) -> Self {
        Self::from_parts(point, row_norm, RowCount::default(), 0.0, SumDepth::default())
    }

    /// Powers that were added up elsewhere, to six digits given their margins.
    pub fn from_parts(
        point: &Point<'_>,
        row_norm: UpperBound,
        count: RowCount,
        fourth_powers: f64,
        depth: SumDepth,
    ) -> Self {
        Self { count, fourth_powers, origin: Origin::of_step(point, row_norm), depth }
    }

    /// Adds the rows of a block, along the step of the sum.
    pub fn add(&mut self, point: &Point<'_>, block: &RowBlock<'_>) -> Result<(), SumError> {
        self.origin.check(PointTag::of_step(point), point.weights.len())?;
        self.add_block(point, block);
        Ok(())
    }

    pub(crate) fn add_block(&mut self, point: &Point<'_>, block: &RowBlock<'_>) {
        let mut margins = vec![0.0; block.labels.len()];
        block_margins(block.features, point.weights, &mut margins);
        for (t, row) in margins.iter().zip(block.taking_part(point.problem)) {
            let Some(row) = row else { continue };
            self.count.count(row.weight);
            self.fourth_powers += row.weight * ((t * t) * (t * t));
        }
        self.depth.margins = self.depth.margins.max(SumDepth::of_kernel(point.weights.len()).margins);
    }

    /// Adds the powers of other rows along the same step.
    pub fn merge(&mut self, other: &Self) -> Result<(), SumError> {
        self.origin.merge(&other.origin)?;
        self.count.merge(&other.count);
        self.fourth_powers += other.fourth_powers;
        self.depth.merge(other.depth);
        Ok(())
    }

    /// Along which step.
    pub fn tag(&self) -> PointTag {
        self.origin.tag
    }

    /// Upper bound of `√(Σ s_i t_i⁴)` for the exact changes, with e the error of each computed one:
    /// `√(Σ s (|t| + e)⁴) ≤ (‖s^¼ t‖₄ + (Σ s)^¼ e)²` by the triangle inequality in ℓ⁴.
    pub(crate) fn root_of_fourth_powers(&self) -> UpperBound {
        let safely = UpperBound::new(1.000_001);
        let n = self.count.weight_sum.upper();
        let tiny = least_size(&self.count);
        let norm = (UpperBound::new(self.fourth_powers) * safely + tiny).sqrt().sqrt();
        (norm + n.sqrt().sqrt() * self.origin.margin_error(self.depth)).squared()
    }

    /// The powers as bytes.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Writer::of_kind(KIND, 96);
        bytes.origin(&self.origin);
        bytes.depth(self.depth);
        bytes.rows(&self.count);
        bytes.number(self.fourth_powers);
        bytes.finish()
    }

    /// The powers that these bytes say.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::of_kind(bytes, KIND)?;
        let (origin, depth) = (reader.origin()?, reader.depth()?);
        let sum = Self { count: reader.rows()?, fourth_powers: reader.size()?, origin, depth };
        reader.end()?;
        Ok(sum)
    }
}
