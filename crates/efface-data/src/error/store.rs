//! Errors of keeping rows: adding, finding, and their segments.

use std::io;
use std::path::PathBuf;

use efface_core::rows::MOST_ROW_WEIGHT;

use crate::id::{IdKind, RowId};
use crate::rows::Precision;
use crate::stored::RowLayout;
use crate::table::shortened;

/// Rows cannot be added to a store. Nothing has been added.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AppendError {
    /// A column tells rows apart: it has more different texts than are counted.
    #[error("column number {} has more than {limit} different texts", column + 1)]
    TooManyTexts { column: usize, limit: usize },
    /// A row of that id is in the store.
    #[error("row id `{shown}` is already present", shown = shortened(&id.to_string()))]
    AlreadyPresent { id: RowId },
    /// Not one label, selector or weight per row.
    #[error("{found} {what} for {expected} rows")]
    Count { what: &'static str, found: usize, expected: usize },
    /// The rows have another number of features.
    #[error("rows have {found} model features, the store has {expected}")]
    Dimension { found: usize, expected: usize },
    /// The rows were encoded in another precision.
    #[error("rows are encoded as {found}, the store keeps {expected}")]
    Precision { found: Precision, expected: Precision },
    /// A weight that no row can have. Rows are counted from 0 among the new ones.
    #[error("row weights must be from 0 to {MOST_ROW_WEIGHT}, got `{value}` for row {row}")]
    RowWeight { row: usize, value: f64 },
    /// A row does not count once, and the store keeps no weights. Rows are counted as above.
    #[error("row {row} weighs {value}, and every row of the store counts once")]
    Unweighted { row: usize, value: f64 },
    /// The rows may be longer than the store promises.
    #[error("row norms are bounded by {found}, the store promises {limit}")]
    NormBound { found: f64, limit: f64 },
}

/// Rows cannot be found. Nothing has been changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LookupError {
    /// There never was such an id.
    #[error("unknown {kind} id `{shown}`", shown = shortened(&id.to_string()))]
    Unknown { kind: IdKind, id: RowId },
    /// The row, or the last row of the subject, has been removed.
    #[error("{kind} id `{shown}` has already been removed", shown = shortened(&id.to_string()))]
    AlreadyRemoved { kind: IdKind, id: RowId },
    /// One request names an id twice.
    #[error("{kind} id `{shown}` is given twice", shown = shortened(&id.to_string()))]
    Repeated { kind: IdKind, id: RowId },
    /// No row is present at that position, or it is given twice.
    #[error("no row to take at position {position}; positions run to {len} and each can be given once")]
    NotPresent { position: usize, len: usize },
}

/// A segment of rows cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SegmentError {
    /// The operating system refused.
    #[error("{}: {source}", file.display())]
    Io { file: PathBuf, source: io::Error },
    /// The first bytes are not those of a file of rows, or the header is damaged.
    #[error("{}: not a file of rows: {reason}", file.display())]
    BadHeader { file: PathBuf, reason: &'static str },
    /// Written by a version that this one does not know.
    #[error("{}: version {found} of the rows format is unknown; this program reads version {known}", file.display())]
    UnknownVersion { file: PathBuf, found: u32, known: u32 },
    /// The file ends before the rows it must hold.
    #[error("{}: truncated: {found} bytes, {expected} needed for {n_records} rows", file.display())]
    Truncated { file: PathBuf, found: u64, expected: u128, n_records: usize },
    /// A record does not have the checksum it was written with.
    #[error("{}: the row at position {position} is damaged: its checksum does not match", file.display())]
    Checksum { file: PathBuf, position: usize },
}

/// Rows in segments cannot be read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoredRowsError {
    /// A segment cannot be used.
    #[error(transparent)]
    File(#[from] SegmentError),
    /// Rows do not suit the store. Nothing has been added.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// No row is present at a position. Nothing has been changed.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// A layout that no segment can have.
    #[error("{what} must be {limit}, got {value}")]
    Layout { what: &'static str, value: u64, limit: &'static str },
    /// A segment is laid out differently from the first one.
    #[error("{}: {found}, but the first segment has {expected}", file.display())]
    OtherLayout { file: PathBuf, found: RowLayout, expected: RowLayout },
    /// A segment is there under the name of another one.
    #[error("{}: this is segment {found}, expected segment {expected}", file.display())]
    OtherSegment { file: PathBuf, found: u64, expected: usize },
    /// There is no segment of that number.
    #[error("no segment {segment}; there are {n_segments}")]
    NoSegment { segment: usize, n_segments: usize },
    /// A row that is to be purged still takes part in sums.
    #[error("the row at position {position} is present; it must be removed before it is purged")]
    StillPresent { position: usize },
    /// More positions are to be kept than there are.
    #[error("cannot keep {n_positions} positions, there are {len}")]
    TooShort { n_positions: usize, len: usize },
    /// A label is not the number of a class that can be replaced. Nothing has been changed.
    #[error("label {label} of the row at position {position} is none of the {n_classes} class numbers")]
    UnknownLabel { position: usize, label: f64, n_classes: usize },
    /// Segments are little-endian and read in place; this machine is big-endian.
    #[error("row segments can be used on little-endian machines only")]
    BigEndian,
}

impl StoredRowsError {
    /// The column that has too many different texts.
    pub fn overflowing_column(&self) -> Option<usize> {
        if let Self::Append(AppendError::TooManyTexts { column, .. }) = self { Some(*column) } else { None }
    }

    /// The position of a row whose record is not the one that was written.
    pub fn damaged_row(&self) -> Option<usize> {
        if let Self::File(SegmentError::Checksum { position, .. }) = self { Some(*position) } else { None }
    }
}
