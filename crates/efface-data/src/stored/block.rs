//! One block in memory, as it is read from its segment: rows that are gone become zeros on the way.

use efface_core::rows::{RowBlock, UNIT_WEIGHTS};
use zeroize::Zeroize;

use super::checksum::checksum;
use super::layout::{RowLayout, Run};
use super::positions::PositionSet;
use super::segment::Segment;
use crate::error::SegmentError;
use crate::rows::FeatureValues;

/// Rows of a block. Overwritten with zeros when dropped.
pub(super) struct Block {
    layout: RowLayout,
    n_rows: usize,
    /// At least `n_rows × dim` values.
    features: FeatureValues,
    /// Labels, selectors, weights if there are any, and checksums, as they are in front of the features.
    leading: Vec<u64>,
    /// One per row of a full block.
    present: Vec<bool>,
}

impl Block {
    pub(super) fn new(layout: &RowLayout) -> Self {
        Self {
            layout: *layout,
            n_rows: 0,
            features: FeatureValues::zeros(layout.precision, 0),
            leading: vec![0; (layout.leading_bytes() / 8) as usize],
            present: vec![false; layout.block_rows],
        }
    }

    /// Bytes that a full block takes in memory.
    pub(super) fn full_bytes(layout: &RowLayout) -> u64 {
        layout.leading_bytes() + layout.block_rows as u64 * (layout.row_bytes() + 1) + size_of::<Self>() as u64
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.features.memory_bytes() + 8 * self.leading.capacity() + self.present.capacity() + size_of::<Self>()
    }

    /// Reads all rows of a block; `run` begins with its first one. With `verify`, the checksum of each row that is
    /// present must match. Rows that are gone are not looked at.
    pub(super) fn read(
        &mut self,
        segment: &Segment,
        run: &Run,
        gone: &PositionSet,
        verify: bool,
    ) -> Result<(), SegmentError> {
        self.n_rows = run.len();
        let n_values = self.n_rows * self.layout.dim;
        if self.features.len() < n_values {
            self.features.zeroize();
            self.features = FeatureValues::zeros(self.layout.precision, n_values);
        }
        segment.read(run.labels_at, bytemuck::cast_slice_mut(&mut self.leading))?;
        segment.read(run.features_at, self.features.bytes_mut(0..n_values))?;
        self.present[..run.len()].fill(true);
        for position in gone.range(run.positions.clone()) {
            self.erase(position - run.positions.start);
        }
        let damaged = if verify { self.damaged(run).next() } else { None };
        damaged.map_or(Ok(()), |position| Err(SegmentError::Checksum { file: segment.path.clone(), position }))
    }

    /// Positions of rows present, of the run that was read, whose checksum does not match.
    pub(super) fn damaged(&self, run: &Run) -> impl Iterator<Item = usize> {
        let rows = run.positions.clone().enumerate();
        rows.filter(|(row, position)| self.present[*row] && !self.checksum_matches(*row, *position))
            .map(|(_, position)| position)
    }

    /// Overwrites a row: from now on it takes no part in a sum.
    pub(super) fn erase(&mut self, row: usize) {
        self.features.zeroize_range(row * self.layout.dim..(row + 1) * self.layout.dim);
        let checksums_at = self.checksums_at();
        for column in self.leading[..checksums_at].chunks_exact_mut(self.layout.block_rows) {
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
            features: self.features.slice(0..n * self.layout.dim),
            labels: &bytemuck::cast_slice(self.column(0))[..n],
            selectors: &self.column(1)[..n],
            present: &self.present[..n],
            row_weights: &self.row_weights().unwrap_or(&UNIT_WEIGHTS)[..n],
        }
    }

    /// Numbers of 8 bytes, one per row of a full block.
    fn column(&self, index: usize) -> &[u64] {
        &self.leading[index * self.layout.block_rows..(index + 1) * self.layout.block_rows]
    }

    fn row_weights(&self) -> Option<&[f64]> {
        self.layout.weighted.then(|| bytemuck::cast_slice(self.column(2)))
    }

    fn checksums_at(&self) -> usize {
        self.layout.columns() * self.layout.block_rows
    }

    fn checksum_matches(&self, row: usize, position: usize) -> bool {
        let written: &[u32] = bytemuck::cast_slice(&self.leading[self.checksums_at()..]);
        let RowBlock { labels, selectors, .. } = self.view();
        let row_weight = self.row_weights().map(|weights| weights[row]);
        let features = self.features.bytes(row * self.layout.dim..(row + 1) * self.layout.dim);
        written[row] == checksum(position, labels[row], selectors[row], row_weight, features)
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.features.zeroize();
        self.leading.zeroize();
    }
}
