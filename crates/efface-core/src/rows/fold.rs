//! The loop over blocks behind every sum. Blocks are split into a number of runs that depends on the sizes only; each
//! run is added up by one thread, and runs are merged in order: results are bit-identical for any number of threads.

use std::ops::Range;

use rayon::prelude::*;

use super::{Point, Problem, RowBlock, RowBlocks, RowCount, StoreError};
use crate::loss::Loss;
use crate::sums::{GradientScratch, GradientSum, GramScratch, GramSum, GramWeights, StepPowers, SumError, add_to_all};

/// Rows in a full block: with a few hundred features a block of doubles fits the second-level cache.
pub const BLOCK_ROWS: usize = 256;

/// Runs a sum of vectors is split into at most.
const VECTOR_RUNS: usize = 64;

/// Sums of matrices are split into as many runs as fit this many bytes, and at least [`MATRIX_RUNS`].
const MATRIX_BYTES: usize = 16 << 20;
const MATRIX_RUNS: usize = 4;

/// Matrices that are summed in one pass take at most so many bytes; further points wait for the next pass.
const MATRICES_BYTES: usize = 128 << 20;

pub(super) fn counts<B: RowBlocks + ?Sized>(rows: &B, problems: &[Problem]) -> Result<Vec<RowCount>, StoreError> {
    let empty = || vec![RowCount::default(); problems.len()];
    let runs = fold(rows, VECTOR_RUNS, empty, |counts, block| {
        for (count, problem) in counts.iter_mut().zip(problems) {
            block.taking_part(problem).flatten().for_each(|row| count.count(row.weight));
        }
    })?;
    let mut total = empty();
    for run in &runs {
        total.iter_mut().zip(run).for_each(|(total, run)| total.merge(run));
    }
    Ok(total)
}

pub(super) fn gradients<B: RowBlocks + ?Sized>(
    rows: &B,
    loss: &dyn Loss,
    points: &[Point<'_>],
) -> Result<Vec<GradientSum>, StoreError> {
    let row_norm = rows.row_norm_bound();
    let zeros: Vec<GradientSum> = points.iter().map(|point| GradientSum::zeros(loss, point, row_norm)).collect();
    let empty = || (zeros.clone(), GradientScratch::default());
    let runs = fold(rows, VECTOR_RUNS, empty, |(sums, scratch), block| {
        add_to_all(sums, loss, points, block, scratch);
    })?;
    let runs = runs.into_iter().map(|(sums, _)| sums).collect();
    Ok(merge_pairwise(runs, |mine, theirs| merge_each(mine, theirs, GradientSum::merge))?.unwrap_or(zeros))
}

pub(super) fn step_powers<B: RowBlocks + ?Sized>(
    rows: &B,
    points: &[Point<'_>],
) -> Result<Vec<StepPowers>, StoreError> {
    let row_norm = rows.row_norm_bound();
    let zeros: Vec<StepPowers> = points.iter().map(|point| StepPowers::zeros(point, row_norm)).collect();
    let runs = fold(
        rows,
        VECTOR_RUNS,
        || zeros.clone(),
        |sums, block| {
            sums.iter_mut().zip(points).for_each(|(sum, point)| sum.add_block(point, block));
        },
    )?;
    merge_in_order(runs, zeros, |mine, theirs| merge_each(mine, theirs, StepPowers::merge))
}

pub(super) fn gram<B: RowBlocks + ?Sized>(rows: &B) -> Result<GramSum, StoreError> {
    Ok(grams(rows, &[GramWeights::One])?.swap_remove(0))
}

pub(super) fn curvature<B: RowBlocks + ?Sized>(
    rows: &B,
    loss: &dyn Loss,
    points: &[Point<'_>],
) -> Result<Vec<GramSum>, StoreError> {
    let weights: Vec<GramWeights<'_>> = points.iter().map(|point| GramWeights::Curvature { loss, point }).collect();
    let at_once = matrices_at_once(longest(points));
    let mut sums = Vec::with_capacity(points.len());
    for weights in weights.chunks(at_once) {
        sums.append(&mut grams(rows, weights)?);
    }
    Ok(sums)
}

/// Number of weights of the point that has most.
pub(crate) fn longest(points: &[Point<'_>]) -> usize {
    points.iter().map(|point| point.weights.len()).max().unwrap_or(0)
}

/// How many Hessians of so many weights are formed in one pass over the rows.
pub(crate) fn matrices_at_once(dim: usize) -> usize {
    (MATRICES_BYTES / (matrix_runs(dim) * 8 * dim * dim).max(1)).max(1)
}

fn matrix_runs(dim: usize) -> usize {
    (MATRIX_BYTES / (8 * dim * dim).max(1)).clamp(MATRIX_RUNS, VECTOR_RUNS)
}

fn grams<B: RowBlocks + ?Sized>(rows: &B, weights: &[GramWeights<'_>]) -> Result<Vec<GramSum>, StoreError> {
    let row_norm = rows.row_norm_bound();
    let dim = |weights: &GramWeights<'_>| match weights {
        GramWeights::One => rows.dim(),
        GramWeights::Curvature { point, .. } => point.weights.len(),
    };
    let zeros: Vec<GramSum> = weights.iter().map(|of| GramSum::zeros(dim(of), row_norm, of)).collect();
    let empty = || (zeros.clone(), GramScratch::default());
    let most = weights.iter().map(dim).max().unwrap_or(0);
    let runs = fold(rows, matrix_runs(most), empty, |(sums, scratch), block| {
        for (sum, weights) in sums.iter_mut().zip(weights) {
            sum.add_block(weights, block, scratch);
        }
    })?;
    let runs = runs.into_iter().map(|(sums, _)| sums).collect();
    merge_in_order(runs, zeros, |mine, theirs| merge_each(mine, theirs, GramSum::merge))
}

/// A row's part in a problem.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    /// y.
    pub(crate) target: f64,
    /// s.
    pub(crate) weight: f64,
}

impl RowBlock<'_> {
    /// The part of each row, `None` for one that takes none in the problem.
    pub(crate) fn taking_part<'a>(&'a self, problem: &'a Problem) -> impl Iterator<Item = Option<Part>> + 'a {
        let rows = self.labels.iter().zip(self.selectors).zip(self.present).zip(self.row_weights);
        rows.map(|(((label, selector), present), weight)| {
            let target = if *present { problem.target(*label, *selector) } else { None };
            target.map(|target| Part { target, weight: *weight })
        })
    }
}

/// One accumulator per run of blocks, in order.
pub(crate) fn fold<B: RowBlocks + ?Sized, A: Send>(
    rows: &B,
    n_runs: usize,
    empty: impl Fn() -> A + Sync,
    add: impl Fn(&mut A, &RowBlock<'_>) + Sync,
) -> Result<Vec<A>, StoreError> {
    let add_up = |blocks: Range<usize>| {
        let mut sum = empty();
        for index in blocks {
            rows.visit_block(index, &mut |block| add(&mut sum, block))?;
        }
        Ok(sum)
    };
    let runs = runs(rows.n_blocks(), n_runs);
    // Waking another thread takes longer than adding up a few rows.
    if runs.len() == 1 { runs.into_iter().map(add_up).collect() } else { runs.into_par_iter().map(add_up).collect() }
}

/// Splits `0..n_blocks` into at most `n_runs` runs of nearly equal length.
fn runs(n_blocks: usize, n_runs: usize) -> Vec<Range<usize>> {
    let n_runs = n_runs.min(n_blocks);
    (0..n_runs).map(|run| run * n_blocks / n_runs..(run + 1) * n_blocks / n_runs).collect()
}

fn merge_each<S>(
    mine: &mut [S],
    theirs: &[S],
    merge: impl Fn(&mut S, &S) -> Result<(), SumError>,
) -> Result<(), SumError> {
    mine.iter_mut().zip(theirs).try_for_each(|(mine, theirs)| merge(mine, theirs))
}

/// Merges one after the other into the first.
fn merge_in_order<A>(
    runs: Vec<A>,
    empty: A,
    merge: impl Fn(&mut A, &A) -> Result<(), SumError>,
) -> Result<A, StoreError> {
    let mut runs = runs.into_iter();
    let mut total = runs.next().unwrap_or(empty);
    for run in runs {
        merge(&mut total, &run)?;
    }
    Ok(total)
}

/// Merges neighbours until one is left, so that the chain of additions grows with the logarithm of their number.
fn merge_pairwise<A>(
    mut sums: Vec<A>,
    merge: impl Fn(&mut A, &A) -> Result<(), SumError>,
) -> Result<Option<A>, SumError> {
    while sums.len() > 1 {
        let mut merged = Vec::with_capacity(sums.len().div_ceil(2));
        let mut pairs = sums.into_iter();
        while let Some(mut first) = pairs.next() {
            if let Some(second) = pairs.next() {
                merge(&mut first, &second)?;
            }
            merged.push(first);
        }
        sums = merged;
    }
    Ok(sums.pop())
}
