//! Products of columns as integers: sums without rounding, which add, merge, retract and travel.

use std::fmt;

use faer::linalg::matmul::{self, triangular};
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;
use zeroize::{Zeroize, Zeroizing};

use super::slices::{Grid, Slices, WholeRows, joined};
use crate::rows::{Problem, RowBlock, Sign};
use crate::sums::{DecodeError, Reader, SumError, Writer};

/// `Σ s_i a_i a_iᵀ`, a_i = (x_i, y_i) rounded to a grid: integers. Few rows are kept as they are.
#[derive(Clone, PartialEq)]
pub struct IntegerSum {
    /// The grid of each column; `None` for a column of zeros.
    exponents: Vec<Option<i32>>,
    entries: Entries,
}

#[derive(Clone, PartialEq)]
enum Entries {
    /// Rows of integers, one after the other.
    Rows(Zeroizing<Vec<i64>>),
    Sums(Triangle),
}

/// The lower triangle of a symmetric matrix of integers, column by column. Wiped when dropped.
#[derive(Clone, PartialEq)]
pub(super) struct Triangle(pub(super) Vec<i128>);

impl Drop for Triangle {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// Up to this many rows, one product of integers each is faster than products of slices.
pub(super) const FEW_ROWS: usize = 12;

/// No sum over rows that fit any memory comes near it, and one more row does not overflow it.
const LARGEST_ENTRY: u128 = 1 << 126;

/// Columns of the matrix that are made at a time, so that their products stay in the cache.
const PANEL: usize = 256;

/// Above this many columns a row is added by several threads.
const WIDE: usize = 512;

const KIND: u8 = b'z';

impl IntegerSum {
    /// The empty sum on a grid.
    pub fn zeros(exponents: &[Option<i32>]) -> Self {
        Self { exponents: exponents.to_vec(), entries: Entries::Rows(Zeroizing::default()) }
    }

    /// Adds the rows of a block, the targets of `problems` as the last columns. Refused where a value is beyond the grid.
    pub fn add(&mut self, problems: &[Problem], block: &RowBlock<'_>) -> Result<(), SumError> {
        self.add_block(problems, block, &mut IntegerScratch::default())
    }

    pub(super) fn add_block(
        &mut self,
        problems: &[Problem],
        block: &RowBlock<'_>,
        scratch: &mut IntegerScratch,
    ) -> Result<(), SumError> {
        let n_columns = self.exponents.len();
        let IntegerScratch { whole, products } = scratch;
        let dim = n_columns.saturating_sub(problems.len());
        let rows = whole.read(block, dim, problems);
        let grid = Grid::new(&self.exponents);
        if !grid.holds(rows) {
            return Err(SumError::AnotherGrid);
        }
        let n_rows = rows.len() / n_columns.max(1);
        match &mut self.entries {
            Entries::Rows(listed) if listed.len() / n_columns.max(1) + n_rows <= FEW_ROWS => {
                // Room for all of it: what grows leaves copies behind.
                let mut longer = Zeroizing::new(Vec::with_capacity(listed.len() + rows.len()));
                longer.extend_from_slice(listed);
                rows.chunks_exact(n_columns.max(1)).for_each(|row| longer.extend(grid.integers(row)));
                *listed = longer;
            }
            _ => products.add(rows, &grid, self.triangle_mut(), n_columns),
        }
        Ok(())
    }

    /// Adds the sum over other rows, on the same grid.
    pub fn merge(&mut self, other: &Self) -> Result<(), SumError> {
        self.update(other, Sign::Add)
    }

    /// Takes the sum over some of the rows back, without a trace.
    pub fn retract(&mut self, other: &Self) -> Result<(), SumError> {
        self.update(other, Sign::Retract)
    }

    fn update(&mut self, other: &Self, sign: Sign) -> Result<(), SumError> {
        if self.exponents != other.exponents {
            return Err(SumError::AnotherGrid);
        }
        self.triangle_mut().update(other, sign);
        Ok(())
    }

    /// The grid of each column: the least e with |x| < 2^e for all its values, `None` for a column of zeros.
    pub fn exponents(&self) -> &[Option<i32>] {
        &self.exponents
    }

    pub(super) fn into_triangle(mut self) -> Triangle {
        Triangle(std::mem::take(&mut self.triangle_mut().0))
    }

    fn triangle_mut(&mut self) -> &mut Triangle {
        if let Entries::Rows(rows) = &self.entries {
            let n_columns = self.exponents.len();
            let mut triangle = Triangle::zeros(n_columns);
            triangle.add_rows(rows, Sign::Add, n_columns);
            self.entries = Entries::Sums(triangle);
        }
        match &mut self.entries {
            Entries::Sums(triangle) => triangle,
            Entries::Rows(_) => unreachable!("made a triangle above"),
        }
    }

    /// The sum as bytes.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let len = match &self.entries {
            Entries::Rows(rows) => 8 * rows.len(),
            Entries::Sums(Triangle(entries)) => 16 * entries.len(),
        };
        let mut bytes = Writer::of_kind(KIND, 4 * self.exponents.len() + 32 + len);
        bytes.each(&self.exponents, |bytes, exponent| bytes.raw(&exponent.unwrap_or(i32::MIN).to_le_bytes()));
        match &self.entries {
            Entries::Rows(rows) => {
                bytes.byte(0);
                bytes.each(rows, |bytes, integer| bytes.raw(&integer.to_le_bytes()));
            }
            Entries::Sums(Triangle(entries)) => {
                bytes.byte(1);
                for integer in entries {
                    bytes.raw(&integer.to_le_bytes());
                }
            }
        }
        bytes.finish()
    }

    /// The sum that these bytes say.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::of_kind(bytes, KIND)?;
        let exponents = reader.each(|reader| {
            let exponent = i32::from_le_bytes(reader.array()?);
            Ok((exponent != i32::MIN).then_some(exponent))
        })?;
        let entries = match reader.byte()? {
            0 => {
                let rows = Zeroizing::new(reader.each(|reader| Ok(i64::from_le_bytes(reader.array()?)))?);
                let n_columns = exponents.len().max(1);
                if !rows.len().is_multiple_of(n_columns) || rows.len() / n_columns > FEW_ROWS {
                    return Err(DecodeError::Length);
                }
                if rows.iter().any(|integer| integer.unsigned_abs() > super::slices::LARGEST) {
                    return Err(DecodeError::Number);
                }
                Entries::Rows(rows)
            }
            1 => {
                let n = triangle_len(exponents.len()).ok_or(DecodeError::Length)?;
                let entries = reader.raw(n.checked_mul(16).ok_or(DecodeError::Length)?)?;
                let entries = entries.as_chunks().0.iter().map(|bytes| i128::from_le_bytes(*bytes));
                let triangle = Triangle(entries.collect());
                if !triangle.is_sum() {
                    return Err(DecodeError::Number);
                }
                Entries::Sums(triangle)
            }
            _ => return Err(DecodeError::Number),
        };
        reader.end()?;
        Ok(Self { exponents, entries })
    }
}

/// Shape only: the sums are second moments of the rows.
impl fmt::Debug for IntegerSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntegerSum").field("n_columns", &self.exponents.len()).finish_non_exhaustive()
    }
}

/// Numbers in the lower triangle of a square of `n` columns.
pub(super) fn triangle_len(n: usize) -> Option<usize> {
    n.checked_mul(n.checked_add(1)?).map(|twice| twice / 2)
}

impl Triangle {
    pub(super) fn zeros(n_columns: usize) -> Self {
        Self(vec![0; n_columns * (n_columns + 1) / 2])
    }

    /// Whether sums over rows can be that large.
    pub(super) fn is_sum(&self) -> bool {
        self.0.iter().all(|entry| entry.unsigned_abs() < LARGEST_ENTRY)
    }

    /// Adds a sum over other rows, or takes it back.
    pub(super) fn update(&mut self, other: &IntegerSum, sign: Sign) {
        match &other.entries {
            Entries::Rows(rows) => self.add_rows(rows, sign, other.exponents.len()),
            Entries::Sums(theirs) => {
                let factor = if sign == Sign::Retract { -1 } else { 1 };
                self.0.par_iter_mut().zip(&theirs.0).for_each(|(mine, theirs)| *mine += factor * theirs);
            }
        }
    }

    /// The columns, each from its diagonal down.
    fn columns_mut(&mut self, n_columns: usize) -> Vec<&mut [i128]> {
        let mut columns = Vec::with_capacity(n_columns);
        let mut rest = &mut self.0[..];
        for j in 0..n_columns {
            let (column, below) = rest.split_at_mut(n_columns - j);
            columns.push(column);
            rest = below;
        }
        columns
    }

    /// Adds the products of each row's own integers, or retracts them.
    fn add_rows(&mut self, rows: &[i64], sign: Sign, n_columns: usize) {
        for integers in rows.chunks_exact(n_columns.max(1)) {
            let add = |(j, column): (usize, &mut [i128])| {
                let factor = if sign == Sign::Retract { -integers[j] } else { integers[j] };
                if factor != 0 {
                    let products = integers[j..].iter().map(|integer| i128::from(factor) * i128::from(*integer));
                    column.iter_mut().zip(products).for_each(|(sum, product)| *sum += product);
                }
            };
            let columns = self.columns_mut(n_columns);
            if n_columns < WIDE {
                columns.into_iter().enumerate().for_each(add);
            } else {
                columns.into_par_iter().enumerate().with_min_len(32).for_each(add);
            }
        }
    }
}

/// Room for the rows of one block and their products, used again for the next.
#[derive(Default)]
pub(super) struct IntegerScratch {
    whole: WholeRows,
    products: BlockProducts,
}

/// Slices of a block's rows, and sums of some columns for each of their three products. Wiped when dropped.
#[derive(Default)]
struct BlockProducts {
    slices: Slices,
    panels: [Vec<f64>; 3],
}

impl Drop for BlockProducts {
    fn drop(&mut self) {
        self.panels.zeroize();
    }
}

impl BlockProducts {
    /// Adds the rows of one block to a triangle.
    fn add(&mut self, rows: &[f64], grid: &Grid, triangle: &mut Triangle, n_columns: usize) {
        let n_rows = rows.len() / n_columns.max(1);
        if n_rows == 0 {
            return;
        }
        for panel in &mut self.panels {
            panel.resize(n_columns * n_columns.min(PANEL), 0.0);
        }
        self.slices.of(rows, grid);
        let slices = [&self.slices.high, &self.slices.low, &self.slices.both];
        let slices = slices.map(|slice| MatRef::from_column_major_slice(slice, n_columns, n_rows));
        let mut place = 0;
        for start in (0..n_columns).step_by(PANEL) {
            let (height, width) = (n_columns - start, PANEL.min(n_columns - start));
            for (slice, panel) in slices.iter().zip(&mut self.panels) {
                let panel = MatMut::from_column_major_slice_mut(&mut panel[..height * width], height, width);
                products(slice.subrows(start, height), panel);
            }
            let [high, low, both] = &self.panels;
            for j in 0..width {
                let column = j * height + j..(j + 1) * height;
                let sums = high[column.clone()].iter().zip(&low[column.clone()]).zip(&both[column]);
                for (sum, ((high, low), both)) in triangle.0[place..place + height - j].iter_mut().zip(sums) {
                    *sum += joined(*high, *low, *both);
                }
                place += height - j;
            }
        }
    }
}

/// The first columns of `A Aᵀ`, from the diagonal down.
fn products(rows: MatRef<'_, f64>, panel: MatMut<'_, f64>) {
    let width = panel.ncols();
    let (top, below) = panel.split_at_row_mut(width);
    let first = rows.subrows(0, width);
    triangular::matmul(
        top,
        triangular::BlockStructure::TriangularLower,
        Accum::Replace,
        first,
        triangular::BlockStructure::Rectangular,
        first.transpose(),
        triangular::BlockStructure::Rectangular,
        1.0,
        Par::Seq,
    );
    if below.nrows() > 0 {
        let rest = rows.subrows(width, below.nrows());
        matmul::matmul(below, Accum::Replace, rest, first.transpose(), 1.0, Par::Seq);
    }
}
