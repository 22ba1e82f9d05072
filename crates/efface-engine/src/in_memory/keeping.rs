//! A model in memory moves into a directory: its rows as a directory keeps them, and everything that it remembers.

use std::path::PathBuf;

use efface_core::rows::RowStore;
use efface_data::{Columns, EncodedRows};
use efface_ledger::certificate::ReleasePolicy;

use super::MemoryModel;
use super::rows::LentRows;
use super::view::Batch;
use crate::adoption::{AdoptRequest, AdoptedRows, FoundBy};
use crate::error::EngineError;
use crate::model_directory::ModelDirectory;
use crate::past::AdoptedPast;

/// Bytes of features that are written at a time.
const CHUNK_BYTES: usize = 8 << 20;

/// Where a model in memory is kept from now on.
#[derive(Clone, Debug, Default)]
pub struct KeepOptions {
    /// The model directory. Must not exist.
    pub out: PathBuf,
    /// The key that signs certificates; `None`: one of the directory's own.
    pub key: Option<PathBuf>,
    /// A file elsewhere that remembers what was removed. Must not exist.
    pub witness: Option<PathBuf>,
}

impl MemoryModel {
    /// Makes a model directory that goes on where this model stands: the account of its releases and what was removed
    /// are carried over. The directory is
    /// open and locked. This model is of no more use then: two of them would spend one promise twice.
    pub fn keep(&self, lent: &LentRows<'_>, options: KeepOptions) -> Result<ModelDirectory, EngineError> {
        let settings = &self.settings;
        let max_rows = (CHUNK_BYTES / (8 * self.rows.dim().max(1))).clamp(256, 65_536);
        let columns = Columns {
            label: Some(named(settings.columns.label.as_ref(), "label")),
            id: (!self.index.is_numbered()).then(|| named(settings.columns.id.as_ref(), "id")),
            subject: self.index.has_subjects().then(|| named(settings.columns.subject.as_ref(), "subject")),
            ..settings.columns.clone()
        };
        ModelDirectory::adopt(AdoptRequest {
            model: self.model.clone(),
            rows: Box::new(self.kept_rows(lent, max_rows)?),
            n_positions: self.rows.len(),
            features: settings.features.clone(),
            columns,
            row_names: settings.row_names,
            transform: settings.transform,
            codec: settings.codec.clone(),
            precision: settings.precision,
            salt: settings.salt,
            id_key: settings.id_key.clone(),
            max_row_weight: settings.max_row_weight,
            row_norm_from_rows: settings.row_norm_from_rows,
            suppressed: self.index.removed().collect(),
            past: self.past(),
            policy: ReleasePolicy::default(),
            key: options.key,
            witness: options.witness,
            memory_bytes: None,
            out: options.out,
        })
    }

    fn past(&self) -> AdoptedPast {
        AdoptedPast {
            n_removed: self.n_removed,
            n_suppressed: self.n_suppressed,
            latest_release: self.since.previous,
            changes: self.since.changes.clone(),
            people: self.since.people.iter().copied().collect(),
            answers: self.requests.values().cloned().collect(),
        }
    }

    /// The rows present in the order of their positions, at most `max_rows` at a time. Ids are keyed hashes: nobody has
    /// kept them in clear.
    pub(super) fn kept_rows<'a>(
        &'a self,
        lent: &LentRows<'a>,
        max_rows: usize,
    ) -> Result<impl Iterator<Item = Result<AdoptedRows, EngineError>> + use<'a>, EngineError> {
        self.rows.check_unchanged(lent)?;
        let lent = *lent;
        let mut positions = (0..self.rows.len()).filter(|position| self.rows.present[*position]).peekable();
        Ok(std::iter::from_fn(move || {
            positions.peek()?;
            let chunk: Vec<usize> = positions.by_ref().take(max_rows.max(1)).collect();
            let batch = self.rows.unchanged_batch(&lent, &chunk).map_err(EngineError::from);
            Some(batch.and_then(|batch| self.kept(chunk, batch)))
        }))
    }

    fn kept(&self, positions: Vec<usize>, mut batch: Batch) -> Result<AdoptedRows, EngineError> {
        let keys = positions.iter().map(|position| self.index.keys_at(*position));
        let (ids, subjects): (Vec<_>, Vec<_>) = keys.map(|keys| (keys.id, keys.subject)).unzip();
        let (features, labels) = batch.take_rows();
        let rows = EncodedRows::new(batch.dim(), features, labels, batch.row_norm_bound())?;
        let rows = match self.settings.max_row_weight {
            Some(_) => rows.with_row_weights(std::mem::take(&mut batch.row_weights))?,
            None => rows,
        };
        let selectors = std::mem::take(&mut batch.selectors);
        let found_by = Some(FoundBy { ids, subjects: subjects.into_iter().collect(), selectors });
        Ok(AdoptedRows { rows, positions, found_by })
    }
}

/// The name that a column had, or the usual one.
fn named(column: Option<&String>, usual: &str) -> String {
    column.map_or(usual, String::as_str).into()
}
