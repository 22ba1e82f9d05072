//! What is kept of the blocks in memory: the first ones once they were read, buffers for the others, and which of them
//! have been verified.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::block::Block;

/// Blocks in memory. Whatever is let go is overwritten with zeros, because a [`Block`] is when it is dropped.
pub(super) struct BlockCache {
    /// One per block, for the first `max_kept` blocks.
    kept: Vec<OnceLock<Block>>,
    max_kept: usize,
    /// One per block: whether its checksums have been compared since the store was opened.
    verified: Vec<AtomicBool>,
    /// Buffers of blocks that are not kept: as many as were in use at the same time.
    buffers: Mutex<Vec<Block>>,
}

impl BlockCache {
    /// A cache of as many blocks as fit `memory_bytes`.
    pub(super) fn new(memory_bytes: u64, block_bytes: u64) -> Self {
        let max_kept = usize::try_from(memory_bytes / block_bytes.max(1)).unwrap_or(usize::MAX);
        Self { kept: Vec::new(), max_kept, verified: Vec::new(), buffers: Mutex::default() }
    }

    /// Makes room for this many blocks, or lets those go that there are too many of.
    pub(super) fn resize(&mut self, n_blocks: usize) {
        self.kept.resize_with(n_blocks.min(self.max_kept), OnceLock::new);
        self.verified.resize_with(n_blocks, AtomicBool::default);
    }

    /// The place of a block that is to be kept.
    pub(super) fn slot(&self, index: usize) -> Option<&OnceLock<Block>> {
        self.kept.get(index)
    }

    pub(super) fn is_verified(&self, index: usize) -> bool {
        self.verified[index].load(Ordering::Acquire)
    }

    pub(super) fn note_verified(&self, index: usize) {
        self.verified[index].store(true, Ordering::Release);
    }

    pub(super) fn take_buffer(&self) -> Option<Block> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    pub(super) fn give_back(&self, buffer: Block) {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
    }

    /// Overwrites a row wherever it may be in memory.
    pub(super) fn erase(&mut self, index: usize, row: usize) {
        self.drop_buffers();
        if let Some(block) = self.kept.get_mut(index).and_then(OnceLock::get_mut) {
            block.erase(row);
        }
    }

    /// Lets blocks go that have changed on disk. They are read and verified again when they are next asked for.
    pub(super) fn forget(&mut self, blocks: Range<usize>) {
        self.drop_buffers();
        for index in blocks {
            self.kept.get_mut(index).and_then(OnceLock::take);
            if let Some(verified) = self.verified.get_mut(index) {
                *verified.get_mut() = false;
            }
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = self.kept.iter().filter_map(OnceLock::get);
        kept.chain(&*buffers).map(Block::memory_bytes).sum()
    }

    fn drop_buffers(&mut self) {
        self.buffers.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
