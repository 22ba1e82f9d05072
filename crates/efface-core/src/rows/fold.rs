//! The loop over blocks behind every sum. Blocks are split into a number of runs that depends on the sizes only; each
//! run is added up by one thread, and runs are merged in order: results are bit-identical for any number of threads.

use std::ops::Range;

use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;
use zeroize::Zeroize;

use super::{Features, Point, Problem, RowBlock, RowCount, RowStore, Sign, StoreError};
use crate::linalg::TrackedMatrix;
use crate::linalg::kernel::{self, Value};
use crate::linalg::tracked::SumSize;
use crate::loss::{EVALUATION_ROUNDING, Loss};
use crate::rounding::{UpperBound, norm, operations};
use crate::statistic::{GradientSum, StepPowers};

/// Rows in a full block: with a few hundred features a block of doubles fits the second-level cache.
pub const BLOCK_ROWS: usize = 256;

/// Runs a sum of vectors is split into at most.
const VECTOR_RUNS: usize = 64;

/// Sums of matrices are split into as many runs as fit this many bytes, and at least [`MATRIX_RUNS`].
const MATRIX_BYTES: usize = 16 << 20;
const MATRIX_RUNS: usize = 4;

/// Up to this many rows, a rank-one update each is faster than a blocked product.
const FEW_ROWS: usize = 12;

pub(super) fn count<S: RowStore + ?Sized>(store: &S, problem: &Problem) -> Result<RowCount, StoreError> {
    let runs = fold(store, VECTOR_RUNS, RowCount::default, |count, block| {
        block.taking_part(problem).flatten().for_each(|row| count.count(row.weight));
    })?;
    let mut total = RowCount::default();
    for run in &runs {
        total.merge(run);
    }
    Ok(total)
}

pub(super) fn gradients<S: RowStore + ?Sized>(
    store: &S,
    loss: &dyn Loss,
    points: &[Point<'_>],
) -> Result<Vec<GradientSum>, StoreError> {
    let dim = store.dim();
    let empty = || GradientRun {
        sums: vec![GradientSum::zeros(dim); points.len()],
        margins: Vec::new(),
        block_sum: vec![0.0; dim],
    };
    let runs = fold(store, VECTOR_RUNS, empty, |run, block| match block.features {
        Features::F32(values) => run.add(loss, points, block, values),
        Features::F64(values) => run.add(loss, points, block, values),
    })?;
    Ok(merge_pairwise(runs.into_iter().map(|run| run.sums).collect(), |mine, theirs| {
        mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| mine.merge(theirs));
    })
    .unwrap_or_else(|| vec![GradientSum::zeros(dim); points.len()]))
}

struct GradientRun {
    sums: Vec<GradientSum>,
    margins: Vec<f64>,
    block_sum: Vec<f64>,
}

impl GradientRun {
    fn add<T: Value>(&mut self, loss: &dyn Loss, points: &[Point<'_>], block: &RowBlock<'_>, values: &[T]) {
        let n = block.labels.len();
        self.margins.resize(n, 0.0);
        for (point, sum) in points.iter().zip(&mut self.sums) {
            kernel::margins(values, point.weights, &mut self.margins);
            for (margin, row) in self.margins.iter_mut().zip(block.taking_part(point.problem)) {
                let Some(row) = row else {
                    *margin = 0.0;
                    continue;
                };
                let at = loss.evaluate(*margin, row.target);
                let slope = row.weight * at.slope;
                sum.count.count(row.weight);
                sum.value += row.weight * at.value;
                sum.slope_size += slope.abs();
                sum.curvature_size += row.weight * at.curvature;
                *margin = slope;
            }
            self.block_sum.fill(0.0);
            kernel::add_scaled_rows(values, point.weights.len(), &self.margins, &mut self.block_sum);
            kernel::axpy(1.0, &self.block_sum, &mut sum.gradient);
            sum.depth = sum.depth.max(kernel::scaled_rows_depth(n)) + 1;
        }
    }
}

/// Factors of the rows in a Gram matrix, each times the row's own weight.
#[derive(Clone, Copy)]
pub(super) enum Weighting<'a> {
    /// 1 for every row present.
    One,
    /// ℓ″ at a point, for the rows of its problem.
    Curvature { loss: &'a dyn Loss, point: &'a Point<'a> },
}

pub(super) fn add_weighted_gram<S: RowStore + ?Sized>(
    store: &S,
    weighting: Weighting<'_>,
    sign: Sign,
    into: &mut TrackedMatrix,
) -> Result<(), StoreError> {
    let dim = store.dim();
    let retracted = sign == Sign::Retract;
    if store.n_blocks() <= 1 {
        let mut run = GramRun::new(dim);
        if store.n_blocks() == 1 {
            store.visit_block(0, &mut |block| run.collect(weighting, block))?;
        }
        let size = run.sum_size(store, weighting, run.roots.len() + 4);
        into.update(&size, retracted, |lower| run.add_collected(lower, sign.factor()));
        return Ok(());
    }
    let n_runs = (MATRIX_BYTES / (8 * dim * dim).max(1)).clamp(MATRIX_RUNS, VECTOR_RUNS);
    let runs = fold(
        store,
        n_runs,
        || (GramRun::new(dim), vec![0.0; dim * dim]),
        |(run, sum), block| {
            run.collect(weighting, block);
            run.add_collected(sum, sign.factor());
        },
    )?;
    let chain = runs.iter().map(|(run, _)| run.count.n_rows).max().unwrap_or(0) + runs.len() + 4;
    let mut total = GramRun::new(dim);
    for (run, _) in &runs {
        total.absorb(run);
    }
    let size = total.sum_size(store, weighting, chain);
    into.update(&size, retracted, |lower| {
        // Column by column, so that each stays in the cache while the runs are added to it in order.
        lower.par_chunks_mut(dim).enumerate().for_each(|(j, column)| {
            for (_, sum) in &runs {
                kernel::axpy(1.0, &sum[j * dim + j..(j + 1) * dim], &mut column[j..]);
            }
        });
    });
    Ok(())
}

/// Rows of one block scaled by the square roots of their weights, and what the error bound needs to know of them.
struct GramRun {
    dim: usize,
    count: RowCount,
    /// Whether some row does not count once.
    weighted: bool,
    weight_size: f64,
    margins: Vec<f64>,
    roots: Vec<f64>,
    scaled: Vec<f64>,
}

impl Drop for GramRun {
    fn drop(&mut self) {
        self.scaled.zeroize();
    }
}

impl GramRun {
    fn new(dim: usize) -> Self {
        Self {
            dim,
            count: RowCount::default(),
            weighted: false,
            weight_size: 0.0,
            margins: Vec::new(),
            roots: Vec::new(),
            scaled: Vec::new(),
        }
    }

    fn collect(&mut self, weighting: Weighting<'_>, block: &RowBlock<'_>) {
        match block.features {
            Features::F32(values) => self.collect_values(weighting, block, values),
            Features::F64(values) => self.collect_values(weighting, block, values),
        }
    }

    fn collect_values<T: Value>(&mut self, weighting: Weighting<'_>, block: &RowBlock<'_>, values: &[T]) {
        let n = block.labels.len();
        self.roots.clear();
        // Counted before products that underflow are left out: their errors are charged all the same.
        match weighting {
            Weighting::One => {
                let present = block.row_weights.iter().zip(block.present);
                self.roots.extend(present.map(|(weight, present)| {
                    if *present {
                        self.count.count(*weight);
                        self.weighted |= *weight != 1.0;
                    }
                    if *present { weight.sqrt() } else { 0.0 }
                }));
            }
            Weighting::Curvature { loss, point } => {
                self.margins.resize(n, 0.0);
                kernel::margins(values, point.weights, &mut self.margins);
                let rows = self.margins.iter().zip(block.taking_part(point.problem));
                self.roots.extend(rows.map(|(z, row)| {
                    row.map_or(0.0, |row| {
                        self.count.count(row.weight);
                        (row.weight * loss.curvature(*z, row.target)).sqrt()
                    })
                }));
            }
        }
        self.scaled.clear();
        let dim = self.dim;
        for (row, root) in values.chunks_exact(dim).zip(&mut self.roots) {
            if *root != 0.0 {
                self.scaled.extend(row.iter().map(|x| *root * x.wide()));
            }
        }
        self.roots.retain(|root| *root != 0.0);
        self.weight_size += self.roots.iter().map(|root| root * root).sum::<f64>();
    }

    /// `lower += sign · Σ (scaled row)(scaled row)ᵀ`.
    fn add_collected(&self, lower: &mut [f64], sign: f64) {
        let (n, dim) = (self.roots.len(), self.dim);
        if n == 0 {
            return;
        }
        if n <= FEW_ROWS {
            kernel::rank_update(lower, dim, &self.scaled, &vec![sign; n]);
            return;
        }
        let columns = MatRef::from_column_major_slice(&self.scaled, dim, n);
        triangular::matmul(
            MatMut::from_column_major_slice_mut(lower, dim, dim),
            BlockStructure::TriangularLower,
            Accum::Add,
            columns,
            BlockStructure::Rectangular,
            columns.transpose(),
            BlockStructure::Rectangular,
            sign,
            Par::Seq,
        );
    }

    fn absorb(&mut self, other: &Self) {
        self.count.merge(&other.count);
        self.weighted |= other.weighted;
        self.weight_size += other.weight_size;
    }

    /// Size and weight error of what was collected: a curvature is off by 16 units and by γ times its margin's error,
    /// and the product with the row's weight, its square root and the product with a feature add two roundings each.
    fn sum_size<S: RowStore + ?Sized>(&self, store: &S, weighting: Weighting<'_>, depth: usize) -> SumSize {
        let square = store.row_norm_bound().squared();
        let n = self.count.weight_sum.upper();
        let tiny = least_size(&self.count);
        let weights = UpperBound::new(self.weight_size) * UpperBound::new(1.000_001) + tiny;
        let weight_error = match weighting {
            // The root of a one is exact, and so is its square.
            Weighting::One if !self.weighted => UpperBound::ZERO,
            Weighting::One => operations(4) * weights + tiny,
            Weighting::Curvature { loss, point } => {
                let margin_error = margin_error(store, point.weights);
                n * UpperBound::new(loss.curvature_lipschitz()) * margin_error
                    + operations(EVALUATION_ROUNDING + 8) * weights
                    + tiny
            }
        };
        SumSize { size: (weights + weight_error) * square, weight_error: weight_error * square, depth: depth + 4 }
    }
}

pub(super) fn step_powers<S: RowStore + ?Sized>(store: &S, point: &Point<'_>) -> Result<StepPowers, StoreError> {
    let empty = || (StepPowers::default(), Vec::new());
    let runs = fold(store, VECTOR_RUNS, empty, |(sum, margins), block| {
        margins.resize(block.labels.len(), 0.0);
        match block.features {
            Features::F32(values) => kernel::margins(values, point.weights, margins),
            Features::F64(values) => kernel::margins(values, point.weights, margins),
        }
        for (t, row) in margins.iter().zip(block.taking_part(point.problem)) {
            let Some(row) = row else { continue };
            sum.count.count(row.weight);
            sum.fourth_powers += row.weight * ((t * t) * (t * t));
        }
    })?;
    let mut total = StepPowers::default();
    for (run, _) in &runs {
        total.merge(run);
    }
    Ok(total)
}

/// Bound on the error of one computed margin at `weights`.
pub(crate) fn margin_error<S: RowStore + ?Sized>(store: &S, weights: &[f64]) -> UpperBound {
    operations(kernel::dot_depth(store.dim())) * store.row_norm_bound() * norm(weights)
}

/// What sums of so many products may have lost to underflow: the smallest normal number for each row, and for each as
/// often as it counts.
pub(crate) fn least_size(count: &RowCount) -> UpperBound {
    (UpperBound::count(count.n_rows) + count.weight_sum.upper()) * UpperBound::new(f64::MIN_POSITIVE)
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
pub(crate) fn fold<S: RowStore + ?Sized, A: Send>(
    store: &S,
    n_runs: usize,
    empty: impl Fn() -> A + Sync,
    add: impl Fn(&mut A, &RowBlock<'_>) + Sync,
) -> Result<Vec<A>, StoreError> {
    runs(store.n_blocks(), n_runs)
        .into_par_iter()
        .map(|blocks| {
            let mut sum = empty();
            for index in blocks {
                store.visit_block(index, &mut |block| add(&mut sum, block))?;
            }
            Ok(sum)
        })
        .collect()
}

/// Splits `0..n_blocks` into at most `n_runs` runs of nearly equal length.
fn runs(n_blocks: usize, n_runs: usize) -> Vec<Range<usize>> {
    let n_runs = n_runs.min(n_blocks);
    (0..n_runs).map(|run| run * n_blocks / n_runs..(run + 1) * n_blocks / n_runs).collect()
}

/// Merges neighbours until one is left, so that the chain of additions grows with the logarithm of their number.
fn merge_pairwise<A>(mut sums: Vec<A>, merge: impl Fn(&mut A, &A)) -> Option<A> {
    while sums.len() > 1 {
        let mut merged = Vec::with_capacity(sums.len().div_ceil(2));
        let mut pairs = sums.into_iter();
        while let Some(mut first) = pairs.next() {
            if let Some(second) = pairs.next() {
                merge(&mut first, &second);
            }
            merged.push(first);
        }
        sums = merged;
    }
    sums.pop()
}
