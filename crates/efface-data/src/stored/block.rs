//! One block in memory, as it is read from its segment: rows that are gone become zeros on the way.

use std::fmt;

use efface_core::rows::{RowBlock, UNIT_WEIGHTS};
use zeroize::Zeroize;

use super::checksum::Record;
use super::gone::Gone;
use super::layout::{Geometry, Run};
use super::segment::Segment;
use crate::error::SegmentError;
use crate::rows::FeatureValues;

/// Rows of a block. Overwritten with zeros when dropped.
pub(super) struct Block {
    dim: usize,
    /// Rows of a full block.
    full_rows: usize,
    n_rows: usize,
    /// At least `n_rows × dim` values.
    features: FeatureValues,
    /// Numbers of 8 bytes per row in front of the checksums: two, or three with weights.
    columns: usize,
    /// Labels, selectors, weights if there are any, and checksums, as they stand in front of the features.
    leading: Vec<u64>,
    /// One per row of a full block.
    present: Vec<bool>,
}

impl Block {
    /// A block without rows, to be read into.
    pub(super) fn new(geometry: &Geometry) -> Self {
        Self {
            dim: geometry.dim(),
            full_rows: geometry.block_rows(),
            n_rows: 0,
            features: FeatureValues::empty(geometry.layout().precision),
            columns: geometry.columns(),
            leading: vec![0; (geometry.leading_bytes() / 8) as usize],
            present: vec![false; geometry.block_rows()],
        }
    }

    /// Bytes that a full block takes in memory.
    pub(super) fn full_bytes(geometry: &Geometry) -> u64 {
        geometry.leading_bytes() + geometry.block_rows() as u64 * (geometry.row_bytes() + 1) + size_of::<Self>() as u64
    }

    /// Bytes that this block takes in memory.
    pub(super) fn memory_bytes(&self) -> usize {
        self.features.memory_bytes() + 8 * self.leading.capacity() + self.present.capacity() + size_of::<Self>()
    }

    /// Reads all rows of a block; `run` begins with its first one. With `verify`, the checksum of each row that is
    /// present must match. Rows that are gone are not looked at.
    pub(super) fn read(&mut self, segment: &Segment, run: &Run, gone: &Gone, verify: bool) -> Result<(), SegmentError> {
        self.n_rows = run.len();
        let n_values = self.n_rows * self.dim;
        if self.features.len() < n_values {
            self.features.zeroize();
            self.features = FeatureValues::zeros(self.features.precision(), n_values);
        }
        segment.read(run.labels_at, bytemuck::cast_slice_mut(&mut self.leading))?;
        segment.read(run.features_at, self.features.bytes_mut(0..n_values))?;
        for (row, position) in run.positions.clone().enumerate() {
            self.present[row] = !gone.contains(position);
            if !self.present[row] {
                self.erase(row);
            } else if verify && !self.checksum_matches(row, position) {
                return Err(SegmentError::Checksum { file: segment.path().into(), position });
            }
        }
        Ok(())
    }

    /// Overwrites a row: from now on it takes no part in a sum.
    pub(super) fn erase(&mut self, row: usize) {
        self.features.zeroize_range(row * self.dim..(row + 1) * self.dim);
        let checksums_at = self.checksums_at();
        for column in self.leading[..checksums_at].chunks_exact_mut(self.full_rows) {
            column[row].zeroize();
        }
        let checksums: &mut [u32] = bytemuck::cast_slice_mut(&mut self.leading[checksums_at..]);
        checksums[row].zeroize();
        self.present[row] = false;
    }

    /// The rows, as sums take them.
    pub(super) fn view(&self) -> RowBlock<'_> {
        let n = self.n_rows;
        RowBlock {
            features: self.features.slice(0..n * self.dim),
            labels: &self.labels()[..n],
            selectors: &self.selectors()[..n],
            present: &self.present[..n],
            row_weights: &self.row_weights().unwrap_or(&UNIT_WEIGHTS)[..n],
        }
    }

    fn labels(&self) -> &[f64] {
        bytemuck::cast_slice(&self.leading[..self.full_rows])
    }

    fn selectors(&self) -> &[u64] {
        &self.leading[self.full_rows..2 * self.full_rows]
    }

    fn row_weights(&self) -> Option<&[f64]> {
        (self.columns == 3).then(|| bytemuck::cast_slice(&self.leading[2 * self.full_rows..3 * self.full_rows]))
    }

    /// Where the checksums begin.
    fn checksums_at(&self) -> usize {
        self.columns * self.full_rows
    }

    fn checksum_matches(&self, row: usize, position: usize) -> bool {
        let written: &[u32] = bytemuck::cast_slice(&self.leading[self.checksums_at()..]);
        let record = Record {
            position,
            label: self.labels()[row],
            selector: self.selectors()[row],
            row_weight: self.row_weights().map(|weights| weights[row]),
            features: self.features.bytes(row * self.dim..(row + 1) * self.dim),
        };
        written[row] == record.checksum()
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.features.zeroize();
        self.leading.zeroize();
    }
}

/// Shape only: rows stay out of logs.
impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block").field("n_rows", &self.n_rows).field("dim", &self.dim).finish_non_exhaustive()
    }
}
