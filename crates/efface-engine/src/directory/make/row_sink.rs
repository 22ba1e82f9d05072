//! The rows and the index of a directory that is being filled, row after row.

use std::path::Path;

use efface_core::rounding::UpperBound;
use efface_data::derived::Preparation;
use efface_data::{EncodedRows, IdDigest, RowLayout, StoredRows};

use super::FilledRows;
use crate::directory::database::{Database, index};
use crate::directory::files::ROWS;
use crate::directory::row_memory;
use crate::error::EngineError;
use crate::history::RowKeys;

pub(super) struct RowSink<'a> {
    directory: &'a Path,
    row_norm_bound: UpperBound,
    memory_bytes: u64,
    database: Database,
    pub(super) rows: Option<StoredRows>,
}

impl<'a> RowSink<'a> {
    /// An empty index, and no rows before it is known how they are laid out.
    pub(super) fn new(
        directory: &'a Path,
        row_norm_bound: UpperBound,
        memory_bytes: Option<u64>,
    ) -> Result<Self, EngineError> {
        let memory_bytes = memory_bytes.unwrap_or_else(row_memory::default_bytes);
        Ok(Self { directory, row_norm_bound, memory_bytes, database: Database::create(directory)?, rows: None })
    }

    /// Makes the segments, unless they are there. Raw rows are counted by a `preparation`.
    pub(super) fn lay_out(&mut self, layout: RowLayout, preparation: Option<Preparation>) -> Result<(), EngineError> {
        if self.rows.is_none() {
            let path = self.directory.join(ROWS);
            let rows = StoredRows::create(&path, layout, self.row_norm_bound, self.memory_bytes)?;
            self.rows = Some(rows.prepared(preparation));
        }
        Ok(())
    }

    /// Writes rows behind those that are there, with what they will be found under. Without a layout there is nowhere to
    /// write to.
    pub(super) fn put(&mut self, encoded: &EncodedRows, keys: &[RowKeys]) -> Result<(), EngineError> {
        let Some(rows) = &mut self.rows else { return Ok(()) };
        let selectors: Vec<u64> = keys.iter().map(|keys| keys.id.selector()).collect();
        let mut found_by = rows.append(encoded, &selectors)?.zip(keys);
        self.database.ask(|tables| found_by.try_for_each(|(position, keys)| index::insert(tables, position, keys)))
    }

    /// Leaves positions out whose rows left long ago.
    pub(super) fn skip(&mut self, n_positions: usize) -> Result<(), EngineError> {
        let Some(rows) = &mut self.rows else { return Ok(()) };
        let positions = rows.append_gone(n_positions)?;
        self.database.ask(|tables| index::have_gone(tables, positions))
    }

    pub(super) fn n_positions(&self) -> usize {
        self.rows.as_ref().map_or(0, StoredRows::len)
    }

    /// Notes what was removed before and must not come back, and makes the index durable.
    pub(super) fn finish<'b>(self, removed: impl IntoIterator<Item = &'b IdDigest>) -> Result<FilledRows, EngineError> {
        let mut removed = removed.into_iter();
        self.database.ask(|tables| removed.try_for_each(|digest| index::suppress(tables, *digest).map(drop)))?;
        let rows = self.rows.ok_or(efface_core::model::TrainError::NoRows)?;
        Ok(FilledRows { rows, database: self.database.finish_import()? })
    }
}
