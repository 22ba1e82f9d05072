//! Readers: from a file to a [`Table`], chosen by the file's name.
//!
//! A reader trusts nothing in the file: sizes are checked against what the file can hold before memory is taken, and
//! whatever is wrong is named with file, row, column and value.

mod csv;
mod lines;
mod npy;
mod npy_elements;
mod npy_header;

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use crate::columns::Columns;
use crate::error::ReadError;
use crate::table::Table;

/// Reads a table from `.csv` or `.npy`, plain or gzipped (`.gz`).
///
/// ```no_run
/// use efface_data::{Columns, read_table};
///
/// let columns = Columns { label: Some("churned".into()), id: Some("customer".into()), ..Columns::default() };
/// let table = read_table("churn.csv", &columns)?;
/// println!("{} rows", table.n_rows());
/// # Ok::<(), efface_data::ReadError>(())
/// ```
pub fn read_table(path: impl AsRef<Path>, columns: &Columns) -> Result<Table, ReadError> {
    let path = path.as_ref();
    match Kind::of(path) {
        Some(Kind::Csv) => csv::read(path, Input::open(path)?, columns),
        Some(Kind::Npy) => npy::read(path, columns),
        None => Err(ReadError::UnknownExtension { file: path.into() }),
    }
}

/// Whether a file is an array by its name: its columns have no names, and labels and ids are in files of their own.
pub fn is_array(path: impl AsRef<Path>) -> bool {
    Kind::of(path.as_ref()) == Some(Kind::Npy)
}

/// What a file holds, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Csv,
    Npy,
}

impl Kind {
    fn of(path: &Path) -> Option<Self> {
        let inner = if is_gzipped(path) { Path::new(path.file_stem()?) } else { path };
        match inner.extension()?.to_ascii_lowercase().to_str()? {
            "csv" => Some(Self::Csv),
            "npy" => Some(Self::Npy),
            _ => None,
        }
    }
}

fn is_gzipped(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"))
}

/// The bytes of a file, decompressed if its name ends in `.gz`.
struct Input {
    reader: Box<dyn Read>,
    /// No more than this many bytes can come.
    max_bytes: u64,
    /// So many have come.
    bytes_read: u64,
}

impl Input {
    fn open(path: &Path) -> Result<Self, ReadError> {
        let failed = |source| ReadError::Io { file: path.into(), source };
        let file = File::open(path).map_err(failed)?;
        let file_bytes = file.metadata().map_err(failed)?.len();
        Ok(if is_gzipped(path) {
            let reader = MultiGzDecoder::new(BufReader::with_capacity(BUFFER_BYTES, file));
            Self { reader: Box::new(reader), max_bytes: file_bytes.saturating_mul(MAX_DEFLATE_RATIO), bytes_read: 0 }
        } else {
            Self { reader: Box::new(file), max_bytes: file_bytes, bytes_read: 0 }
        })
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n_bytes = self.reader.read(buffer)?;
        self.bytes_read += n_bytes as u64;
        Ok(n_bytes)
    }
}

/// Bytes asked of the operating system at a time.
const BUFFER_BYTES: usize = 1 << 18;

/// Deflate turns one byte into at most this many: 258 from a match coded in two bits.
const MAX_DEFLATE_RATIO: u64 = 1032;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_a_file_is_told_by_its_name() {
        for (name, kind) in [
            ("a.csv", Some(Kind::Csv)),
            ("b/A.CSV", Some(Kind::Csv)),
            ("a.csv.gz", Some(Kind::Csv)),
            ("a.npy", Some(Kind::Npy)),
            ("a.b.npy.GZ", Some(Kind::Npy)),
            ("a.npz", None),
            ("a.gz", None),
            ("csv", None),
            ("a.parquet", None),
        ] {
            assert_eq!(Kind::of(Path::new(name)), kind, "{name}");
        }
    }
}
