//! Rows as an audit needs them: copies in memory that subsets are taken of, and the model's own rows with some hidden.

use efface_core::rounding::UpperBound;
use efface_core::rows::{BLOCK_ROWS, Features, RowBlock, RowBlocks, RowShape, RowStore, StoreError, WeightSum};
use zeroize::Zeroize;

/// Rows in memory, in double precision, all present. Overwritten with zeros when dropped.
#[derive(Clone)]
pub struct DenseRows {
    dim: usize,
    row_norm_bound: UpperBound,
    features: Vec<f64>,
    labels: Vec<f64>,
    selectors: Vec<u64>,
    present: Vec<bool>,
    row_weights: Vec<f64>,
}

impl DenseRows {
    /// No rows yet, of `dim` values each and with this bound on their norm.
    pub fn new(dim: usize, row_norm_bound: UpperBound) -> Self {
        let (features, labels, selectors, present, row_weights) = Default::default();
        Self { dim, row_norm_bound, features, labels, selectors, present, row_weights }
    }

    /// Adds a row; its selector is its position.
    pub fn push(&mut self, row: &[f64], label: f64) {
        let selector = self.labels.len() as u64;
        self.push_with(row.iter().copied(), label, selector, 1.0);
    }

    fn push_with(&mut self, row: impl Iterator<Item = f64>, label: f64, selector: u64, row_weight: f64) {
        self.features.extend(row.take(self.dim));
        self.features.resize((self.labels.len() + 1) * self.dim, 0.0);
        self.labels.push(label);
        self.selectors.push(selector);
        self.present.push(true);
        self.row_weights.push(row_weight);
    }

    /// Copies the rows of a store at these positions, which ascend; positions without a row are left out.
    pub fn read(store: &dyn RowBlocks, positions: &[usize]) -> Result<Self, StoreError> {
        let mut rows = Self::new(store.dim(), store.row_norm_bound());
        let (mut start, mut next) = (0, 0);
        for index in 0..store.n_blocks() {
            store.visit_block(index, &mut |block| {
                let n = block.labels.len();
                while let Some(position) = positions.get(next).filter(|position| **position < start + n) {
                    let i = position - start;
                    next += 1;
                    if block.present[i] {
                        let values = i * rows.dim..(i + 1) * rows.dim;
                        let (label, selector, weight) = (block.labels[i], block.selectors[i], block.row_weights[i]);
                        match block.features {
                            Features::F32(all) => {
                                rows.push_with(all[values].iter().map(|x| f64::from(*x)), label, selector, weight);
                            }
                            Features::F64(all) => rows.push_with(all[values].iter().copied(), label, selector, weight),
                        }
                    }
                }
                start += n;
            })?;
        }
        Ok(rows)
    }

    /// The rows at these positions, in this order.
    #[must_use]
    pub fn subset(&self, positions: impl IntoIterator<Item = usize>) -> Self {
        let mut rows = Self::new(self.dim, self.row_norm_bound);
        for i in positions {
            let (label, selector, weight) = (self.labels[i], self.selectors[i], self.row_weights[i]);
            rows.push_with(self.row(i).iter().copied(), label, selector, weight);
        }
        rows
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The features of row `i`.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.features[i * self.dim..(i + 1) * self.dim]
    }

    /// The label of row `i`: the index of a class, or a number.
    pub fn label(&self, i: usize) -> f64 {
        self.labels[i]
    }
}

impl RowBlocks for DenseRows {
    fn row_shape(&self) -> RowShape {
        RowShape {
            dim: self.dim,
            n_rows: self.len(),
            weight_sum: self.row_weights.iter().map(|weight| WeightSum::of_row(*weight)).sum(),
            row_norm_bound: self.row_norm_bound,
        }
    }

    fn n_blocks(&self) -> usize {
        self.len().div_ceil(BLOCK_ROWS)
    }

    fn visit_block(&self, index: usize, visitor: &mut dyn FnMut(&RowBlock<'_>)) -> Result<(), StoreError> {
        let rows = index * BLOCK_ROWS..self.len().min((index + 1) * BLOCK_ROWS);
        visitor(&RowBlock {
            features: Features::F64(&self.features[rows.start * self.dim..rows.end * self.dim]),
            labels: &self.labels[rows.clone()],
            selectors: &self.selectors[rows.clone()],
            row_weights: &self.row_weights[rows.clone()],
            present: &self.present[rows],
        });
        Ok(())
    }
}

/// Shape only: rows stay out of logs.
impl std::fmt::Debug for DenseRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DenseRows").field("n_rows", &self.len()).field("dim", &self.dim).finish_non_exhaustive()
    }
}

impl Drop for DenseRows {
    fn drop(&mut self) {
        self.features.zeroize();
        self.labels.zeroize();
        self.row_weights.zeroize();
    }
}

/// A store without the rows at some positions: what is left when they have been removed. Nothing is copied but the blocks
/// that hold them, while they are looked at.
#[derive(Clone)]
pub struct HiddenRows<'a> {
    store: &'a dyn RowBlocks,
    /// Ascending.
    hidden: Vec<usize>,
    n_rows: usize,
    weight_sum: WeightSum,
    block_rows: usize,
}

impl<'a> HiddenRows<'a> {
    /// Hides the rows at these positions, each of which must hold a row.
    pub fn new(store: &'a dyn RowBlocks, hidden: &[usize]) -> Result<Self, StoreError> {
        let mut hidden = hidden.to_vec();
        hidden.sort_unstable();
        hidden.dedup();
        let n_rows = store.n_rows().saturating_sub(hidden.len());
        // Every block but the last is as long as the first.
        let mut block_rows = BLOCK_ROWS;
        if store.n_blocks() > 0 {
            store.visit_block(0, &mut |block| block_rows = block.labels.len())?;
        }
        let weight_sum = store.weight_sum().without(DenseRows::read(store, &hidden)?.weight_sum());
        Ok(Self { store, hidden, n_rows, weight_sum, block_rows })
    }
}

impl RowBlocks for HiddenRows<'_> {
    fn row_shape(&self) -> RowShape {
        RowShape {
            dim: self.store.dim(),
            n_rows: self.n_rows,
            weight_sum: self.weight_sum,
            row_norm_bound: self.store.row_norm_bound(),
        }
    }

    fn n_blocks(&self) -> usize {
        self.store.n_blocks()
    }

    fn visit_block(&self, index: usize, visitor: &mut dyn FnMut(&RowBlock<'_>)) -> Result<(), StoreError> {
        let start = index * self.block_rows;
        let dim = self.dim();
        self.store.visit_block(index, &mut |block| {
            let end = start + block.labels.len();
            let first = self.hidden.partition_point(|position| *position < start);
            let inside: Vec<usize> =
                self.hidden[first..].iter().take_while(|position| **position < end).map(|p| p - start).collect();
            if inside.is_empty() {
                visitor(block);
                return;
            }
            let mut present = block.present.to_vec();
            let mut labels = block.labels.to_vec();
            for i in &inside {
                present[*i] = false;
                labels[*i] = 0.0;
            }
            let mut hide = |features: Features<'_>| {
                visitor(&RowBlock { features, labels: &labels, present: &present, ..*block });
            };
            match block.features {
                Features::F32(values) => {
                    let mut values = values.to_vec();
                    for i in &inside {
                        values[i * dim..(i + 1) * dim].fill(0.0);
                    }
                    hide(Features::F32(&values));
                    values.zeroize();
                }
                Features::F64(values) => {
                    let mut values = values.to_vec();
                    for i in &inside {
                        values[i * dim..(i + 1) * dim].fill(0.0);
                    }
                    hide(Features::F64(&values));
                    values.zeroize();
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use efface_testkit::store::{PlainRow, store_conformance};

    use super::*;

    #[test]
    fn hidden_rows_take_part_in_no_sum() {
        let mut rows = DenseRows::new(2, UpperBound::new(1.0));
        for i in 0..600 {
            rows.push(&[f64::from(i % 7) / 10.0, f64::from(i % 5) / 10.0], f64::from(i % 2));
        }
        let gone = [599, 0, 300, 255, 256];
        let hidden = HiddenRows::new(&rows, &gone).expect("readable");
        let left = rows.subset((0..600).filter(|i| !gone.contains(i)));
        assert_eq!((hidden.n_rows(), left.n_rows()), (595, 595));
        store_conformance(&left, &PlainRow::of(&left));
        store_conformance(&hidden, &PlainRow::of(&left));
        assert_eq!(DenseRows::read(&hidden, &[0, 1, 2]).expect("readable").len(), 2);
    }
}
