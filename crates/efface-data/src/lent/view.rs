//! Rows in memory as the mathematics sees them: blocks are scaled on the fly, from values that are only lent.
//!
//! A block of rows that need no scaling is handed out as it is. Others are written to buffers that are used again, one
//! per thread at work.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use efface_core::rows::{
    BLOCK_ROWS, Features, RowBlock, RowBlocks, RowCount, RowShape, RowValue, StoreError, UNIT_WEIGHTS,
};
use zeroize::{Zeroize, Zeroizing};

use super::error::Interrupted;
use super::table::{LentRows, LentTable};
use crate::rows::FeatureValues;
use crate::rows::MemoryRows;

/// All rows of a table, as long as the lent ones are at hand.
pub(super) struct RowsView<'a> {
    table: &'a LentTable,
    lent: LentRows<'a>,
    buffers: Mutex<Vec<FeatureValues>>,
}

impl<'a> RowsView<'a> {
    pub(super) fn new(table: &'a LentTable, lent: LentRows<'a>) -> Self {
        Self { table, lent, buffers: Mutex::new(Vec::new()) }
    }

    /// Copies the rows at these positions, scaled.
    pub(super) fn batch(&self, positions: &[usize]) -> MemoryRows {
        let table = self.table;
        let mut features = FeatureValues::empty(table.precision());
        self.write(positions.iter().copied(), &mut features);
        let labels = positions.iter().map(|position| table.labels[*position]).collect();
        let selectors = positions.iter().map(|position| table.selectors[*position]).collect();
        let weights_of = |weights: &Vec<f64>| positions.iter().map(|position| weights[*position]).collect();
        let row_weights = table.row_weights.as_ref().map(weights_of);
        MemoryRows::of_parts(table.dim(), table.transform.row_norm_bound(), features, labels, selectors, row_weights)
    }

    /// The lent rows as they were given, little-endian; zeros for those that left.
    pub(super) fn lent_bytes(&self) -> Zeroizing<Vec<u8>> {
        match self.lent.features {
            Features::F32(lent) => bytes(self.table, lent, f32::to_le_bytes),
            Features::F64(lent) => bytes(self.table, lent, f64::to_le_bytes),
        }
    }

    /// Writes the rows at these positions to the front of `into`: scaled, with the intercept's constant; zeros for those
    /// that left.
    fn write(&self, positions: impl ExactSizeIterator<Item = usize>, into: &mut FeatureValues) {
        match (self.lent.features, &self.table.own, into) {
            (Features::F32(lent), FeatureValues::F32(own), FeatureValues::F32(to)) => {
                write(self.table, lent, own, positions, to);
            }
            (Features::F64(lent), FeatureValues::F64(own), FeatureValues::F64(to)) => {
                write(self.table, lent, own, positions, to);
            }
            // All have the precision that was checked when the rows were lent.
            _ => {}
        }
    }

    fn visit_values(&self, rows: Range<usize>, features: Features<'_>, visitor: &mut dyn FnMut(&RowBlock<'_>)) {
        let table = self.table;
        visitor(&RowBlock {
            features,
            labels: &table.labels[rows.clone()],
            selectors: &table.selectors[rows.clone()],
            row_weights: table
                .row_weights
                .as_ref()
                .map_or(&UNIT_WEIGHTS[..rows.len()], |weights| &weights[rows.clone()]),
            present: &table.present[rows],
        });
    }

    fn buffer(&self) -> FeatureValues {
        let taken = self.buffers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        taken.unwrap_or_else(|| FeatureValues::with_capacity(self.table.precision(), BLOCK_ROWS * self.table.dim()))
    }
}

impl RowBlocks for RowsView<'_> {
    fn row_shape(&self) -> RowShape {
        let RowCount { n_rows, weight_sum } = self.table.count();
        RowShape { dim: self.table.dim(), n_rows, weight_sum, row_norm_bound: self.table.transform.row_norm_bound() }
    }

    fn n_blocks(&self) -> usize {
        self.table.len().div_ceil(BLOCK_ROWS)
    }

    fn visit_block(&self, index: usize, visitor: &mut dyn FnMut(&RowBlock<'_>)) -> Result<(), StoreError> {
        if self.lent.cancel.load(Ordering::Relaxed) {
            return Err(StoreError(Box::new(Interrupted)));
        }
        let start = index * BLOCK_ROWS;
        let rows = start..self.table.len().min(start + BLOCK_ROWS);
        if self.table.is_as_lent(&rows) {
            let values = rows.start * self.table.n_features..rows.end * self.table.n_features;
            let features = match self.lent.features {
                Features::F32(lent) => Features::F32(&lent[values]),
                Features::F64(lent) => Features::F64(&lent[values]),
            };
            self.visit_values(rows, features, visitor);
            return Ok(());
        }
        let mut buffer = self.buffer();
        self.write(rows.clone(), &mut buffer);
        self.visit_values(rows, buffer.slice(0..buffer.len()), visitor);
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
        Ok(())
    }
}

impl Drop for RowsView<'_> {
    fn drop(&mut self) {
        self.buffers.get_mut().unwrap_or_else(PoisonError::into_inner).iter_mut().for_each(Zeroize::zeroize);
    }
}

impl LentTable {
    /// Whether the rows of a block can be handed out as they were lent.
    fn is_as_lent(&self, rows: &Range<usize>) -> bool {
        !self.transform.intercept
            && rows.end <= self.n_lent
            && self.divisors.are_one(rows.clone())
            && self.present[rows.clone()].iter().all(|present| *present)
    }
}

fn write<T: RowValue>(
    table: &LentTable,
    lent: &[T],
    own: &[T],
    positions: impl ExactSizeIterator<Item = usize>,
    into: &mut Vec<T>,
) {
    let (dim, n_features) = (table.dim(), table.n_features);
    into.resize(positions.len() * dim, T::default());
    for (position, row) in positions.zip(into.chunks_exact_mut(dim)) {
        match position.checked_sub(table.n_lent) {
            _ if !table.present[position] => row.fill(T::default()),
            Some(place) => row.copy_from_slice(&own[place * dim..(place + 1) * dim]),
            None => {
                let (features, intercept) = row.split_at_mut(n_features);
                let as_lent = &lent[position * n_features..(position + 1) * n_features];
                table.divisors.get(position).write(as_lent, features);
                intercept.fill(T::nearest(1.0));
            }
        }
    }
}

fn bytes<T: RowValue, const N: usize>(
    table: &LentTable,
    lent: &[T],
    to_bytes: impl Fn(T) -> [u8; N],
) -> Zeroizing<Vec<u8>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(lent.len() * N));
    for (row, present) in lent.chunks_exact(table.n_features).zip(&table.present) {
        if *present {
            bytes.extend(row.iter().flat_map(|x| to_bytes(*x)));
        } else {
            let len = bytes.len() + table.n_features * N;
            bytes.resize(len, 0);
        }
    }
    bytes
}
