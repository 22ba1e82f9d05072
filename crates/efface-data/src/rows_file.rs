//! Rows on disk: one record per position, read in one sweep, purged in place.
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
//! **Invariants.** Position `i` here is position `i` in [`MemoryRows`]. How many records count, and which of them are
//! present, is told by whoever keeps the index of ids, not by this file: what follows the last counted record is left
//! over from an append that was not finished, and is cut off by the next one. A purged record is all zeros. The
//! checksum covers the position, so that a record in the wrong place is noticed.
//!
//! **Versions.** A reader refuses every version but its own; a change of layout is a new version.
//!
//! **Assumptions.** Checksums detect accidents, not tampering. Purging overwrites the bytes of the file; copies that a
//! file system with snapshots, or a flash drive, keeps out of reach are theirs to erase.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use efface_core::rows::RowStore;
use zeroize::Zeroizing;

use crate::error::RowsFileError;
use crate::id::RowId;
use crate::memory::MemoryRows;
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
    /// Makes a new file without rows, readable by its owner only. A file that exists is an error. `dim` is 1 to 2³² − 1.
    pub fn create(path: impl AsRef<Path>, dim: usize, precision: Precision) -> Result<Self, RowsFileError> {
        let path = path.as_ref();
        if !(1..=MAX_DIM).contains(&dim) {
            let reason = "the number of values per row is out of range";
            return Err(RowsFileError::BadHeader { file: path.into(), reason });
        }
        let failed = |source| RowsFileError::Io { file: path.into(), source };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path).map_err(failed)?;
        file.write_all(&header(dim, precision)).map_err(failed)?;
        Ok(Self { file, path: path.into(), dim, precision })
    }

    /// Opens a file and reads its header.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, RowsFileError> {
        let path = path.as_ref();
        let failed = |source| RowsFileError::Io { file: path.into(), source };
        let bad = |reason| RowsFileError::BadHeader { file: path.into(), reason };
        let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(failed)?;
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

    /// Values per row, the intercept's constant included.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Precision of the values.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Writes the rows at `positions`, which follow the last record that counts; whatever stands there is cut off.
    pub fn append(&mut self, rows: &MemoryRows, positions: Range<usize>) -> Result<(), RowsFileError> {
        self.check_shape(rows)?;
        if positions.end > rows.len() {
            return Err(self.index("rows to append are not in the store"));
        }
        self.check_size(positions.start)?;
        let start = self.offset(positions.start);
        self.file.set_len(start).map_err(|source| self.io(source))?;
        self.file.seek(SeekFrom::Start(start)).map_err(|source| self.io(source))?;
        let mut buffer = Zeroizing::new(Vec::with_capacity(self.buffer_bytes(positions.len())));
        for position in positions {
            if buffer.len() + self.record_bytes() > buffer.capacity() {
                self.file.write_all(&buffer).map_err(|source| self.io(source))?;
                buffer.clear();
            }
            self.encode(rows, position, &mut buffer);
        }
        self.file.write_all(&buffer).map_err(|source| self.io(source))
    }

    /// Returns once all that was written is on the disk.
    pub fn sync(&self) -> Result<(), RowsFileError> {
        self.file.sync_all().map_err(|source| self.io(source))
    }

    /// Overwrites the records at these positions with zeros, and returns once that is on the disk. Purging what is
    /// purged already changes nothing.
    pub fn purge(&mut self, positions: &[usize]) -> Result<(), RowsFileError> {
        let Some(last) = positions.iter().max() else { return self.sync() };
        self.check_size(last.saturating_add(1))?;
        let zeros = vec![0; self.record_bytes()];
        for position in positions {
            let start = self.offset(*position);
            self.file.seek(SeekFrom::Start(start)).map_err(|source| self.io(source))?;
            self.file.write_all(&zeros).map_err(|source| self.io(source))?;
        }
        self.sync()
    }

    /// Cuts off what follows the last record that counts: rows of an append that was not finished.
    pub fn cut(&mut self, n_records: usize) -> Result<(), RowsFileError> {
        self.check_size(n_records)?;
        let end = self.offset(n_records);
        if self.file.metadata().map_err(|source| self.io(source))?.len() == end {
            return Ok(());
        }
        self.file.set_len(end).map_err(|source| self.io(source))?;
        self.sync()
    }

    /// Reads one row per entry of `ids` into an empty store. `None` among `ids` is a removed row, whose record is not
    /// looked at.
    pub fn load(
        &mut self,
        empty: MemoryRows,
        ids: Vec<Option<RowId>>,
        subjects: Vec<Option<RowId>>,
    ) -> Result<MemoryRows, RowsFileError> {
        self.check_shape(&empty)?;
        if !empty.is_empty() {
            return Err(self.index("the store to load into has rows"));
        }
        if ids.len() != subjects.len() {
            return Err(self.index("not as many subjects as ids"));
        }
        // From here on the size of the file bounds what is allocated.
        self.check_size(ids.len())?;
        self.file.seek(SeekFrom::Start(HEADER_BYTES as u64)).map_err(|source| self.io(source))?;
        let mut features = FeatureValues::with_capacity(self.precision, ids.len() * self.dim);
        let mut labels = Vec::with_capacity(ids.len());
        let mut buffer = Zeroizing::new(vec![0; self.buffer_bytes(ids.len())]);
        let records_at_once = (buffer.len() / self.record_bytes()).max(1);
        for (chunk, ids) in ids.chunks(records_at_once).enumerate() {
            let bytes = &mut buffer[..ids.len() * self.record_bytes()];
            self.file.read_exact(bytes).map_err(|source| self.io(source))?;
            for (i, record) in bytes.chunks_exact_mut(self.record_bytes()).enumerate() {
                let position = chunk * records_at_once + i;
                if ids[i].is_none() {
                    record.fill(0);
                } else if !checksum_matches(position, record) {
                    return Err(RowsFileError::Checksum { file: self.path.clone(), position });
                }
                let (label, values) = record[..record.len() - CHECKSUM_BYTES].split_at(LABEL_BYTES);
                labels.push(f64::from_le_bytes(first_bytes(label)));
                features.extend_from_le_bytes(values);
            }
        }
        empty.restore(features, labels, ids, subjects).ok_or_else(|| self.index("an id is there twice"))
    }

    fn encode(&self, rows: &MemoryRows, position: usize, buffer: &mut Vec<u8>) {
        let start = buffer.len();
        let Some(label) = rows.label(position) else {
            buffer.resize(start + self.record_bytes(), 0);
            return;
        };
        buffer.extend(label.to_le_bytes());
        rows.features().write_le_bytes(position * self.dim..(position + 1) * self.dim, buffer);
        let checksum = checksum(position, &buffer[start..]);
        buffer.extend(checksum.to_le_bytes());
    }

    fn check_shape(&self, rows: &MemoryRows) -> Result<(), RowsFileError> {
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
        let found = self.file.metadata().map_err(|source| self.io(source))?.len();
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

    fn offset(&self, position: usize) -> u64 {
        HEADER_BYTES as u64 + position as u64 * self.record_bytes() as u64
    }

    /// Room for some of `n_records`, at least one of them if there are any.
    fn buffer_bytes(&self, n_records: usize) -> usize {
        let record = self.record_bytes();
        n_records.min((BUFFER_BYTES / record).max(1)) * record
    }

    fn io(&self, source: std::io::Error) -> RowsFileError {
        RowsFileError::Io { file: self.path.clone(), source }
    }

    fn index(&self, reason: &'static str) -> RowsFileError {
        RowsFileError::Index { file: self.path.clone(), reason }
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

fn header(dim: usize, precision: Precision) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    bytes[12..16].copy_from_slice(&(precision.bytes() as u32).to_le_bytes());
    bytes[16..24].copy_from_slice(&(dim as u64).to_le_bytes());
    let checksum = crc32fast::hash(&bytes[..CHECKSUM_AT]);
    bytes[CHECKSUM_AT..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

fn checksum(position: usize, label_and_features: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&(position as u64).to_le_bytes());
    hasher.update(label_and_features);
    hasher.finalize()
}

fn checksum_matches(position: usize, record: &[u8]) -> bool {
    let (content, written) = record.split_at(record.len() - CHECKSUM_BYTES);
    u32::from_le_bytes(first_bytes(written)) == checksum(position, content)
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
/// Bytes read or written at a time.
const BUFFER_BYTES: usize = 1 << 20;
