//! Where the rows of a training came from, so that two rows of one id can be named by file and line.

use std::path::PathBuf;

use efface_data::{Columns, Origin, Place, ReadError, RowId, RowNumber, Schema, open_table};

use crate::error::{ChangeError, EngineError};

/// Rows in the order of their positions, in runs that follow each other in a file.
#[derive(Default)]
pub(super) struct Places {
    files: Vec<PathBuf>,
    runs: Vec<Run>,
    n_rows: usize,
}

struct Run {
    /// Of its first row.
    position: usize,
    /// Number of its file.
    file: usize,
    first: RowNumber,
}

/// Rows with as many gaps between them are named by their numbers only.
const MAX_RUNS: usize = 1 << 20;

impl Places {
    /// Notes the rows of a chunk that are kept.
    pub(super) fn push(&mut self, origin: &Origin, kept: &[bool]) {
        if self.files.last().is_none_or(|file| file != origin.file()) {
            self.files.push(origin.file().to_path_buf());
        }
        let file = self.files.len() - 1;
        for (row, _) in kept.iter().enumerate().filter(|(_, kept)| **kept) {
            let number = origin.row_number(row);
            let goes_on = |run: &Run| run.file == file && number == after(run.first, self.n_rows - run.position);
            if !self.runs.last().is_some_and(goes_on) && self.runs.len() <= MAX_RUNS {
                self.runs.push(Run { position: self.n_rows, file, first: number });
            }
            self.n_rows += 1;
        }
    }

    fn of(&self, position: usize) -> Option<Place> {
        let run = self.runs.get(self.runs.partition_point(|run| run.position <= position).checked_sub(1)?)?;
        let known = self.runs.len() <= MAX_RUNS;
        let row = after(run.first, position - run.position);
        known.then(|| Place { file: self.files[run.file].clone(), row, column: None })
    }

    /// Says of two rows with one id where they are, and what the id is if their files can be read again.
    pub(super) fn name(&self, error: EngineError, columns: &Columns, schema: Option<&Schema>) -> EngineError {
        let EngineError::Change(ChangeError::RepeatedId { first, second }) = error else { return error };
        let (Some(first), Some(place)) = (self.of(first), self.of(second)) else { return error };
        // Only what both of them say is the id: a file may have changed meanwhile.
        let id = id_at(&place, columns, schema).filter(|id| id_at(&first, columns, schema).as_ref() == Some(id));
        ReadError::DuplicateId { place, id, first }.into()
    }
}

fn after(number: RowNumber, n_rows: usize) -> RowNumber {
    match number {
        RowNumber::Line(line) => RowNumber::Line(line + n_rows as u64),
        RowNumber::Row(row) => RowNumber::Row(row + n_rows as u64),
    }
}

/// The id that stands at a place, as far as that can be read again: a pipe cannot.
fn id_at(place: &Place, columns: &Columns, schema: Option<&Schema>) -> Option<RowId> {
    if !place.file.is_file() {
        return None;
    }
    let mut reader = open_table(&place.file, columns, schema).ok()?;
    while let Some(chunk) = reader.next_chunk(CHUNK_ROWS).ok()? {
        let is_it = |row: &usize| chunk.origin().row_number(*row) == place.row;
        if let Some(row) = (0..chunk.n_rows()).find(is_it) {
            return chunk.ids().get(row).cloned();
        }
    }
    None
}

const CHUNK_ROWS: usize = 1 << 12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_lead_back_to_files_and_lines() {
        let mut places = Places::default();
        places.push(&Origin::with_lines("a.csv", vec![2, 3, 4, 7, 8]), &[true, true, false, true, true]);
        places.push(&Origin::with_lines("a.csv", vec![9, 10]), &[true, true]);
        places.push(&Origin::new("b.npy"), &[true; 3]);
        let of = |position| places.of(position).map(|place| place.to_string());
        let named: Vec<String> = (0..9).filter_map(of).collect();
        let lines = [2, 3, 7, 8, 9, 10].map(|line| format!("a.csv, line {line}")).to_vec();
        assert_eq!(named[..6], lines);
        assert_eq!(named[6..], ["b.npy, row 0", "b.npy, row 1", "b.npy, row 2"]);
        assert_eq!(places.runs.len(), 3);
    }
}
