//! Rows that come, from a file or from memory, read in the way the model's own rows were read.

use std::path::Path;

use efface_data::{
    EncodedRows, FeatureOrder, RowId, Table, TableParts, carries_labels, encode_table, is_array, read_table_with,
};

use crate::database::RowKeys;
use crate::error::EngineError;
use crate::import::row_keys;
use crate::model_directory::ModelDirectory;

/// Rows to add, or to put in the place of others.
#[derive(Clone, Copy, Debug)]
pub struct RowSource<'a> {
    /// The file.
    pub data: &'a Path,
    /// Column or file with the labels; `None`: the column that the model was trained with.
    pub label: Option<&'a str>,
    /// Column or file with the ids; `None`: likewise.
    pub id: Option<&'a str>,
    /// Column or file with the subjects; `None`: likewise.
    pub subject: Option<&'a str>,
}

impl<'a> RowSource<'a> {
    /// A file whose columns are called as those of training.
    pub fn of(data: &'a Path) -> Self {
        Self { data, label: None, id: None, subject: None }
    }
}

/// What rows that come are for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowPurpose {
    /// They join the others.
    Add,
    /// They take the place of the rows of the same ids.
    Correct,
}

impl ModelDirectory {
    /// Reads rows that come, and under what they will be found.
    pub(crate) fn read_rows(
        &self,
        source: &RowSource<'_>,
        role: RowPurpose,
    ) -> Result<(EncodedRows, Vec<RowKeys>), EngineError> {
        let settings = &self.settings;
        let own_labels = carries_labels(source.data);
        let mut columns = settings.columns_for(is_array(source.data) || own_labels);
        columns.label = source.label.map(String::from).or(columns.label);
        columns.id = source.id.map(String::from).or(columns.id);
        columns.subject = source.subject.map(String::from).or(columns.subject);
        let path = || source.data.into();
        if columns.label.is_none() && !own_labels {
            return Err(EngineError::NoLabelNamed { path: path() });
        }
        let numbered = columns.id.is_none();
        if numbered && (role == RowPurpose::Correct || settings.columns.id.is_some()) {
            return Err(EngineError::NoIdNamed { path: path() });
        }
        if role == RowPurpose::Add && columns.subject.is_none() && settings.columns.subject.is_some() {
            return Err(EngineError::NoSubjectNamed { path: path() });
        }
        let mut parts = read_table_with(source.data, &columns, settings.schema.as_ref())?.into_parts();
        if numbered {
            parts.ids = None;
        }
        self.encode_rows(parts, None, role)
    }

    /// Makes rows of the model of a table, and finds under what they will be found. Without weights, rows that are added
    /// count once and corrected ones as before.
    pub(crate) fn encode_rows(
        &self,
        mut parts: TableParts,
        row_weights: Option<Vec<f64>>,
        role: RowPurpose,
    ) -> Result<(EncodedRows, Vec<RowKeys>), EngineError> {
        let settings = &self.settings;
        match parts.ids {
            Some(_) => settings.check_has_ids()?,
            None => self.number_on(&mut parts),
        }
        let table = Table::new(parts)?;
        let order = FeatureOrder::Named(&settings.features);
        let rows = encode_table(table, &settings.transform, Some(&settings.codec), order, settings.precision)?;
        let mut keys = row_keys(&settings.id_key, rows.ids(), rows.subjects());
        let replaced = match role {
            RowPurpose::Add => None,
            RowPurpose::Correct => Some(self.positions_of(rows.ids())?),
        };
        if let Some(replaced) = replaced.as_ref().filter(|_| rows.subjects().is_none()) {
            // A corrected row stays with its subject unless another one is named.
            let old = self.database.keys_at(replaced)?;
            keys.iter_mut().zip(old).for_each(|(keys, old)| keys.subject = old.subject);
        }
        let row_weights = match (row_weights, replaced) {
            (None, Some(replaced)) if settings.max_row_weight.is_some() => {
                let old = self.rows.batch(&replaced)?;
                (0..old.len()).filter_map(|row| old.row_weight(row)).collect()
            }
            (None, _) => vec![1.0; rows.n_rows()],
            (Some(row_weights), _) => row_weights,
        };
        let rows = rows.with_row_weights(row_weights)?;
        rows.row_weights().unwrap_or_default().iter().try_for_each(|weight| settings.check_row_weight(*weight))?;
        Ok((rows, keys))
    }

    /// Rows without ids of their own get numbers that no row has had: positions never repeat.
    fn number_on(&self, parts: &mut TableParts) {
        let first = self.rows.len();
        let n_new = parts.features.len() / parts.feature_names.len().max(1);
        parts.ids = Some((first..first + n_new).map(|number| RowId::parse(&number.to_string())).collect());
    }
}
