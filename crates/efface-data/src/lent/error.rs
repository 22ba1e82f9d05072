//! What can be wrong with rows that are handed over in memory.

use crate::error::ScaleError;
use crate::rows::Precision;

/// Rows in memory cannot be used. Rows are counted from 0.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are named in the messages")]
pub enum RowsError {
    /// A row cannot be scaled.
    #[error("row {row}: {source}")]
    Scale { row: usize, source: ScaleError },
    /// A label is none of the classes.
    #[error("row {row}: label `{value}` is not the index of one of {n_classes} classes")]
    Class { row: usize, value: f64, n_classes: usize },
    /// A label is not a finite number.
    #[error("row {row}: labels must be finite numbers, got `{value}`")]
    Label { row: usize, value: f64 },
    /// A row cannot weigh that much.
    #[error("row {row}: its weight must be at least 0 and at most {limit}, got `{value}`")]
    Weight { row: usize, value: f64, limit: f64 },
    /// Rows have no weights, and this one does not count once.
    #[error("row weight {value} given, but this model was trained without row weights")]
    Unweighted { value: f64 },
    /// Bytes of rows are not what was written.
    #[error("the bytes of rows are damaged: {reason}")]
    Damaged { reason: &'static str },
    /// Not one of something per row.
    #[error("{found} {what} for {expected} rows")]
    Count { what: &'static str, found: usize, expected: usize },
    /// Values do not make whole rows.
    #[error("{found} values are no whole number of rows of {n_features} features")]
    Shape { found: usize, n_features: usize },
    /// The rows that a model was trained on are not those it is given back.
    #[error("the model was trained on {expected} values in {expected_precision}, got {found} in {found_precision}")]
    OtherRows { found: usize, found_precision: Precision, expected: usize, expected_precision: Precision },
    /// A row that the model was trained on has other values now.
    #[error(
        "row {row} has changed since the model was trained on it: put it back, or train again on a copy of the rows, \
         which nobody else can change"
    )]
    Changed { row: usize },
    /// A column tells rows apart: it has more different texts than are counted.
    #[error("column number {} has more than {limit} different texts", column + 1)]
    TooManyTexts { column: usize, limit: usize },
    /// Checking them was stopped.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// The rows of this model have ids of their own, and these have none.
    #[error("the rows of this model have ids of their own: give one for each new row")]
    NoIds,
    /// The model was trained with subjects, and these rows have none.
    #[error("this model was trained with subjects: give one for each new row")]
    NoSubjects,
}

/// Work was stopped because it was asked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stopped on request")]
pub struct Interrupted;
