//! Scores of rows that somebody else owns, under given weights: no copy of all rows is made.

use efface_core::predict;
use efface_core::rounding;
use efface_core::rows::{BLOCK_ROWS, Features, RowValue};
use rayon::prelude::*;

use super::checks::n_whole_rows;
use super::error::RowsError;
use super::table::len_of;
use crate::derived::Encoder;
use crate::error::ScaleError;
use crate::rows::each;
use crate::scale::{RowTransform, check_finite, refuse_infinite};

/// What makes rows of a model of given ones.
#[derive(Clone, Copy)]
pub enum Scaling<'a> {
    /// Each row by itself, and a constant 1.
    ByRow(&'a RowTransform),
    /// By constants that were derived from other rows.
    Derived(&'a Encoder),
}

impl Scaling<'_> {
    fn check_width(self, features: Features<'_>, n_features: usize) -> Result<(), RowsError> {
        n_whole_rows(len_of(features), n_features)?;
        match self {
            Self::Derived(encoder) if encoder.n_columns() != n_features => {
                Err(RowsError::Count { what: "columns", found: n_features, expected: encoder.n_columns() })
            }
            _ => Ok(()),
        }
    }

    /// Values of a row without the constant of an intercept.
    fn n_scaled(self, n_features: usize) -> usize {
        match self {
            Self::ByRow(_) => n_features,
            Self::Derived(encoder) => encoder.n_features(),
        }
    }

    fn dim(self, n_features: usize) -> usize {
        match self {
            Self::ByRow(transform) => transform.model_dim(n_features),
            Self::Derived(encoder) => encoder.dim(),
        }
    }

    fn write<T: RowValue>(self, row: &[T], into: &mut [T], scratch: &mut Vec<f64>) -> Result<(), ScaleError> {
        match self {
            Self::ByRow(transform) => {
                let (part, intercept) = into.split_at_mut(row.len());
                transform.for_prediction().divisor_of(row, scratch)?.write(row, part);
                intercept.fill(T::nearest(1.0));
            }
            Self::Derived(encoder) => {
                refuse_infinite(row)?;
                encoder.encode(row, into, scratch);
            }
        }
        Ok(())
    }
}

/// `weights · scaled row` of every row, row by row: `result[i * weights.len() + k]`. The intercept's weight is the last.
pub fn scores(
    features: Features<'_>,
    n_features: usize,
    scaling: Scaling<'_>,
    weights: &[Vec<f64>],
) -> Result<Vec<f64>, RowsError> {
    scaling.check_width(features, n_features)?;
    let expected = scaling.dim(n_features);
    if let Some(weights) = weights.iter().find(|weights| weights.len() != expected) {
        return Err(RowsError::Count { what: "weights", found: weights.len(), expected });
    }
    match features {
        Features::F32(values) => scores_of(values, n_features, scaling, weights, |block| Features::F32(block)),
        Features::F64(values) => scores_of(values, n_features, scaling, weights, |block| Features::F64(block)),
    }
}

fn scores_of<T: RowValue>(
    values: &[T],
    n_features: usize,
    scaling: Scaling<'_>,
    weights: &[Vec<f64>],
    features: impl Fn(&[T]) -> Features<'_> + Sync,
) -> Result<Vec<f64>, RowsError> {
    let (dim, n_problems) = (scaling.dim(n_features), weights.len());
    let mut scores = vec![0.0; values.len() / n_features * n_problems];
    let blocks = scores.par_chunks_mut(BLOCK_ROWS * n_problems.max(1)).zip(values.par_chunks(BLOCK_ROWS * n_features));
    blocks.enumerate().try_for_each_init(
        || (vec![T::default(); BLOCK_ROWS * dim], Vec::new(), Vec::new()),
        |(block, scratch, margins), (index, (into, values))| {
            let n_rows = values.len() / n_features;
            let rows = values.chunks_exact(n_features).zip(block.chunks_exact_mut(dim));
            for (i, (row, scaled)) in rows.enumerate() {
                let at_row = |source| RowsError::Scale { row: index * BLOCK_ROWS + i, source };
                scaling.write(row, scaled, scratch).map_err(at_row)?;
            }
            margins.resize(n_rows, 0.0);
            for (k, weights) in weights.iter().enumerate() {
                predict::block_margins(features(&block[..n_rows * dim]), weights, margins);
                let column = into.iter_mut().skip(k).step_by(n_problems);
                column.zip(&*margins).for_each(|(score, margin)| *score = *margin);
            }
            Ok::<(), RowsError>(())
        },
    )?;
    Ok(scores)
}

/// Rows as weights take them, row-major, without the constant of an intercept.
pub fn scaled(features: Features<'_>, n_features: usize, scaling: Scaling<'_>) -> Result<Vec<f64>, RowsError> {
    scaling.check_width(features, n_features)?;
    each!(Features, features, values => scaled_of(values, n_features, scaling))
}

fn scaled_of<T: RowValue>(values: &[T], n_features: usize, scaling: Scaling<'_>) -> Result<Vec<f64>, RowsError> {
    let (dim, n_scaled) = (scaling.dim(n_features), scaling.n_scaled(n_features));
    if n_scaled == 0 {
        return Ok(Vec::new());
    }
    let mut scaled = vec![0.0; values.len() / n_features * n_scaled];
    let rows = scaled.par_chunks_exact_mut(n_scaled).zip(values.par_chunks_exact(n_features));
    rows.enumerate().with_min_len(64).try_for_each_init(
        || (vec![T::default(); dim], Vec::new()),
        |(row, scratch), (index, (into, values))| {
            scaling.write(values, row, scratch).map_err(|source| RowsError::Scale { row: index, source })?;
            into.iter_mut().zip(&*row).for_each(|(into, x)| *into = x.wide());
            Ok::<(), RowsError>(())
        },
    )?;
    Ok(scaled)
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
