//! Scores of rows that somebody else owns, under given weights: no copy of all rows is made.

use std::sync::atomic::AtomicBool;

use efface_core::predict;
use efface_core::rounding;
use efface_core::rows::{BLOCK_ROWS, Features, RowBlocks, RowValue};
use rayon::prelude::*;

use super::checks::n_whole_rows;
use super::error::{Interrupted, RowsError};
use super::table::{LentRows, LentTable, RowSpec, RowsToLend, len_of};
use super::view::RowsView;
use crate::rows::each;
use crate::scale::{RowTransform, check_finite};

/// `weights · scaled row` of every row, row by row: `result[i * weights.len() + k]`. The intercept's weight is the last.
pub fn scores(
    features: Features<'_>,
    n_features: usize,
    transform: &RowTransform,
    weights: &[Vec<f64>],
) -> Result<Vec<f64>, RowsError> {
    let n_rows = n_whole_rows(len_of(features), n_features)?;
    let shape = RowSpec { transform: transform.for_prediction(), n_features, n_classes: 0, max_row_weight: None };
    let expected = shape.dim();
    if let Some(weights) = weights.iter().find(|weights| weights.len() != expected) {
        return Err(RowsError::Count { what: "weights", found: weights.len(), expected });
    }
    let rows = LentRows { features, cancel: &AtomicBool::new(false) };
    let (labels, selectors) = (vec![0.0; n_rows], vec![0; n_rows]);
    let table = LentTable::new(RowsToLend { rows, labels: &labels, selectors, row_weights: None, shape })?;
    let view = RowsView::new(&table, rows);
    let n_problems = weights.len();
    let mut scores = vec![0.0; n_rows * n_problems];
    let blocks = scores.par_chunks_mut(BLOCK_ROWS * n_problems.max(1)).enumerate();
    let scored = blocks.try_for_each_init(Vec::new, |margins, (index, into)| {
        view.visit_block(index, &mut |block| {
            margins.resize(block.labels.len(), 0.0);
            for (k, weights) in weights.iter().enumerate() {
                predict::block_margins(block.features, weights, margins);
                let column = into.iter_mut().skip(k).step_by(n_problems);
                column.zip(&*margins).for_each(|(score, margin)| *score = *margin);
            }
        })
    });
    // A view fails only when it is interrupted.
    scored.map_err(|_| Interrupted)?;
    Ok(scores)
}

/// The largest Euclidean norm of a row, rounded up; 0 without rows.
pub fn longest_row(features: Features<'_>, n_features: usize) -> Result<f64, RowsError> {
    n_whole_rows(len_of(features), n_features)?;
    each!(Features, features, values => longest(values, n_features))
}

fn longest<T: RowValue>(values: &[T], n_features: usize) -> Result<f64, RowsError> {
    let norm = |wide: &mut Vec<f64>, (row, values): (usize, &[T])| {
        wide.clear();
        wide.extend(values.iter().map(|x| x.wide()));
        check_finite(wide).map_err(|source| RowsError::Scale { row, source })?;
        Ok(rounding::norm(wide).get())
    };
    let norms = values.par_chunks_exact(n_features).enumerate().with_min_len(64).map_init(Vec::new, norm);
    norms.try_reduce(|| 0.0, |a, b| Ok(a.max(b)))
}
