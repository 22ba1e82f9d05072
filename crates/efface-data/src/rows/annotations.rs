//! What is noted of each row beside its features: label, selector, weight, and whether it is present.

use std::collections::HashSet;
use std::ops::Range;

use efface_core::rows::{Features, RowBlock, RowCount, UNIT_WEIGHTS, WeightSum};
use zeroize::Zeroize;

use crate::error::LookupError;
use crate::rows::extend_zeroizing;

/// One entry per position. Overwritten with zeros when dropped.
pub(crate) struct Annotations {
    pub(crate) labels: Vec<f64>,
    pub(crate) selectors: Vec<u64>,
    /// `None`: every row counts once.
    pub(crate) row_weights: Option<Vec<f64>>,
    pub(crate) present: Vec<bool>,
    /// Rows present, and what they weigh.
    pub(crate) count: RowCount,
}

impl Annotations {
    /// Rows that are all present; every part has one entry for each.
    pub(crate) fn new(labels: Vec<f64>, selectors: Vec<u64>, row_weights: Option<Vec<f64>>) -> Self {
        let n_rows = labels.len();
        let count = RowCount { n_rows, weight_sum: WeightSum::ZERO };
        let mut rows = Self { labels, selectors, row_weights, present: vec![true; n_rows], count };
        rows.weigh();
        rows
    }

    /// Adds up the weights, once they are known. All rows are present.
    pub(crate) fn weigh(&mut self) {
        self.count.weight_sum = self.weight_of(0..self.len());
    }

    pub(crate) fn len(&self) -> usize {
        self.labels.len()
    }

    pub(crate) fn is_present(&self, position: usize) -> bool {
        self.present.get(position).copied().unwrap_or(false)
    }

    /// As how many rows the row at a position counts.
    pub(crate) fn row_weight(&self, position: usize) -> f64 {
        self.row_weights.as_ref().map_or(1.0, |weights| weights[position])
    }

    fn weight_of(&self, positions: impl IntoIterator<Item = usize>) -> WeightSum {
        positions.into_iter().map(|position| WeightSum::of_row(self.row_weight(position))).sum()
    }

    pub(crate) fn check_present(&self, positions: &[usize]) -> Result<(), LookupError> {
        check_present(positions, self.len(), |position| self.is_present(position))
    }

    /// A copy for the rows at these positions, which are present.
    pub(crate) fn pick(&self, positions: &[usize]) -> Self {
        let labels = positions.iter().map(|position| self.labels[*position]).collect();
        let selectors = positions.iter().map(|position| self.selectors[*position]).collect();
        let weights_of = |weights: &Vec<f64>| positions.iter().map(|position| weights[*position]).collect();
        Self::new(labels, selectors, self.row_weights.as_ref().map(weights_of))
    }

    /// Some consecutive rows, as sums take them.
    pub(crate) fn block<'a>(&'a self, rows: Range<usize>, features: Features<'a>) -> RowBlock<'a> {
        RowBlock {
            features,
            labels: &self.labels[rows.clone()],
            selectors: &self.selectors[rows.clone()],
            row_weights: match &self.row_weights {
                None => &UNIT_WEIGHTS[..rows.len()],
                Some(weights) => &weights[rows.clone()],
            },
            present: &self.present[rows],
        }
    }

    /// Takes rows out of the sums, or puts them in again. They are not overwritten.
    pub(crate) fn set_present(&mut self, positions: &[usize], present: bool) {
        for position in positions {
            self.present[*position] = present;
        }
        let weight = self.weight_of(positions.iter().copied());
        if present {
            self.count.n_rows += positions.len();
            self.count.weight_sum += weight;
        } else {
            self.count.n_rows -= positions.len();
            self.count.weight_sum = self.count.weight_sum.without(weight);
        }
    }

    /// Overwrites what is known of a row that left.
    pub(crate) fn forget(&mut self, position: usize) {
        self.labels[position].zeroize();
        self.selectors[position].zeroize();
        if let Some(weights) = &mut self.row_weights {
            weights[position].zeroize();
        }
    }

    /// Appends rows that are present and returns their positions.
    pub(crate) fn append(&mut self, labels: &[f64], selectors: &[u64], row_weights: Option<&[f64]>) -> Range<usize> {
        let arrived = self.len()..self.len() + labels.len();
        extend_zeroizing(&mut self.labels, labels);
        extend_zeroizing(&mut self.selectors, selectors);
        let row_weights = row_weights.filter(|weights| weights.iter().any(|weight| *weight != 1.0));
        if row_weights.is_some() && self.row_weights.is_none() {
            self.row_weights = Some(vec![1.0; arrived.start]);
        }
        if let Some(weights) = &mut self.row_weights {
            extend_zeroizing(weights, row_weights.unwrap_or(&vec![1.0; arrived.len()]));
        }
        self.present.resize(arrived.end, false);
        self.set_present(&arrived.clone().collect::<Vec<_>>(), true);
        arrived
    }

    /// Takes back rows that were appended last and have been overwritten.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.labels.truncate(len);
        self.selectors.truncate(len);
        self.row_weights.iter_mut().for_each(|weights| weights.truncate(len));
        self.present.truncate(len);
    }
}

impl Drop for Annotations {
    fn drop(&mut self) {
        self.labels.zeroize();
        self.selectors.zeroize();
        self.row_weights.zeroize();
    }
}

/// Whether a row is present at each of these of `len` positions, none of them given twice.
pub(crate) fn check_present(
    positions: &[usize],
    len: usize,
    is_present: impl Fn(usize) -> bool,
) -> Result<(), LookupError> {
    let mut seen = HashSet::with_capacity(positions.len());
    match positions.iter().find(|position| !is_present(**position) || !seen.insert(**position)) {
        Some(position) => Err(LookupError::NotPresent { position: *position, len }),
        None => Ok(()),
    }
}
