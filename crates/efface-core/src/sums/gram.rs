//! Outer products of rows, weighted by curvature at a point or not.

mod joint;

use std::borrow::Cow;
use std::fmt;

use zeroize::{Zeroize, Zeroizing};

use super::entries::Entries;
use super::{DecodeError, Origin, PointTag, Reader, SumDepth, SumError, Writer, least_size};
use crate::linalg::kernel::{self, Value};
use crate::loss::{EVALUATION_ROUNDING, Loss};
use crate::rounding::{UpperBound, operations};
use crate::rows::{Features, Point, RowBlock, RowCount, Sign};

/// `Σ s_i a_i x_i x_iᵀ`, a_i being 1 or ℓ″ at a point; `Σ s_i A_i ⊗ x_i x_iᵀ` where a row has a score for each class, and its
/// ∇²ℓ is a matrix A_i = diag(p) − ppᵀ.
///
/// Few rows are kept as they are, times √(s_i a_i): a matrix is made when they are many, or when it is asked for.
#[derive(Clone, PartialEq)]
pub struct GramSum {
    /// Rows that took part.
    pub count: RowCount,
    /// Rows whose rounding is in the sum, retracted ones included.
    charged: RowCount,
    /// Whether some row does not count once.
    weighted: bool,
    /// `Σ s_i a_i` over the charged rows; of a matrix, its trace.
    weight_size: f64,
    origin: Origin,
    depth: SumDepth,
    /// Of rows times √(s_i a_i), or of the rows √(s_i p_l) (e_l − p) ⊗ x_i of every class l.
    entries: Entries,
}

/// Factors of the rows in a Gram matrix, each times the row's own weight.
#[derive(Clone, Copy, Debug)]
pub enum GramWeights<'a> {
    /// 1 for every row present.
    One,
    /// ℓ″ at a point, for the rows of its problem.
    Curvature {
        /// ℓ.
        loss: &'a dyn Loss,
        /// Where it is taken.
        point: &'a Point<'a>,
    },
}

impl GramWeights<'_> {
    fn tag(&self) -> PointTag {
        match self {
            Self::One => PointTag::EVERYWHERE,
            Self::Curvature { loss, point } => PointTag::of(*loss, point),
        }
    }
}

/// The numbers of a sum that was made elsewhere.
#[derive(Clone)]
pub struct GramParts {
    /// Rows that took part.
    pub count: RowCount,
    /// `Σ s_i a_i`, to six digits.
    pub weight_size: f64,
    /// Whether some row's weight s_i is not 1.
    pub weighted: bool,
    /// Lower triangle, column-major in a full square.
    pub lower: Zeroizing<Vec<f64>>,
}

const KIND: u8 = b'x';

impl GramSum {
    /// The empty sum, for rows of `dim` numbers and norm at most `row_norm`.
    pub fn zeros(dim: usize, row_norm: UpperBound, weights: &GramWeights<'_>) -> Self {
        let (origin, n_scores) = match weights {
            GramWeights::One => (Origin::everywhere(dim, row_norm), 1),
            GramWeights::Curvature { loss, point } => (Origin::at(*loss, point, row_norm), point.problem.n_scores()),
        };
        Self {
            count: RowCount::default(),
            charged: RowCount::default(),
            weighted: false,
            weight_size: 0.0,
            origin,
            depth: SumDepth { margins: 0, ..SumDepth::of_scores(dim / n_scores.max(1), n_scores) },
            entries: Entries::Rows(Zeroizing::default()),
        }
    }

    /// A sum that was made elsewhere, in double precision and by additions nested no deeper than `depth`: each row was
    /// multiplied by the root of its factor first, or its product with itself by the factor. Curvatures must be within
    /// [`EVALUATION_ROUNDING`] of the exact ones for their margins; where a row has K scores, `depth` declares what more they pass
    /// through: 2√K + 2 in `margins`, 8K in `accumulation`.
    pub fn from_parts(
        row_norm: UpperBound,
        weights: &GramWeights<'_>,
        dim: usize,
        parts: GramParts,
        depth: SumDepth,
    ) -> Result<Self, SumError> {
        let GramParts { count, weight_size, weighted, lower } = parts;
        if Some(lower.len()) != dim.checked_mul(dim) {
            return Err(SumError::Dimension { expected: dim, got: lower.len().isqrt() });
        }
        let entries = Entries::Lower(lower);
        Ok(Self { count, charged: count, weighted, weight_size, depth, entries, ..Self::zeros(dim, row_norm, weights) })
    }

    /// Adds the rows of a block, at the point of the sum.
    pub fn add(&mut self, weights: &GramWeights<'_>, block: &RowBlock<'_>) -> Result<(), SumError> {
        self.origin.check(weights.tag(), self.origin.dim)?;
        self.add_block(weights, block, &mut GramScratch::default());
        Ok(())
    }

    pub(crate) fn add_block(&mut self, weights: &GramWeights<'_>, block: &RowBlock<'_>, scratch: &mut GramScratch) {
        if let GramWeights::Curvature { point, .. } = weights
            && point.problem.n_scores() > 1
        {
            match block.features {
                Features::F32(values) => self.add_joint(point, block, values, scratch),
                Features::F64(values) => self.add_joint(point, block, values, scratch),
            }
            return;
        }
        let n = match block.features {
            Features::F32(values) => self.collect(weights, block, values, scratch),
            Features::F64(values) => self.collect(weights, block, values, scratch),
        };
        self.depth.accumulation += self.entries.add(self.origin.dim, &scratch.scaled, n);
    }

    /// Adds the sum over other rows at the same point.
    pub fn merge(&mut self, other: &Self) -> Result<(), SumError> {
        self.charge(other)?;
        self.count.merge(&other.count);
        let dim = self.origin.dim;
        if let Some(rows) = other.listed().filter(|_| self.entries.has_room(dim, other.n_listed())) {
            self.depth.accumulation += self.entries.add(dim, rows, other.n_listed());
            return Ok(());
        }
        // As a matrix of its own: one more addition for each entry, however many rows there are.
        let sum = match other.listed() {
            Some(_) => Cow::Owned(other.clone().added_up()),
            None => Cow::Borrowed(other),
        };
        sum.update_lower(self.lower_mut(), dim, 1.0);
        self.depth.merge(sum.depth);
        Ok(())
    }

    /// Takes the sum over some of the rows back. Their rounding stays, and stays charged.
    pub fn retract(&mut self, other: &Self) -> Result<(), SumError> {
        self.charge(other)?;
        self.count.update(&other.count, Sign::Retract);
        let dim = self.origin.dim;
        other.update_lower(self.lower_mut(), dim, -1.0);
        self.depth.accumulation = self.depth.accumulation.max(other.depth.accumulation) + other.n_listed() + 1;
        Ok(())
    }

    fn charge(&mut self, other: &Self) -> Result<(), SumError> {
        self.origin.merge(&other.origin)?;
        self.charged.merge(&other.charged);
        self.weighted |= other.weighted;
        self.weight_size += other.weight_size;
        self.depth.margins = self.depth.margins.max(other.depth.margins);
        Ok(())
    }

    /// Number of rows and of columns.
    pub fn dim(&self) -> usize {
        self.origin.dim
    }

    /// Where the sum was taken.
    pub fn tag(&self) -> PointTag {
        self.origin.tag
    }

    /// How deep its additions are nested.
    pub fn depth(&self) -> SumDepth {
        self.depth
    }

    /// Bound on `Σ s_i a_i ‖x_i‖²` over all rows that were added, and so on every norm of the matrix.
    pub fn size(&self) -> UpperBound {
        (self.weights() + self.factor_error()) * self.origin.row_norm.squared()
    }

    /// Bound on `Σ |error of s_i a_i| ‖x_i‖²`.
    pub(crate) fn weight_error(&self) -> UpperBound {
        self.factor_error() * self.origin.row_norm.squared()
    }

    /// Bound on the Frobenius norm of the distance between the matrix and the exact one.
    pub fn error(&self) -> UpperBound {
        self.chain_error() + self.weight_error()
    }

    /// The share of [`Self::error`] that comes from adding up.
    fn chain_error(&self) -> UpperBound {
        // Each entry passes through at most that many rounded operations on terms that add up, in absolute value, to at
        // most the size: the Frobenius norm of |x||x|ᵀ is ‖x‖².
        operations(self.depth.accumulation + SLACK) * self.size()
    }

    fn weights(&self) -> UpperBound {
        UpperBound::new(self.weight_size) * UpperBound::new(1.000_001) + least_size(&self.charged)
    }

    /// A curvature is off by 16 units and by γ times its margin's error, and the product with the row's weight, its
    /// square root and the product with a feature add two roundings each.
    fn factor_error(&self) -> UpperBound {
        let tiny = least_size(&self.charged);
        match self.origin.tag {
            // The root of a one is exact, and so is its square.
            PointTag::EVERYWHERE if !self.weighted => UpperBound::ZERO,
            PointTag::EVERYWHERE => operations(4) * self.weights() + tiny,
            _ => {
                let margin_error = self.origin.margin_error(self.depth);
                // Rows that are added up are charged for what is behind several scores with the rest of the chain.
                let of_scores = if self.listed().is_some() { self.depth.accumulation } else { 0 };
                self.charged.weight_sum.upper() * self.origin.lipschitz * margin_error
                    + operations(EVALUATION_ROUNDING + 8 + of_scores) * self.weights()
                    + tiny
            }
        }
    }

    /// Rows times √(s_i a_i), where they are kept.
    pub(crate) fn listed(&self) -> Option<&[f64]> {
        self.entries.rows()
    }

    fn n_listed(&self) -> usize {
        self.entries.n_rows(self.origin.dim)
    }

    /// The same as a matrix.
    pub(crate) fn added_up(mut self) -> Self {
        self.lower_mut();
        self
    }

    /// The lower triangle, column-major in a full square.
    pub(crate) fn into_lower(mut self) -> Vec<f64> {
        std::mem::take(self.lower_mut())
    }

    /// `lower += sign · self`.
    pub(crate) fn update_lower(&self, lower: &mut [f64], dim: usize, sign: f64) {
        self.entries.add_to(lower, dim, sign);
    }

    fn lower_mut(&mut self) -> &mut Vec<f64> {
        let (lower, operations) = self.entries.lower_mut(self.origin.dim);
        self.depth.accumulation += operations;
        lower
    }

    /// Puts the rows of a block that count, times the roots of their factors, into the scratch; how many there are.
    fn collect<T: Value>(
        &mut self,
        weights: &GramWeights<'_>,
        block: &RowBlock<'_>,
        values: &[T],
        scratch: &mut GramScratch,
    ) -> usize {
        let GramScratch { margins, roots, scaled } = scratch;
        roots.clear();
        // Counted before products that underflow are left out: their errors are charged all the same.
        match weights {
            GramWeights::One => {
                let present = block.row_weights.iter().zip(block.present);
                roots.extend(present.map(|(weight, present)| {
                    if *present {
                        self.count.count(*weight);
                        self.charged.count(*weight);
                        self.weighted |= *weight != 1.0;
                    }
                    if *present { weight.sqrt() } else { 0.0 }
                }));
            }
            GramWeights::Curvature { loss, point } => {
                margins.resize(block.labels.len(), 0.0);
                kernel::margins(values, point.weights, margins);
                self.depth.margins = self.depth.margins.max(SumDepth::of_kernel(point.weights.len()).margins);
                roots.extend(margins.iter().zip(block.taking_part(point.problem)).map(|(z, row)| {
                    row.map_or(0.0, |row| {
                        self.count.count(row.weight);
                        self.charged.count(row.weight);
                        (row.weight * loss.curvature(*z, row.target)).sqrt()
                    })
                }));
            }
        }
        scaled.clear();
        for (row, root) in values.chunks_exact(self.origin.dim).zip(&*roots) {
            if *root != 0.0 {
                scaled.extend(row.iter().map(|x| *root * x.wide()));
            }
        }
        roots.retain(|root| *root != 0.0);
        self.weight_size += roots.iter().map(|root| root * root).sum::<f64>();
        roots.len()
    }

    /// The sum as bytes.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Writer::of_kind(KIND, 160 + self.entries.n_bytes());
        bytes.origin(&self.origin);
        bytes.depth(self.depth);
        bytes.rows(&self.count);
        bytes.rows(&self.charged);
        bytes.byte(u8::from(self.weighted));
        bytes.number(self.weight_size);
        self.entries.write(self.origin.dim, &mut bytes);
        bytes.finish()
    }

    /// The sum that these bytes say.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::of_kind(bytes, KIND)?;
        let (origin, depth) = (reader.origin()?, reader.depth()?);
        let (count, charged) = (reader.rows()?, reader.rows()?);
        let weighted = match reader.byte()? {
            0 => false,
            1 => true,
            _ => return Err(DecodeError::Number),
        };
        let weight_size = reader.size()?;
        let entries = Entries::read(origin.dim, &mut reader)?;
        reader.end()?;
        Ok(Self { count, charged, weighted, weight_size, origin, depth, entries })
    }
}

/// Roundings behind an entry besides its chain of additions: the products, and the sums of the bound itself.
pub(crate) const SLACK: usize = 8;

/// Rows of one block scaled by the square roots of their factors, used again for the next.
#[derive(Default)]
pub(crate) struct GramScratch {
    margins: Vec<f64>,
    roots: Vec<f64>,
    scaled: Vec<f64>,
}

impl Drop for GramScratch {
    fn drop(&mut self) {
        self.scaled.zeroize();
    }
}

/// Shape only: the entries are second moments of the rows.
impl fmt::Debug for GramSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shape = f.debug_struct("GramSum");
        shape.field("dim", &self.origin.dim).field("count", &self.count).finish_non_exhaustive()
    }
}
