//! Files that are read one after the other, as one table. The first says which columns there are.

use std::path::PathBuf;

use super::cells::CellReader;
use super::{ReadProgress, TableReader, UnreadableColumn};
use crate::error::ReadError;
use crate::schema::cell::Cell;
use crate::table::Table;

/// Opens the file of this number.
type Open<R> = Box<dyn FnMut(usize) -> Result<Box<R>, ReadError> + Send>;

/// Several files; `R` is a reader of one.
pub(super) struct Chain<R: TableReader + ?Sized> {
    current: Box<R>,
    /// Number of the file that is being read.
    index: usize,
    n_files: usize,
    open: Open<R>,
    /// Rows and bytes of the files that have been read.
    before: ReadProgress,
    bytes_total: u64,
    /// Whether rows are called by their number, which goes on from file to file.
    is_numbered: bool,
    left_out: Vec<UnreadableColumn>,
}

impl<R: TableReader + ?Sized> Chain<R> {
    pub(super) fn new(first: Box<R>, files: &[PathBuf], is_numbered: bool, open: Open<R>) -> Self {
        let bytes_total = files.iter().filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum();
        let before = ReadProgress { rows: 0, bytes_read: 0, bytes_total, guessed_encoding: None };
        let left_out = first.left_out().to_vec();
        Self { current: first, index: 0, n_files: files.len(), open, before, bytes_total, is_numbered, left_out }
    }

    /// Goes on to the next file with anything in it; `false`: there is none.
    fn go_on(&mut self) -> Result<bool, ReadError> {
        while self.index + 1 < self.n_files {
            self.index += 1;
            match (self.open)(self.index) {
                // A part of a table may well be empty.
                Err(ReadError::Empty { .. }) => {}
                opened => {
                    let opened = opened?;
                    self.before = self.progress();
                    self.current = opened;
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

impl<R: TableReader + ?Sized> TableReader for Chain<R> {
    fn feature_names(&self) -> &[String] {
        self.current.feature_names()
    }

    /// A chunk ends where its file does.
    fn next_chunk(&mut self, max_rows: usize) -> Result<Option<Table>, ReadError> {
        loop {
            match self.current.next_chunk(max_rows) {
                Ok(Some(table)) if self.is_numbered => return Ok(Some(table.numbered_on(self.before.rows))),
                Ok(None) => {}
                Err(ReadError::Empty { .. }) if self.before.rows > 0 || self.index + 1 < self.n_files => {}
                read => return read,
            }
            if !self.go_on()? {
                return Ok(None);
            }
        }
    }

    fn left_out(&self) -> &[UnreadableColumn] {
        &self.left_out
    }

    fn progress(&self) -> ReadProgress {
        let current = self.current.progress();
        ReadProgress {
            rows: self.before.rows + current.rows,
            bytes_read: (self.before.bytes_read + current.bytes_read).min(self.bytes_total),
            bytes_total: self.bytes_total,
            guessed_encoding: self.before.guessed_encoding.or(current.guessed_encoding),
        }
    }
}

impl CellReader for Chain<dyn CellReader> {
    fn visit_rows(&mut self, max_rows: u64, visit: &mut dyn FnMut(usize, Cell<'_>)) -> Result<u64, ReadError> {
        loop {
            match self.current.visit_rows(max_rows, visit)? {
                0 if self.go_on()? => {}
                n_rows => return Ok(n_rows),
            }
        }
    }
}
