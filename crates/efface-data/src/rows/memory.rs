//! Rows in memory: dense, row-major, in single or double precision.
//!
//! Rows have positions 0, 1, …, which never change; a removed row leaves a row of zeros that takes no part in any sum, so
//! removing is independent of the number of rows. Which ids the rows have is kept elsewhere, if at all.

use efface_core::rounding::UpperBound;
use efface_core::rows::{BLOCK_ROWS, RowBlock, RowBlocks, RowCount, RowShape, RowStore, StoreError};
use zeroize::Zeroize;

use crate::derived::{Encoder, RawRows};
use crate::error::{AppendError, EncodeError, LookupError};
use crate::id::IdKey;
use crate::labels::{LabelCodec, class_of};
use crate::rows::{Annotations, EncodedRows, FeatureOrder, FeatureValues, Precision, debug_shape, encode_table};
use crate::scale::RowTransform;
use crate::table::Table;

/// Rows with their labels and selectors. What is removed or dropped is overwritten with zeros.
pub struct MemoryRows {
    pub(crate) dim: usize,
    pub(crate) row_norm_bound: UpperBound,
    pub(crate) features: FeatureValues,
    pub(crate) noted: Annotations,
}

impl MemoryRows {
    /// The rows of a table, encoded. For rows that are looked at and dropped again: the key of the selectors is zero.
    ///
    /// Without a codec (for prediction) labels are left aside and zero.
    pub fn of_table(
        table: Table,
        transform: &RowTransform,
        codec: Option<&LabelCodec>,
        order: FeatureOrder<'_>,
    ) -> Result<Self, EncodeError> {
        let precision = table.features().precision();
        Ok(Self::of_encoded(encode_table(table, transform, codec, order, precision)?, &IdKey::new([0; 32])))
    }

    /// The same rows without their ids, of which only the selectors are left.
    pub fn of_encoded(rows: EncodedRows, key: &IdKey) -> Self {
        let selectors = rows.selectors(key);
        Self::without_ids(rows, selectors)
    }

    /// The same where the ids have been hashed already: one selector per row.
    pub fn of_selected(rows: EncodedRows, selectors: Vec<u64>) -> Result<Self, AppendError> {
        rows.check_count("selectors", selectors.len())?;
        Ok(Self::without_ids(rows, selectors))
    }

    fn without_ids(mut rows: EncodedRows, selectors: Vec<u64>) -> Self {
        let features = rows.features.take();
        let noted = Annotations::new(std::mem::take(&mut rows.labels), selectors, rows.row_weights.take());
        Self { dim: rows.dim, row_norm_bound: rows.row_norm_bound, features, noted }
    }

    /// Rows of `dim` values each, scaled to the bound, with one label and one selector each, and one weight each if they
    /// have any.
    pub fn new(
        dim: usize,
        row_norm_bound: UpperBound,
        features: FeatureValues,
        labels: Vec<f64>,
        selectors: Vec<u64>,
        row_weights: Option<Vec<f64>>,
    ) -> Result<Self, AppendError> {
        let n_rows = labels.len();
        let n_weights = row_weights.as_ref().map_or(n_rows, Vec::len);
        for (what, found, expected) in [
            ("values", features.len(), n_rows.saturating_mul(dim)),
            ("selectors", selectors.len(), n_rows),
            ("row weights", n_weights, n_rows),
        ] {
            if found != expected {
                return Err(AppendError::Count { what, found, expected: n_rows });
            }
        }
        Ok(Self { dim, row_norm_bound, features, noted: Annotations::new(labels, selectors, row_weights) })
    }

    /// The same rows, to be kept elsewhere. None of them may have been removed.
    pub fn into_encoded(mut self) -> Result<EncodedRows, AppendError> {
        let (features, labels) = (self.features.take(), std::mem::take(&mut self.noted.labels));
        let mut rows = EncodedRows::new(self.dim, features, labels, self.row_norm_bound)?;
        if let Some(row_weights) = self.noted.row_weights.take() {
            rows = rows.with_row_weights(row_weights)?;
        }
        Ok(rows)
    }

    /// The rows as they are counted, where they are raw and none was removed.
    pub(crate) fn raw(&self) -> RawRows<'_> {
        let features = self.features.slice(0..self.features.len());
        RawRows { features, labels: &self.noted.labels, row_weights: self.noted.row_weights.as_deref() }
    }

    /// Raw rows, none of which was removed, as sums take them.
    #[must_use]
    pub fn encoded(mut self, encoder: &Encoder) -> Self {
        let mut features = FeatureValues::zeros(self.precision(), 0);
        encoder.encode_rows(self.features.slice(0..self.features.len()), &self.noted.present, &mut features);
        self.noted.labels.iter_mut().for_each(|label| *label = encoder.encode_target(*label));
        self.features.zeroize();
        self.features = features;
        (self.dim, self.row_norm_bound) = (encoder.dim(), encoder.row_norm_bound());
        self
    }

    /// One per position: the [selector](crate::IdDigest::selector) of its row.
    pub fn selectors(&self) -> &[u64] {
        &self.noted.selectors
    }

    /// Number of positions, those of removed rows included.
    pub fn len(&self) -> usize {
        self.noted.len()
    }

    /// Whether there never was a row.
    pub fn is_empty(&self) -> bool {
        self.noted.len() == 0
    }

    /// The precision in which features are kept.
    pub fn precision(&self) -> Precision {
        self.features.precision()
    }

    /// Whether the row at a position is there and has not been removed.
    pub fn is_present(&self, position: usize) -> bool {
        self.noted.is_present(position)
    }

    /// The label of the row at a position: the index of a class, or a number.
    pub fn label(&self, position: usize) -> Option<f64> {
        self.is_present(position).then(|| self.noted.labels[position])
    }

    /// What the row at a position weighs.
    pub fn row_weight(&self, position: usize) -> Option<f64> {
        self.is_present(position).then(|| self.noted.row_weight(position))
    }

    /// The features of the row at a position, as doubles.
    pub fn row(&self, position: usize) -> Option<Vec<f64>> {
        self.is_present(position).then(|| {
            let mut row = vec![0.0; self.dim];
            self.features.read(position * self.dim, &mut row);
            row
        })
    }

    /// Copies the rows at these positions.
    pub fn batch(&self, positions: &[usize]) -> Result<Self, LookupError> {
        self.noted.check_present(positions)?;
        let mut features = FeatureValues::with_capacity(self.precision(), positions.len() * self.dim);
        for position in positions {
            features.extend_from(&self.features, position * self.dim..(position + 1) * self.dim);
        }
        Ok(Self { dim: self.dim, row_norm_bound: self.row_norm_bound, features, noted: self.noted.pick(positions) })
    }

    /// Removes the rows at these positions: features, labels, selectors and weights are overwritten. On an error nothing
    /// is removed.
    pub fn remove(&mut self, positions: &[usize]) -> Result<(), LookupError> {
        self.noted.check_present(positions)?;
        self.noted.set_present(positions, false);
        for &position in positions {
            self.features.zeroize_range(position * self.dim..(position + 1) * self.dim);
            self.noted.forget(position);
        }
        Ok(())
    }

    /// Number of rows present of each class. Takes a pass over the labels.
    pub fn class_counts(&self, n_classes: usize) -> Vec<usize> {
        let mut counts = vec![0; n_classes];
        let present = self.noted.labels.iter().zip(&self.noted.present).filter(|(_, present)| **present);
        for class in present.filter_map(|(label, _)| class_of(*label)).filter(|class| *class < n_classes) {
            counts[class] += 1;
        }
        counts
    }

    /// Bytes held in memory.
    pub fn memory_bytes(&self) -> usize {
        let Annotations { labels, selectors, row_weights, present, .. } = &self.noted;
        let n_numbers = labels.capacity() + selectors.capacity() + row_weights.as_ref().map_or(0, Vec::capacity);
        self.features.memory_bytes() + 8 * n_numbers + present.capacity()
    }
}

impl RowBlocks for MemoryRows {
    fn row_shape(&self) -> RowShape {
        let RowCount { n_rows, weight_sum } = self.noted.count;
        RowShape { dim: self.dim, n_rows, weight_sum, row_norm_bound: self.row_norm_bound }
    }

    fn n_blocks(&self) -> usize {
        self.len().div_ceil(BLOCK_ROWS)
    }

    fn visit_block(&self, index: usize, visitor: &mut dyn FnMut(&RowBlock<'_>)) -> Result<(), StoreError> {
        let start = index.saturating_mul(BLOCK_ROWS);
        if start >= self.len() {
            return Err(StoreError(Box::new(LookupError::NotPresent { position: start, len: self.len() })));
        }
        let rows = start..self.len().min(start + BLOCK_ROWS);
        let features = self.features.slice(rows.start * self.dim..rows.end * self.dim);
        visitor(&self.noted.block(rows, features));
        Ok(())
    }
}

debug_shape!(MemoryRows);

impl Drop for MemoryRows {
    fn drop(&mut self) {
        self.features.zeroize();
    }
}
