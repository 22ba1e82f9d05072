//! What training led to, and what deserves a second look.

use std::path::PathBuf;

use efface_data::derived::{CellCounts, ColumnConstants, ColumnTag};
use efface_data::{LabelCodec, Remark, StoredRows};
use serde::Serialize;

use crate::error::EngineError;
use crate::path_text;

/// What training led to.
#[derive(Clone, Debug, Serialize)]
pub struct TrainReport {
    /// Rows trained on.
    pub n_rows: usize,
    /// Rows left out, because they had been removed before.
    pub n_suppressed: usize,
    /// Features, the intercept included.
    pub dim: usize,
    /// Number of classes; 0 for regression.
    pub classes: usize,
    /// The rows of each class.
    pub class_rows: Vec<ClassRows>,
    /// What each column became, where that is derived from the rows.
    pub columns: Vec<TrainedColumn>,
    /// Measured, upper bound.
    pub gradient_residual: f64,
    /// Distance to the exact minimiser, upper bound.
    pub distance_bound: f64,
    /// Passes over the rows.
    pub iterations: usize,
    /// Time of reading the rows into the directory.
    pub read_seconds: f64,
    /// Time of training alone.
    pub train_seconds: f64,
    /// Time of the whole call.
    pub seconds: f64,
    /// Whether the randomness behind the model was unpredictable.
    pub certified: bool,
    /// The model directory.
    #[serde(serialize_with = "path_text::one")]
    pub model: PathBuf,
}

/// A class and its rows.
#[derive(Clone, Debug, Serialize)]
pub struct ClassRows {
    /// Its name.
    pub class: String,
    /// Rows present.
    pub n_rows: usize,
}

/// What a column of the table became.
#[derive(Clone, Debug, Serialize)]
pub struct TrainedColumn {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub becomes: ColumnTag,
    /// Its features.
    pub n_features: usize,
    /// What stands in it.
    #[serde(flatten)]
    pub cells: Option<CellCounts>,
}

/// What the columns of these names became; nothing, where that is not derived.
pub(super) fn trained_columns(rows: &StoredRows, names: &[String]) -> Vec<TrainedColumn> {
    let Some(preparation) = rows.preparation() else { return Vec::new() };
    let (constants, cells) = (&preparation.encoder().constants().columns, preparation.counts().cells());
    let column = |((name, constants), cells): ((&String, &ColumnConstants), Option<CellCounts>)| TrainedColumn {
        name: name.clone(),
        becomes: constants.tag(),
        n_features: constants.width(),
        cells,
    };
    names.iter().zip(constants).zip(cells).map(column).collect()
}

/// The rows of each class.
pub(super) fn class_rows(rows: &StoredRows, codec: &LabelCodec) -> Result<Vec<ClassRows>, EngineError> {
    let classes = codec.classes();
    let counts = rows.count_classes(classes.len())?;
    Ok(classes.iter().zip(counts).map(|(class, n_rows)| ClassRows { class: class.clone(), n_rows }).collect())
}

/// What is odd about columns and classes.
pub(super) fn remarks(columns: &[TrainedColumn], classes: &[ClassRows]) -> impl Iterator<Item = Remark> {
    let mixed = columns.iter().filter_map(|column| Remark::mixed_column(&column.name, column.becomes, column.cells?));
    mixed.chain(Remark::of_classes(classes.iter().map(|class| (class.class.as_str(), class.n_rows))))
}
