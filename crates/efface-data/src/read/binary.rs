//! Files that are no text, told by their first bytes.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::input::Input;
use crate::error::ReadError;

/// What the first bytes of a file say that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Binary {
    /// Compressed by gzip.
    Gzip,
    /// A zip archive: workbooks of spreadsheets (`.xlsx`, `.ods`) are such archives.
    Zip,
    /// Compressed by Zstandard.
    Zstd,
    /// Compressed by bzip2.
    Bzip2,
    /// Compressed by xz.
    Xz,
    /// A PDF document.
    Pdf,
    /// An old workbook (`.xls`).
    OldWorkbook,
    /// A Parquet file.
    Parquet,
    /// An array of NumPy.
    Npy,
}

impl Binary {
    fn of(first: &[u8]) -> Option<Self> {
        SIGNATURES.iter().find(|(signature, _)| first.starts_with(signature)).map(|(_, binary)| *binary)
    }
}

impl fmt::Display for Binary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gzip => "a gzip file",
            Self::Zip => "a spreadsheet (.xlsx) or another zip archive",
            Self::Zstd => "a zstd file",
            Self::Bzip2 => "a bzip2 file",
            Self::Xz => "an xz file",
            Self::Pdf => "a PDF",
            Self::OldWorkbook => "a spreadsheet (.xls)",
            Self::Parquet => "a Parquet file",
            Self::Npy => "a NumPy array",
        })
    }
}

/// Refuses what is no text.
pub(super) fn refuse_binary(input: &mut Input, path: &Path) -> Result<(), ReadError> {
    let first = input.peek(LONGEST).map_err(|source| ReadError::Io { file: path.into(), source })?;
    match Binary::of(&first) {
        None => Ok(()),
        Some(looks_like) => Err(ReadError::NotText { file: path.into(), looks_like }),
    }
}

/// The error of a file whose name ends in nothing that can be read.
pub(super) fn unknown_kind(path: &Path) -> ReadError {
    let mut first = Vec::new();
    // Best effort: what cannot be read looks like nothing.
    if path.is_file() {
        let _ = File::open(path).and_then(|file| file.take(LONGEST as u64).read_to_end(&mut first));
    }
    ReadError::UnknownExtension { file: path.into(), looks_like: Binary::of(&first) }
}

/// Of the signatures.
const LONGEST: usize = 8;

const SIGNATURES: [(&[u8], Binary); 10] = [
    (b"\x1f\x8b", Binary::Gzip),
    (b"PK\x03\x04", Binary::Zip),
    (b"PK\x05\x06", Binary::Zip),
    (b"\x28\xb5\x2f\xfd", Binary::Zstd),
    (b"BZh91AY&", Binary::Bzip2),
    (b"\xfd7zXZ\0", Binary::Xz),
    (b"%PDF-", Binary::Pdf),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Binary::OldWorkbook),
    (b"PAR1\x15", Binary::Parquet),
    (b"\x93NUMPY", Binary::Npy),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_looked_at_whole() {
        assert!(SIGNATURES.iter().all(|(signature, _)| signature.len() <= LONGEST));
        assert_eq!(Binary::of(b"PK\x03\x04\x14"), Some(Binary::Zip));
        assert_eq!(Binary::of(b"PAR1,PAR"), None, "a column may be called so");
        assert_eq!(Binary::of(b"\x1f"), None);
    }
}
