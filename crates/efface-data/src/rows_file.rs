//! Rows as version 1 of the model directory kept them: one record per position. Read in one sweep to be upgraded, and
//! never written.
//!
//! # Format `rows.bin`, version 1
//!
//! All integers and floats are little-endian. A header of 64 bytes, then records of equal size:
//!
//! ```text
//! header   0  magic        8 bytes  45 46 46 52 4f 57 53 00  ("EFFROWS", 0)
//!          8  version      u32      1
//!         12  value_bytes  u32      4 or 8: bytes of one feature value
//!         16  dim          u64      values per row, the intercept's constant included
//!         24  reserved    36 bytes  zero
//!         60  checksum     u32      CRC-32 of bytes 0 to 59
//!
//! record   0  label        f64      index of a class, or a number
//!          8  features     dim × value_bytes
//!          …  checksum     u32      CRC-32 of position (u64), label and features
//! ```
//!
//! The record of position `i` begins at `64 + i · (12 + dim · value_bytes)`.
//!
//! **Invariants.** How many records count, and which of them are present, is told by whoever keeps the index of ids, not
//! by this file: what follows the last counted record is left over from an append that was not finished. The record of a
//! removed row is all zeros, or about to become so. The checksum covers the position, so that a record in the wrong place
//! is noticed.
//!
//! **Versions.** Every version but this one is refused. [Segments](crate::StoredRows) took its place.
//!
//! **Assumptions.** Checksums detect accidents, not tampering.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use efface_core::rounding::UpperBound;
use efface_core::rows::RowStore;
use zeroize::Zeroizing;

use crate::encode::EncodedRows;
use crate::error::{RowsFileError, StoredRowsError};
use crate::stored::StoredRows;
use crate::values::{FeatureValues, Precision};

/// An open file of rows.
#[derive(Debug)]
pub struct RowsFile {
    file: File,
    path: PathBuf,
    dim: usize,
    precision: Precision,
}

impl RowsFile {
    /// Opens a file and reads its header.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, RowsFileError> {
        let path = path.as_ref();
        let failed = |source| RowsFileError::Io { file: path.into(), source };
        let bad = |reason| RowsFileError::BadHeader { file: path.into(), reason };
        let mut file = File::open(path).map_err(failed)?;
        let mut bytes = [0; HEADER_BYTES];
        file.read_exact(&mut bytes).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => bad("it ends within the header"),
            _ => failed(error),
        })?;
        let header = Header::parse(&bytes);
        if header.magic != *MAGIC {
            return Err(bad("it does not begin with the magic bytes"));
        }
        if header.version != VERSION {
            return Err(RowsFileError::UnknownVersion { file: path.into(), found: header.version, known: VERSION });
        }
        if header.checksum != crc32fast::hash(&bytes[..CHECKSUM_AT]) {
            return Err(bad("the checksum of its header does not match"));
        }
        let precision = match header.value_bytes {
            4 => Precision::F32,
            8 => Precision::F64,
            _ => return Err(bad("values have neither 4 nor 8 bytes")),
        };
        let dim = usize::try_from(header.dim).ok().filter(|dim| (1..=MAX_DIM).contains(dim));
        let dim = dim.ok_or_else(|| bad("the number of values per row is out of range"))?;
        Ok(Self { file, path: path.into(), dim, precision })
    }

    /// Copies the rows to the end of a store of the same shape, position by position. There is one entry of `selectors`
    /// per record that counts; `None` is a removed row, whose record is not looked at and becomes zeros. After an error the
    /// store may have some of the rows.
    pub fn copy_to(mut self, rows: &mut StoredRows, selectors: &[Option<u64>]) -> Result<(), StoredRowsError> {
        self.check_shape(rows)?;
        // From here on the size of the file bounds what is allocated.
        self.check_size(selectors.len())?;
        let (start, records_at_once) = (rows.len(), (BUFFER_BYTES / self.record_bytes()).max(1));
        let mut buffer = Zeroizing::new(vec![0; records_at_once.min(selectors.len()) * self.record_bytes()]);
        for (chunk, selectors) in selectors.chunks(records_at_once).enumerate() {
            let bytes = &mut buffer[..selectors.len() * self.record_bytes()];
            self.file.read_exact(bytes).map_err(|source| RowsFileError::Io { file: self.path.clone(), source })?;
            let read = self.decode(bytes, chunk * records_at_once, selectors, rows.row_norm_bound())?;
            let selectors: Vec<u64> = selectors.iter().map(|selector| selector.unwrap_or(0)).collect();
            rows.append(&read, &selectors)?;
        }
        let gone: Vec<usize> = (start..).zip(selectors).filter(|(_, row)| row.is_none()).map(|(at, _)| at).collect();
        rows.remove(&gone)?;
        rows.purge(&gone)
    }

    /// The rows of consecutive records, those that are gone as zeros.
    fn decode(
        &self,
        records: &mut [u8],
        first: usize,
        selectors: &[Option<u64>],
        row_norm_bound: UpperBound,
    ) -> Result<EncodedRows, RowsFileError> {
        let features = FeatureValues::with_capacity(self.precision, selectors.len() * self.dim);
        let labels = Vec::with_capacity(selectors.len());
        let (ids, subjects, row_weights) = (Vec::new(), None, None);
        let mut rows = EncodedRows { dim: self.dim, features, labels, ids, subjects, row_weights, row_norm_bound };
        let records = records.chunks_exact_mut(self.record_bytes());
        for ((position, record), selector) in (first..).zip(records).zip(selectors) {
            if selector.is_none() {
                record.fill(0);
            } else if !checksum_matches(position, record) {
                return Err(RowsFileError::Checksum { file: self.path.clone(), position });
            }
            let (label, values) = record[..record.len() - CHECKSUM_BYTES].split_at(LABEL_BYTES);
            rows.labels.push(f64::from_le_bytes(first_bytes(label)));
            rows.features.extend_from_le_bytes(values);
        }
        Ok(rows)
    }

    fn check_shape(&self, rows: &StoredRows) -> Result<(), RowsFileError> {
        if (self.dim, self.precision) == (rows.dim(), rows.precision()) {
            return Ok(());
        }
        Err(RowsFileError::Shape {
            file: self.path.clone(),
            found_dim: self.dim,
            found: self.precision,
            expected_dim: rows.dim(),
            expected: rows.precision(),
        })
    }

    /// Whether the file is long enough to hold `n_records`.
    fn check_size(&self, n_records: usize) -> Result<(), RowsFileError> {
        let found = self.file.metadata().map_err(|source| RowsFileError::Io { file: self.path.clone(), source })?.len();
        let record = self.dim as u128 * self.precision.bytes() as u128 + (LABEL_BYTES + CHECKSUM_BYTES) as u128;
        let expected = HEADER_BYTES as u128 + n_records as u128 * record;
        if expected > u128::from(found) {
            return Err(RowsFileError::Truncated { file: self.path.clone(), found, expected, n_records });
        }
        Ok(())
    }

    fn record_bytes(&self) -> usize {
        LABEL_BYTES + self.dim * self.precision.bytes() + CHECKSUM_BYTES
    }
}

/// The fields of a header, not yet checked.
struct Header {
    magic: [u8; 8],
    version: u32,
    value_bytes: u32,
    dim: u64,
    checksum: u32,
}

impl Header {
    fn parse(bytes: &[u8; HEADER_BYTES]) -> Self {
        Self {
            magic: first_bytes(bytes),
            version: u32::from_le_bytes(first_bytes(&bytes[8..])),
            value_bytes: u32::from_le_bytes(first_bytes(&bytes[12..])),
            dim: u64::from_le_bytes(first_bytes(&bytes[16..])),
            checksum: u32::from_le_bytes(first_bytes(&bytes[CHECKSUM_AT..])),
        }
    }
}

fn checksum_matches(position: usize, record: &[u8]) -> bool {
    let (content, written) = record.split_at(record.len() - CHECKSUM_BYTES);
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&(position as u64).to_le_bytes());
    hasher.update(content);
    u32::from_le_bytes(first_bytes(written)) == hasher.finalize()
}

/// The first `N` of at least `N` bytes.
fn first_bytes<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut first = [0; N];
    first.copy_from_slice(&bytes[..N]);
    first
}

const MAGIC: &[u8; 8] = b"EFFROWS\0";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 64;
const CHECKSUM_AT: usize = HEADER_BYTES - CHECKSUM_BYTES;
/// Most values per row: sizes computed from it stay far below overflow.
const MAX_DIM: usize = u32::MAX as usize;
const LABEL_BYTES: usize = 8;
const CHECKSUM_BYTES: usize = 4;
/// Bytes read at a time.
const BUFFER_BYTES: usize = 1 << 20;
