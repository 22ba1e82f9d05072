//! New rows, from a file or from memory, read in the way the model's own rows were read.

use efface_data::{
    EncodedRows, FeatureOrder, IdKind, RowId, RowsError, Source, Table, TableParts, TableReader, carries_labels,
    encode_table, is_array, open_table,
};

use serde::Serialize;

use super::Life;
use super::keeper::Found;
use super::selection::Leaving;
use crate::error::{ChangeError, EngineError};
use crate::history::{RowKeys, row_keys};

/// Rows to add, or to put in the place of others.
#[derive(Clone, Debug)]
pub struct RowSource<'a> {
    /// The files.
    pub data: Source,
    /// Column or file with the labels; `None`: the column that the model was trained with.
    pub label: Option<&'a str>,
    /// Column or file with the ids; `None`: likewise.
    pub id: Option<&'a str>,
    /// Column or file with the subjects; `None`: likewise.
    pub subject: Option<&'a str>,
    /// Makes the change idempotent: asked for again under the same id, it gets the same answer.
    pub request_id: Option<&'a str>,
    /// So many rows at most are taken in one step; `None`: as many as are a quarter of a gigabyte. Most files are shorter.
    pub part_rows: Option<usize>,
}

impl RowSource<'_> {
    /// Files whose columns are called as those of training.
    pub fn of(data: impl Into<Source>) -> Self {
        Self { data: data.into(), label: None, id: None, subject: None, request_id: None, part_rows: None }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) enum RowPurpose {
    /// They join the others.
    Add,
    /// They take the place of the rows of the same ids.
    Correct,
}

/// Rows of the model, under what they will be found, and the rows whose place they take.
pub(super) struct NewRows {
    pub(super) rows: EncodedRows,
    pub(super) keys: Vec<RowKeys>,
    pub(super) replaced: Option<Leaving>,
}

impl Life<'_> {
    /// Opens rows to be added, or to take the place of others; and whether they have no ids of their own.
    pub(super) fn open_rows(
        &self,
        source: &RowSource<'_>,
        purpose: RowPurpose,
    ) -> Result<(Box<dyn TableReader>, bool), EngineError> {
        let (settings, file) = (self.settings, source.data.first());
        let own_labels = carries_labels(file);
        let mut columns = settings.columns_for(is_array(file) || own_labels);
        columns.label = source.label.map(String::from).or(columns.label);
        columns.id = source.id.map(String::from).or(columns.id);
        columns.subject = source.subject.map(String::from).or(columns.subject);
        let path = || file.into();
        if columns.label.is_none() && !own_labels {
            return Err(ChangeError::NoLabelNamed { path: path() }.into());
        }
        let numbered = columns.id.is_none();
        if numbered && (purpose == RowPurpose::Correct || settings.columns.id.is_some()) {
            return Err(ChangeError::NoIdNamed { path: path() }.into());
        }
        if purpose == RowPurpose::Add && columns.subject.is_none() && settings.columns.subject.is_some() {
            return Err(ChangeError::NoSubjectNamed { path: path() }.into());
        }
        Ok((open_table(source.data.clone(), &columns, settings.schema.as_ref())?, numbered))
    }

    /// Makes rows of the model of a table. Without weights, rows that are added count once and corrected ones as before.
    pub(super) fn encode_rows(
        &self,
        mut parts: TableParts,
        row_weights: Option<Vec<f64>>,
        purpose: RowPurpose,
    ) -> Result<NewRows, EngineError> {
        let settings = self.settings;
        match parts.ids {
            Some(_) => settings.check_has_ids()?,
            None if settings.columns.id.is_some() => return Err(RowsError::NoIds.into()),
            None => self.number_on(&mut parts)?,
        }
        match (&parts.subjects, self.keeper.has_subjects()?) {
            (Some(_), false) if settings.columns.subject.is_none() => return Err(ChangeError::NoSubjects.into()),
            (None, true) if purpose == RowPurpose::Add => return Err(RowsError::NoSubjects.into()),
            _ => {}
        }
        let mut row_weights = row_weights.or(parts.row_weights.take());
        if let (Some(labels), false) = (&parts.labels, settings.class_weights.is_empty()) {
            row_weights = Some(settings.class_weights.weigh(labels, row_weights.as_deref())?);
        }
        let table = Table::new(parts)?;
        let order = FeatureOrder::Named(&settings.features);
        let rows = encode_table(table, &settings.transform.kept(), Some(&settings.codec), order, settings.precision)?;
        let mut keys = row_keys(&settings.id_key, rows.ids(), rows.subjects());
        let replaced = match purpose {
            RowPurpose::Add => None,
            RowPurpose::Correct => Some(self.leaving(self.positions_of(rows.ids())?)?),
        };
        if let Some(replaced) = replaced.as_ref().filter(|_| rows.subjects().is_none()) {
            // A corrected row stays with its subject unless another one is named.
            keys.iter_mut().zip(&replaced.keys).for_each(|(keys, old)| keys.subject = old.subject);
        }
        let row_weights = match (row_weights, &replaced) {
            (None, Some(Leaving { n_damaged: 1.., .. })) if settings.max_row_weight.is_some() => {
                return Err(ChangeError::WeightLost.into());
            }
            (None, Some(Leaving { rows: old, .. })) if settings.max_row_weight.is_some() => {
                (0..old.len()).filter_map(|row| old.row_weight(row)).collect()
            }
            (None, _) => vec![1.0; rows.n_rows()],
            (Some(row_weights), _) => row_weights,
        };
        let rows = rows.with_row_weights(row_weights)?;
        rows.row_weights().unwrap_or_default().iter().try_for_each(|weight| settings.check_row_weight(*weight))?;
        Ok(NewRows { rows, keys, replaced })
    }

    /// Rows without ids of their own get numbers that no row has had: positions never repeat. Where rows with ids of their
    /// own have joined, one of them may have had such a number.
    fn number_on(&self, parts: &mut TableParts) -> Result<(), EngineError> {
        let first = self.rows.n_positions();
        let n_new = parts.features.len() / parts.feature_names.len().max(1);
        let numbers: Vec<RowId> = (first..first + n_new).map(RowId::numbered).collect();
        for number in &numbers {
            if !matches!(self.find(IdKind::Row, number)?, Found::Unknown) {
                return Err(RowsError::NoIds.into());
            }
        }
        parts.ids = Some(numbers);
        Ok(())
    }
}
