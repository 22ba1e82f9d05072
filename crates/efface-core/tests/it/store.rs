//! Rows for tests: a store in memory with a block layout of choice. No tests here.

use std::ops::Range;
use std::sync::OnceLock;

use efface_core::ridge::Ridge;
use efface_core::rounding::UpperBound;
use efface_core::rows::{Features, RowBlock, RowBlocks, RowShape, StoreError, WeightSum, round_row_weight};
use efface_testkit::dense::norm;
use efface_testkit::{Reference, ReferenceLoss};

/// Precision that features are stored in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precision {
    Single,
    Double,
}

/// Sizes of blocks, repeated until the rows are used up. A zero makes an empty block.
pub(crate) type Layout = &'static [usize];

pub(crate) const FULL_BLOCKS: Layout = &[256];

/// Layouts that sums must not depend on, beyond rounding.
pub(crate) const LAYOUTS: [Layout; 5] = [FULL_BLOCKS, &[1], &[7], &[0, 13, 1, 0, 40], &[100, 3]];

#[derive(Clone, Debug)]
enum Values {
    Single(Vec<f32>),
    Double(Vec<f64>),
}

#[derive(Clone, Debug)]
pub(crate) struct TestStore {
    dim: usize,
    row_norm_bound: f64,
    layout: Layout,
    values: Values,
    labels: Vec<f64>,
    selectors: Vec<u64>,
    present: Vec<bool>,
    row_weights: Vec<f64>,
    /// Built when first asked for.
    blocks: OnceLock<Vec<Range<usize>>>,
}

impl TestStore {
    pub(crate) fn empty(dim: usize, row_norm_bound: f64, precision: Precision) -> Self {
        let values = match precision {
            Precision::Single => Values::Single(Vec::new()),
            Precision::Double => Values::Double(Vec::new()),
        };
        let (labels, selectors, present, row_weights, blocks) = Default::default();
        Self { dim, row_norm_bound, layout: FULL_BLOCKS, values, labels, selectors, present, row_weights, blocks }
    }

    /// Rows of double precision and norm at most one.
    pub(crate) fn of(rows: &[Vec<f64>], labels: &[f64]) -> Self {
        let mut store = Self::empty(rows[0].len(), 1.0, Precision::Double);
        rows.iter().zip(labels).for_each(|(row, label)| store.push(row, *label));
        store
    }

    pub(crate) fn with_layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self.blocks = OnceLock::new();
        self
    }

    /// Appends a row, rounded to the precision of the store. The declared norm must hold for what is stored.
    pub(crate) fn push(&mut self, row: &[f64], label: f64) {
        assert_eq!(row.len(), self.dim);
        self.blocks = OnceLock::new();
        match &mut self.values {
            Values::Single(values) => values.extend(row.iter().map(|x| *x as f32)),
            Values::Double(values) => values.extend(row),
        }
        self.selectors.push((self.labels.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        self.labels.push(label);
        self.present.push(true);
        self.row_weights.push(1.0);
        let length = norm(&self.row(self.labels.len() - 1)).to_f64();
        assert!(length <= self.row_norm_bound, "a row of norm {length} beyond the declared {}", self.row_norm_bound);
    }

    /// Gives a row a weight.
    pub(crate) fn weigh(&mut self, index: usize, row_weight: f64) {
        self.row_weights[index] = round_row_weight(row_weight).expect("a weight that rows can have");
    }

    /// Marks a row as gone, as a store does: its features become zero and its place stays.
    pub(crate) fn remove(&mut self, index: usize) {
        assert!(self.present[index], "row {index} was removed before");
        self.present[index] = false;
        let place = index * self.dim..(index + 1) * self.dim;
        match &mut self.values {
            Values::Single(values) => values[place].fill(0.0),
            Values::Double(values) => values[place].fill(0.0),
        }
    }

    /// A store of its own with copies of some rows, ids included.
    pub(crate) fn batch(&self, indices: &[usize]) -> Self {
        let precision = match self.values {
            Values::Single(_) => Precision::Single,
            Values::Double(_) => Precision::Double,
        };
        let mut batch = Self::empty(self.dim, self.row_norm_bound, precision).with_layout(self.layout);
        for index in indices {
            batch.push(&self.row(*index), self.labels[*index]);
            *batch.selectors.last_mut().expect("just pushed") = self.selectors[*index];
            batch.weigh(batch.n_places() - 1, self.row_weights[*index]);
        }
        batch
    }

    /// Features of a row, widened.
    pub(crate) fn row(&self, index: usize) -> Vec<f64> {
        let place = index * self.dim..(index + 1) * self.dim;
        match &self.values {
            Values::Single(values) => values[place].iter().map(|x| f64::from(*x)).collect(),
            Values::Double(values) => values[place].to_vec(),
        }
    }

    /// Number of places, those of removed rows included.
    pub(crate) fn n_places(&self) -> usize {
        self.labels.len()
    }

    pub(crate) fn label(&self, index: usize) -> f64 {
        self.labels[index]
    }

    pub(crate) fn row_weight(&self, index: usize) -> f64 {
        self.row_weights[index]
    }

    pub(crate) fn selector(&self, index: usize) -> u64 {
        self.selectors[index]
    }

    /// Indices of the rows present.
    pub(crate) fn present(&self) -> Vec<usize> {
        (0..self.labels.len()).filter(|index| self.present[*index]).collect()
    }

    /// Features of the rows present.
    pub(crate) fn rows_present(&self) -> Vec<Vec<f64>> {
        self.present().into_iter().map(|index| self.row(index)).collect()
    }

    /// The independent view of the rows present: class `positive` against the others, or the labels themselves.
    pub(crate) fn reference(&self, loss: ReferenceLoss, ridge: Ridge, positive: Option<u32>) -> Reference {
        let (l2_per_row, total_ridge) = match ridge {
            Ridge::PerRow(lambda) => (lambda, 0.0),
            Ridge::Total(alpha) => (0.0, alpha),
        };
        let target = |label: f64| match positive {
            None => label,
            Some(class) if label == f64::from(class) => 1.0,
            Some(_) => -1.0,
        };
        Reference {
            loss,
            rows: self.rows_present(),
            targets: self.present().into_iter().map(|index| target(self.labels[index])).collect(),
            l2_per_row,
            total_ridge,
            perturbation: Vec::new(),
            row_weights: self.present().into_iter().map(|index| self.row_weights[index]).collect(),
        }
    }

    fn blocks(&self) -> &[Range<usize>] {
        self.blocks.get_or_init(|| {
            let (mut blocks, mut start) = (Vec::new(), 0);
            for size in self.layout.iter().cycle() {
                if start >= self.labels.len() {
                    break;
                }
                let end = (start + size).min(self.labels.len());
                blocks.push(start..end);
                start = end;
            }
            blocks
        })
    }
}

impl RowBlocks for TestStore {
    fn row_shape(&self) -> RowShape {
        RowShape {
            dim: self.dim,
            n_rows: self.present.iter().filter(|present| **present).count(),
            weight_sum: self.present().into_iter().map(|index| WeightSum::of_row(self.row_weights[index])).sum(),
            row_norm_bound: UpperBound::new(self.row_norm_bound),
        }
    }

    fn n_blocks(&self) -> usize {
        self.blocks().len()
    }

    fn visit_block(&self, index: usize, visitor: &mut dyn FnMut(&RowBlock<'_>)) -> Result<(), StoreError> {
        let rows = self.blocks()[index].clone();
        let place = rows.start * self.dim..rows.end * self.dim;
        let features = match &self.values {
            Values::Single(values) => Features::F32(&values[place]),
            Values::Double(values) => Features::F64(&values[place]),
        };
        visitor(&RowBlock {
            features,
            labels: &self.labels[rows.clone()],
            selectors: &self.selectors[rows.clone()],
            row_weights: &self.row_weights[rows.clone()],
            present: &self.present[rows],
        });
        Ok(())
    }
}
