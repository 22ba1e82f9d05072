//! What is kept of lent rows beside their features, and the rows that arrived later, which are owned.
//!
//! Rows have positions 0, 1, …, which never change: first those that are lent, then those that arrived. A removed row
//! takes no part in any sum, and what the table knows of it is overwritten.

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use efface_core::rounding::UpperBound;
use efface_core::rows::{Features, RowCount};
use zeroize::Zeroize;

use super::checks::{check_labels, check_rows, check_weights, go_on};
use super::error::RowsError;
use crate::derived::{MAX_TEXTS, Preparation, RawRows, Texts};
use crate::rows::{Annotations, EncodedRows, FeatureValues, Precision, each};
use crate::scale::{RowDivisor, RowTransform};

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
    /// One per row: a keyed hash of its id, by which rules choose rows.
    pub selectors: Vec<u64>,
    /// One per row: as how many rows it counts; `None`: each counts once.
    pub row_weights: Option<&'a [f64]>,
    /// The texts behind hashes in raw rows; empty where they are numbers.
    pub texts: &'a Texts,
    /// How raw rows are prepared, as long as none is counted; `None`: rows are taken as sums take them.
    pub preparation: Option<Preparation>,
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
    /// Values per row as it is kept.
    pub(super) fn kept_dim(&self) -> usize {
        self.transform.kept().model_dim(self.n_features)
    }
}

/// All that is known of the rows of a model beside the features that are lent.
pub struct LentTable {
    pub(super) spec: RowSpec,
    pub(super) n_lent: usize,
    /// Rows that arrived later: scaled, with the intercept's constant; raw where constants are derived.
    pub(super) own: FeatureValues,
    pub(super) noted: Annotations,
    /// How raw rows become rows of the model, where constants are derived; and the targets of a regression then.
    pub(super) preparation: Option<Preparation>,
    pub(super) targets: Vec<f64>,
    /// What each lent row is divided by. Empty where none is divided: a row of few features is not much larger than its
    /// divisor.
    divisors: Vec<RowDivisor>,
    /// CRC-32 of the lent features.
    pub(super) checksums: Vec<u32>,
}

impl LentTable {
    /// Checks the rows to train on and takes note of them.
    pub fn new(request: RowsToLend<'_>) -> Result<Self, RowsError> {
        let RowsToLend { rows, labels, selectors, row_weights, texts, preparation, shape: spec } = request;
        let LentRows { features, cancel } = rows;
        check_labels(labels, spec.n_classes)?;
        let row_weights = check_weights(row_weights, labels.len(), spec.max_row_weight)?;
        let n_lent = labels.len();
        let (mut divisors, checksums) = each!(Features, features, values => check_rows(values, n_lent, &spec, cancel)?);
        if divisors.iter().all(|divisor| divisor.is_one()) {
            divisors = Vec::new();
        }
        let own = FeatureValues::zeros(Precision::of(features), 0);
        let noted = Annotations::new(labels.to_vec(), selectors, row_weights);
        let preparation = preparation.map(|none| counted(&none, rows, &noted, texts, &spec)).transpose()?;
        let targets = Vec::new();
        let mut table = Self { spec, n_lent, own, noted, preparation, targets, divisors, checksums };
        table.encode_targets();
        Ok(table)
    }

    /// Number of positions, those of removed rows included.
    pub fn n_positions(&self) -> usize {
        self.noted.len()
    }

    /// Rows present, and what they weigh.
    pub fn count(&self) -> RowCount {
        self.noted.count
    }

    /// The precision in which rows are kept: that in which they are lent.
    pub fn precision(&self) -> Precision {
        self.own.precision()
    }

    /// Whether the row at a position is there and has not been removed.
    pub fn is_present(&self, position: usize) -> bool {
        self.noted.is_present(position)
    }

    /// Values per row of the model.
    pub fn dim(&self) -> usize {
        self.preparation.as_ref().map_or(self.spec.kept_dim(), |preparation| preparation.encoder().dim())
    }

    /// No row of the model has a larger norm.
    pub(super) fn row_norm_bound(&self) -> UpperBound {
        let preparation = self.preparation.as_ref();
        preparation.map_or_else(|| self.spec.transform.row_norm_bound(), |p| p.encoder().row_norm_bound())
    }

    /// Prepares rows in this way from now on.
    pub(super) fn prepare(&mut self, preparation: Option<Preparation>) {
        self.preparation = preparation;
        self.encode_targets();
    }

    pub(super) fn encode_targets(&mut self) {
        self.targets.zeroize();
        if let Some(preparation) = self.preparation.as_ref().filter(|_| self.spec.n_classes == 0) {
            self.targets.extend(self.noted.labels.iter().map(|label| preparation.encoder().encode_target(*label)));
        }
    }

    pub(super) fn divisor(&self, position: usize) -> RowDivisor {
        self.divisors.get(position).copied().unwrap_or_default()
    }

    /// Whether the rows of a block can be handed out as they were lent.
    pub(super) fn is_as_lent(&self, rows: Range<usize>) -> bool {
        !self.spec.transform.intercept
            && self.preparation.is_none()
            && rows.end <= self.n_lent
            && rows.into_iter().all(|row| self.noted.present[row] && self.divisor(row).is_one())
    }

    pub(super) fn append(&mut self, rows: &EncodedRows, selectors: &[u64]) -> Range<usize> {
        self.own.extend_from(&rows.features, 0..rows.features.len());
        if let Some(preparation) = &mut self.preparation {
            preparation.counts_mut().add(rows.raw(), &rows.texts);
        }
        let arrived = self.noted.append(&rows.labels, selectors, rows.row_weights());
        self.encode_targets();
        arrived
    }

    /// Takes back rows that were appended last.
    pub(super) fn truncate(&mut self, len: usize) {
        let leaving: Vec<usize> = (len..self.n_positions()).collect();
        let present: Vec<usize> = leaving.iter().copied().filter(|position| self.is_present(*position)).collect();
        self.noted.set_present(&present, false);
        self.purge(&leaving);
        self.own.resize((len - self.n_lent) * self.spec.kept_dim());
        self.noted.truncate(len);
        self.encode_targets();
    }

    /// Overwrites what is known of rows that left.
    pub(super) fn purge(&mut self, positions: &[usize]) {
        let dim = self.spec.kept_dim();
        if let Some(preparation) = &mut self.preparation {
            preparation.counts_mut().tidy();
        }
        for &position in positions {
            self.noted.forget(position);
            self.targets.get_mut(position).iter_mut().for_each(|target| target.zeroize());
            if let Some(place) = position.checked_sub(self.n_lent) {
                self.own.zeroize_range(place * dim..(place + 1) * dim);
            } else {
                self.divisors.get_mut(position).iter_mut().for_each(|divisor| divisor.zeroize());
                self.checksums[position].zeroize();
            }
        }
    }
}

/// Counts the cells of all rows, in parts: between two of them work can be stopped.
fn counted(
    preparation: &Preparation,
    LentRows { features, cancel }: LentRows<'_>,
    noted: &Annotations,
    texts: &Texts,
    spec: &RowSpec,
) -> Result<Preparation, RowsError> {
    let mut counts = preparation.counts().emptied();
    let n_rows = noted.len();
    let at_once = (VALUES_AT_ONCE / spec.n_features.max(1)).max(1);
    for start in (0..n_rows).step_by(at_once) {
        go_on(cancel)?;
        let rows = start..n_rows.min(start + at_once);
        let values = rows.start * spec.n_features..rows.end * spec.n_features;
        let features = match features {
            Features::F32(lent) => Features::F32(&lent[values]),
            Features::F64(lent) => Features::F64(&lent[values]),
        };
        let row_weights = noted.row_weights.as_ref().map(|weights| &weights[rows.clone()]);
        let rows = RawRows { features, labels: &noted.labels[rows], row_weights };
        // No column has more texts than there are.
        if let Some(column) = (texts.len() > MAX_TEXTS).then(|| counts.overflowing(rows)).flatten() {
            return Err(RowsError::TooManyTexts { column, limit: MAX_TEXTS });
        }
        counts.add(rows, texts);
    }
    Ok(Preparation::new(counts, spec.transform.intercept))
}

const VALUES_AT_ONCE: usize = 1 << 20;

impl Drop for LentTable {
    fn drop(&mut self) {
        self.own.zeroize();
        self.targets.zeroize();
        self.divisors.zeroize();
        self.checksums.zeroize();
    }
}

pub(super) fn len_of(features: Features<'_>) -> usize {
    each!(Features, features, values => values.len())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::scale::Scale;

    #[test]
    fn divisors_are_kept_only_where_rows_are_divided() {
        let table = |values: &[f64]| {
            let transform = RowTransform { scale: Scale::Unit, intercept: false };
            let shape = RowSpec { transform, n_features: 1, n_classes: 0, max_row_weight: None };
            let rows = LentRows { features: Features::F64(values), cancel: &AtomicBool::new(false) };
            let selectors = vec![0; values.len()];
            let (labels, texts) = (vec![0.0; values.len()], Texts::new());
            let (row_weights, preparation) = (None, None);
            let lent = RowsToLend { rows, labels: &labels, selectors, row_weights, texts: &texts, preparation, shape };
            LentTable::new(lent).expect("valid")
        };
        assert!(table(&[1.0, 0.0, 1.0]).divisors.is_empty());
        let mut table = table(&[1.0, 2.0, 1.0]);
        assert!(!table.divisor(1).is_one() && table.divisor(2).is_one());
        assert!(table.is_as_lent(2..3) && !table.is_as_lent(0..2));
        table.purge(&[1]);
        assert!(table.is_as_lent(0..3));
    }
}
