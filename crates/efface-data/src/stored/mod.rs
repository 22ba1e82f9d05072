//! Rows in segments: on disk, position by position, as many of them in memory as are allowed.
//!
//! The format is described in `docs/design/row-segments.md`. Positions never change, and a removed row stays behind as
//! zeros that take part in no sum, as with [`MemoryRows`](crate::MemoryRows); in full blocks, sums over both are equal to
//! the last bit. Which ids the rows have, how many positions count and which rows are gone is known to whoever opens the
//! store.

mod block;
mod cache;
mod checksum;
mod header;
mod layout;
mod positions;
mod read;
mod repair;
mod segment;
mod write;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use efface_core::rounding::UpperBound;
use efface_core::rows::{RowStore, WeightSum};

use self::block::Block;
use self::cache::BlockCache;
pub use self::layout::RowLayout;
pub use self::positions::PositionSet;
pub use self::segment::Access;
use self::segment::Segment;
use crate::derived::Preparation;
use crate::error::{LookupError, SegmentError, StoredRowsError};
use crate::files;
use crate::rows::{Precision, debug_shape};

/// Rows in the segments of a folder. What is removed or dropped is overwritten with zeros, in memory and (by
/// [`purge`](Self::purge)) on disk.
pub struct StoredRows {
    directory: PathBuf,
    layout: RowLayout,
    row_norm_bound: UpperBound,
    /// At least one; as many as the positions take.
    segments: Vec<Segment>,
    len: usize,
    gone: PositionSet,
    /// What the rows present weigh, in a layout with weights.
    weight_sum: WeightSum,
    /// How raw rows become rows of a model; `None`: they are kept as sums take them.
    preparation: Option<Preparation>,
    cache: BlockCache,
    memory_bytes: u64,
    /// Whether a file was made or deleted that the folder on the disk may not know of.
    is_directory_unsynced: AtomicBool,
    /// Whether nothing can stand beyond the last position.
    is_tail_clean: bool,
}

impl StoredRows {
    /// Makes a store without rows. The folder `directory` is made if need be, for its owner only; one that has segments
    /// is an error. Blocks are kept in memory up to `memory_bytes`.
    pub fn create(
        directory: &Path,
        layout: RowLayout,
        row_norm_bound: UpperBound,
        memory_bytes: u64,
    ) -> Result<Self, StoredRowsError> {
        refuse_big_endian()?;
        let layout = layout.check()?;
        files::make_private_directory(directory)
            .map_err(|source| SegmentError::Io { file: directory.into(), source })?;
        let first = Segment::create(directory, 0, layout)?;
        Ok(Self::of_segments(directory, layout, row_norm_bound, memory_bytes, vec![first]))
    }

    /// Opens the segments of a folder. `n_positions` of them count, and those in `gone` hold no row any more. Headers
    /// and sizes are checked, rows when they are read.
    ///
    /// `weight_sum` is what the rows present weigh, from whoever keeps it. `None`: the weights are read and added up; rows
    /// that count once each need neither.
    pub fn open(
        access: Access,
        directory: &Path,
        row_norm_bound: UpperBound,
        memory_bytes: u64,
        n_positions: usize,
        gone: PositionSet,
        weight_sum: Option<WeightSum>,
    ) -> Result<Self, StoredRowsError> {
        refuse_big_endian()?;
        let first = Segment::open(directory, 0, access)?;
        let layout = first.header.layout.check()?;
        let (mut first, mut segments) = (Some(first), Vec::new());
        for number in 0..layout.n_segments(n_positions) {
            let mut segment = first.take().map_or_else(|| Segment::open(directory, number, access), Ok)?;
            if segment.header.layout != layout {
                let (found, expected) = (segment.header.layout, layout);
                return Err(StoredRowsError::OtherLayout { file: segment.path.clone(), found, expected });
            }
            let (found, expected) = (segment.len()?, layout.segment_bytes(number, n_positions));
            if found < expected && access == Access::Salvage {
                segment.set_len(expected)?;
            } else if found < expected {
                let (file, expected) = (segment.path.clone(), expected.into());
                return Err(SegmentError::Truncated { file, found, expected, n_records: n_positions }.into());
            }
            segments.push(segment);
        }
        // From here on the sizes of the files bound what is allocated.
        let mut store = Self {
            is_directory_unsynced: AtomicBool::new(false),
            is_tail_clean: false,
            len: n_positions,
            gone,
            ..Self::of_segments(directory, layout, row_norm_bound, memory_bytes, segments)
        };
        store.cache.resize(layout.n_blocks(n_positions));
        if let Some(position) = store.gone.range(n_positions..usize::MAX).next() {
            return Err(LookupError::NotPresent { position, len: n_positions }.into());
        }
        store.weight_sum = match weight_sum {
            Some(known) => known,
            None => store.weigh(std::iter::once(0..n_positions), |position| store.is_present(position))?,
        };
        Ok(store)
    }

    fn of_segments(
        directory: &Path,
        layout: RowLayout,
        row_norm_bound: UpperBound,
        memory_bytes: u64,
        segments: Vec<Segment>,
    ) -> Self {
        Self {
            directory: directory.into(),
            layout,
            row_norm_bound,
            segments,
            len: 0,
            gone: PositionSet::default(),
            weight_sum: WeightSum::ZERO,
            preparation: None,
            cache: BlockCache::new(memory_bytes, Block::full_bytes(&layout, None)),
            memory_bytes,
            is_directory_unsynced: AtomicBool::new(true),
            is_tail_clean: true,
        }
    }

    /// Prepares raw rows in this way from now on.
    #[must_use]
    pub fn prepared(mut self, preparation: Option<Preparation>) -> Self {
        self.preparation = preparation;
        self.empty_cache();
        self
    }

    /// How raw rows become rows of a model.
    pub fn preparation(&self) -> Option<&Preparation> {
        self.preparation.as_ref()
    }

    /// Lets all blocks go: they are read, and prepared, again.
    fn empty_cache(&mut self) {
        self.cache = BlockCache::new(self.memory_bytes, Block::full_bytes(&self.layout, self.preparation.as_ref()));
        self.cache.resize(self.layout.n_blocks(self.len));
    }

    /// Number of positions, those of removed rows included.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there never was a row.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How rows are laid out in segments.
    pub fn layout(&self) -> &RowLayout {
        &self.layout
    }

    /// The precision in which features are kept.
    pub fn precision(&self) -> Precision {
        self.layout.precision
    }

    /// Whether the row at a position is there and has not been removed.
    pub fn is_present(&self, position: usize) -> bool {
        position < self.len && !self.gone.contains(position)
    }

    /// Number of segments, at least one.
    pub fn n_segments(&self) -> usize {
        self.segments.len()
    }

    /// For each segment the epoch it was last stamped with; 0 for one that never was.
    pub fn epochs(&self) -> Vec<u64> {
        self.segments.iter().map(|segment| segment.header.epoch).collect()
    }

    /// Bytes of rows held in memory: blocks that are kept, and buffers.
    pub fn memory_bytes(&self) -> usize {
        self.cache.memory_bytes()
    }
}

debug_shape!(StoredRows);

/// Features are read from the file into place, without looking at their bytes.
fn refuse_big_endian() -> Result<(), StoredRowsError> {
    if cfg!(target_endian = "big") { Err(StoredRowsError::BigEndian) } else { Ok(()) }
}
