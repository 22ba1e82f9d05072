//! Rows as an audit needs them: copies in memory that subsets are taken of, and the model's own rows with some hidden.

use efface_core::rounding::UpperBound;
use efface_core::rows::{BLOCK_ROWS, RowBlock, RowBlocks, RowShape, RowStore, StoreError, WeightSum};
use efface_data::{FeatureValues, MemoryRows};
use zeroize::Zeroize;

/// Rows of norm at most 1 with their labels; the selector of a row is its position.
pub(crate) fn of_norm_one(dim: usize, rows: impl IntoIterator<Item = (Vec<f64>, f64)>) -> MemoryRows {
    let (rows, labels): (Vec<Vec<f64>>, Vec<f64>) = rows.into_iter().unzip();
    let (features, selectors) = (FeatureValues::F64(rows.concat()), (0..labels.len() as u64).collect());
    let rows = MemoryRows::new(dim, UpperBound::new(1.0 + 1e-6), features, labels, selectors, None);
    rows.expect("one label and `dim` values for each row")
}

/// Copies the rows of a store at these positions, which ascend, in double precision; positions without a row are left out.
pub(crate) fn read(store: &dyn RowBlocks, positions: &[usize]) -> Result<MemoryRows, StoreError> {
    let (mut features, mut labels, mut selectors, mut row_weights) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (dim, mut start, mut wanted) = (store.dim(), 0, positions.iter().peekable());
    for index in 0..store.n_blocks() {
        store.visit_block(index, &mut |block| {
            let end = start + block.labels.len();
            while let Some(position) = wanted.next_if(|position| **position < end) {
                let i = position - start;
                if block.present[i] {
                    features.extend(block.features.widened(i * dim..(i + 1) * dim));
                    labels.push(block.labels[i]);
                    selectors.push(block.selectors[i]);
                    row_weights.push(block.row_weights[i]);
                }
            }
            start = end;
        })?;
    }
    let features = FeatureValues::F64(features);
    MemoryRows::new(dim, store.row_norm_bound(), features, labels, selectors, Some(row_weights))
        .map_err(|error| StoreError(error.into()))
}

/// A store without the rows at some positions: what is left when they have been removed. Nothing is copied but the blocks
/// that hold them, while they are looked at.
#[derive(Clone)]
pub(crate) struct HiddenRows<'a> {
    store: &'a dyn RowBlocks,
    /// Ascending.
    hidden: Vec<usize>,
    n_rows: usize,
    weight_sum: WeightSum,
    block_rows: usize,
}

impl<'a> HiddenRows<'a> {
    /// Hides the rows at these positions, each of which must hold a row.
    pub(crate) fn new(store: &'a dyn RowBlocks, hidden: &[usize]) -> Result<Self, StoreError> {
        let mut hidden = hidden.to_vec();
        hidden.sort_unstable();
        hidden.dedup();
        let n_rows = store.n_rows().saturating_sub(hidden.len());
        // Every block but the last is as long as the first.
        let mut block_rows = BLOCK_ROWS;
        if store.n_blocks() > 0 {
            store.visit_block(0, &mut |block| block_rows = block.labels.len())?;
        }
        let weight_sum = store.weight_sum().without(read(store, &hidden)?.weight_sum());
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
            let (mut present, mut labels) = (block.present.to_vec(), block.labels.to_vec());
            let mut features = FeatureValues::from(block.features);
            for i in inside {
                present[i] = false;
                labels[i] = 0.0;
                features.zeroize_range(i * dim..(i + 1) * dim);
            }
            let shown = features.slice(0..features.len());
            visitor(&RowBlock { features: shown, labels: &labels, present: &present, ..*block });
            features.zeroize();
        })
    }
}

#[cfg(test)]
mod tests {
    use efface_testkit::store::{PlainRow, store_conformance};

    use super::*;

    #[test]
    fn hidden_rows_take_part_in_no_sum() {
        let row = |i: i32| (vec![f64::from(i % 7) / 10.0, f64::from(i % 5) / 10.0], f64::from(i % 2));
        let rows = of_norm_one(2, (0..600).map(row));
        let gone = [599, 0, 300, 255, 256];
        let hidden = HiddenRows::new(&rows, &gone).expect("readable");
        let left: Vec<usize> = (0..600).filter(|i| !gone.contains(i)).collect();
        let left = rows.batch(&left).expect("present");
        assert_eq!((hidden.n_rows(), left.n_rows()), (595, 595));
        store_conformance(&left, &PlainRow::of(&left));
        store_conformance(&hidden, &PlainRow::of(&left));
        assert_eq!(read(&hidden, &[0, 1, 2]).expect("readable").len(), 2);
    }
}
