//! Changing rows: adding and relabelling while a model is made, removing and purging afterwards.
//!
//! A row leaves in two steps: [`remove`](StoredRows::remove) takes it out of every sum, in memory only, and
//! [`purge`](StoredRows::purge) overwrites it on disk once the removal has been committed.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use efface_core::rows::{RowBlocks, WeightSum};
use zeroize::Zeroizing;

use super::checksum::{checksum, relabelled};
use super::layout::{Run, consecutive};
use super::segment::Segment;
use super::{StoredRows, StoredRowsError};
use crate::derived::{MAX_TEXTS, Preparation};
use crate::error::{AppendError, LookupError, SegmentError};
use crate::files;
use crate::labels::class_of;
use crate::rows::{EncodedRows, check_present};

impl StoredRows {
    /// Adds rows at the end, with one selector each, and returns their positions. They are written, but not synced, and
    /// whatever an unfinished append left there is overwritten. On an error nothing is added.
    pub fn append(&mut self, rows: &EncodedRows, selectors: &[u64]) -> Result<Range<usize>, StoredRowsError> {
        self.check_append(rows, selectors)?;
        let row_weights = row_weights(rows);
        let added = self.grow(rows.n_rows(), |this, run| this.write_run(run, rows, selectors, &row_weights))?;
        if let Some(preparation) = &mut self.preparation {
            preparation.counts_mut().add(rows.raw(), rows.texts());
        }
        self.weight_sum += row_weights.iter().map(|weight| WeightSum::of_row(*weight)).sum();
        Ok(added)
    }

    /// Adds positions at the end that never held a row of this store: zeros, gone from the beginning. Written, but not
    /// synced. On an error nothing is added.
    pub fn append_gone(&mut self, n_positions: usize) -> Result<Range<usize>, StoredRowsError> {
        let added = self.grow(n_positions, Self::zero_run)?;
        self.gone.extend(added.clone());
        Ok(added)
    }

    /// Adds positions at the end, in segments that are made as they are needed. `write` fills one run of them.
    fn grow(
        &mut self,
        n_positions: usize,
        mut write: impl FnMut(&mut Self, &Run) -> Result<(), SegmentError>,
    ) -> Result<Range<usize>, StoredRowsError> {
        self.clean_tail(self.len)?;
        let added = self.len..self.len + n_positions;
        self.is_tail_clean = false;
        for run in self.layout.runs(added.clone()) {
            if run.segment == self.segments.len() {
                self.segments.push(Segment::create(&self.directory, run.segment, self.layout)?);
                *self.is_directory_unsynced.get_mut() = true;
            }
            write(self, &run)?;
        }
        self.is_tail_clean = true;
        // The block that was last until now has grown.
        let first_changed = added.start / self.layout.block_rows;
        self.len = added.end;
        self.cache.forget(first_changed..first_changed + 1);
        self.cache.resize(self.n_blocks());
        Ok(added)
    }

    /// Gives every row present a new label: label i becomes `mapping[i]`. Written, but not synced. A mapping that
    /// changes nothing, such as an empty one, does nothing.
    ///
    /// A label that is not the index of an entry is an error, and nothing has been changed. After an error of the
    /// operating system some labels may have been changed: the store is then of no more use.
    pub fn relabel(&mut self, mapping: &[f64]) -> Result<(), StoredRowsError> {
        if mapping.iter().enumerate().all(|(class, label)| *label == class as f64) {
            return Ok(());
        }
        let renamed = |label| class_of(label).and_then(|class| mapping.get(class)).copied();
        self.for_each_label(|position, label| match renamed(label) {
            Some(_) => Ok(()),
            None => Err(StoredRowsError::UnknownLabel { position, label, n_classes: mapping.len() }),
        })?;
        let block_rows = self.layout.block_rows;
        self.cache.forget(0..self.n_blocks());
        let (mut labels, mut checksums) = (Zeroizing::new(vec![0.0; block_rows]), vec![0_u32; block_rows]);
        for run in self.layout.runs(0..self.len) {
            let (labels, checksums) = (&mut labels[..run.len()], &mut checksums[..run.len()]);
            let segment = &mut self.segments[run.segment];
            segment.read(run.labels_at, bytemuck::cast_slice_mut(labels))?;
            segment.read(run.checksums_at, bytemuck::cast_slice_mut(checksums))?;
            for ((position, label), checksum) in run.positions.zip(&mut *labels).zip(&mut *checksums) {
                if let Some(new) = renamed(*label).filter(|_| !self.gone.contains(position)) {
                    *checksum = relabelled(*checksum, position, *label, new);
                    *label = new;
                }
            }
            segment.write(run.labels_at, bytemuck::cast_slice(labels))?;
            segment.write(run.checksums_at, bytemuck::cast_slice(checksums))?;
        }
        Ok(())
    }

    /// Forgets all rows from position `n_positions` on, and returns once they are zeros on the disk or their file is
    /// deleted. What an unfinished append left beyond the end goes with them.
    pub fn truncate(&mut self, n_positions: usize) -> Result<(), StoredRowsError> {
        if n_positions > self.len {
            return Err(StoredRowsError::TooShort { n_positions, len: self.len });
        }
        if n_positions < self.len {
            let leaving = self.weigh(std::iter::once(n_positions..self.len), |position| self.is_present(position))?;
            let present: Vec<usize> = (n_positions..self.len).filter(|position| self.is_present(*position)).collect();
            self.retract(&present)?;
            self.weight_sum = self.weight_sum.without(leaving);
            self.cache.forget(n_positions / self.layout.block_rows..self.n_blocks());
            self.cache.resize(self.layout.n_blocks(n_positions));
            self.gone.truncate(n_positions);
            self.len = n_positions;
            self.is_tail_clean = false;
        }
        self.clean_tail(n_positions)
    }

    /// Takes rows out of every sum from now on, and overwrites them in memory. The files are left as they are until
    /// [`purge`](Self::purge). On an error nothing is removed.
    pub fn remove(&mut self, positions: &[usize]) -> Result<(), StoredRowsError> {
        check_present(positions, self.len, |position| self.is_present(position))?;
        let weight_sum = self.weight_sum.without(self.weigh(consecutive(positions), |_| true)?);
        self.retract(positions)?;
        self.weight_sum = weight_sum;
        for &position in positions {
            self.gone.insert(position);
            let block_rows = self.layout.block_rows;
            self.cache.erase(position / block_rows, position % block_rows);
        }
        Ok(())
    }

    /// Overwrites the records of removed rows with zeros, and returns once that is on the disk. Purging what is purged
    /// already changes nothing.
    pub fn purge(&mut self, positions: &[usize]) -> Result<(), StoredRowsError> {
        let len = self.len;
        for &position in positions {
            if position >= len {
                return Err(LookupError::NotPresent { position, len }.into());
            }
            if self.is_present(position) {
                return Err(StoredRowsError::StillPresent { position });
            }
        }
        let sorted: Vec<usize> = positions.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        let layout = self.layout;
        let mut runs = consecutive(&sorted).flat_map(|range| layout.runs(range));
        runs.try_for_each(|run| self.zero_run(&run))?;
        if let Some(preparation) = &mut self.preparation {
            preparation.counts_mut().tidy();
        }
        self.sync()
    }

    /// Takes rows that are about to leave out of the counts. With one that is damaged the count is lost.
    fn retract(&mut self, positions: &[usize]) -> Result<(), StoredRowsError> {
        if self.preparation.is_none() {
            return Ok(());
        }
        match self.raw_batch(positions) {
            Ok(rows) => {
                if let Some(preparation) = &mut self.preparation {
                    preparation.counts_mut().retract(rows.raw());
                }
                Ok(())
            }
            Err(error) if error.damaged_row().is_some() => {
                if let Some(preparation) = &mut self.preparation {
                    preparation.counts_mut().lose_count();
                }
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Overwrites the records of a run with zeros.
    fn zero_run(&mut self, run: &Run) -> Result<(), SegmentError> {
        let (segment, n_rows, row_bytes) = (&mut self.segments[run.segment], run.len() as u64, self.layout.row_bytes());
        segment.write_zeros(run.features_at, run.features_at + n_rows * row_bytes)?;
        run.leading().try_for_each(|(at, bytes_each)| segment.write_zeros(at, at + n_rows * bytes_each as u64))
    }

    /// Returns once everything that was written is on the disk.
    pub fn sync(&self) -> Result<(), StoredRowsError> {
        self.segments.iter().try_for_each(Segment::sync)?;
        if self.is_directory_unsynced.load(Ordering::Acquire) {
            files::sync_directory(&self.directory)
                .and_then(|()| files::sync_parent(&self.directory))
                .map_err(|source| SegmentError::Io { file: self.directory.clone(), source })?;
            self.is_directory_unsynced.store(false, Ordering::Release);
        }
        Ok(())
    }

    /// Writes `epoch` into the header of each segment that was changed since the last stamp, and returns once that, and
    /// the change before it, is on the disk.
    pub fn stamp(&mut self, epoch: u64) -> Result<(), StoredRowsError> {
        self.sync()?;
        Ok(self.segments.iter_mut().try_for_each(|segment| segment.stamp(epoch))?)
    }

    fn check_append(&self, rows: &EncodedRows, selectors: &[u64]) -> Result<(), AppendError> {
        rows.check_shape(self.layout.dim, self.precision())?;
        let (found, limit) = (rows.row_norm_bound().get(), self.row_norm_bound.get());
        if found > limit {
            return Err(AppendError::NormBound { found, limit });
        }
        if !self.layout.weighted
            && let Some((row, value)) = row_weights(rows).iter().enumerate().find(|(_, weight)| **weight != 1.0)
        {
            return Err(AppendError::Unweighted { row, value: *value });
        }
        let counts = self.preparation.as_ref().map(Preparation::counts).filter(|_| !rows.texts().is_empty());
        if let Some(column) = counts.and_then(|counts| counts.overflowing(rows.raw())) {
            return Err(AppendError::TooManyTexts { column, limit: MAX_TEXTS });
        }
        rows.check_count("selectors", selectors.len())
    }

    /// Writes the rows of a run, each of their places with one call. Row 0 of `rows` belongs at the end of the store.
    fn write_run(
        &mut self,
        run: &Run,
        rows: &EncodedRows,
        selectors: &[u64],
        row_weights: &[f64],
    ) -> Result<(), SegmentError> {
        let first = self.len;
        let taken = run.positions.start - first..run.positions.end - first;
        let of_row = |row: usize| {
            let row_weight = run.weights_at.map(|_| row_weights[row]);
            let features = rows.features.bytes(row * rows.dim()..(row + 1) * rows.dim());
            checksum(first + row, rows.labels[row], selectors[row], row_weight, features)
        };
        let checksums: Zeroizing<Vec<u32>> = Zeroizing::new(taken.clone().map(of_row).collect());
        let segment = &mut self.segments[run.segment];
        segment.write(run.labels_at, bytemuck::cast_slice(&rows.labels[taken.clone()]))?;
        segment.write(run.selectors_at, bytemuck::cast_slice(&selectors[taken.clone()]))?;
        if let Some(at) = run.weights_at {
            segment.write(at, bytemuck::cast_slice(&row_weights[taken.clone()]))?;
        }
        segment.write(run.checksums_at, bytemuck::cast_slice(&checksums))?;
        segment.write(run.features_at, rows.features.bytes(taken.start * rows.dim()..taken.end * rows.dim()))
    }

    /// Overwrites what stands beyond the last position: zeros first, so that they reach the disk, then the end is cut.
    fn clean_tail(&mut self, n_positions: usize) -> Result<(), StoredRowsError> {
        if self.is_tail_clean {
            return Ok(());
        }
        let n_segments = self.layout.n_segments(n_positions);
        self.segments.truncate(n_segments);
        for path in further_segments(&self.directory, n_segments)?.into_iter().rev() {
            // A segment that does not count, whatever its header says.
            files::erase(&path).map_err(|source| SegmentError::Io { file: path, source })?;
            *self.is_directory_unsynced.get_mut() = true;
        }
        let last = &mut self.segments[n_segments - 1];
        let (found, end) = (last.len()?, self.layout.segment_bytes(n_segments - 1, n_positions));
        let next_block = n_positions.next_multiple_of(self.layout.block_rows);
        let mut is_dirty = found != end;
        if n_positions < next_block {
            // Rows beyond the end in the last block: all their places but one lie before its features.
            let run = self.layout.run(n_positions..next_block);
            for (at, bytes_each) in run.leading() {
                let mut bytes = Zeroizing::new(vec![0; bytes_each * run.len()]);
                last.read(at, &mut bytes)?;
                if bytes.iter().any(|byte| *byte != 0) {
                    last.write_zeros(at, at + bytes.len() as u64)?;
                    is_dirty = true;
                }
            }
        }
        if is_dirty {
            last.write_zeros(end, found)?;
            last.sync()?;
            last.set_len(end)?;
        }
        self.sync()?;
        self.is_tail_clean = true;
        Ok(())
    }
}

/// What each row weighs; rows without weights count once.
fn row_weights(rows: &EncodedRows) -> Zeroizing<Vec<f64>> {
    Zeroizing::new(rows.row_weights().map_or_else(|| vec![1.0; rows.n_rows()], <[f64]>::to_vec))
}

/// Segments from number `first` on, ascending.
fn further_segments(directory: &Path, first: usize) -> Result<Vec<PathBuf>, SegmentError> {
    let failed = |source| SegmentError::Io { file: directory.into(), source };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        found.extend(Segment::number_of(&path).filter(|number| *number >= first).map(|number| (number, path)));
    }
    found.sort_unstable();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}
