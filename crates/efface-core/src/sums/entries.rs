//! The numbers of a Gram sum: rows while they are few, then a triangle.

use faer::linalg::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::{DecodeError, Reader, Writer};
use crate::linalg::kernel;
use crate::rows::BLOCK_ROWS;

/// `Σ x_i x_iᵀ` for rows of `dim` numbers, which every function is told. Wiped when dropped.
#[derive(Clone, PartialEq)]
pub(super) enum Entries {
    /// The rows, one after the other.
    Rows(Zeroizing<Vec<f64>>),
    /// Lower triangle, column-major in a full square; the upper triangle is never read.
    Lower(Zeroizing<Vec<f64>>),
}

/// Rows of so many numbers that a sum keeps as they are: they take less room than a matrix.
fn most_rows(dim: usize) -> usize {
    (dim / 2).clamp(FEW_ROWS, BLOCK_ROWS)
}

/// Up to this many rows, a rank-one update each is faster than a blocked product.
const FEW_ROWS: usize = 12;

/// Above this many columns, sums are merged by several threads.
const WIDE: usize = 256;

impl Entries {
    /// The rows, where they are kept.
    pub(super) fn rows(&self) -> Option<&[f64]> {
        match self {
            Self::Rows(rows) => Some(rows),
            Self::Lower(_) => None,
        }
    }

    /// How many those are.
    pub(super) fn n_rows(&self, dim: usize) -> usize {
        self.rows().map_or(0, <[f64]>::len) / dim.max(1)
    }

    /// Whether so many more rows are kept as they are.
    pub(super) fn has_room(&self, dim: usize, n: usize) -> bool {
        self.rows().is_some() && self.n_rows(dim) + n <= most_rows(dim)
    }

    /// Adds `n` rows. How much longer the chain of operations behind an entry is then.
    pub(super) fn add(&mut self, dim: usize, rows: &[f64], n: usize) -> usize {
        let has_room = self.has_room(dim, n);
        match self {
            Self::Rows(kept) if has_room => {
                // Room for all of it: what grows leaves copies behind.
                let mut longer = Zeroizing::new(Vec::with_capacity(kept.len() + n * dim));
                longer.extend_from_slice(kept);
                longer.extend_from_slice(&rows[..n * dim]);
                *kept = longer;
                0
            }
            _ => {
                let (lower, operations) = self.lower_mut(dim);
                add_rows(lower, dim, rows, n, 1.0);
                operations + n
            }
        }
    }

    /// The triangle, made where there are rows; how much longer that makes the chain behind an entry.
    pub(super) fn lower_mut(&mut self, dim: usize) -> (&mut Vec<f64>, usize) {
        let n = self.n_rows(dim);
        if let Self::Rows(rows) = self {
            // Written before it is read: memory that is zero because nobody wrote to it is mapped twice otherwise.
            let mut lower = Zeroizing::new(vec![0.0; dim * dim]);
            multiply_rows(&mut lower, dim, rows, n, 1.0, Accum::Replace);
            *self = Self::Lower(lower);
        }
        match self {
            Self::Lower(lower) | Self::Rows(lower) => (lower, n),
        }
    }

    /// `lower += sign · self`.
    pub(super) fn add_to(&self, lower: &mut [f64], dim: usize, sign: f64) {
        match self {
            Self::Rows(rows) => add_rows(lower, dim, rows, self.n_rows(dim), sign),
            Self::Lower(theirs) => add_lower(lower, dim, sign, theirs),
        }
    }

    pub(super) fn n_bytes(&self) -> usize {
        let (Self::Rows(numbers) | Self::Lower(numbers)) = self;
        16 + 8 * numbers.len()
    }

    pub(super) fn write(&self, dim: usize, bytes: &mut Writer) {
        match self {
            Self::Rows(rows) => {
                bytes.byte(0);
                bytes.count(self.n_rows(dim));
                bytes.numbers(rows);
            }
            Self::Lower(lower) => {
                bytes.byte(1);
                (0..dim).for_each(|j| bytes.numbers(&lower[j * dim + j..(j + 1) * dim]));
            }
        }
    }

    pub(super) fn read(dim: usize, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match reader.byte()? {
            0 => {
                let n = Some(reader.count()?).filter(|n| *n <= most_rows(dim)).ok_or(DecodeError::Length)?;
                Ok(Self::Rows(reader.numbers(n.checked_mul(dim).ok_or(DecodeError::Length)?)?.into()))
            }
            1 => Ok(Self::Lower(unpacked(reader, dim)?)),
            _ => Err(DecodeError::Number),
        }
    }
}

/// A square from its lower triangle, column by column. The triangle's length is checked before room is made.
fn unpacked(reader: &mut Reader<'_>, dim: usize) -> Result<Zeroizing<Vec<f64>>, DecodeError> {
    let twice = dim.checked_add(1).and_then(|next| dim.checked_mul(next)).ok_or(DecodeError::Length)?;
    let packed = Zeroizing::new(reader.numbers(twice / 2)?);
    let mut lower = Zeroizing::new(vec![0.0; dim * dim]);
    let mut rest = &packed[..];
    for j in 0..dim {
        let (column, later) = rest.split_at(dim - j);
        lower[j * dim + j..(j + 1) * dim].copy_from_slice(column);
        rest = later;
    }
    Ok(lower)
}

/// `lower += sign · Σ row rowᵀ`.
pub(crate) fn add_rows(lower: &mut [f64], dim: usize, rows: &[f64], n: usize, sign: f64) {
    if n <= FEW_ROWS {
        kernel::rank_update(lower, dim, &rows[..n * dim], &vec![sign; n]);
    } else {
        multiply_rows(lower, dim, rows, n, sign, Accum::Add);
    }
}

/// `sign · Σ row rowᵀ`, added to what is there or in its place.
fn multiply_rows(lower: &mut [f64], dim: usize, rows: &[f64], n: usize, sign: f64, beta: Accum) {
    if n == 0 || dim == 0 {
        return;
    }
    let columns = MatRef::from_column_major_slice(&rows[..n * dim], dim, n);
    triangular::matmul(
        MatMut::from_column_major_slice_mut(lower, dim, dim),
        BlockStructure::TriangularLower,
        beta,
        columns,
        BlockStructure::Rectangular,
        columns.transpose(),
        BlockStructure::Rectangular,
        sign,
        Par::Seq,
    );
}

/// Adds `Σ tall wideᵀ` over `n` pairs of rows to the columns from `first` on, from the diagonal block down: `wide` rows are as long
/// as there are such columns, and `tall` ones reach to the last row.
pub(super) fn add_products(lower: &mut [f64], dim: usize, first: usize, tall: &[f64], wide: &[f64], n: usize) {
    if n == 0 {
        return;
    }
    let (n_rows, n_columns) = (dim - first, wide.len() / n);
    let into =
        MatMut::from_column_major_slice_with_stride_mut(&mut lower[first * dim + first..], n_rows, n_columns, dim);
    let tall = MatRef::from_column_major_slice(&tall[..n * n_rows], n_rows, n);
    let wide = MatRef::from_column_major_slice(wide, n_columns, n).transpose();
    let (diagonal, below) = into.split_at_row_mut(n_columns);
    let (top, bottom) = tall.split_at_row(n_columns);
    let whole = BlockStructure::Rectangular;
    let (triangle, alpha) = (BlockStructure::TriangularLower, 1.0);
    triangular::matmul(diagonal, triangle, Accum::Add, top, whole, wide, whole, alpha, Par::Seq);
    matmul::matmul(below, Accum::Add, bottom, wide, alpha, Par::Seq);
}

/// `lower += sign · other`, lower triangles.
fn add_lower(lower: &mut [f64], dim: usize, sign: f64, other: &[f64]) {
    let add = |(j, column): (usize, &mut [f64])| {
        kernel::axpy(sign, &other[j * dim + j..(j + 1) * dim], &mut column[j..]);
    };
    if dim < WIDE {
        lower.chunks_exact_mut(dim.max(1)).enumerate().for_each(add);
    } else {
        lower.par_chunks_exact_mut(dim).enumerate().for_each(add);
    }
}
