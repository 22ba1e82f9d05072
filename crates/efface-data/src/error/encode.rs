//! Errors of turning a table into rows of a model: labels and scaling.

use std::path::PathBuf;

use super::CellError;
use crate::labels::MAX_CLASSES;
use crate::table::{Place, shortened};

/// Labels do not suit the model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabelError {
    /// A label that the model has not been trained on.
    #[error("{place}: label `{shown}` is not one of {classes}", shown = shortened(value))]
    UnknownClass { place: Place, value: String, classes: String },
    /// All labels are the same.
    #[error("{}: all {n_rows} labels are `{shown}`; classification needs two classes or more", file.display(), shown = shortened(class))]
    OneClass { file: PathBuf, class: String, n_rows: usize },
    /// More classes than can be meant.
    #[error("{place}: label `{shown}` would be class {}, at most {MAX_CLASSES} are allowed", MAX_CLASSES + 1, shown = shortened(value))]
    TooManyClasses { place: Place, value: String },
    /// A fraction, or an integer beyond 2⁵³, where a class is expected.
    #[error("{place}: numeric class labels must be integers of at most 2^53, got `{shown}`", shown = shortened(value))]
    NotAnInteger { place: Place, value: String },
    /// Not a finite number where one is expected.
    #[error("{place}: labels must be finite numbers, got `{shown}`", shown = shortened(value))]
    NotANumber { place: Place, value: String },
    /// A number that can be read in two ways.
    #[error("{place}: {source}")]
    Cell { place: Place, source: CellError },
    /// NaN or infinity where a class is expected.
    #[error("{place}: class labels cannot be NaN or infinite, got `{shown}`", shown = shortened(value))]
    NotFinite { place: Place, value: String },
    /// An empty text.
    #[error("{place}: empty label")]
    Empty { place: Place },
}

/// A text is not a way to scale rows.
#[derive(Debug, thiserror::Error)]
#[error(
    "scale must be `auto`, `unit`, `clip:R`, `within:R`, `none` or `raw`, R positive and finite, got `{text}`{}",
    why_not(text)
)]
pub struct ParseScaleError {
    /// The text.
    pub text: String,
}

/// Why a scaler that is known elsewhere is not to be had here.
fn why_not(text: &str) -> &'static str {
    if crate::schema::is_fitted_word(text) {
        ": `auto` centres and scales columns by constants that do not depend on rows removed later"
    } else {
        ""
    }
}

/// One row cannot be scaled.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ScaleError {
    /// A value is NaN or infinite.
    #[error("features must be finite, got `{value}`")]
    NotFinite { feature: usize, value: f64 },
    /// The row is longer than the bound allows.
    #[error("row norm is {norm:.9}, the limit is {limit}")]
    NormTooLarge { norm: f64, limit: f64 },
}

/// A table does not suit the model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// A label does not.
    #[error(transparent)]
    Label(#[from] LabelError),
    /// Labels are needed and the table has none.
    #[error("{}: no labels", file.display())]
    NoLabels { file: PathBuf },
    /// A feature of the model is not in the table.
    #[error("{}: no feature `{feature}`; there are {known}", file.display())]
    MissingFeature { file: PathBuf, feature: String, known: String },
    /// The table has a feature that the model does not know.
    #[error("{}: feature `{feature}` is unknown to the model", file.display())]
    UnexpectedFeature { file: PathBuf, feature: String },
    /// A row cannot be scaled.
    #[error("{place}: {source}")]
    Scale { place: Place, source: ScaleError },
}
