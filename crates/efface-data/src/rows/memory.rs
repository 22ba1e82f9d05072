//! Rows in memory: dense, row-major, in single or double precision.
//!
//! Rows have positions 0, 1, …, which never change; a removed row leaves a row of zeros that takes no part in any sum, so
//! removing is independent of the number of rows. Which ids the rows have is kept elsewhere, if at all.

use std::collections::HashSet;
use std::fmt;

use efface_core::rounding::UpperBound;
use efface_core::rows::{BLOCK_ROWS, RowBlock, RowBlocks, RowShape, StoreError, UNIT_WEIGHTS, WeightSum};
use zeroize::Zeroize;

use crate::error::{AppendError, EncodeError, LookupError};
use crate::labels::{LabelCodec, MAX_CLASSES, class_of};
use crate::rows::{EncodedRows, FeatureOrder, FeatureValues, Precision, encode_table};
use crate::scale::RowTransform;
use crate::table::Table;

/// Rows with their labels and selectors. What is removed or dropped is overwritten with zeros.
pub struct MemoryRows {
    dim: usize,
    row_norm_bound: UpperBound,
    features: FeatureValues,
    labels: Vec<f64>,
    selectors: Vec<u64>,
    /// `None`: every row counts once.
    row_weights: Option<Vec<f64>>,
    present: Vec<bool>,
    n_present: usize,
    /// What the rows present weigh.
    weight_sum: WeightSum,
    /// Rows present per label, for labels that can be the index of a class.
    label_counts: Vec<usize>,
}

impl MemoryRows {
    /// The rows of a table, encoded. For rows that are looked at and dropped again: the salt of the selectors is zero.
    ///
    /// Without a codec (for prediction) labels are left aside and zero.
    pub fn of_table(
        table: Table,
        transform: &RowTransform,
        codec: Option<&LabelCodec>,
        order: FeatureOrder<'_>,
    ) -> Result<Self, EncodeError> {
        let precision = table.features().precision();
        Ok(Self::of_encoded(encode_table(table, transform, codec, order, precision)?, &[0; 32]))
    }

    /// The same rows without their ids, of which only the selectors are left.
    pub fn of_encoded(mut rows: EncodedRows, salt: &[u8; 32]) -> Self {
        let selectors = rows.selectors(salt);
        let empty = FeatureValues::empty(rows.precision());
        let features = std::mem::replace(&mut rows.features, empty);
        let labels = std::mem::take(&mut rows.labels);
        let row_weights = rows.row_weights.take();
        Self::of_parts(rows.dim, rows.row_norm_bound, features, labels, selectors, row_weights)
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
        Ok(Self::of_parts(dim, row_norm_bound, features, labels, selectors, row_weights))
    }

    /// The same for parts that fit each other.
    pub(crate) fn of_parts(
        dim: usize,
        row_norm_bound: UpperBound,
        features: FeatureValues,
        labels: Vec<f64>,
        selectors: Vec<u64>,
        row_weights: Option<Vec<f64>>,
    ) -> Self {
        let n_present = labels.len();
        let weight_sum = match &row_weights {
            None => WeightSum::of_rows(n_present),
            Some(weights) => weights.iter().map(|weight| WeightSum::of_row(*weight)).sum(),
        };
        let present = vec![true; n_present];
        let mut label_counts = Vec::new();
        for class in labels.iter().filter_map(|label| counted_class(*label)) {
            if class >= label_counts.len() {
                label_counts.resize(class + 1, 0);
            }
            label_counts[class] += 1;
        }
        Self {
            dim,
            row_norm_bound,
            features,
            labels,
            selectors,
            row_weights,
            present,
            n_present,
            weight_sum,
            label_counts,
        }
    }

    /// The same rows with their selectors, to be kept elsewhere. None of them may have been removed.
    pub fn into_encoded(mut self) -> Result<(EncodedRows, Vec<u64>), AppendError> {
        let empty = FeatureValues::empty(self.precision());
        let features = std::mem::replace(&mut self.features, empty);
        let rows = EncodedRows::new(self.dim, features, std::mem::take(&mut self.labels), self.row_norm_bound)?;
        let rows = match self.row_weights.take() {
            None => rows,
            Some(row_weights) => rows.with_row_weights(row_weights)?,
        };
        Ok((rows, std::mem::take(&mut self.selectors)))
    }

    /// Number of positions, those of removed rows included.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there never was a row.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The precision in which features are kept.
    pub fn precision(&self) -> Precision {
        self.features.precision()
    }

    /// Whether the row at a position is there and has not been removed.
    pub fn is_present(&self, position: usize) -> bool {
        self.present.get(position).copied().unwrap_or(false)
    }

    /// The label of the row at a position: the index of a class, or a number.
    pub fn label(&self, position: usize) -> Option<f64> {
        self.is_present(position).then(|| self.labels[position])
    }

    /// What the row at a position weighs.
    pub fn row_weight(&self, position: usize) -> Option<f64> {
        self.is_present(position).then(|| self.row_weights.as_ref().map_or(1.0, |weights| weights[position]))
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
        self.check_present(positions)?;
        let mut features = FeatureValues::with_capacity(self.precision(), positions.len() * self.dim);
        for position in positions {
            features.extend_from(&self.features, position * self.dim..(position + 1) * self.dim);
        }
        let labels = positions.iter().map(|position| self.labels[*position]).collect();
        let selectors = positions.iter().map(|position| self.selectors[*position]).collect();
        let weights_of = |weights: &Vec<f64>| positions.iter().map(|position| weights[*position]).collect();
        let row_weights = self.row_weights.as_ref().map(weights_of);
        Ok(Self::of_parts(self.dim, self.row_norm_bound, features, labels, selectors, row_weights))
    }

    /// Removes the rows at these positions: features, labels, selectors and weights are overwritten. On an error nothing
    /// is removed.
    pub fn remove(&mut self, positions: &[usize]) -> Result<(), LookupError> {
        self.check_present(positions)?;
        for &position in positions {
            if let Some(class) = counted_class(self.labels[position]) {
                self.label_counts[class] -= 1;
            }
            self.features.zeroize_range(position * self.dim..(position + 1) * self.dim);
            self.labels[position].zeroize();
            let weight = match &mut self.row_weights {
                None => 1.0,
                Some(weights) => std::mem::take(&mut weights[position]),
            };
            self.weight_sum = self.weight_sum.without(WeightSum::of_row(weight));
            self.selectors[position].zeroize();
            self.present[position] = false;
        }
        self.n_present -= positions.len();
        Ok(())
    }

    /// Whether a row is present at each position, none of them given twice.
    fn check_present(&self, positions: &[usize]) -> Result<(), LookupError> {
        let mut seen = HashSet::with_capacity(positions.len());
        match positions.iter().find(|position| !self.is_present(**position) || !seen.insert(**position)) {
            Some(position) => Err(LookupError::NotPresent { position: *position, len: self.len() }),
            None => Ok(()),
        }
    }

    /// Number of rows present of each class. Takes no pass over the rows.
    pub fn class_counts(&self, n_classes: usize) -> Vec<usize> {
        (0..n_classes).map(|class| self.label_counts.get(class).copied().unwrap_or(0)).collect()
    }

    /// Bytes held in memory.
    pub fn memory_bytes(&self) -> usize {
        self.features.memory_bytes()
            + self.labels.capacity() * size_of::<f64>()
            + self.selectors.capacity() * size_of::<u64>()
            + self.row_weights.as_ref().map_or(0, Vec::capacity) * size_of::<f64>()
            + self.present.capacity()
    }
}

/// The class whose rows are counted when a row has this label.
fn counted_class(label: f64) -> Option<usize> {
    class_of(label).filter(|class| *class < MAX_CLASSES)
}

impl RowBlocks for MemoryRows {
    fn row_shape(&self) -> RowShape {
        RowShape {
            dim: self.dim,
            n_rows: self.n_present,
            weight_sum: self.weight_sum,
            row_norm_bound: self.row_norm_bound,
        }
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
        visitor(&RowBlock {
            features: self.features.slice(rows.start * self.dim..rows.end * self.dim),
            labels: &self.labels[rows.clone()],
            selectors: &self.selectors[rows.clone()],
            row_weights: match &self.row_weights {
                None => &UNIT_WEIGHTS[..rows.len()],
                Some(weights) => &weights[rows.clone()],
            },
            present: &self.present[rows],
        });
        Ok(())
    }
}

/// Shape only: rows stay out of logs.
impl fmt::Debug for MemoryRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shape = f.debug_struct("MemoryRows");
        shape.field("n_rows", &self.n_present).field("dim", &self.dim).field("precision", &self.precision());
        shape.finish_non_exhaustive()
    }
}

impl Drop for MemoryRows {
    fn drop(&mut self) {
        self.features.zeroize();
        self.labels.zeroize();
        self.selectors.zeroize();
        self.row_weights.zeroize();
    }
}
