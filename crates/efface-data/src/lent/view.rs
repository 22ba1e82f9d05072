//! Rows in memory as the mathematics sees them: blocks are scaled on the fly, from values that are only lent.
//!
//! A block of rows that need no scaling is handed out as it is. Others are written to buffers that are used again, one
//! per thread at work.

use std::sync::{Mutex, PoisonError};

use efface_core::rows::{BLOCK_ROWS, Features, RowBlock, RowBlocks, RowCount, RowShape, RowValue, StoreError};
use zeroize::{Zeroize, Zeroizing};

use super::checks::go_on;
use super::table::{LentRows, LentTable};
use crate::rows::{FeatureValues, MemoryRows, each};

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

    pub(super) fn batch(&self, positions: &[usize]) -> MemoryRows {
        let table = self.table;
        let mut features = FeatureValues::zeros(table.precision(), 0);
        self.write(positions.iter().copied(), &mut features);
        let mut noted = table.noted.pick(positions);
        if !table.targets.is_empty() {
            noted.labels = positions.iter().map(|position| table.targets[*position]).collect();
        }
        MemoryRows { dim: table.dim(), row_norm_bound: table.row_norm_bound(), features, noted }
    }

    /// The rows at these positions as they are kept.
    pub(super) fn kept_batch(&self, positions: &[usize]) -> MemoryRows {
        let (table, dim) = (self.table, self.table.spec.kept_dim());
        let mut features = FeatureValues::with_capacity(table.precision(), positions.len() * dim);
        for position in positions {
            match position.checked_sub(table.n_lent) {
                Some(place) => features.extend_from(&table.own, place * dim..(place + 1) * dim),
                None => features.extend_lent(self.lent.features, position * dim..(position + 1) * dim),
            }
        }
        let row_norm_bound = table.spec.transform.row_norm_bound();
        MemoryRows { dim, row_norm_bound, features, noted: table.noted.pick(positions) }
    }

    /// The lent rows as they were given; zeros for those that left.
    pub(super) fn lent_bytes(&self) -> Zeroizing<Vec<u8>> {
        each!(Features, self.lent.features, lent => bytes(self.table, lent))
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
}

impl RowBlocks for RowsView<'_> {
    fn row_shape(&self) -> RowShape {
        let RowCount { n_rows, weight_sum } = self.table.count();
        RowShape { dim: self.table.dim(), n_rows, weight_sum, row_norm_bound: self.table.row_norm_bound() }
    }

    fn n_blocks(&self) -> usize {
        self.table.n_positions().div_ceil(BLOCK_ROWS)
    }

    fn visit_block(&self, index: usize, visitor: &mut dyn FnMut(&RowBlock<'_>)) -> Result<(), StoreError> {
        go_on(self.lent.cancel).map_err(|interrupted| StoreError(Box::new(interrupted)))?;
        let (table, start) = (self.table, index * BLOCK_ROWS);
        let rows = start..table.n_positions().min(start + BLOCK_ROWS);
        if table.is_as_lent(rows.clone()) {
            let values = rows.start * table.spec.n_features..rows.end * table.spec.n_features;
            let features = match self.lent.features {
                Features::F32(lent) => Features::F32(&lent[values]),
                Features::F64(lent) => Features::F64(&lent[values]),
            };
            visitor(&table.noted.block(rows, features));
            return Ok(());
        }
        let taken = self.buffers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let full = BLOCK_ROWS * table.dim();
        let mut buffer = taken.unwrap_or_else(|| FeatureValues::with_capacity(table.precision(), full));
        self.write(rows.clone(), &mut buffer);
        let mut block = table.noted.block(rows.clone(), buffer.slice(0..buffer.len()));
        if !table.targets.is_empty() {
            block.labels = &table.targets[rows];
        }
        visitor(&block);
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
        Ok(())
    }
}

impl Drop for RowsView<'_> {
    fn drop(&mut self) {
        self.buffers.get_mut().unwrap_or_else(PoisonError::into_inner).iter_mut().for_each(Zeroize::zeroize);
    }
}

fn write<T: RowValue>(
    table: &LentTable,
    lent: &[T],
    own: &[T],
    positions: impl ExactSizeIterator<Item = usize>,
    into: &mut Vec<T>,
) {
    let (dim, n_features) = (table.dim(), table.spec.n_features);
    into.resize(positions.len() * dim, T::default());
    if let Some(preparation) = &table.preparation {
        let mut features = Zeroizing::new(Vec::with_capacity(dim));
        for (position, row) in positions.zip(into.chunks_exact_mut(dim.max(1))) {
            let (place, raw) = position.checked_sub(table.n_lent).map_or((position, lent), |place| (place, own));
            if table.noted.present[position] {
                preparation.encoder().encode(&raw[place * n_features..(place + 1) * n_features], row, &mut features);
            } else {
                row.fill(T::default());
            }
        }
        return;
    }
    for (position, row) in positions.zip(into.chunks_exact_mut(dim)) {
        match position.checked_sub(table.n_lent) {
            _ if !table.noted.present[position] => row.fill(T::default()),
            Some(place) => row.copy_from_slice(&own[place * dim..(place + 1) * dim]),
            None => {
                let (features, intercept) = row.split_at_mut(n_features);
                let as_lent = &lent[position * n_features..(position + 1) * n_features];
                table.divisor(position).write(as_lent, features);
                intercept.fill(T::nearest(1.0));
            }
        }
    }
}

fn bytes<T: RowValue>(table: &LentTable, lent: &[T]) -> Zeroizing<Vec<u8>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(size_of_val(lent)));
    for (row, present) in lent.chunks_exact(table.spec.n_features).zip(&table.noted.present) {
        if *present {
            bytes.extend(T::bytes(row));
        } else {
            let len = bytes.len() + size_of_val(row);
            bytes.resize(len, 0);
        }
    }
    bytes
}
