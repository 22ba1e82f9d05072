//! Sums over rows without any rounding, for models from which rows are removed exactly.
#![doc = include_str!("exact.md")]

mod integers;
mod ranges;
mod slices;
mod solve;

#[cfg(test)]
mod tests;

pub use self::integers::IntegerSum;
pub use self::ranges::ColumnRanges;

use self::integers::{FEW_ROWS, IntegerScratch, Triangle, triangle_len};
use self::ranges::RangeCount;
use self::slices::WholeRows;
use crate::rows::{Change, Problem, RowBlocks, RowStore, Sign, StoreError, fold};
use crate::sums::SumError;

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

/// Sums of all threads together take so many bytes at most, or one thread makes them.
const SUM_BYTES: usize = 1 << 30;

impl ExactSums {
    /// The sums over all rows present, in two passes.
    pub(crate) fn over(rows: &dyn RowStore, problems: Vec<Problem>) -> Result<Self, StoreError> {
        let dim = rows.dim();
        let ranges = rows.column_ranges(&problems)?;
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
        let fits = ranges.counts().len() == n_columns
            && triangle.as_ref().is_none_or(Triangle::is_sum)
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
        self.triangle = Some(rows.integers(&self.problems, &self.ranges.exponents())?.into_triangle());
        Ok(1)
    }

    /// Adds or retracts rows. O(d²) each, and without a pass over the others. Where rows cannot be read, or no integers
    /// stand for them, nothing is changed.
    pub(crate) fn change(&mut self, change: &Change<'_>) -> Result<(), StoreError> {
        let before = self.ranges.exponents();
        let problems = &self.problems;
        let ranges: Result<Vec<(Sign, ColumnRanges)>, StoreError> =
            change.parts().map(|(sign, rows)| Ok((sign, rows.column_ranges(problems)?))).collect();
        let ranges = ranges?;
        for (sign, part) in &ranges {
            self.ranges.update(part, *sign);
        }
        // A column that had no values has no sums either, and one that has none left has none again: only a column whose
        // largest value changed its size has to be added up anew.
        let after = self.ranges.exponents();
        if before.iter().zip(&after).any(|(before, after)| before.is_some() && after.is_some() && before != after) {
            self.triangle = None;
        }
        let Some(triangle) = &mut self.triangle else { return Ok(()) };
        let integers: Result<Vec<(Sign, IntegerSum)>, StoreError> = change
            .parts()
            .map(|(sign, rows)| {
                let grid = if sign == Sign::Retract { &before } else { &after };
                Ok((sign, rows.integers(&self.problems, grid)?))
            })
            .collect();
        match integers {
            Ok(integers) => integers.iter().for_each(|(sign, part)| triangle.update(part, *sign)),
            Err(error) => {
                ranges.iter().rev().for_each(|(sign, part)| self.ranges.update(part, sign.opposite()));
                return Err(error);
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
}

/// Shape only: the sums are second moments of the rows.
impl std::fmt::Debug for ExactSums {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shape = f.debug_struct("ExactSums");
        shape.field("dim", &self.dim).field("n_problems", &self.problems.len()).finish_non_exhaustive()
    }
}

/// How large the values of each column of the rows are.
pub(crate) fn ranges_of<B: RowBlocks + ?Sized>(rows: &B, problems: &[Problem]) -> Result<ColumnRanges, StoreError> {
    let dim = rows.dim();
    let n_columns = dim + problems.len();
    let mut total = ColumnRanges::empty(n_columns);
    if rows.n_rows() <= FEW_ROWS {
        let mut is_finite = true;
        for index in 0..rows.n_blocks() {
            rows.visit_block(index, &mut |block| is_finite &= total.add(problems, block))?;
        }
        return if is_finite { Ok(total) } else { Err(beyond_doubles()) };
    }
    let empty = || (RangeCount::new(n_columns), WholeRows::default());
    let runs = fold::fold(rows, rayon::current_num_threads(), empty, |(count, whole), block| {
        count.add(whole.read(block, dim, problems));
    })?;
    if !runs.iter().all(|(run, _)| run.is_finite()) {
        return Err(beyond_doubles());
    }
    for (run, _) in &runs {
        total.merge(&run.ranges());
    }
    Ok(total)
}

/// The sums of the rows' integers on a grid.
pub(crate) fn integers_of<B: RowBlocks + ?Sized>(
    rows: &B,
    problems: &[Problem],
    exponents: &[Option<i32>],
) -> Result<IntegerSum, StoreError> {
    let n_columns = rows.dim() + problems.len();
    if exponents.len() != n_columns {
        return Err(SumError::AnotherGrid.into());
    }
    let empty = || (IntegerSum::zeros(exponents), IntegerScratch::default(), Ok(()));
    let n_runs = (SUM_BYTES / (8 * n_columns * n_columns).max(1)).clamp(1, rayon::current_num_threads());
    let runs = fold::fold(rows, n_runs, empty, |(sum, scratch, done), block| {
        if done.is_ok() {
            *done = sum.add_block(problems, block, scratch);
        }
    })?;
    // Integers: the order of the runs, and their number, makes no difference.
    let mut total: Option<IntegerSum> = None;
    for (run, _, done) in runs {
        done?;
        match &mut total {
            Some(total) => total.merge(&run)?,
            None => total = Some(run),
        }
    }
    Ok(total.unwrap_or_else(|| IntegerSum::zeros(exponents)))
}

/// A finite value and a finite weight, whose product is not.
fn beyond_doubles() -> StoreError {
    StoreError("a value times the root of its row's weight is beyond double precision".into())
}
