//! Losses and gradients, summed at one point.

mod joint;

use zeroize::Zeroizing;

use super::{DecodeError, Origin, PointTag, Reader, SumDepth, SumError, Writer, least_size};
use crate::linalg::kernel::{self, Value};
use crate::loss::{EVALUATION_ROUNDING, Loss};
use crate::rounding::{UpperBound, operations};
use crate::rows::{Features, Point, RowBlock, RowCount, Sign};
use crate::secret::SecretVector;

/// `Σ s_i ℓ` and `Σ s_i ∇ℓ` over the rows of a problem, at one point.
#[derive(Clone, Debug, PartialEq)]
pub struct GradientSum {
    /// Rows that took part.
    pub count: RowCount,
    /// `Σ s_i ℓ(wᵀx_i, y_i)`.
    pub value: f64,
    /// `Σ s_i ℓ′(wᵀx_i, y_i) x_i`, class after class where a row has a score for each. For one row it is multiples of the row.
    pub gradient: SecretVector,
    /// Rows whose rounding is in the sum, retracted ones included.
    charged: RowCount,
    /// `Σ s_i |ℓ′|` over those, the norm of all slopes where there are several.
    slope_size: f64,
    /// `Σ s_i ℓ″` over those, at least the norm of the matrix where there are several scores.
    curvature_size: f64,
    origin: Origin,
    depth: SumDepth,
}

/// The numbers of a sum that was made elsewhere.
#[derive(Clone, Debug)]
pub struct GradientParts {
    /// Rows that took part.
    pub count: RowCount,
    /// `Σ s_i ℓ`.
    pub value: f64,
    /// `Σ s_i ℓ′ x_i`.
    pub gradient: SecretVector,
    /// `Σ s_i |ℓ′|`, to six digits.
    pub slope_size: f64,
    /// `Σ s_i ℓ″`, to six digits.
    pub curvature_size: f64,
}

const KIND: u8 = b'g';

impl GradientSum {
    /// The empty sum at a point, for rows of norm at most `row_norm`.
    pub fn zeros(loss: &dyn Loss, point: &Point<'_>, row_norm: UpperBound) -> Self {
        Self {
            count: RowCount::default(),
            value: 0.0,
            gradient: SecretVector::zeros(point.weights.len()),
            charged: RowCount::default(),
            slope_size: 0.0,
            curvature_size: 0.0,
            origin: Origin::at(loss, point, row_norm),
            depth: SumDepth::default(),
        }
    }

    /// A sum that was made elsewhere, in double precision and by additions nested no deeper than `depth`. Slopes and
    /// curvatures must be within [`EVALUATION_ROUNDING`] of the exact ones for their margins; where a row has K scores, `depth`
    /// declares what more they pass through: 2√K + 2 in `margins`, 8K in `accumulation`.
    pub fn from_parts(
        loss: &dyn Loss,
        point: &Point<'_>,
        row_norm: UpperBound,
        parts: GradientParts,
        depth: SumDepth,
    ) -> Result<Self, SumError> {
        let GradientParts { count, value, gradient, slope_size, curvature_size } = parts;
        let origin = Origin::at(loss, point, row_norm);
        if gradient.len() != origin.dim {
            return Err(SumError::Dimension { expected: origin.dim, got: gradient.len() });
        }
        Ok(Self { count, value, gradient, charged: count, slope_size, curvature_size, origin, depth })
    }

    /// Adds the rows of a block, at the point of the sum.
    pub fn add(&mut self, loss: &dyn Loss, point: &Point<'_>, block: &RowBlock<'_>) -> Result<(), SumError> {
        self.origin.check(PointTag::of(loss, point), point.weights.len())?;
        let mut scratch = GradientScratch::default();
        add_to_all(std::slice::from_mut(self), loss, std::slice::from_ref(point), block, &mut scratch);
        Ok(())
    }

    /// Adds the sum over other rows at the same point.
    pub fn merge(&mut self, other: &Self) -> Result<(), SumError> {
        self.update(other, Sign::Add)
    }

    /// Takes the sum over some of the rows back. Their rounding stays, and stays charged.
    pub fn retract(&mut self, other: &Self) -> Result<(), SumError> {
        self.update(other, Sign::Retract)
    }

    fn update(&mut self, other: &Self, sign: Sign) -> Result<(), SumError> {
        self.origin.merge(&other.origin)?;
        self.count.update(&other.count, sign);
        self.charged.merge(&other.charged);
        self.value += sign.factor() * other.value;
        self.slope_size += other.slope_size;
        self.curvature_size += other.curvature_size;
        kernel::axpy(sign.factor(), &other.gradient, &mut self.gradient);
        self.depth.merge(other.depth);
        Ok(())
    }

    /// Where the sum was taken.
    pub fn tag(&self) -> PointTag {
        self.origin.tag
    }

    /// How deep its additions are nested.
    pub fn depth(&self) -> SumDepth {
        self.depth
    }

    /// ‖w‖ of the point.
    pub(crate) fn weights_norm(&self) -> UpperBound {
        self.origin.weights_norm
    }

    /// Bound on the Euclidean distance between `gradient` and the exact sum.
    ///
    /// ```text
    /// e         = γ_margins · R · ‖w‖                                    error of one margin
    /// |δ slope| ≤ (ℓ″ + γ e) e + 17u |ℓ′|                                ℓ″ is γ-Lipschitz; one u for the weight
    /// ‖error‖   ≤ R Σ s |δ slope| + γ_accumulation · R Σ s |ℓ′|
    /// ```
    pub fn error(&self) -> UpperBound {
        if self.charged.n_rows == 0 {
            return UpperBound::ZERO;
        }
        let n = self.charged.weight_sum.upper();
        let margin_error = self.origin.margin_error(self.depth);
        // The plain sums of non-negative numbers are themselves rounded; one part in a million covers 10⁹ terms.
        let safely = UpperBound::new(1.000_001);
        let tiny = least_size(&self.charged);
        let slope_size = UpperBound::new(self.slope_size) * safely + tiny;
        let curvature_size = UpperBound::new(self.curvature_size) * safely + tiny;
        let from_margins = (curvature_size + n * self.origin.lipschitz * margin_error) * margin_error;
        let from_slopes = (operations(EVALUATION_ROUNDING + 1) + operations(self.depth.accumulation)) * slope_size;
        self.origin.row_norm * (from_margins + from_slopes + tiny)
    }

    /// Bound on the same distance where `F² ≥ Σ s_i ‖x_i‖²` is known as well: the smaller of both.
    ///
    /// ```text
    /// e_i     ≤ ε ‖x_i‖,   ε = γ_margins · ‖w‖
    /// ‖error‖ ≤ Σ s ‖x_i‖ ((ℓ″ + γ e_i) e_i + 17u |ℓ′|) + γ_accumulation · Σ s |ℓ′| ‖x_i‖
    ///         ≤ (max ℓ″ + γ ε R) ε F² + (17u + γ_accumulation) · √(max |ℓ′| · Σ s |ℓ′|) · F
    /// ```
    ///
    /// by Σ s |ℓ′| ‖x‖ ≤ √(Σ s ℓ′²) √(Σ s ‖x‖²). Without a bound on the slopes the last part is R Σ s |ℓ′|.
    pub fn error_within(&self, loss: &dyn Loss, square_sum: Option<UpperBound>) -> UpperBound {
        // Rows that were retracted have left their rounding, and may not be in F².
        let is_whole = self.charged == self.count && self.count.n_rows > 0;
        let Some(square_sum) = square_sum.filter(|_| is_whole) else { return self.error() };
        let tiny = least_size(&self.charged);
        let slope_size = UpperBound::new(self.slope_size) * UpperBound::new(1.000_001) + tiny;
        let row_norm = self.origin.row_norm;
        let per_norm = operations(self.depth.margins) * self.origin.weights_norm;
        let curvature = UpperBound::new(loss.curvature_bound()) + self.origin.lipschitz * per_norm * row_norm;
        let slopes = match loss.slope_bound() {
            Some(most) => ((UpperBound::new(most) * slope_size).sqrt() * square_sum.sqrt()).min(row_norm * slope_size),
            None => row_norm * slope_size,
        };
        let from_slopes = (operations(EVALUATION_ROUNDING + 1) + operations(self.depth.accumulation)) * slopes;
        (curvature * per_norm * square_sum + from_slopes + row_norm * tiny).min(self.error())
    }

    /// The sum as bytes.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Writer::of_kind(KIND, 144 + 8 * self.gradient.len());
        bytes.origin(&self.origin);
        bytes.depth(self.depth);
        bytes.rows(&self.count);
        bytes.rows(&self.charged);
        bytes.numbers(&[self.value, self.slope_size, self.curvature_size]);
        bytes.numbers(&self.gradient);
        bytes.finish()
    }

    /// The sum that these bytes say.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::of_kind(bytes, KIND)?;
        let (origin, depth) = (reader.origin()?, reader.depth()?);
        let sum = Self {
            count: reader.rows()?,
            charged: reader.rows()?,
            value: reader.number()?,
            slope_size: reader.size()?,
            curvature_size: reader.size()?,
            gradient: reader.numbers(origin.dim)?.into(),
            origin,
            depth,
        };
        reader.end()?;
        Ok(sum)
    }
}

/// Room for one block's margins and sums, used again for the next.
#[derive(Default)]
pub(crate) struct GradientScratch {
    /// One per point and row.
    margins: Vec<f64>,
    block_sums: Vec<f64>,
}

/// Adds the rows of a block to the sums at several points of the same loss, one point each, while the block is in the
/// cache.
pub(crate) fn add_to_all(
    sums: &mut [GradientSum],
    loss: &dyn Loss,
    points: &[Point<'_>],
    block: &RowBlock<'_>,
    scratch: &mut GradientScratch,
) {
    match block.features {
        Features::F32(values) => add_values(sums, loss, points, block, values, scratch),
        Features::F64(values) => add_values(sums, loss, points, block, values, scratch),
    }
}

fn add_values<T: Value>(
    sums: &mut [GradientSum],
    loss: &dyn Loss,
    points: &[Point<'_>],
    block: &RowBlock<'_>,
    values: &[T],
    scratch: &mut GradientScratch,
) {
    let n = block.labels.len();
    let dim = points.first().map_or(0, |point| point.weights.len() / point.problem.n_scores());
    scratch.margins.resize(n, 0.0);
    scratch.block_sums.resize(dim, 0.0);
    for (point, sum) in points.iter().zip(sums) {
        if point.problem.n_scores() > 1 {
            joint::add(sum, point, block, values, scratch);
            continue;
        }
        kernel::margins(values, point.weights, &mut scratch.margins);
        for (margin, row) in scratch.margins.iter_mut().zip(block.taking_part(point.problem)) {
            let Some(row) = row else {
                *margin = 0.0;
                continue;
            };
            let at = loss.evaluate(*margin, row.target);
            let slope = row.weight * at.slope;
            sum.count.count(row.weight);
            sum.charged.count(row.weight);
            sum.value += row.weight * at.value;
            sum.slope_size += slope.abs();
            sum.curvature_size += row.weight * at.curvature;
            *margin = slope;
        }
        scratch.block_sums.fill(0.0);
        kernel::add_scaled_rows(values, dim, &scratch.margins, &mut scratch.block_sums);
        kernel::axpy(1.0, &scratch.block_sums, &mut sum.gradient);
        sum.depth.merge(SumDepth { accumulation: kernel::scaled_rows_depth(n), ..SumDepth::of_kernel(dim) });
    }
}
