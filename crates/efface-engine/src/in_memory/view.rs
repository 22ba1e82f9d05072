//! Rows in memory as the mathematics sees them: blocks are scaled on the fly, from values that are only lent.
//!
//! A block of rows that need no scaling is handed out as it is. Others are written to buffers that are used again, one
//! per thread at work.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use efface_core::rounding::UpperBound;
use efface_core::rows::{BLOCK_ROWS, Features, RowBlock, RowStore, RowValue, StoreError, UNIT_WEIGHTS, WeightSum};
use efface_data::FeatureValues;
use zeroize::{Zeroize, Zeroizing};

use super::error::Interrupted;
use super::rows::{LentRows, RowTable};

/// All rows of a table, as long as the lent ones are at hand.
pub(super) struct RowsView<'a> {
    table: &'a RowTable,
    lent: LentRows<'a>,
    buffers: Mutex<Vec<FeatureValues>>,
}

impl<'a> RowsView<'a> {
    pub(super) fn new(table: &'a RowTable, lent: LentRows<'a>) -> Self {
        Self { table, lent, buffers: Mutex::new(Vec::new()) }
    }

    /// Copies the rows at these positions, scaled.
    pub(super) fn batch(&self, positions: &[usize]) -> Batch {
        let table = self.table;
        let mut features = FeatureValues::empty(table.precision());
        match (&mut features, self.sources()) {
            (FeatureValues::F32(to), Sources::F32(from)) => from.write(table, positions.iter().copied(), to),
            (FeatureValues::F64(to), Sources::F64(from)) => from.write(table, positions.iter().copied(), to),
            _ => {}
        }
        Batch {
            dim: table.dim(),
            row_norm_bound: table.transform.row_norm_bound(),
            features,
            labels: positions.iter().map(|position| table.labels[*position]).collect(),
            selectors: positions.iter().map(|position| table.selectors[*position]).collect(),
            row_weights: positions.iter().map(|position| table.row_weight(*position)).collect(),
            present: vec![true; positions.len()],
        }
    }

    /// The bytes of all rows as they were given, little-endian; zeros for those that left.
    pub(super) fn features_before_scaling(&self) -> Zeroizing<Vec<u8>> {
        match self.sources() {
            Sources::F32(from) => from.bytes(self.table, f32::to_le_bytes),
            Sources::F64(from) => from.bytes(self.table, f64::to_le_bytes),
        }
    }

    fn sources(&self) -> Sources<'_> {
        match (self.lent.features, &self.table.own) {
            (Features::F32(lent), FeatureValues::F32(own)) => Sources::F32(Source { lent, own }),
            (Features::F64(lent), FeatureValues::F64(own)) => Sources::F64(Source { lent, own }),
            // Both have the precision that was checked when the view was made.
            (Features::F32(lent), FeatureValues::F64(_)) => Sources::F32(Source { lent, own: &[] }),
            (Features::F64(lent), FeatureValues::F32(_)) => Sources::F64(Source { lent, own: &[] }),
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

impl RowStore for RowsView<'_> {
    fn dim(&self) -> usize {
        self.table.dim()
    }

    fn n_rows(&self) -> usize {
        self.table.n_present
    }

    fn weight_sum(&self) -> WeightSum {
        self.table.weight_sum
    }

    fn row_norm_bound(&self) -> UpperBound {
        self.table.transform.row_norm_bound()
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
        match (&mut buffer, self.sources()) {
            (FeatureValues::F32(to), Sources::F32(from)) => from.write(self.table, rows.clone(), to),
            (FeatureValues::F64(to), Sources::F64(from)) => from.write(self.table, rows.clone(), to),
            _ => {}
        }
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

impl RowTable {
    /// Whether the rows of a block can be handed out as they were lent.
    fn is_as_lent(&self, rows: &Range<usize>) -> bool {
        !self.transform.intercept
            && rows.end <= self.n_lent
            && self.divisors.are_one(rows.clone())
            && self.present[rows.clone()].iter().all(|present| *present)
            && (self.places.is_empty() || rows.clone().all(|row| !self.places.contains_key(&row)))
    }
}

/// Values before scaling, by their precision.
enum Sources<'a> {
    F32(Source<'a, f32>),
    F64(Source<'a, f64>),
}

struct Source<'a, T> {
    lent: &'a [T],
    own: &'a [T],
}

impl<T: RowValue> Source<'_, T> {
    /// Writes the rows at these positions to the front of `into`: scaled, with the intercept's constant; zeros for those that
    /// left.
    fn write(&self, table: &RowTable, positions: impl ExactSizeIterator<Item = usize>, into: &mut Vec<T>) {
        let (dim, n_features) = (table.dim(), table.n_features);
        into.resize(positions.len() * dim, T::default());
        for (position, row) in positions.zip(into.chunks_exact_mut(dim)) {
            if !table.present[position] {
                row.fill(T::default());
                continue;
            }
            let (features, intercept) = row.split_at_mut(n_features);
            table.divisors.get(position).write(self.row(table, position), features);
            intercept.fill(T::nearest(1.0));
        }
    }

    fn bytes<const N: usize>(&self, table: &RowTable, to_bytes: impl Fn(T) -> [u8; N]) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(table.len() * table.n_features * N));
        for position in 0..table.len() {
            if table.present[position] {
                bytes.extend(self.row(table, position).iter().flat_map(|x| to_bytes(*x)));
            } else {
                let len = bytes.len() + table.n_features * N;
                bytes.resize(len, 0);
            }
        }
        bytes
    }

    fn row(&self, table: &RowTable, position: usize) -> &[T] {
        let n_features = table.n_features;
        // Most rows are lent: where all of them are, nothing is looked up.
        match if table.places.is_empty() { None } else { table.places.get(&position) } {
            Some(place) => &self.own[place * n_features..(place + 1) * n_features],
            None => &self.lent[position * n_features..(position + 1) * n_features],
        }
    }
}

/// A few rows, copied and scaled. Overwritten with zeros when dropped.
pub(super) struct Batch {
    dim: usize,
    row_norm_bound: UpperBound,
    features: FeatureValues,
    pub(super) labels: Vec<f64>,
    pub(super) selectors: Vec<u64>,
    pub(super) row_weights: Vec<f64>,
    present: Vec<bool>,
}

impl Batch {
    /// Features and labels, which the batch is then without.
    pub(super) fn take_rows(&mut self) -> (FeatureValues, Vec<f64>) {
        let empty = FeatureValues::empty(self.features.precision());
        (std::mem::replace(&mut self.features, empty), std::mem::take(&mut self.labels))
    }
}

impl RowStore for Batch {
    fn dim(&self) -> usize {
        self.dim
    }

    fn n_rows(&self) -> usize {
        self.labels.len()
    }

    fn weight_sum(&self) -> WeightSum {
        self.row_weights.iter().map(|weight| WeightSum::of_row(*weight)).sum()
    }

    fn row_norm_bound(&self) -> UpperBound {
        self.row_norm_bound
    }

    fn n_blocks(&self) -> usize {
        self.labels.len().div_ceil(BLOCK_ROWS)
    }

    fn visit_block(&self, index: usize, visitor: &mut dyn FnMut(&RowBlock<'_>)) -> Result<(), StoreError> {
        let start = index * BLOCK_ROWS;
        let rows = start..self.labels.len().min(start + BLOCK_ROWS);
        visitor(&RowBlock {
            features: self.features.slice(rows.start * self.dim..rows.end * self.dim),
            labels: &self.labels[rows.clone()],
            selectors: &self.selectors[rows.clone()],
            row_weights: &self.row_weights[rows.clone()],
            present: &self.present[rows],
        });
        Ok(())
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.features.zeroize();
        self.labels.zeroize();
        self.selectors.zeroize();
        self.row_weights.zeroize();
    }
}
