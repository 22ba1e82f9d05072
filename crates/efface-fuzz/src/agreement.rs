//! A table read as a whole and in chunks: both fail, or both succeed and agree; and a table that was read is consistent.

use std::collections::HashSet;
use std::path::Path;

use efface_data::{Columns, FeatureValues, RawLabels, ReadError, Scale, Schema, Table, open_table, read_table};

/// Reads a file in all ways and compares.
pub(crate) fn check(path: &Path, columns: &Columns, schema: Option<&Schema>) -> Option<Table> {
    let whole = read_table(path, columns, schema);
    if let Ok(table) = &whole {
        check_table(table);
    }
    let n_rows = whole.as_ref().map_or(MAX_ROWS, Table::n_rows);
    for max_rows in [1, 7, 1000] {
        // Single rows of long tables take too long; longer chunks show the same.
        if n_rows / max_rows > MAX_CHUNKS && whole.is_ok() {
            continue;
        }
        let chunks = in_chunks(path, columns, schema, max_rows);
        match (&whole, chunks) {
            (Ok(whole), Ok(Some(chunks))) => {
                assert!(Chunks::of(whole) == chunks, "chunks of {max_rows} rows are another table than the whole");
            }
            (Ok(_), Err(error)) => panic!("read as a whole, but not in chunks of {max_rows}: {error}"),
            // That ids are unique is checked within a chunk only, and that all fits in memory for the whole only.
            (Err(ReadError::DuplicateId { .. } | ReadError::TooLarge { .. }), _) | (_, Ok(None)) | (Err(_), Err(_)) => {
            }
            (Err(error), Ok(_)) => panic!("read in chunks of {max_rows}, but not as a whole: {error}"),
        }
    }
    whole.ok()
}

/// Whether what a table promises is so.
fn check_table(table: &Table) {
    let (n_rows, dim) = (table.n_rows(), table.feature_names().len());
    assert!(n_rows > 0 && dim > 0, "{n_rows} rows of {dim} features");
    assert_eq!(Some(table.features().len()), n_rows.checked_mul(dim), "values");
    let all_finite = match table.features() {
        FeatureValues::F32(values) => values.iter().all(|value| value.is_finite()),
        FeatureValues::F64(values) => values.iter().all(|value| value.is_finite()),
    };
    assert!(all_finite, "a feature that is not finite");
    assert_eq!(table.ids().len(), n_rows, "ids");
    assert_eq!(table.ids().iter().collect::<HashSet<_>>().len(), n_rows, "an id is there twice");
    assert!(table.subjects().is_none_or(|subjects| subjects.len() == n_rows), "subjects");
    assert!(table.labels().is_none_or(|labels| labels.values.len() == n_rows), "labels");
    table.remarks(Scale::Unit);
}

/// The rows of a file, as they came.
#[derive(Default, PartialEq)]
struct Chunks {
    names: Vec<String>,
    n_rows: usize,
    /// As bits, so that nothing is equal by accident.
    features: Vec<u64>,
    labels: Vec<String>,
    ids: Vec<String>,
    subjects: Vec<String>,
    places: Vec<String>,
}

impl Chunks {
    fn of(table: &Table) -> Self {
        let mut chunks = Self { names: table.feature_names().to_vec(), ..Self::default() };
        chunks.add(table);
        chunks
    }

    fn add(&mut self, table: &Table) {
        match table.features() {
            FeatureValues::F32(values) => self.features.extend(values.iter().map(|value| u64::from(value.to_bits()))),
            FeatureValues::F64(values) => self.features.extend(values.iter().map(|value| value.to_bits())),
        }
        match table.labels().map(|labels| &labels.values) {
            Some(RawLabels::Text(texts)) => self.labels.extend_from_slice(texts),
            Some(RawLabels::Numbers(numbers)) => self.labels.extend(numbers.iter().map(f64::to_string)),
            None => {}
        }
        self.ids.extend(table.ids().iter().map(|id| format!("{id:?}")));
        self.subjects.extend(table.subjects().unwrap_or_default().iter().map(|id| format!("{id:?}")));
        self.places.extend((0..table.n_rows()).map(|row| table.origin().place(row, None).to_string()));
        self.n_rows += table.n_rows();
    }
}

/// Reads all rows; `None` when there are too many of them.
fn in_chunks(
    path: &Path,
    columns: &Columns,
    schema: Option<&Schema>,
    max_rows: usize,
) -> Result<Option<Chunks>, ReadError> {
    let mut reader = open_table(path, columns, schema)?;
    let mut chunks = Chunks { names: reader.feature_names().to_vec(), ..Chunks::default() };
    while let Some(chunk) = reader.next_chunk(max_rows)? {
        assert_eq!(chunk.feature_names(), chunks.names, "names change from chunk to chunk");
        assert!(chunk.n_rows() <= max_rows, "{} rows where {max_rows} were asked for", chunk.n_rows());
        assert_eq!(chunk.origin().first_row(), chunks.n_rows as u64, "first row of a chunk");
        chunks.add(&chunk);
        assert_eq!(reader.progress().rows, chunks.n_rows as u64, "progress");
        if chunks.n_rows > MAX_CHUNKS * max_rows || chunks.features.len() > MAX_VALUES {
            return Ok(None);
        }
    }
    let progress = reader.progress();
    assert!(progress.bytes_read <= progress.bytes_total, "{progress:?}");
    Ok(Some(chunks))
}

/// More chunks than this are not put together.
const MAX_CHUNKS: usize = 2000;

/// Rows of a table that could not be read.
const MAX_ROWS: usize = usize::MAX;

/// More values than this are not compared.
const MAX_VALUES: usize = 1 << 22;
