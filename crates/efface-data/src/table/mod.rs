//! A table as it was read: raw features, raw labels, ids, subjects, and where each row came from.
//!
//! Every reader ends in [`Table::new`], which is the only way to make one: whoever holds a table knows that it has
//! rows and features, that all features are finite (or raw cells), that ids are unique and that nothing is missing.

mod columns;
mod place;
mod remarks;
mod stray;

pub use columns::Columns;
pub(crate) use columns::Roles;
pub use place::{Origin, Place, RowNumber};
pub use remarks::Remark;
pub use stray::StrayTexts;

use std::collections::HashMap;
use std::fmt;

use efface_core::rows::round_row_weight;

use crate::derived::{Counts, RawRows, Texts};
use crate::error::{EncodeError, ReadError};
use crate::id::RowId;
use crate::labels::{ClassWeights, LabelCodec};
use crate::rows::FeatureValues;
use crate::schema::{Notation, Schema};

/// Labels as they stand in the input, before it is known what they mean.
#[derive(Clone, Debug, PartialEq)]
pub enum RawLabels {
    /// Texts; may all be numbers.
    Text(Vec<String>),
    /// Numbers.
    Numbers(Vec<f64>),
}

impl RawLabels {
    /// Number of labels.
    pub fn len(&self) -> usize {
        match self {
            Self::Text(labels) => labels.len(),
            Self::Numbers(labels) => labels.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn append(&mut self, other: Self) {
        let texts = |labels| match labels {
            Self::Text(texts) => texts,
            Self::Numbers(numbers) => numbers.iter().map(f64::to_string).collect(),
        };
        match (&mut *self, other) {
            (Self::Text(labels), other) => labels.extend(texts(other)),
            (Self::Numbers(labels), Self::Numbers(other)) => labels.extend(other),
            (labels @ Self::Numbers(_), other) => {
                *labels = Self::Text(texts(std::mem::replace(labels, Self::Text(Vec::new()))));
                labels.append(other);
            }
        }
    }
}

/// Raw labels, and where they come from: a column of the table or a file of their own.
#[derive(Clone, Debug)]
pub struct Labels {
    /// The labels.
    pub values: RawLabels,
    origin: Origin,
    column: Option<String>,
    notation: Notation,
}

impl Labels {
    /// Labels of a column of a table, or (without `column`) of a source of their own.
    pub fn new(values: RawLabels, origin: Origin, column: Option<String>) -> Self {
        Self { values, origin, column, notation: Notation::default() }
    }

    /// The same, where numbers are written like this.
    #[must_use]
    pub(crate) fn written_as(self, notation: Notation) -> Self {
        Self { notation, ..self }
    }

    pub(crate) fn notation(&self) -> Notation {
        self.notation
    }

    /// Points at the label of row `row`.
    pub fn place(&self, row: usize) -> Place {
        self.origin.place(row, self.column.as_deref())
    }

    /// Where they come from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }
}

/// What a table is made of.
#[derive(Clone, Debug)]
pub struct TableParts {
    /// One name per feature.
    pub feature_names: Vec<String>,
    /// Rows × features, row-major.
    pub features: FeatureValues,
    /// One per row, if there are any.
    pub labels: Option<Labels>,
    /// One per row; without, rows are numbered from the origin's first row on, which is 0 unless said otherwise.
    pub ids: Option<Vec<RowId>>,
    /// One per row, if there are any.
    pub subjects: Option<Vec<RowId>>,
    /// As how many rows each counts; without, every row counts once.
    pub row_weights: Option<Vec<f64>>,
    /// Where the rows come from.
    pub origin: Origin,
    /// Of raw cells, the texts behind their hashes: then a cell may have nothing in it. `None`: all features are numbers.
    pub texts: Option<Texts>,
}

/// Rows that have been read and checked, not yet scaled or encoded.
#[derive(Clone)]
pub struct Table {
    /// With ids.
    parts: TableParts,
    n_rows: usize,
}

impl Table {
    /// Checks the parts and puts them together.
    pub fn new(mut parts: TableParts) -> Result<Self, ReadError> {
        let TableParts { feature_names, features, labels, ids, subjects, row_weights, origin, texts } = &parts;
        let file = || origin.file().to_path_buf();
        if feature_names.is_empty() {
            return Err(ReadError::NoFeatures { file: file() });
        }
        if features.is_empty() {
            return Err(ReadError::Empty { file: file() });
        }
        if features.len() % feature_names.len() != 0 {
            let (found, expected) = (format!("{} values", features.len()), format!("rows of {}", feature_names.len()));
            return Err(ReadError::Shape { file: file(), found, expected });
        }
        let n_rows = features.len() / feature_names.len();

        let label_file = labels.as_ref().map_or(origin.file(), |labels| labels.origin().file());
        let counts = [
            ("labels", labels.as_ref().map(|labels| labels.values.len()), label_file),
            ("row ids", ids.as_ref().map(Vec::len), origin.file()),
            ("subjects", subjects.as_ref().map(Vec::len), origin.file()),
            ("weights", row_weights.as_ref().map(Vec::len), origin.file()),
        ];
        for (what, count, file) in counts {
            if let Some(found) = count.filter(|count| *count != n_rows) {
                let (file, found, expected) = (file.to_path_buf(), found as u64, n_rows as u64);
                return Err(ReadError::LengthMismatch { file, what, found, expected });
            }
        }
        if let Some((index, value)) = features.first_not_finite().filter(|_| texts.is_none()) {
            let (row, feature) = (index / feature_names.len(), index % feature_names.len());
            let place = origin.place(row, Some(&feature_names[feature]));
            return Err(ReadError::NotFinite { place, value: value.to_string() });
        }
        let rounded = row_weights.as_ref().map(|weights| rounded(weights, origin)).transpose()?;
        for (what, ids) in [("row id", ids), ("subject", subjects)] {
            let is_empty = |id: &RowId| matches!(id, RowId::Text(text) if text.is_empty());
            if let Some(row) = ids.as_ref().and_then(|ids| ids.iter().position(is_empty)) {
                return Err(ReadError::EmptyCell { place: origin.place(row, Some(what)) });
            }
        }
        if let Some(ids) = ids {
            refuse_duplicates(ids, origin)?;
        }
        let first_id = i64::try_from(origin.first_row()).unwrap_or(i64::MAX);
        parts.row_weights = rounded;
        parts.ids.get_or_insert_with(|| (first_id..).take(n_rows).map(RowId::Integer).collect());
        Ok(Self { parts, n_rows })
    }

    /// One name per feature.
    pub fn feature_names(&self) -> &[String] {
        &self.parts.feature_names
    }

    /// Rows × features, row-major.
    pub fn features(&self) -> &FeatureValues {
        &self.parts.features
    }

    /// Number of rows, at least one.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// The labels, if the table has any.
    pub fn labels(&self) -> Option<&Labels> {
        self.parts.labels.as_ref()
    }

    /// One unique id per row.
    pub fn ids(&self) -> &[RowId] {
        self.parts.ids.as_deref().unwrap_or_default()
    }

    /// One subject per row, if the table has any.
    pub fn subjects(&self) -> Option<&[RowId]> {
        self.parts.subjects.as_deref()
    }

    /// As how many rows each counts, if that is said.
    pub fn row_weights(&self) -> Option<&[f64]> {
        self.parts.row_weights.as_deref()
    }

    /// Where the rows come from.
    pub fn origin(&self) -> &Origin {
        &self.parts.origin
    }

    /// The same rows and those of another table with the same columns. They are numbered anew, and are nobody's.
    pub(crate) fn followed_by(self, other: Self) -> Result<Self, ReadError> {
        let (mut parts, other) = (self.into_parts(), other.into_parts());
        parts.features.extend_from(&other.features, 0..other.features.len());
        parts.origin = Origin::new("all files together");
        if let (Some(labels), Some(others)) = (&mut parts.labels, other.labels) {
            labels.values.append(others.values);
            labels.origin = parts.origin.clone();
        }
        if let (Some(weights), Some(others)) = (&mut parts.row_weights, other.row_weights) {
            weights.extend(others);
        }
        if let (Some(texts), Some(others)) = (&mut parts.texts, other.texts) {
            texts.extend(others);
        }
        Self::new(TableParts { ids: None, subjects: None, ..parts })
    }

    /// The same rows, each of which counts as its class does, too.
    pub fn with_class_weights(mut self, weights: &ClassWeights) -> Result<Self, EncodeError> {
        if let (Some(labels), false) = (&self.parts.labels, weights.is_empty()) {
            self.parts.row_weights = Some(weights.weigh(labels, self.row_weights())?);
        }
        Ok(self)
    }

    /// Counts of all cells of which constants are derived, by a schema or of all columns; of the labels too, if they are
    /// `numbers`.
    pub fn derived_counts(&self, schema: Option<&Schema>, numbers: bool) -> Counts {
        let TableParts { feature_names, features, labels, row_weights, texts, .. } = &self.parts;
        let derived = schema.map_or_else(|| vec![true; feature_names.len()], Schema::derived);
        let mut counts = Counts::new(&derived, numbers);
        let labels = labels.as_ref().filter(|_| numbers);
        let labels = labels.and_then(|labels| LabelCodec::Numeric.encode(labels).ok()).unwrap_or_default();
        let features = features.slice(0..features.len());
        let rows = RawRows { features, labels: &labels, row_weights: row_weights.as_deref() };
        counts.add(rows, texts.as_ref().unwrap_or(&Texts::new()));
        counts
    }

    /// The same rows, called by their number among all rows of which `n_before` come from other files.
    pub(crate) fn numbered_on(mut self, n_before: u64) -> Self {
        let first = i64::try_from(n_before.saturating_add(self.parts.origin.first_row())).unwrap_or(i64::MAX);
        self.parts.ids = Some((first..).take(self.n_rows).map(RowId::Integer).collect());
        self
    }

    /// Takes the table apart again, all checks done.
    pub fn into_parts(self) -> TableParts {
        self.parts
    }
}

/// Shape only: rows and ids stay out of logs.
impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shape = f.debug_struct("Table");
        shape.field("n_rows", &self.n_rows).field("features", &self.parts.feature_names).finish_non_exhaustive()
    }
}

/// Weights that rows can have.
fn rounded(weights: &[f64], origin: &Origin) -> Result<Vec<f64>, ReadError> {
    let of_row = |(row, value): (usize, &f64)| {
        let bad = || ReadError::BadWeight { place: origin.place(row, None), value: value.to_string() };
        round_row_weight(*value).ok_or_else(bad)
    };
    weights.iter().enumerate().map(of_row).collect()
}

fn refuse_duplicates(ids: &[RowId], origin: &Origin) -> Result<(), ReadError> {
    let mut seen = HashMap::with_capacity(ids.len());
    for (row, id) in ids.iter().enumerate() {
        if let Some(first) = seen.insert(id, row) {
            let (place, first) = (origin.place(row, None), origin.place(first, None));
            return Err(ReadError::DuplicateId { place, id: Some(id.clone()), first });
        }
    }
    Ok(())
}

/// A value for a message; a long one is cut.
pub(crate) fn shortened(value: &str) -> String {
    const SHOWN: usize = 40;
    match value.char_indices().nth(SHOWN) {
        None => value.to_owned(),
        Some((end, _)) => format!("{}… ({} bytes)", &value[..end], value.len()),
    }
}

/// A list of names for a message; a long one is cut.
pub(crate) fn listed<S: AsRef<str>>(names: &[S]) -> String {
    const SHOWN: usize = 20;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{}`", name.as_ref())).collect();
    let rest = names.len() - shown.len();
    if rest == 0 { shown.join(", ") } else { format!("{} and {rest} more", shown.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts() -> TableParts {
        TableParts {
            feature_names: vec!["a".into(), "b".into()],
            features: FeatureValues::F64(vec![1.0, 2.0, 3.0, 4.0]),
            labels: None,
            ids: None,
            subjects: None,
            row_weights: None,
            origin: Origin::with_lines("t.csv", vec![2, 3]),
            texts: None,
        }
    }

    fn message(parts: TableParts) -> String {
        Table::new(parts).expect_err("must be refused").to_string()
    }

    #[test]
    fn rows_without_ids_are_numbered_from_zero() {
        let table = Table::new(parts()).expect("valid");
        assert_eq!(table.n_rows(), 2);
        assert_eq!(table.ids(), [RowId::Integer(0), RowId::Integer(1)]);
    }

    #[test]
    fn a_feature_that_is_not_finite_is_named_with_its_cell() {
        let features = FeatureValues::F64(vec![1.0, 2.0, 3.0, f64::NAN]);
        let text = message(TableParts { features, ..parts() });
        assert_eq!(text, "t.csv, line 3, column `b`: features must be finite, got `NaN`");
    }

    #[test]
    fn duplicate_ids_and_wrong_lengths_are_refused() {
        let text = message(TableParts { ids: Some(vec![RowId::Integer(7), RowId::parse("7")]), ..parts() });
        assert_eq!(text, "t.csv, line 3: row id `7` is already that of line 2");
        let labels = Labels::new(RawLabels::Numbers(vec![1.0; 3]), Origin::new("y.npy"), None);
        let text = message(TableParts { labels: Some(labels), ..parts() });
        assert_eq!(text, "y.npy: 3 labels, but there are 2 rows");
    }

    #[test]
    fn empty_tables_are_refused() {
        assert_eq!(message(TableParts { features: FeatureValues::F64(vec![]), ..parts() }), "t.csv: no rows");
        assert_eq!(message(TableParts { feature_names: vec![], ..parts() }), "t.csv: no feature columns");
    }
}
