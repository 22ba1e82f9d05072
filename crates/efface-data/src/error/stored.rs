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
    Layout {
        /// The number that is out of range.
        what: &'static str,
        /// Its value.
        value: u64,
        /// Its range.
        limit: &'static str,
    },
    /// A segment is laid out differently from the first one.
    #[error("{}: {found}, but the first segment has {expected}", file.display())]
    OtherLayout {
        /// The segment.
        file: PathBuf,
        /// Its layout.
        found: RowLayout,
        /// Layout of the first segment.
        expected: RowLayout,
    },
    /// A segment is there under the name of another one.
    #[error("{}: this is segment {found}, expected segment {expected}", file.display())]
    OtherSegment {
        /// The file.
        file: PathBuf,
        /// Number in its header.
        found: u64,
        /// Number in its name.
        expected: usize,
    },
    /// There is no segment of that number.
    #[error("no segment {segment}; there are {n_segments}")]
    NoSegment {
        /// The number, from 0.
        segment: usize,
        /// How many there are.
        n_segments: usize,
    },
    /// A row that is to be purged still takes part in sums.
    #[error("the row at position {position} is present; it must be removed before it is purged")]
    StillPresent {
        /// Its position.
        position: usize,
    },
    /// More positions are to be kept than there are.
    #[error("cannot keep {n_positions} positions, there are {len}")]
    TooShort {
        /// How many are to be kept.
        n_positions: usize,
        /// How many there are.
        len: usize,
    },
    /// A label is not the number of a class that can be replaced. Nothing has been changed.
    #[error("label {label} of the row at position {position} is none of the {n_classes} class numbers")]
    UnknownLabel {
        /// The row's position.
        position: usize,
        /// Its label.
        label: f64,
        /// Length of the mapping.
        n_classes: usize,
    },
    /// Segments are little-endian and read in place; this machine is big-endian.
    #[error("row segments can be used on little-endian machines only")]
    BigEndian,
}
