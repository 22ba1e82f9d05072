//! The rows and the index of a directory that is being filled, row after row.

use std::path::Path;

use efface_core::rounding::UpperBound;
use efface_data::{EncodedRows, IdDigest, Precision, RowLayout, StoredRows};

use crate::database::{Database, NewRow, RowKeys, index};
use crate::error::EngineError;
use crate::files::ROWS;

/// Where rows of a new directory go.
pub(crate) struct RowSink<'a> {
    directory: &'a Path,
    row_norm_bound: UpperBound,
    memory_bytes: u64,
    salt: [u8; 32],
    database: Database,
    rows: Option<StoredRows>,
}

impl<'a> RowSink<'a> {
    /// An empty index, and no rows before it is known how they are laid out. `salt` is that of their selectors.
    pub(crate) fn new(
        directory: &'a Path,
        row_norm_bound: UpperBound,
        memory_bytes: u64,
        salt: [u8; 32],
    ) -> Result<Self, EngineError> {
        let database = Database::create(directory)?;
        Ok(Self { directory, row_norm_bound, memory_bytes, salt, database, rows: None })
    }

    /// Makes the segments, unless they are there.
    pub(crate) fn lay_out(&mut self, layout: RowLayout) -> Result<(), EngineError> {
        if self.rows.is_none() {
            let path = self.directory.join(ROWS);
            self.rows = Some(StoredRows::create(&path, layout, self.row_norm_bound, self.memory_bytes)?);
        }
        Ok(())
    }

    /// Writes rows behind those that are there, with what they will be found under. Without a layout there is nowhere to
    /// write to.
    pub(crate) fn put(&mut self, encoded: &EncodedRows, keys: &[RowKeys]) -> Result<(), EngineError> {
        let selectors = encoded.selectors(&self.salt);
        self.put_selected(encoded, keys, &selectors)
    }

    /// The same for rows whose selectors are known.
    pub(crate) fn put_selected(
        &mut self,
        encoded: &EncodedRows,
        keys: &[RowKeys],
        selectors: &[u64],
    ) -> Result<(), EngineError> {
        let Some(rows) = &mut self.rows else { return Ok(()) };
        let positions = rows.append(encoded, selectors)?;
        let mut found_by = positions.zip(keys);
        self.database
            .ask(|tables| found_by.try_for_each(|(position, keys)| NewRow { position, keys: *keys }.insert(tables)))
    }

    /// Leaves positions out whose rows left long ago.
    pub(crate) fn skip(&mut self, n_positions: usize) -> Result<(), EngineError> {
        let Some(rows) = &mut self.rows else { return Ok(()) };
        let mut positions = rows.append_gone(n_positions)?;
        self.database.ask(|tables| positions.try_for_each(|position| index::was_purged(tables, position)))
    }

    /// The rows, if there are any.
    pub(crate) fn rows(&mut self) -> Option<&mut StoredRows> {
        self.rows.as_mut().filter(|rows| !rows.is_empty())
    }

    /// Number of positions so far.
    pub(crate) fn n_positions(&self) -> usize {
        self.rows.as_ref().map_or(0, StoredRows::len)
    }

    /// The precision that rows are kept in, once it is known.
    pub(crate) fn precision(&self) -> Option<Precision> {
        self.rows.as_ref().map(StoredRows::precision)
    }

    /// The salt of the selectors.
    pub(crate) fn salt(&self) -> &[u8; 32] {
        &self.salt
    }

    /// Notes what was removed before and must not come back, and makes the index durable.
    pub(crate) fn finish<'b>(
        self,
        suppressed: impl IntoIterator<Item = &'b IdDigest>,
    ) -> Result<(StoredRows, Database), EngineError> {
        let mut suppressed = suppressed.into_iter();
        self.database.ask(|tables| suppressed.try_for_each(|digest| index::suppress(tables, *digest)))?;
        let rows = self.rows.ok_or(efface_core::model::TrainError::NoRows)?;
        Ok((rows, self.database.finish_import()?))
    }
}
