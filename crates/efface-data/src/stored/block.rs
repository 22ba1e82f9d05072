//! One block in memory, as it is read from its segment: rows that are gone become zeros on the way.

use efface_core::rows::{RowBlock, UNIT_WEIGHTS};
use zeroize::Zeroize;

use super::checksum::checksum;
use super::layout::{RowLayout, Run};
use super::positions::PositionSet;
use super::segment::Segment;
use crate::derived::Preparation;
use crate::error::SegmentError;
use crate::rows::FeatureValues;

/// Rows of a block. Overwritten with zeros when dropped.
pub(super) struct Block {
    layout: RowLayout,
    n_rows: usize,
    /// At least `n_rows × dim` values, as they are in the file.
    features: FeatureValues,
    /// The same as sums take them, where rows are prepared; then the features may be gone.
    encoded: Option<Encoded>,
    /// Labels, selectors, weights if there are any, and checksums, as they are in front of the features.
    leading: Vec<u64>,
    /// One per row of a full block.
    present: Vec<bool>,
}

/// Rows as sums take them.
struct Encoded {
    dim: usize,
    features: FeatureValues,
    /// Targets of a regression.
    labels: Vec<f64>,
}

impl Block {
    pub(super) fn new(layout: &RowLayout) -> Self {
        Self {
            layout: *layout,
            n_rows: 0,
            features: FeatureValues::zeros(layout.precision, 0),
            encoded: None,
            leading: vec![0; (layout.leading_bytes() / 8) as usize],
            present: vec![false; layout.block_rows],
        }
    }

    /// Bytes that a full block takes in memory, once it is kept there.
    pub(super) fn full_bytes(layout: &RowLayout, preparation: Option<&Preparation>) -> u64 {
        let row_bytes = match preparation {
            None => layout.row_bytes(),
            Some(preparation) => (layout.precision.bytes() * preparation.encoder().dim() + 8) as u64,
        };
        layout.leading_bytes() + layout.block_rows as u64 * (row_bytes + 1) + size_of::<Self>() as u64
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let encoded = self.encoded.as_ref();
        let encoded = encoded.map_or(0, |rows| rows.features.memory_bytes() + 8 * rows.labels.capacity());
        self.features.memory_bytes()
            + encoded
            + 8 * self.leading.capacity()
            + self.present.capacity()
            + size_of::<Self>()
    }

    /// Makes of the rows that were read what sums take.
    pub(super) fn prepare(&mut self, preparation: &Preparation) {
        let n = self.n_rows;
        let precision = self.layout.precision;
        let empty = || Encoded { dim: 0, features: FeatureValues::zeros(precision, 0), labels: Vec::new() };
        let mut encoded = self.encoded.take().unwrap_or_else(empty);
        encoded.dim = preparation.encoder().dim();
        preparation.encode(self.features.slice(0..n * self.layout.dim), &self.present[..n], &mut encoded.features);
        let labels: &[f64] = &bytemuck::cast_slice(self.column(0))[..n];
        encoded.labels.clear();
        let target =
            |(label, present): (&f64, &bool)| if *present { preparation.encoder().encode_target(*label) } else { 0.0 };
        encoded.labels.extend(labels.iter().zip(&self.present).map(target));
        self.encoded = Some(encoded);
    }

    /// Lets the rows go as they are in the file: what sums take is left.
    pub(super) fn keep_encoded(&mut self) {
        if self.encoded.is_some() {
            self.features.zeroize();
            self.features = FeatureValues::zeros(self.layout.precision, 0);
        }
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
        if !self.features.is_empty() {
            self.features.zeroize_range(row * self.layout.dim..(row + 1) * self.layout.dim);
        }
        if let Some(encoded) = self.encoded.as_mut().filter(|encoded| row < encoded.labels.len()) {
            encoded.features.zeroize_range(row * encoded.dim..(row + 1) * encoded.dim);
            encoded.labels[row].zeroize();
        }
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
        let (features, labels) = match &self.encoded {
            Some(encoded) => (encoded.features.slice(0..n * encoded.dim), &encoded.labels[..n]),
            None => (self.features.slice(0..n * self.layout.dim), &bytemuck::cast_slice(self.column(0))[..n]),
        };
        RowBlock {
            features,
            labels,
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
        let (labels, selectors): (&[f64], _) = (bytemuck::cast_slice(self.column(0)), self.column(1));
        let row_weight = self.row_weights().map(|weights| weights[row]);
        let features = self.features.bytes(row * self.layout.dim..(row + 1) * self.layout.dim);
        written[row] == checksum(position, labels[row], selectors[row], row_weight, features)
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.features.zeroize();
        self.leading.zeroize();
        if let Some(encoded) = &mut self.encoded {
            encoded.features.zeroize();
            encoded.labels.zeroize();
        }
    }
}
