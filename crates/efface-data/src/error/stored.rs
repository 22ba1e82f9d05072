//! Errors of rows kept in segments.

use std::path::PathBuf;

use super::{AppendError, LookupError, SegmentError};
use crate::stored::RowLayout;

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
    NoSegment {
        /// The number, from 0.
        segment: usize,
        n_segments: usize,
    },
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
