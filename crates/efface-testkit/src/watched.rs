//! Rows that count the passes over them, and cannot be read from some pass on.

use std::sync::atomic::{AtomicUsize, Ordering};

use efface_core::rows::{RowBlock, RowBlocks, RowShape, StoreError};

/// Rows under watch.
pub struct WatchedRows<'a> {
    rows: &'a dyn RowBlocks,
    n_visits: AtomicUsize,
    fails_at: usize,
}

impl<'a> WatchedRows<'a> {
    /// Rows that can always be read.
    pub fn new(rows: &'a dyn RowBlocks) -> Self {
        Self::failing(rows, usize::MAX)
    }

    /// Rows that can be read `n_passes` times, and not once more.
    pub fn failing(rows: &'a dyn RowBlocks, n_passes: usize) -> Self {
        Self { rows, n_visits: AtomicUsize::new(0), fails_at: n_passes.saturating_mul(rows.n_blocks()) }
    }

    /// Passes over the rows so far, as a stranger counts them: blocks that were read over blocks that there are.
    pub fn n_passes(&self) -> f64 {
        self.n_visits.load(Ordering::Relaxed) as f64 / self.rows.n_blocks() as f64
    }
}

impl RowBlocks for WatchedRows<'_> {
    fn row_shape(&self) -> RowShape {
        self.rows.shape()
    }

    fn n_blocks(&self) -> usize {
        self.rows.n_blocks()
    }

    fn visit_block(&self, index: usize, visitor: &mut dyn FnMut(&RowBlock<'_>)) -> Result<(), StoreError> {
        if self.n_visits.fetch_add(1, Ordering::Relaxed) >= self.fails_at {
            return Err(StoreError("no more passes".into()));
        }
        self.rows.visit_block(index, visitor)
    }
}
