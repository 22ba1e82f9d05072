//! Reading rows back: blocks for sums, single rows for a batch, labels to count.

use std::ops::Range;

use efface_core::rows::{RowBlock, RowBlocks, RowShape, StoreError, WeightSum};
use zeroize::Zeroizing;

use super::block::Block;
use super::checksum::checksum;
use super::layout::{Run, consecutive};
use super::{StoredRows, StoredRowsError};
use crate::error::{LookupError, SegmentError};
use crate::labels::class_of;
use crate::rows::{Annotations, FeatureValues, MemoryRows, check_present};

impl RowBlocks for StoredRows {
    fn row_shape(&self) -> RowShape {
        let n_rows = self.len - self.gone.len();
        let weight_sum = if self.layout.weighted { self.weight_sum } else { WeightSum::of_rows(n_rows) };
        let (dim, row_norm_bound) = match &self.preparation {
            None => (self.layout.dim, self.row_norm_bound),
            Some(preparation) => (preparation.encoder().dim(), preparation.encoder().row_norm_bound()),
        };
        RowShape { dim, n_rows, weight_sum, row_norm_bound }
    }

    fn n_blocks(&self) -> usize {
        self.layout.n_blocks(self.len)
    }

    fn visit_block(&self, index: usize, visitor: &mut dyn FnMut(&RowBlock<'_>)) -> Result<(), StoreError> {
        self.visit(index, visitor).map_err(|error| StoreError(Box::new(error)))
    }
}

impl StoredRows {
    /// Copies the rows at these positions into memory, as sums take them. Their checksums are compared.
    pub fn batch(&self, positions: &[usize]) -> Result<MemoryRows, StoredRowsError> {
        Ok(self.prepare(self.raw_batch(positions)?))
    }

    /// Rows as they are kept, as sums take them.
    pub(crate) fn prepare(&self, rows: MemoryRows) -> MemoryRows {
        match &self.preparation {
            None => rows,
            Some(preparation) => rows.encoded(preparation.encoder()),
        }
    }

    /// Copies the rows at these positions into memory, as they are kept.
    pub(super) fn raw_batch(&self, positions: &[usize]) -> Result<MemoryRows, StoredRowsError> {
        check_present(positions, self.len, |position| self.is_present(position))?;
        let (n_rows, dim, row_norm_bound) = (positions.len(), self.layout.dim, self.row_norm_bound);
        let features = FeatureValues::zeros(self.precision(), n_rows * dim);
        let row_weights = self.layout.weighted.then(|| vec![0.0; n_rows]);
        let noted = Annotations::new(vec![0.0; n_rows], vec![0; n_rows], row_weights);
        // What has been read is overwritten when this is dropped, on an error too.
        let mut batch = MemoryRows { dim, row_norm_bound, features, noted };
        let MemoryRows { features, noted: Annotations { labels, selectors, row_weights, .. }, .. } = &mut batch;
        let mut checksums = vec![0_u32; positions.len().min(self.layout.block_rows)];
        let mut start = 0;
        for run in consecutive(positions).flat_map(|range| self.layout.runs(range)) {
            let rows = start..start + run.len();
            start = rows.end;
            let segment = &self.segments[run.segment];
            segment.read(run.labels_at, bytemuck::cast_slice_mut(&mut labels[rows.clone()]))?;
            segment.read(run.selectors_at, bytemuck::cast_slice_mut(&mut selectors[rows.clone()]))?;
            if let (Some(weights), Some(at)) = (row_weights.as_mut(), run.weights_at) {
                segment.read(at, bytemuck::cast_slice_mut(&mut weights[rows.clone()]))?;
            }
            segment.read(run.checksums_at, bytemuck::cast_slice_mut(&mut checksums[..run.len()]))?;
            segment.read(run.features_at, features.bytes_mut(rows.start * dim..rows.end * dim))?;
            for ((row, position), written) in rows.zip(run.positions).zip(&checksums) {
                let row_weight = row_weights.as_ref().map(|weights| weights[row]);
                let features = features.bytes(row * dim..(row + 1) * dim);
                if checksum(position, labels[row], selectors[row], row_weight, features) != *written {
                    return Err(SegmentError::Checksum { file: segment.path.clone(), position }.into());
                }
            }
        }
        batch.noted.weigh();
        Ok(batch)
    }

    /// Reads what may be kept in memory now, and in this thread: right after rows have been read from a file, its
    /// allocator has room that other threads would not use.
    pub fn hold(&self) -> Result<(), StoredRowsError> {
        let n_kept = (0..self.n_blocks()).take_while(|index| self.cache.slot(*index).is_some());
        n_kept.into_iter().try_for_each(|index| self.visit(index, &mut |_| {}))
    }

    /// Number of rows present of each class. Takes a pass over the labels, not over the features; checksums are not
    /// compared.
    pub fn count_classes(&self, n_classes: usize) -> Result<Vec<usize>, StoredRowsError> {
        let mut counts = vec![0; n_classes];
        self.for_each_label(|_, label| {
            if let Some(count) = class_of(label).and_then(|class| counts.get_mut(class)) {
                *count += 1;
            }
            Ok(())
        })?;
        Ok(counts)
    }

    /// Positions of rows present whose record is not the one that was written. All rows are read.
    pub fn damaged(&self) -> Result<Vec<usize>, StoredRowsError> {
        let mut buffer = self.cache.take_buffer().unwrap_or_else(|| Block::new(&self.layout));
        let mut damaged = Vec::new();
        let outcome = (0..self.n_blocks()).try_for_each(|index| {
            let run = self.block_run(index)?;
            buffer.read(&self.segments[run.segment], &run, &self.gone, false)?;
            damaged.extend(buffer.damaged(&run));
            Ok(())
        });
        self.cache.give_back(buffer);
        outcome.map(|()| damaged)
    }

    /// Reads all rows of a segment and compares the checksum of each that is present.
    pub fn verify(&self, segment: usize) -> Result<(), StoredRowsError> {
        let n_segments = self.n_segments();
        if segment >= n_segments {
            return Err(StoredRowsError::NoSegment { segment, n_segments });
        }
        let blocks = self.layout.segment_blocks;
        let mut buffer = self.cache.take_buffer().unwrap_or_else(|| Block::new(&self.layout));
        let blocks = (segment * blocks..self.n_blocks()).take(blocks);
        let outcome = blocks.map(|index| self.block_run(index)).try_for_each(|run| {
            let run = run?;
            Ok(buffer.read(&self.segments[run.segment], &run, &self.gone, true)?)
        });
        self.cache.give_back(buffer);
        outcome
    }

    /// What those rows of some ranges weigh together for which `counts` is true. Takes a pass over their weights, not over
    /// their features; checksums are not compared. Nothing in a layout without weights.
    pub(super) fn weigh(
        &self,
        ranges: impl IntoIterator<Item = Range<usize>>,
        counts: impl Fn(usize) -> bool,
    ) -> Result<WeightSum, StoredRowsError> {
        let mut sum = WeightSum::ZERO;
        self.for_each_number(
            ranges,
            |run| run.weights_at,
            |position, weight| {
                if counts(position) {
                    sum += WeightSum::of_row(weight);
                }
                Ok(())
            },
        )?;
        Ok(sum)
    }

    /// Calls `with` for position and label of each row present.
    pub(super) fn for_each_label(
        &self,
        mut with: impl FnMut(usize, f64) -> Result<(), StoredRowsError>,
    ) -> Result<(), StoredRowsError> {
        self.for_each_number(
            std::iter::once(0..self.len),
            |run| Some(run.labels_at),
            |position, label| {
                if self.is_present(position) { with(position, label) } else { Ok(()) }
            },
        )
    }

    /// Reads the number that is `at` this place of each row of some ranges, if there is such a place.
    fn for_each_number(
        &self,
        ranges: impl IntoIterator<Item = Range<usize>>,
        at: impl Fn(&Run) -> Option<u64>,
        mut with: impl FnMut(usize, f64) -> Result<(), StoredRowsError>,
    ) -> Result<(), StoredRowsError> {
        let mut numbers = Zeroizing::new(vec![0.0; self.layout.block_rows]);
        for run in ranges.into_iter().flat_map(|range| self.layout.runs(range)) {
            let Some(at) = at(&run) else { break };
            let numbers = &mut numbers[..run.len()];
            self.segments[run.segment].read(at, bytemuck::cast_slice_mut(numbers))?;
            run.positions.zip(numbers).try_for_each(|(position, number)| with(position, *number))?;
        }
        Ok(())
    }

    fn visit(&self, index: usize, visitor: &mut dyn FnMut(&RowBlock<'_>)) -> Result<(), StoredRowsError> {
        let run = self.block_run(index)?;
        if let Some(slot) = self.cache.slot(index) {
            if slot.get().is_none() {
                let mut block = Block::new(&self.layout);
                self.read_block(index, &run, &mut block)?;
                block.keep_encoded();
                // If another thread was faster, its block is the same and this one is dropped.
                drop(slot.set(block));
            }
            if let Some(block) = slot.get() {
                visitor(&block.view());
                return Ok(());
            }
        }
        let mut buffer = self.cache.take_buffer().unwrap_or_else(|| Block::new(&self.layout));
        let outcome = self.read_block(index, &run, &mut buffer);
        if outcome.is_ok() {
            visitor(&buffer.view());
        }
        self.cache.give_back(buffer);
        outcome
    }

    /// Reads a block, and verifies it the first time.
    fn read_block(&self, index: usize, run: &Run, into: &mut Block) -> Result<(), StoredRowsError> {
        let verify = !self.cache.is_verified(index);
        into.read(&self.segments[run.segment], run, &self.gone, verify)?;
        if verify {
            self.cache.note_verified(index);
        }
        if let Some(preparation) = &self.preparation {
            into.prepare(preparation);
        }
        Ok(())
    }

    fn block_run(&self, index: usize) -> Result<Run, StoredRowsError> {
        let position = index.saturating_mul(self.layout.block_rows);
        if position >= self.len {
            return Err(LookupError::NotPresent { position, len: self.len }.into());
        }
        Ok(self.layout.run(position..self.len.min(position + self.layout.block_rows)))
    }
}
