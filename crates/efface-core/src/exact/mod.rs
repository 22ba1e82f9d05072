//! Sums over rows without any rounding, for models from which rows are removed exactly.
#![doc = include_str!("exact.md")]

mod ranges;
mod slices;
mod solve;

#[cfg(test)]
mod tests;

use faer::linalg::matmul::{self, triangular};
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;
use zeroize::Zeroize;

pub use self::ranges::ColumnRanges;

use self::ranges::RangeCount;
use self::slices::{Grid, Slices, WholeRows, joined};
use crate::removal::Change;
use crate::rows::{Problem, RowStore, Sign, StoreError, fold};

/// `Σ s_i a_i a_iᵀ` over the rows present, a_i = (x_i, y_i) rounded to a grid: integers, which add and retract without
/// rounding.
///
/// Two sums over the same rows are equal, whatever the order in which rows came and left and whoever added them up.
#[derive(Clone, PartialEq)]
pub struct ExactSums {
    /// d.
    dim: usize,
    /// One target per problem.
    problems: Vec<Problem>,
    ranges: ColumnRanges,
    /// Lower triangle, column by column; `None` when a change of the rows has moved the grid, until the next pass.
    triangle: Option<Triangle>,
}

/// The lower triangle of a symmetric matrix of integers, column by column. Wiped when dropped.
#[derive(Clone, PartialEq)]
struct Triangle(Vec<i128>);

impl Drop for Triangle {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// Up to this many rows, one product of integers each is faster than products of slices.
const FEW_ROWS: usize = 12;

/// No sum over rows that fit any memory comes near it, and one more row does not overflow it.
const LARGEST_ENTRY: u128 = 1 << 126;

/// Sums of all threads together take so many bytes at most, or one thread makes them.
const SUM_BYTES: usize = 1 << 30;

/// Columns of the matrix that are made at a time, so that their products stay in the cache.
const PANEL: usize = 256;

/// Above this many columns a row is added by several threads.
const WIDE: usize = 512;

impl ExactSums {
    /// The sums over all rows present, in two passes.
    pub(crate) fn over(rows: &dyn RowStore, problems: Vec<Problem>) -> Result<Self, StoreError> {
        let dim = rows.dim();
        let ranges = ranges_of(rows, dim, &problems)?;
        let mut sums = Self { dim, problems, ranges, triangle: None };
        sums.refresh(rows)?;
        Ok(sums)
    }

    /// Sums that were kept; `None` when their parts do not fit.
    pub fn from_parts(
        dim: usize,
        problems: Vec<Problem>,
        ranges: ColumnRanges,
        triangle: Option<Vec<i128>>,
    ) -> Option<Self> {
        let triangle = triangle.map(Triangle);
        let n_columns = dim.checked_add(problems.len())?;
        let is_sum = |triangle: &Triangle| triangle.0.iter().all(|entry| entry.unsigned_abs() < LARGEST_ENTRY);
        let fits = ranges.counts().len() == n_columns
            && triangle.as_ref().is_none_or(is_sum)
            && triangle.as_ref().is_none_or(|triangle| Some(triangle.0.len()) == triangle_len(n_columns));
        fits.then_some(Self { dim, problems, ranges, triangle })
    }

    /// Number of values in each column by their size, and the lower triangle of the matrix, to be kept.
    pub fn parts(&self) -> (&ColumnRanges, Option<&[i128]>) {
        (&self.ranges, self.triangle.as_ref().map(|triangle| &triangle.0[..]))
    }

    /// d.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The problems whose targets are part of the sums.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Whether a change of the rows has moved the grid, so that a pass over the rows has to make the sums again.
    pub fn needs_pass(&self) -> bool {
        self.triangle.is_none()
    }

    /// Whether both are sums over the same rows, as far as they are made.
    pub(crate) fn agrees_with(&self, other: &Self) -> bool {
        let Self { dim, problems, ranges, triangle } = self;
        let made = triangle.as_ref().zip(other.triangle.as_ref());
        (dim, problems, ranges) == (&other.dim, &other.problems, &other.ranges) && made.is_none_or(|(a, b)| a == b)
    }

    /// Makes the sums again where that is needed; passes over the rows that it took.
    pub(crate) fn refresh(&mut self, rows: &dyn RowStore) -> Result<usize, StoreError> {
        if self.triangle.is_some() {
            return Ok(0);
        }
        let grid = self.grid();
        let n_columns = self.n_columns();
        let empty = || (Accumulator::new(n_columns), WholeRows::default());
        let n_runs = (SUM_BYTES / (8 * n_columns * n_columns).max(1)).clamp(1, rayon::current_num_threads());
        let runs = fold::fold(rows, n_runs, empty, |(sum, whole), block| {
            sum.add(whole.read(block, self.dim, &self.problems), &grid);
        })?;
        // Integers: the order of the runs, and their number, makes no difference.
        let mut runs = runs.into_iter().map(|(run, _)| run.into_triangle());
        let mut total = runs.next().unwrap_or_else(|| Triangle::zeros(n_columns));
        for run in runs {
            total.0.par_iter_mut().zip(&run.0).for_each(|(total, run)| *total += run);
        }
        self.triangle = Some(total);
        Ok(1)
    }

    /// Adds or retracts rows. O(d²) each, and without a pass over the others. Rows that no integers stand for are refused
    /// before anything is changed.
    pub(crate) fn change(&mut self, change: &Change<'_>) -> Result<(), StoreError> {
        let before = self.ranges.exponents();
        let mut whole = WholeRows::default();
        for (_, rows) in change.parts() {
            let mut is_finite = true;
            for index in 0..rows.n_blocks() {
                rows.visit_block(index, &mut |block| {
                    let rows = whole.read(block, self.dim, &self.problems);
                    is_finite &= rows.iter().all(|value| value.is_finite());
                })?;
            }
            if !is_finite {
                return Err(beyond_doubles());
            }
        }
        for (sign, rows) in change.parts() {
            if rows.n_rows() > FEW_ROWS {
                self.ranges.update(&ranges_of(rows, self.dim, &self.problems)?, sign);
                continue;
            }
            for index in 0..rows.n_blocks() {
                let ranges = &mut self.ranges;
                rows.visit_block(index, &mut |block| {
                    ranges.update_rows(whole.read(block, self.dim, &self.problems), sign);
                })?;
            }
        }
        // A column that had no values has no sums either, and one that has none left has none again: only a column whose
        // largest value changed its size has to be added up anew.
        let after = self.ranges.exponents();
        if before.iter().zip(&after).any(|(before, after)| before.is_some() && after.is_some() && before != after) {
            self.triangle = None;
        }
        let Some(triangle) = &mut self.triangle else { return Ok(()) };
        let n_columns = self.dim + self.problems.len();
        for (sign, rows) in change.parts() {
            let grid = Grid::new(if sign == Sign::Retract { &before } else { &after });
            let many = rows.n_rows() > FEW_ROWS;
            let mut sum = many.then(|| Accumulator::new(n_columns));
            for index in 0..rows.n_blocks() {
                rows.visit_block(index, &mut |block| {
                    let rows = whole.read(block, self.dim, &self.problems);
                    match &mut sum {
                        Some(sum) => sum.add(rows, &grid),
                        None => triangle.add_rows(rows, &grid, sign, n_columns),
                    }
                })?;
            }
            if let Some(sum) = sum {
                let factor = if sign == Sign::Retract { -1 } else { 1 };
                triangle.0.iter_mut().zip(&sum.triangle.0).for_each(|(mine, theirs)| *mine += factor * theirs);
            }
        }
        Ok(())
    }

    /// Leaves the targets of other problems out.
    pub(crate) fn retain_problems(&mut self, kept: &[Problem]) {
        let dim = self.dim;
        let is_kept: Vec<bool> =
            (0..self.n_columns()).map(|j| j < dim || kept.contains(&self.problems[j - dim])).collect();
        if let Some(triangle) = &mut self.triangle {
            let places = (0..is_kept.len()).flat_map(|j| (j..is_kept.len()).map(move |i| (i, j)));
            let mut stays = places.map(|(i, j)| is_kept[i] && is_kept[j]);
            triangle.0.retain(|_| stays.next().unwrap_or(false));
        }
        self.ranges.retain(&is_kept);
        self.problems.retain(|problem| kept.contains(problem));
    }

    fn n_columns(&self) -> usize {
        self.dim + self.problems.len()
    }

    fn grid(&self) -> Grid {
        Grid::new(&self.ranges.exponents())
    }
}

/// Shape only: the sums are second moments of the rows.
impl std::fmt::Debug for ExactSums {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shape = f.debug_struct("ExactSums");
        shape.field("dim", &self.dim).field("n_problems", &self.problems.len()).finish_non_exhaustive()
    }
}

fn ranges_of(rows: &dyn RowStore, dim: usize, problems: &[Problem]) -> Result<ColumnRanges, StoreError> {
    let n_columns = dim + problems.len();
    let empty = || (RangeCount::new(n_columns), WholeRows::default());
    let runs = fold::fold(rows, rayon::current_num_threads(), empty, |(count, whole), block| {
        count.add(whole.read(block, dim, problems));
    })?;
    let mut total = ColumnRanges::empty(n_columns);
    if !runs.iter().all(|(run, _)| run.is_finite()) {
        return Err(beyond_doubles());
    }
    for (run, _) in &runs {
        total.update(&run.ranges(), Sign::Add);
    }
    Ok(total)
}

/// A finite value and a finite weight, whose product is not.
fn beyond_doubles() -> StoreError {
    StoreError("a value times the root of its row's weight is beyond double precision".into())
}

/// Numbers in the lower triangle of a square of `n` columns.
fn triangle_len(n: usize) -> Option<usize> {
    n.checked_mul(n.checked_add(1)?).map(|twice| twice / 2)
}

impl Triangle {
    fn zeros(n_columns: usize) -> Self {
        Self(vec![0; n_columns * (n_columns + 1) / 2])
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
    fn add_rows(&mut self, rows: &[f64], grid: &Grid, sign: Sign, n_columns: usize) {
        let mut integers = Vec::with_capacity(n_columns);
        for row in rows.chunks_exact(n_columns) {
            grid.integers(row, &mut integers);
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
        integers.zeroize();
    }
}

/// Sums over blocks of rows, by products of their slices.
struct Accumulator {
    n_columns: usize,
    triangle: Triangle,
    slices: Slices,
    panels: Panels,
}

/// Sums of some columns for each of the three products. Wiped when dropped.
struct Panels([Vec<f64>; 3]);

impl Drop for Panels {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl Accumulator {
    fn new(n_columns: usize) -> Self {
        let panel = || vec![0.0; n_columns * n_columns.min(PANEL)];
        Self {
            n_columns,
            triangle: Triangle::zeros(n_columns),
            slices: Slices::default(),
            panels: Panels([panel(), panel(), panel()]),
        }
    }

    fn into_triangle(self) -> Triangle {
        self.triangle
    }

    /// Adds the rows of one block.
    fn add(&mut self, rows: &[f64], grid: &Grid) {
        let (n_columns, n_rows) = (self.n_columns, rows.len() / self.n_columns);
        if n_rows == 0 {
            return;
        }
        self.slices.of(rows, grid);
        let slices = [&self.slices.high, &self.slices.low, &self.slices.both];
        let slices = slices.map(|slice| MatRef::from_column_major_slice(slice, n_columns, n_rows));
        let mut place = 0;
        for start in (0..n_columns).step_by(PANEL) {
            let (height, width) = (n_columns - start, PANEL.min(n_columns - start));
            for (slice, panel) in slices.iter().zip(&mut self.panels.0) {
                let panel = MatMut::from_column_major_slice_mut(&mut panel[..height * width], height, width);
                products(slice.subrows(start, height), panel);
            }
            let [high, low, both] = &self.panels.0;
            for j in 0..width {
                let column = j * height + j..(j + 1) * height;
                let sums = high[column.clone()].iter().zip(&low[column.clone()]).zip(&both[column]);
                for (sum, ((high, low), both)) in self.triangle.0[place..place + height - j].iter_mut().zip(sums) {
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
