//! Where a row lies: from a position to a segment and the offsets of its places in it. Arithmetic only.

use std::fmt;
use std::ops::Range;

use efface_core::rows::BLOCK_ROWS;

use crate::error::StoredRowsError;
use crate::rows::Precision;

/// How rows are laid out in segments. Checked when a store is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowLayout {
    /// Values per row, the intercept's constant included.
    pub dim: usize,
    /// Precision of the values.
    pub precision: Precision,
    /// Rows per block, 1 to [`BLOCK_ROWS`].
    pub block_rows: usize,
    /// Blocks per segment, at least 1.
    pub segment_blocks: usize,
    /// Whether each row has a weight; without, every row counts once.
    pub weighted: bool,
}

impl RowLayout {
    /// Full blocks, as many in a segment as fit 256 MiB, of rows that have weights or count once each.
    pub fn new(dim: usize, precision: Precision, weighted: bool) -> Self {
        let one = Self { dim, precision, block_rows: BLOCK_ROWS, segment_blocks: 1, weighted };
        let row_bytes = (dim as u64).saturating_mul(precision.bytes() as u64);
        let block_bytes = (BLOCK_ROWS as u64).saturating_mul(row_bytes.saturating_add(one.record_bytes()));
        Self { segment_blocks: (SEGMENT_BYTES / block_bytes).max(1) as usize, ..one }
    }

    /// Bytes of a row beside its features: label, selector, weight if it has one, and checksum.
    fn record_bytes(&self) -> u64 {
        8 + 8 + if self.weighted { 8 } else { 0 } + 4
    }
}

/// Reads as ``rows of 6 values in f64, blocks of 256, 85 blocks per segment``.
impl fmt::Display for RowLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dim, precision, block_rows, segment_blocks, weighted } = self;
        let rows = if *weighted { "weighted rows" } else { "rows" };
        write!(f, "{rows} of {dim} values in {precision}, blocks of {block_rows}, {segment_blocks} blocks per segment")
    }
}

/// Consecutive rows of one block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) segment: usize,
    pub(super) positions: Range<usize>,
    /// Where each of their places begins in the segment.
    pub(super) labels_at: u64,
    pub(super) selectors_at: u64,
    /// `None`: every row counts once.
    pub(super) weights_at: Option<u64>,
    pub(super) checksums_at: u64,
    pub(super) features_at: u64,
}

impl Run {
    pub(super) fn len(&self) -> usize {
        self.positions.len()
    }

    /// Their places in front of the features: where each begins, and its bytes per row. Checksums come first, which are
    /// zero for hardly any record but a purged one.
    pub(super) fn leading(&self) -> impl Iterator<Item = (u64, usize)> {
        let weights = self.weights_at.map(|at| (at, 8));
        [(self.checksums_at, 4), (self.labels_at, 8), (self.selectors_at, 8)].into_iter().chain(weights)
    }
}

impl RowLayout {
    /// Refuses a layout from which a size could be computed that overflows. All that follows is for checked ones.
    pub(super) fn check(self) -> Result<Self, StoredRowsError> {
        let Self { dim, precision, block_rows, segment_blocks, .. } = self;
        let out_of_range = |what, value: usize, limit| StoredRowsError::Layout { what, value: value as u64, limit };
        if !(1..=MAX_DIM).contains(&(dim as u64)) {
            return Err(out_of_range("values per row", dim, "1 to 2^32 - 1"));
        }
        if !(1..=BLOCK_ROWS).contains(&block_rows) {
            return Err(out_of_range("rows per block", block_rows, BLOCK_ROWS_RANGE));
        }
        let features = block_rows as u128 * dim as u128 * precision.bytes() as u128;
        let segment =
            segment_blocks as u128 * (features + 8 + u128::from(self.record_bytes()) * block_rows as u128 + 8);
        let fits_memory = usize::try_from(features).is_ok() && block_rows.checked_mul(segment_blocks).is_some();
        if segment_blocks == 0 || segment > MAX_SEGMENT_BYTES || !fits_memory {
            let limit = "1 or more, and a segment less than 2^62 bytes";
            return Err(out_of_range("blocks per segment", segment_blocks, limit));
        }
        Ok(self)
    }

    pub(super) fn rows_per_segment(&self) -> usize {
        self.block_rows * self.segment_blocks
    }

    pub(super) fn row_bytes(&self) -> u64 {
        self.dim as u64 * self.precision.bytes() as u64
    }

    /// Bytes of a block in front of its features.
    pub(super) fn leading_bytes(&self) -> u64 {
        (self.record_bytes() * self.block_rows as u64).next_multiple_of(8)
    }

    /// Numbers of 8 bytes per row in front of the checksums of a block.
    pub(super) fn columns(&self) -> usize {
        2 + usize::from(self.weighted)
    }

    pub(super) fn block_bytes(&self) -> u64 {
        self.leading_bytes() + (self.block_rows as u64 * self.row_bytes()).next_multiple_of(8)
    }

    pub(super) fn n_blocks(&self, n_positions: usize) -> usize {
        n_positions.div_ceil(self.block_rows)
    }

    /// Number of segments that `n_positions` take; there is always one.
    pub(super) fn n_segments(&self, n_positions: usize) -> usize {
        n_positions.div_ceil(self.rows_per_segment()).max(1)
    }

    /// The size that a segment must have at least when there are `n_positions` in all.
    pub(super) fn segment_bytes(&self, segment: usize, n_positions: usize) -> u64 {
        let first = segment.saturating_mul(self.rows_per_segment());
        let n_rows = n_positions.saturating_sub(first).min(self.rows_per_segment());
        match n_rows.checked_sub(1) {
            None => HEADER_BYTES,
            Some(last) => self.run(first + last..first + last + 1).features_at + self.row_bytes(),
        }
    }

    /// The places of consecutive positions of one block.
    pub(super) fn run(&self, positions: Range<usize>) -> Run {
        let block_rows = self.block_rows;
        let (block, row) = (positions.start / block_rows, (positions.start % block_rows) as u64);
        let segment = block / self.segment_blocks;
        let block_at = HEADER_BYTES + (block % self.segment_blocks) as u64 * self.block_bytes();
        let block_rows = block_rows as u64;
        Run {
            segment,
            positions,
            labels_at: block_at + 8 * row,
            selectors_at: block_at + 8 * (block_rows + row),
            weights_at: self.weighted.then(|| block_at + 8 * (2 * block_rows + row)),
            checksums_at: block_at + 8 * self.columns() as u64 * block_rows + 4 * row,
            features_at: block_at + self.leading_bytes() + row * self.row_bytes(),
        }
    }

    /// Consecutive positions, cut where a block ends.
    pub(super) fn runs(self, positions: Range<usize>) -> impl Iterator<Item = Run> {
        let mut start = positions.start;
        std::iter::from_fn(move || {
            let end = (start + (self.block_rows - start % self.block_rows)).min(positions.end);
            let run = (start < end).then(|| self.run(start..end));
            start = end;
            run
        })
    }
}

/// Groups positions into ranges of consecutive ones, in the order given.
pub(super) fn consecutive(positions: &[usize]) -> impl Iterator<Item = Range<usize>> {
    positions.chunk_by(|a, b| *b == a + 1).map(|group| group[0]..group[0] + group.len())
}

/// Bytes in front of the first block: a page, so that a header is never written together with a row.
pub(super) const HEADER_BYTES: u64 = 4096;
const SEGMENT_BYTES: u64 = 256 << 20;
const MAX_SEGMENT_BYTES: u128 = 1 << 62;
const MAX_DIM: u64 = u32::MAX as u64;
const BLOCK_ROWS_RANGE: &str = "1 to 256";
const _: () = assert!(BLOCK_ROWS == 256, "the format and its message allow blocks of up to 256 rows");

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: RowLayout =
        RowLayout { dim: 3, precision: Precision::F32, block_rows: 7, segment_blocks: 2, weighted: false };

    #[test]
    fn places_are_those_of_the_design_page() {
        let layout = SMALL.check().expect("valid");
        // 7 × 20 = 140 bytes, padded to 144; 7 × 12 = 84 bytes of features, padded to 88.
        assert_eq!((layout.leading_bytes(), layout.block_bytes()), (144, 232));
        let run = layout.run(14 + 7 + 2..14 + 7 + 5);
        let block_at = 4096 + 232;
        assert_eq!((run.segment, run.labels_at, run.selectors_at), (1, block_at + 16, block_at + 56 + 16));
        assert_eq!((run.checksums_at, run.features_at), (block_at + 112 + 8, block_at + 144 + 24));
        assert_eq!(layout.segment_bytes(0, 0), 4096);
        assert_eq!(layout.segment_bytes(0, 1), 4096 + 144 + 12);
        assert_eq!(layout.segment_bytes(0, 100), 4096 + 232 + 144 + 84);
        assert_eq!(layout.segment_bytes(1, 14), 4096);
    }

    #[test]
    fn weights_lie_between_selectors_and_checksums() {
        let layout = RowLayout { weighted: true, ..SMALL }.check().expect("valid");
        // 7 × 28 = 196 bytes, padded to 200.
        assert_eq!((layout.leading_bytes(), layout.block_bytes()), (200, 288));
        let run = layout.run(14 + 7 + 2..14 + 7 + 5);
        let block_at = 4096 + 288;
        assert_eq!((run.segment, run.labels_at, run.selectors_at), (1, block_at + 16, block_at + 56 + 16));
        assert_eq!((run.weights_at, run.checksums_at), (Some(block_at + 112 + 16), block_at + 168 + 8));
        assert_eq!(run.features_at, block_at + 200 + 24);
        assert_eq!(run.leading().map(|(_, bytes)| bytes).sum::<usize>(), 28);
    }

    #[test]
    fn runs_end_with_their_block() {
        let layout = SMALL.check().expect("valid");
        let ranges = |range| layout.runs(range).map(|run| run.positions).collect::<Vec<_>>();
        assert_eq!(ranges(5..16), [5..7, 7..14, 14..16]);
        assert_eq!(ranges(7..15), [7..14, 14..15]);
        assert!(ranges(7..7).is_empty());
        assert_eq!(consecutive(&[3, 4, 5, 9, 8, 9]).collect::<Vec<_>>(), [3..6, 9..10, 8..10]);
    }

    #[test]
    fn a_default_segment_has_about_256_mebibytes() {
        let layout = RowLayout::new(256, Precision::F32, false);
        let bytes = layout.check().expect("valid").block_bytes() * layout.segment_blocks as u64;
        assert!((255 << 20..=256 << 20).contains(&bytes), "{bytes}");
        assert_eq!(RowLayout::new(1 << 30, Precision::F64, false).segment_blocks, 1);
        assert!(
            RowLayout::new(3, Precision::F32, true).segment_blocks
                < RowLayout::new(3, Precision::F32, false).segment_blocks
        );
    }

    #[test]
    fn absurd_layouts_are_refused() {
        let refusal = |layout: RowLayout| layout.check().expect_err("must be refused").to_string();
        assert_eq!(refusal(RowLayout { dim: 0, ..SMALL }), "values per row must be 1 to 2^32 - 1, got 0");
        assert_eq!(refusal(RowLayout { block_rows: 257, ..SMALL }), "rows per block must be 1 to 256, got 257");
        assert!(refusal(RowLayout { segment_blocks: 0, ..SMALL }).contains("got 0"));
        assert!(refusal(RowLayout { segment_blocks: usize::MAX, ..SMALL }).contains("less than 2^62 bytes"));
    }
}
