//! Powers of the margins' changes along a step.

use zeroize::Zeroizing;

use super::{DecodeError, Origin, PointTag, Reader, SumDepth, SumError, Writer, least_size};
use crate::predict::block_margins;
use crate::rounding::{LowerBound, UpperBound};
use crate::rows::{Point, RowBlock, RowCount, Sign};

/// Powers of the margins' change `t_i = x_iᵀ v` along a step; of several scores, t_i² is the sum of their squares.
#[derive(Clone, Debug, PartialEq)]
pub struct StepPowers {
    /// Rows that took part.
    pub count: RowCount,
    /// `Σ s_i t_i⁴`.
    pub fourth_powers: f64,
    /// Rows whose rounding is in the sum, retracted ones included.
    charged: RowCount,
    /// `Σ s_i t_i⁴` over the retracted ones.
    retracted: f64,
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
        let origin = Origin::of_step(point, row_norm);
        Self { count, fourth_powers, charged: count, retracted: 0.0, origin, depth }
    }

    /// Adds the rows of a block, along the step of the sum.
    pub fn add(&mut self, point: &Point<'_>, block: &RowBlock<'_>) -> Result<(), SumError> {
        self.origin.check(PointTag::of_step(point), point.weights.len())?;
        self.add_block(point, block);
        Ok(())
    }

    pub(crate) fn add_block(&mut self, point: &Point<'_>, block: &RowBlock<'_>) {
        let n_scores = point.problem.n_scores();
        let dim = point.weights.len() / n_scores;
        let (mut margins, mut squares) = (vec![0.0; block.labels.len()], vec![0.0; block.labels.len()]);
        for step in point.weights.chunks_exact(dim) {
            block_margins(block.features, step, &mut margins);
            squares.iter_mut().zip(&margins).for_each(|(square, t)| *square += t * t);
        }
        for (square, row) in squares.iter().zip(block.taking_part(point.problem)) {
            let Some(row) = row else { continue };
            self.count.count(row.weight);
            self.charged.count(row.weight);
            self.fourth_powers += row.weight * (square * square);
        }
        self.depth.margins = self.depth.margins.max(SumDepth::of_kernel(dim).margins);
    }

    /// Adds the powers of other rows along the same step.
    pub fn merge(&mut self, other: &Self) -> Result<(), SumError> {
        self.update(other, Sign::Add)
    }

    /// Takes the powers of some of the rows back. Their rounding stays, and stays charged.
    pub fn retract(&mut self, other: &Self) -> Result<(), SumError> {
        self.update(other, Sign::Retract)
    }

    fn update(&mut self, other: &Self, sign: Sign) -> Result<(), SumError> {
        self.origin.merge(&other.origin)?;
        self.count.update(&other.count, sign);
        self.charged.merge(&other.charged);
        self.retracted += other.retracted;
        if matches!(sign, Sign::Retract) {
            self.retracted += other.fourth_powers;
        }
        let sum = self.fourth_powers + sign.factor() * other.fourth_powers;
        // Below zero by rounding alone; what is not a number stays so, and leaves no bound.
        self.fourth_powers = if sum < 0.0 { 0.0 } else { sum };
        self.depth.merge(other.depth);
        Ok(())
    }

    /// Along which step.
    pub fn tag(&self) -> PointTag {
        self.origin.tag
    }

    /// Upper bound of `√(Σ s_i t_i⁴)` for the exact changes, with e the error of each computed one:
    /// `√(Σ s (|t| + e)⁴) ≤ (‖s^¼ t‖₄ + (Σ s)^¼ e)²` by the triangle inequality in ℓ⁴.
    ///
    /// Where rows were retracted, P is the sum of all computed powers that were added and Q of those taken back:
    ///
    /// ```text
    /// Σ s t⁴ ≤ (P^¼ + (Σ_P s)^¼ e)⁴ − (Q^¼ − (Σ_Q s)^¼ e)₊⁴         a row need not have been computed the same way twice
    ///        ≤ (P^¼ + (Σ_P s)^¼ e)⁴ + (Q^¼ + (Σ_Q s)^¼ e)⁴ − 2Q     x⁴ is convex: x⁴ − (x − c)₊⁴ ≤ (x + c)⁴ − x⁴
    ///        ≤ ((P + Q)^¼ + (Σ_{P,Q} s)^¼ e)⁴ − 2Q                  the triangle inequality once more
    /// ```
    pub(crate) fn root_of_fourth_powers(&self) -> UpperBound {
        let safely = UpperBound::new(1.000_001);
        let n = self.charged.weight_sum.upper();
        let tiny = least_size(&self.charged);
        let retracted = UpperBound::new(self.retracted);
        let charged = UpperBound::new(self.fourth_powers) + retracted + retracted;
        let norm = (charged * safely + tiny).sqrt().sqrt();
        let root = (norm + n.sqrt().sqrt() * self.origin.margin_error(self.depth)).squared();
        if self.retracted == 0.0 {
            return root;
        }
        let retracted = LowerBound::new(self.retracted).times(LowerBound::new(0.999_999)).minus(tiny);
        root.squared().minus(retracted).minus(retracted).sqrt()
    }

    /// The powers as bytes.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Writer::of_kind(KIND, 128);
        bytes.origin(&self.origin);
        bytes.depth(self.depth);
        bytes.rows(&self.count);
        bytes.rows(&self.charged);
        bytes.numbers(&[self.fourth_powers, self.retracted]);
        bytes.finish()
    }

    /// The powers that these bytes say.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::of_kind(bytes, KIND)?;
        let (origin, depth) = (reader.origin()?, reader.depth()?);
        let (count, charged) = (reader.rows()?, reader.rows()?);
        let sum = Self { count, charged, fourth_powers: reader.size()?, retracted: reader.size()?, origin, depth };
        reader.end()?;
        Ok(sum)
    }
}
