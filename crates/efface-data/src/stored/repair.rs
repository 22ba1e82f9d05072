//! What opening a model directory needs after a crash or an old backup.

use std::ops::Range;
use std::path::Path;

use zeroize::Zeroizing;

use super::layout::consecutive;
use super::segment::Segment;
use super::{StoredRows, StoredRowsError};
use crate::derived::{Constants, Preparation, Texts};
use crate::error::LookupError;

impl StoredRows {
    /// Lets rows take part in sums that were opened as gone: they were written before a crash, and their step is about to
    /// be taken again. `texts` are those in rows that are kept raw.
    pub fn admit(&mut self, positions: Range<usize>, texts: &Texts) -> Result<(), StoredRowsError> {
        let (first, n_admitted) = (positions.start, positions.len());
        if let Some(position) = positions.clone().find(|position| *position >= self.len || self.is_present(*position)) {
            return Err(LookupError::NotPresent { position, len: self.len }.into());
        }
        let arriving = self.weigh([positions.clone()], |_| true)?;
        let blocks = positions.start / self.layout.block_rows..positions.end.div_ceil(self.layout.block_rows);
        for position in positions {
            self.gone.remove(position);
        }
        self.weight_sum += arriving;
        let rows = self.preparation.is_some().then(|| self.raw_batch(&(first..first + n_admitted).collect::<Vec<_>>()));
        match (&mut self.preparation, rows.transpose()) {
            (Some(preparation), Ok(Some(rows))) => preparation.counts_mut().add(rows.raw(), texts),
            (Some(preparation), Err(error)) if error.damaged_row().is_some() => preparation.counts_mut().lose_count(),
            (_, Err(error)) => return Err(error),
            _ => {}
        }
        // Where they were gone, copies in memory have zeros, and checksums have not been compared.
        self.cache.forget(blocks);
        Ok(())
    }

    /// Weighs the rows present anew, after a row left whose weight nobody knows; how many there are of each class.
    pub fn recount(&mut self, n_classes: usize) -> Result<Vec<usize>, StoredRowsError> {
        self.count_again()?;
        self.weight_sum = self.weigh(std::iter::once(0..self.len), |position| self.is_present(position))?;
        self.count_classes(n_classes)
    }

    /// Counts the cells of all rows anew, where constants follow from them. The texts of categories stay known.
    fn count_again(&mut self) -> Result<(), StoredRowsError> {
        let Some(preparation) = &self.preparation else { return Ok(()) };
        let (mut counts, texts) = (preparation.counts().emptied(), preparation.counts().known_texts().clone());
        for index in 0..self.layout.n_blocks(self.len) {
            let first = index * self.layout.block_rows;
            let block = first..self.len.min(first + self.layout.block_rows);
            let present: Vec<usize> = block.filter(|position| self.is_present(*position)).collect();
            let rows = self.raw_batch(&present)?;
            counts.add(rows.raw(), &texts);
        }
        if let Some(preparation) = &mut self.preparation {
            *preparation.counts_mut() = counts;
        }
        Ok(())
    }

    /// Encodes rows by the constants that follow from those present, from now on. Those before, if they were others.
    pub fn derive(&mut self) -> Result<Option<Constants>, StoredRowsError> {
        if self.preparation.as_ref().is_some_and(|preparation| preparation.counts().is_unsure()) {
            self.count_again()?;
        }
        let before = self.preparation.as_mut().and_then(Preparation::derive);
        if before.is_some() {
            self.empty_cache();
        }
        Ok(before)
    }

    /// Encodes rows by these constants again.
    pub fn encode_by(&mut self, constants: Constants) {
        if let Some(preparation) = &mut self.preparation {
            preparation.encode_by(constants);
        }
        self.empty_cache();
    }

    /// The epochs of the first `n_segments` segments of a folder, which is only read.
    pub fn epochs_in(directory: &Path, n_segments: usize) -> Result<Vec<u64>, StoredRowsError> {
        (0..n_segments).map(|number| Segment::epoch_in(directory, number)).collect()
    }

    /// The segment that a position lies in.
    pub fn segment_of(&self, position: usize) -> usize {
        position / self.layout.rows_per_segment()
    }

    /// How many of these positions, ascending, have a record that is not zeros, whether or not a row is present.
    pub fn count_written(&self, positions: &[usize]) -> Result<usize, StoredRowsError> {
        let zeros = self.zero_records(positions)?;
        Ok(positions.len() - zeros.len())
    }

    /// Positions of rows that are taken for present, but whose record is zeros.
    pub fn purged_records(&self) -> Result<Vec<usize>, StoredRowsError> {
        let present: Vec<usize> = (0..self.len).filter(|position| self.is_present(*position)).collect();
        self.zero_records(&present)
    }

    /// Gives segments an epoch, changed or not.
    pub fn restamp(&mut self, segments: &[usize], epoch: u64) -> Result<(), StoredRowsError> {
        let n_segments = self.n_segments();
        for &number in segments {
            let segment = self.segments.get_mut(number);
            let segment = segment.ok_or(StoredRowsError::NoSegment { segment: number, n_segments })?;
            segment.note_change();
            segment.stamp(epoch)?;
        }
        Ok(())
    }

    /// The positions among these whose record is zeros in all its places.
    fn zero_records(&self, positions: &[usize]) -> Result<Vec<usize>, StoredRowsError> {
        let mut zeros = Vec::new();
        let mut bytes = Zeroizing::new(Vec::new());
        for run in consecutive(positions).flat_map(|range| self.layout.runs(range)) {
            let segment = &self.segments[run.segment];
            let row_bytes = self.layout.row_bytes() as usize;
            let mut is_zero = vec![true; run.len()];
            for (at, bytes_each) in run.leading().chain([(run.features_at, row_bytes)]) {
                if !is_zero.contains(&true) {
                    break;
                }
                bytes.resize(bytes_each * run.len(), 0);
                segment.read(at, &mut bytes)?;
                for (is_zero, record) in is_zero.iter_mut().zip(bytes.chunks_exact(bytes_each)) {
                    *is_zero &= record.iter().all(|byte| *byte == 0);
                }
            }
            zeros.extend(run.positions.zip(is_zero).filter(|(_, is_zero)| *is_zero).map(|(position, _)| position));
        }
        Ok(zeros)
    }
}
