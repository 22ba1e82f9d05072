//! The gradient of all classes together: rows that have a score for each.

use super::{GradientScratch, GradientSum};
use crate::linalg::kernel::{self, Value};
use crate::loss::softmax;
use crate::rows::{Point, RowBlock};
use crate::sums::SumDepth;

/// Adds the rows of a block, of slopes p − e_y, at the point of the sum.
pub(super) fn add<T: Value>(
    sum: &mut GradientSum,
    point: &Point<'_>,
    block: &RowBlock<'_>,
    values: &[T],
    scratch: &mut GradientScratch,
) {
    let (n, n_scores) = (block.labels.len(), point.problem.n_scores());
    if n == 0 {
        return;
    }
    let dim = point.weights.len() / n_scores;
    scratch.margins.resize(n * n_scores, 0.0);
    for (weights, margins) in point.weights.chunks_exact(dim).zip(scratch.margins.chunks_exact_mut(n)) {
        kernel::margins(values, weights, margins);
    }
    let mut scores = vec![0.0; n_scores];
    for (i, row) in block.taking_part(point.problem).enumerate() {
        let Some(row) = row else {
            (0..n_scores).for_each(|k| scratch.margins[k * n + i] = 0.0);
            continue;
        };
        (0..n_scores).for_each(|k| scores[k] = scratch.margins[k * n + i]);
        let (value, curvature) = softmax::evaluate(&mut scores, row.target as usize);
        (0..n_scores).for_each(|k| scratch.margins[k * n + i] = row.weight * scores[k]);
        sum.count.count(row.weight);
        sum.charged.count(row.weight);
        sum.value += row.weight * value;
        sum.slope_size += row.weight * kernel::dot(&scores, &scores).sqrt();
        sum.curvature_size += row.weight * curvature;
    }
    for (slopes, gradient) in scratch.margins.chunks_exact(n).zip(sum.gradient.chunks_exact_mut(dim)) {
        scratch.block_sums.fill(0.0);
        kernel::add_scaled_rows(values, dim, slopes, &mut scratch.block_sums);
        kernel::axpy(1.0, &scratch.block_sums, gradient);
    }
    let SumDepth { margins, accumulation } = SumDepth::of_scores(dim, n_scores);
    sum.depth.merge(SumDepth { margins, accumulation: accumulation + kernel::scaled_rows_depth(n) });
    scratch.margins.truncate(n);
}
