//! What is kept of lent rows beside their features, and the rows that arrived later, which are owned.
//!
//! Rows have positions 0, 1, …, which never change: first those that are lent, then those that arrived. A removed row
//! takes no part in any sum, and what the table knows of it is overwritten.

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use efface_core::rows::{Features, RowCount, WeightSum};
use zeroize::Zeroize;

use super::checks::{RowCheck, check_labels, check_weights};
use super::divisors::Divisors;
use super::error::RowsError;
use crate::rows::EncodedRows;
use crate::rows::{FeatureValues, Precision, extend_zeroizing};
use crate::scale::RowTransform;

/// The rows that a model was trained on, lent for one call, and a flag that stops the call when it is set.
#[derive(Clone, Copy)]
pub struct LentRows<'a> {
    /// Values as they were at training, row-major, without the intercept's constant.
    pub features: Features<'a>,
    /// Set to stop: the call fails and the model is as before.
    pub cancel: &'a AtomicBool,
}

/// Rows that are lent for the first time.
pub struct RowsToLend<'a> {
    /// Their features.
    pub rows: LentRows<'a>,
    /// One per row: the index of a class, or a number.
    pub labels: &'a [f64],
    /// One per row: a salted hash of its id, by which rules choose rows.
    pub selectors: Vec<u64>,
    /// One per row: as how many rows it counts; `None`: each counts once.
    pub row_weights: Option<&'a [f64]>,
    /// What rows of this model are.
    pub shape: RowSpec,
}

/// What the rows of a model are, all of them.
#[derive(Clone, Copy, Debug)]
pub struct RowSpec {
    /// How rows are scaled.
    pub transform: RowTransform,
    /// Features of a row, without the intercept's constant.
    pub n_features: usize,
    /// Number of classes; 0 for regression.
    pub n_classes: usize,
    /// The most that a row may weigh; without, every row counts once.
    pub max_row_weight: Option<f64>,
}

impl RowSpec {
    /// Values per row of the model.
    pub fn dim(&self) -> usize {
        self.transform.model_dim(self.n_features)
    }
}

/// All that is known of the rows of a model beside the features that are lent.
pub struct LentTable {
    pub(super) transform: RowTransform,
    pub(super) n_features: usize,
    /// Rows that are lent.
    pub(super) n_lent: usize,
    /// Rows that arrived later, scaled, with the intercept's constant.
    pub(super) own: FeatureValues,
    pub(super) labels: Vec<f64>,
    pub(super) selectors: Vec<u64>,
    /// `None`: every row counts once.
    pub(super) row_weights: Option<Vec<f64>>,
    pub(super) present: Vec<bool>,
    /// Of the lent rows.
    pub(super) divisors: Divisors,
    /// CRC-32 of the lent features.
    pub(super) checksums: Vec<u32>,
    pub(super) n_present: usize,
    /// What the rows present weigh together.
    pub(super) weight_sum: WeightSum,
}

impl LentTable {
    /// Checks the rows to train on and takes note of them.
    pub fn new(request: RowsToLend<'_>) -> Result<Self, RowsError> {
        let RowsToLend { rows: LentRows { features, cancel }, labels, selectors, row_weights, shape } = request;
        let RowSpec { transform, n_features, n_classes, max_row_weight } = shape;
        check_labels(labels, n_classes)?;
        let row_weights = check_weights(row_weights, labels.len(), max_row_weight)?;
        let check = RowCheck { n_features, n_rows: labels.len(), transform: &transform, cancel };
        let (divisors, checksums) = match features {
            Features::F32(values) => check.run(values)?,
            Features::F64(values) => check.run(values)?,
        };
        let n_lent = labels.len();
        let mut table = Self {
            transform,
            n_features,
            n_lent,
            own: FeatureValues::empty(Precision::of(features)),
            labels: labels.to_vec(),
            selectors,
            row_weights,
            present: vec![true; n_lent],
            divisors: Divisors::new(divisors),
            checksums,
            n_present: n_lent,
            weight_sum: WeightSum::ZERO,
        };
        table.weight_sum = table.weight_of(0..n_lent);
        Ok(table)
    }

    /// Number of positions, those of removed rows included.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there never was a row.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Rows present, and what they weigh.
    pub fn count(&self) -> RowCount {
        RowCount { n_rows: self.n_present, weight_sum: self.weight_sum }
    }

    /// The precision in which rows are kept: that in which they are lent.
    pub fn precision(&self) -> Precision {
        self.own.precision()
    }

    /// Whether the row at a position is there and has not been removed.
    pub fn is_present(&self, position: usize) -> bool {
        self.present.get(position).copied().unwrap_or(false)
    }

    /// Values per row of the model.
    pub fn dim(&self) -> usize {
        self.transform.model_dim(self.n_features)
    }

    /// As how many rows the row at a position counts.
    pub(super) fn row_weight(&self, position: usize) -> f64 {
        self.row_weights.as_ref().map_or(1.0, |weights| weights[position])
    }

    pub(super) fn weight_of(&self, positions: impl IntoIterator<Item = usize>) -> WeightSum {
        positions.into_iter().map(|position| WeightSum::of_row(self.row_weight(position))).sum()
    }

    /// Appends rows and returns their positions.
    pub(super) fn append(&mut self, rows: &EncodedRows, selectors: &[u64]) -> Range<usize> {
        let arrived = self.len()..self.len() + rows.n_rows();
        self.own.extend_from(&rows.features, 0..rows.features.len());
        extend_zeroizing(&mut self.labels, &rows.labels);
        extend_zeroizing(&mut self.selectors, selectors);
        match (&mut self.row_weights, rows.row_weights()) {
            (None, None) => {}
            (Some(weights), Some(new)) => extend_zeroizing(weights, new),
            (Some(weights), None) => weights.resize(arrived.end, 1.0),
            (None, Some(new)) => {
                if new.iter().any(|weight| *weight != 1.0) {
                    let mut weights = vec![1.0; arrived.start];
                    extend_zeroizing(&mut weights, new);
                    self.row_weights = Some(weights);
                }
            }
        }
        self.present.resize(arrived.end, true);
        self.n_present += arrived.len();
        self.weight_sum += self.weight_of(arrived.clone());
        arrived
    }

    /// Takes back rows that were appended last.
    pub(super) fn truncate(&mut self, len: usize) {
        self.set_present(&(len..self.len()).filter(|position| self.present[*position]).collect::<Vec<_>>(), false);
        self.purge(&(len..self.len()).collect::<Vec<_>>());
        self.own.resize((len - self.n_lent) * self.dim());
        self.labels.truncate(len);
        self.selectors.truncate(len);
        if let Some(weights) = &mut self.row_weights {
            weights.truncate(len);
        }
        self.present.truncate(len);
    }

    /// Takes rows out of the sums, or puts them in again. They are not overwritten yet.
    pub(super) fn set_present(&mut self, positions: &[usize], present: bool) {
        for position in positions {
            self.present[*position] = present;
        }
        let weight = self.weight_of(positions.iter().copied());
        if present {
            self.n_present += positions.len();
            self.weight_sum += weight;
        } else {
            self.n_present -= positions.len();
            self.weight_sum = self.weight_sum.without(weight);
        }
    }

    /// Overwrites what is known of rows that left.
    pub(super) fn purge(&mut self, positions: &[usize]) {
        let dim = self.dim();
        for &position in positions {
            self.labels[position].zeroize();
            self.selectors[position].zeroize();
            if let Some(weights) = &mut self.row_weights {
                weights[position].zeroize();
            }
            if let Some(place) = position.checked_sub(self.n_lent) {
                self.own.zeroize_range(place * dim..(place + 1) * dim);
            } else {
                self.divisors.forget(position);
                self.checksums[position].zeroize();
            }
        }
    }
}

impl Drop for LentTable {
    fn drop(&mut self) {
        self.own.zeroize();
        self.labels.zeroize();
        self.selectors.zeroize();
        self.row_weights.zeroize();
        self.checksums.zeroize();
    }
}

/// How many there are.
pub(super) fn len_of(features: Features<'_>) -> usize {
    match features {
        Features::F32(values) => values.len(),
        Features::F64(values) => values.len(),
    }
}
