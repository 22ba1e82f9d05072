//! Checks of rows that are handed over in memory: shapes, labels, weights, and whether every row can be scaled.

use std::sync::atomic::{AtomicBool, Ordering};

use efface_core::rows::{MOST_ROW_WEIGHT, RowValue, round_row_weight};
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::error::{Interrupted, RowsError};
use super::table::RowSpec;
use crate::scale::RowDivisor;

/// Checks every row, in parallel, and finds its divisor and its checksum. An error names the first row that fails.
pub(super) fn check_rows<T: RowValue>(
    values: &[T],
    n_rows: usize,
    spec: &RowSpec,
    cancel: &AtomicBool,
) -> Result<(Vec<RowDivisor>, Vec<u32>), RowsError> {
    let n_features = spec.n_features;
    let expected = n_whole_rows(values.len(), n_features)?;
    if expected != n_rows {
        return Err(RowsError::Count { what: "labels", found: n_rows, expected });
    }
    let (mut divisors, mut checksums) = (vec![RowDivisor::default(); n_rows], vec![0; n_rows]);
    let scratch = || Zeroizing::new(Vec::with_capacity(n_features));
    let failed = (values.par_chunks_exact(n_features), &mut divisors, &mut checksums)
        .into_par_iter()
        .enumerate()
        .with_min_len(64)
        .map_init(scratch, |scratch, (row, (values, divisor, crc))| {
            go_on(cancel)?;
            let found = spec.transform.divisor_of(values, scratch);
            *divisor = found.map_err(|source| RowsError::Scale { row, source })?;
            *crc = checksum(values);
            Ok(())
        })
        .find_first(Result::is_err);
    match failed {
        Some(Err(error)) => Err(error),
        _ => Ok((divisors, checksums)),
    }
}

/// How many rows so many values make.
pub(super) fn n_whole_rows(n_values: usize, n_features: usize) -> Result<usize, RowsError> {
    if n_features == 0 || !n_values.is_multiple_of(n_features) {
        return Err(RowsError::Shape { found: n_values, n_features });
    }
    Ok(n_values / n_features)
}

/// Fails once work is to stop.
pub(super) fn go_on(cancel: &AtomicBool) -> Result<(), Interrupted> {
    if cancel.load(Ordering::Relaxed) { Err(Interrupted) } else { Ok(()) }
}

pub(super) fn check_labels(labels: &[f64], n_classes: usize) -> Result<(), RowsError> {
    let is_class = |label: f64| label.fract() == 0.0 && label >= 0.0 && label < n_classes as f64;
    let fits = |label: f64| if n_classes == 0 { label.is_finite() } else { is_class(label) };
    match labels.iter().enumerate().find(|(_, label)| !fits(**label)) {
        None => Ok(()),
        Some((row, value)) if n_classes == 0 => Err(RowsError::Label { row, value: *value }),
        Some((row, value)) => Err(RowsError::Class { row, value: *value, n_classes }),
    }
}

/// Row weights as they can be kept, one per row. `None` where every row counts once, as without a `limit` every row must.
pub(super) fn check_weights(
    weights: Option<&[f64]>,
    n_rows: usize,
    limit: Option<f64>,
) -> Result<Option<Vec<f64>>, RowsError> {
    let Some(weights) = weights else { return Ok(None) };
    if weights.len() != n_rows {
        return Err(RowsError::Count { what: "weights", found: weights.len(), expected: n_rows });
    }
    if let (None, Some(value)) = (limit, weights.iter().find(|weight| **weight != 1.0)) {
        return Err(RowsError::Unweighted { value: *value });
    }
    let limit = limit.unwrap_or(1.0).min(MOST_ROW_WEIGHT);
    let rounded = |(row, value): (usize, &f64)| {
        let fitting = round_row_weight(*value).filter(|weight| *weight <= limit);
        fitting.ok_or(RowsError::Weight { row, value: *value, limit })
    };
    let weights: Vec<f64> = weights.iter().enumerate().map(rounded).collect::<Result<_, _>>()?;
    Ok(weights.iter().any(|weight| *weight != 1.0).then_some(weights))
}

pub(super) fn checksum<T: RowValue>(row: &[T]) -> u32 {
    crc32fast::hash(T::bytes(row))
}
