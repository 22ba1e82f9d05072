//! Rows in memory: dense, row-major, in single or double precision.
//!
//! Rows have positions 0, 1, …, which never change; a removed row leaves a row of zeros that takes no part in any sum.
//! So removing is independent of the number of rows, and a file of rows can be kept in step position by position.

mod index;

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use efface_core::rounding::UpperBound;
use efface_core::rows::{BLOCK_ROWS, RowBlock, RowStore, StoreError};
use zeroize::Zeroize;

use self::index::{Departure, Index};
use crate::encode::{EncodedRows, FeatureOrder, encode_table};
use crate::error::{AppendError, EncodeError, LookupError};
use crate::id::RowId;
use crate::labels::{LabelCodec, MAX_CLASSES};
use crate::removed::RemovedIds;
use crate::scale::RowTransform;
use crate::table::Table;
use crate::values::{FeatureValues, Precision, extend_zeroizing};

/// Rows, their labels, ids and subjects. What is removed or dropped is overwritten with zeros.
pub struct MemoryRows {
    dim: usize,
    row_norm_bound: UpperBound,
    salt: [u8; 32],
    features: FeatureValues,
    labels: Vec<f64>,
    selectors: Vec<u64>,
    present: Vec<bool>,
    n_present: usize,
    index: Index,
    /// Rows present per label, for labels that can be the index of a class.
    label_counts: Vec<usize>,
}

impl MemoryRows {
    /// A store without rows. `salt` is random and secret; `removed` says which ids must not come back.
    pub fn new(
        dim: usize,
        precision: Precision,
        row_norm_bound: UpperBound,
        salt: [u8; 32],
        removed: RemovedIds,
    ) -> Self {
        Self {
            dim,
            row_norm_bound,
            salt,
            features: FeatureValues::empty(precision),
            labels: Vec::new(),
            selectors: Vec::new(),
            present: Vec::new(),
            n_present: 0,
            index: Index::new(removed),
            label_counts: Vec::new(),
        }
    }

    /// The rows of a table, encoded. For rows that are looked at and dropped again: salt and key are zero.
    ///
    /// Without a codec (for prediction) labels are left aside and zero.
    #[expect(clippy::missing_panics_doc, reason = "an empty store of the same shape takes every encoded row")]
    pub fn of_table(
        table: Table,
        transform: &RowTransform,
        codec: Option<&LabelCodec>,
        order: FeatureOrder<'_>,
    ) -> Result<Self, EncodeError> {
        let precision = table.features().precision();
        let encoded = encode_table(table, transform, codec, order, precision)?;
        let removed = RemovedIds::new([0; 32]);
        let mut rows = Self::new(encoded.dim(), precision, transform.row_norm_bound(), [0; 32], removed);
        rows.append(encoded).expect("an empty store of the same shape takes every encoded row");
        Ok(rows)
    }

    /// Rows without ids, to be summed over and dropped again: `features` has `dim` values for each label and selector.
    pub(crate) fn without_ids(
        dim: usize,
        row_norm_bound: UpperBound,
        features: FeatureValues,
        labels: Vec<f64>,
        selectors: Vec<u64>,
    ) -> Self {
        let removed = RemovedIds::new([0; 32]);
        let mut rows = Self::new(dim, features.precision(), row_norm_bound, [0; 32], removed);
        rows.present = vec![true; labels.len()];
        rows.n_present = labels.len();
        for label in &labels {
            rows.count_label(*label, 1);
            rows.index.push(None, None);
        }
        (rows.features, rows.labels, rows.selectors) = (features, labels, selectors);
        rows
    }

    /// A store of the same shape, salt and key, without rows and without removed ids.
    #[must_use]
    pub fn empty_like(&self) -> Self {
        let removed = self.removed().emptied();
        Self::new(self.dim, self.precision(), self.row_norm_bound, self.salt, removed)
    }

    /// Adds rows at the end and returns their positions. On an error nothing is added.
    pub fn append(&mut self, mut rows: EncodedRows) -> Result<Range<usize>, AppendError> {
        self.check_append(&rows)?;
        let (start, n_new) = (self.len(), rows.n_rows());
        if self.features.is_empty() {
            std::mem::swap(&mut self.features, &mut rows.features);
        } else {
            self.features.extend_from(&rows.features, 0..rows.features.len());
        }
        extend_zeroizing(&mut self.labels, &rows.labels);
        rows.labels.iter().for_each(|label| self.count_label(*label, 1));
        self.index.reserve(n_new);
        let mut subjects = rows.subjects.take().map(Vec::into_iter);
        for id in std::mem::take(&mut rows.ids) {
            self.selectors.push(id.selector(&self.salt));
            self.present.push(true);
            self.index.push(Some(id), subjects.as_mut().and_then(Iterator::next));
        }
        self.n_present += n_new;
        Ok(start..start + n_new)
    }

    /// Whether [`append`](Self::append) would take these rows.
    pub fn check_append(&self, rows: &EncodedRows) -> Result<(), AppendError> {
        if rows.dim() != self.dim {
            return Err(AppendError::Dimension { found: rows.dim(), expected: self.dim });
        }
        if rows.precision() != self.precision() {
            return Err(AppendError::Precision { found: rows.precision(), expected: self.precision() });
        }
        let (found, limit) = (rows.row_norm_bound().get(), self.row_norm_bound.get());
        if found > limit {
            return Err(AppendError::NormBound { found, limit });
        }
        self.index.check_new(rows.ids())
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

    /// The id of the row at a position; `None` when it has been removed, or came without one.
    pub fn id(&self, position: usize) -> Option<&RowId> {
        self.index.id(position)
    }

    /// The subject of the row at a position, if it has one and is present.
    pub fn subject(&self, position: usize) -> Option<&RowId> {
        self.index.subject(position)
    }

    /// The label of the row at a position: the index of a class, or a number.
    pub fn label(&self, position: usize) -> Option<f64> {
        self.is_present(position).then(|| self.labels[position])
    }

    /// The features of the row at a position, as doubles.
    pub fn row(&self, position: usize) -> Option<Vec<f64>> {
        self.is_present(position).then(|| {
            let mut row = vec![0.0; self.dim];
            self.features.read(position * self.dim, &mut row);
            row
        })
    }

    /// Which ids have been removed.
    pub fn removed(&self) -> &RemovedIds {
        self.index.removed()
    }

    /// The position of each row, in the order of `ids`.
    pub fn positions_of(&self, ids: &[RowId]) -> Result<Vec<usize>, LookupError> {
        self.index.positions_of(ids)
    }

    /// The positions of all rows of these subjects, ascending.
    pub fn positions_of_subjects(&self, subjects: &[RowId]) -> Result<Vec<usize>, LookupError> {
        self.index.positions_of_subjects(subjects)
    }

    /// Copies the rows at these positions into a store of the same shape.
    pub fn batch(&self, positions: &[usize]) -> Result<Self, LookupError> {
        self.check_present(positions)?;
        let mut batch = self.empty_like();
        batch.features = FeatureValues::with_capacity(self.precision(), positions.len() * self.dim);
        for &position in positions {
            batch.features.extend_from(&self.features, position * self.dim..(position + 1) * self.dim);
            batch.labels.push(self.labels[position]);
            batch.selectors.push(self.selectors[position]);
            batch.present.push(true);
            batch.count_label(self.labels[position], 1);
            batch.index.push(self.id(position).cloned(), self.subject(position).cloned());
        }
        batch.n_present = positions.len();
        Ok(batch)
    }

    /// Removes the rows at these positions: features, labels and ids are overwritten, and the ids remembered as removed.
    /// On an error nothing is removed.
    pub fn remove(&mut self, positions: &[usize]) -> Result<(), LookupError> {
        self.take_out(positions, Departure::Removed)
    }

    /// Takes out rows that are about to be corrected: as [`remove`](Self::remove), but their ids may be used again.
    pub fn remove_to_replace(&mut self, positions: &[usize]) -> Result<(), LookupError> {
        self.take_out(positions, Departure::Replaced)
    }

    fn take_out(&mut self, positions: &[usize], departure: Departure) -> Result<(), LookupError> {
        self.check_present(positions)?;
        for &position in positions {
            self.count_label(self.labels[position], -1);
            self.features.zeroize_range(position * self.dim..(position + 1) * self.dim);
            self.labels[position].zeroize();
            self.selectors[position].zeroize();
            self.present[position] = false;
            self.index.forget(position, departure);
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

    /// Bytes held in memory, ids and their lookup included.
    pub fn memory_bytes(&self) -> usize {
        self.features.memory_bytes()
            + self.labels.capacity() * size_of::<f64>()
            + self.selectors.capacity() * size_of::<u64>()
            + self.present.capacity()
            + self.index.memory_bytes()
    }

    fn count_label(&mut self, label: f64, change: isize) {
        if label.fract() == 0.0 && (0.0..MAX_CLASSES as f64).contains(&label) {
            let class = label as usize;
            if class >= self.label_counts.len() {
                self.label_counts.resize(class + 1, 0);
            }
            self.label_counts[class] = self.label_counts[class].saturating_add_signed(change);
        }
    }
}

impl RowStore for MemoryRows {
    fn dim(&self) -> usize {
        self.dim
    }

    fn n_rows(&self) -> usize {
        self.n_present
    }

    fn row_norm_bound(&self) -> UpperBound {
        self.row_norm_bound
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
            present: &self.present[rows],
        });
        Ok(())
    }
}

/// Shape only: rows and ids stay out of logs.
impl fmt::Debug for MemoryRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shape = f.debug_struct("MemoryRows");
        shape.field("n_rows", &self.n_rows()).field("dim", &self.dim).field("precision", &self.precision());
        shape.finish_non_exhaustive()
    }
}

impl Drop for MemoryRows {
    fn drop(&mut self) {
        self.features.zeroize();
        self.labels.zeroize();
        self.selectors.zeroize();
        self.salt.zeroize();
    }
}
