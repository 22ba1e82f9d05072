//! Rows of a model in memory. What was trained on stays with its owner and is lent to every call; rows that come later
//! are owned. Beside the features a table keeps what the sums need, and a checksum per row that notices a change.
//!
//! Rows have positions 0, 1, …, which never change. A removed row takes no part in any sum, and what the table knows of
//! it is overwritten.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::AtomicBool;

use efface_core::rows::{Features, WeightSum};
use efface_data::{FeatureValues, Precision, RowDivisor, RowTransform};
use rayon::prelude::*;
use zeroize::Zeroize;

use super::checks::{RowCheck, check_labels, checksum, converted, go_on};
use super::divisors::Divisors;
use super::error::RowsError;
use super::view::{Batch, RowsView};
use crate::error::EngineError;

/// The rows that a model was trained on, lent for one call, and a flag that stops the call when it is set.
#[derive(Clone, Copy)]
pub struct LentRows<'a> {
    /// Values as they were at training, row-major, without the intercept's constant.
    pub features: Features<'a>,
    /// Set to stop: the call fails and the model is as before.
    pub cancel: &'a AtomicBool,
}

/// All that is known of rows beside the features that are lent.
pub(super) struct RowTable {
    pub(super) transform: RowTransform,
    pub(super) n_features: usize,
    /// Rows that are lent.
    pub(super) n_lent: usize,
    /// Features of rows that came later, as they were given.
    pub(super) own: FeatureValues,
    /// Where in `own` the row of a position is: of rows added later, and of corrected ones.
    pub(super) places: HashMap<usize, usize>,
    pub(super) labels: Vec<f64>,
    pub(super) selectors: Vec<u64>,
    /// `None`: every row counts once.
    pub(super) row_weights: Option<Vec<f64>>,
    pub(super) present: Vec<bool>,
    pub(super) divisors: Divisors,
    /// CRC-32 of the lent features.
    pub(super) checksums: Vec<u32>,
    pub(super) n_present: usize,
    /// What the rows present weigh together.
    pub(super) weight_sum: WeightSum,
    /// Rows present of each class.
    pub(super) class_counts: Vec<usize>,
}

/// Rows that come, as they were given, checked.
pub(super) struct Arriving<'a> {
    pub(super) features: Features<'a>,
    pub(super) labels: &'a [f64],
    pub(super) divisors: Vec<RowDivisor>,
    pub(super) selectors: Vec<u64>,
    /// `None`: every row counts once.
    pub(super) row_weights: Option<Vec<f64>>,
}

impl Drop for Arriving<'_> {
    fn drop(&mut self) {
        self.divisors.zeroize();
        self.selectors.zeroize();
        self.row_weights.zeroize();
    }
}

impl RowTable {
    /// Checks the rows to train on and takes note of them.
    pub(super) fn new(
        lent: &LentRows<'_>,
        labels: &[f64],
        selectors: Vec<u64>,
        row_weights: Option<Vec<f64>>,
        transform: RowTransform,
        n_features: usize,
        n_classes: usize,
    ) -> Result<Self, RowsError> {
        check_labels(labels, n_classes)?;
        let LentRows { features, cancel } = *lent;
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
            own: FeatureValues::empty(precision_of(features)),
            places: HashMap::new(),
            labels: labels.to_vec(),
            selectors,
            row_weights,
            present: vec![true; n_lent],
            divisors: Divisors::new(divisors),
            checksums,
            n_present: n_lent,
            weight_sum: WeightSum::ZERO,
            class_counts: vec![0; n_classes],
        };
        for label in labels {
            table.count(*label, 1);
        }
        table.weight_sum = (0..n_lent).map(|row| WeightSum::of_row(table.row_weight(row))).sum();
        Ok(table)
    }

    /// Checks rows that come later. `class_counts` has one entry per class.
    pub(super) fn arriving<'a>(
        &self,
        features: Features<'a>,
        labels: &'a [f64],
        selectors: Vec<u64>,
        row_weights: Option<Vec<f64>>,
        cancel: &AtomicBool,
    ) -> Result<Arriving<'a>, RowsError> {
        check_labels(labels, self.class_counts.len())?;
        let check = RowCheck { n_features: self.n_features, n_rows: labels.len(), transform: &self.transform, cancel };
        let (divisors, _) = match (features, self.precision()) {
            (Features::F32(values), Precision::F32) => check.run(values)?,
            (Features::F64(values), Precision::F64) => check.run(values)?,
            // Rows are taken in the precision of the model: what is divided is what is kept.
            (Features::F32(values), Precision::F64) => check.run(&converted::<_, f64>(values))?,
            (Features::F64(values), Precision::F32) => check.run(&converted::<_, f32>(values))?,
        };
        Ok(Arriving { features, labels, divisors, selectors, row_weights })
    }

    /// Number of positions, those of removed rows included.
    pub(super) fn len(&self) -> usize {
        self.labels.len()
    }

    pub(super) fn precision(&self) -> Precision {
        self.own.precision()
    }

    /// As how many rows the row at a position counts.
    pub(super) fn row_weight(&self, position: usize) -> f64 {
        self.row_weights.as_ref().map_or(1.0, |weights| weights[position])
    }

    /// Values per row of the model.
    pub(super) fn dim(&self) -> usize {
        self.transform.model_dim(self.n_features)
    }

    /// The rows as a model sums over them.
    pub(super) fn view<'a>(&'a self, lent: &LentRows<'a>) -> Result<RowsView<'a>, RowsError> {
        self.check_lent(lent.features)?;
        Ok(RowsView::new(self, *lent))
    }

    /// The rows at these positions, copied and scaled.
    pub(super) fn batch(&self, lent: &LentRows<'_>, positions: &[usize]) -> Result<Batch, RowsError> {
        Ok(self.view(lent)?.batch(positions))
    }

    /// The same, of rows that must be what they were before and after they are copied.
    pub(super) fn unchanged_batch(&self, lent: &LentRows<'_>, positions: &[usize]) -> Result<Batch, RowsError> {
        self.check_unchanged_at(lent, positions)?;
        let batch = self.batch(lent, positions)?;
        self.check_unchanged_at(lent, positions)?;
        Ok(batch)
    }

    /// Fails when a lent row is not what it was: all of them, in parallel.
    pub(super) fn check_unchanged(&self, lent: &LentRows<'_>) -> Result<(), RowsError> {
        self.check_lent(lent.features)?;
        let check = |row: usize| {
            go_on(lent.cancel)?;
            if self.has_changed(lent, row) { Err(RowsError::Changed { row }) } else { Ok(()) }
        };
        let failed = (0..self.n_lent).into_par_iter().with_min_len(64).map(check).find_first(Result::is_err);
        failed.unwrap_or(Ok(()))
    }

    /// Makes passes over the rows, which must be the same before and after them: their owner may write to them meanwhile.
    pub(super) fn read<T>(
        &self,
        lent: &LentRows<'_>,
        passes: impl FnOnce(&RowsView<'_>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.check_unchanged(lent)?;
        let read = passes(&self.view(lent)?)?;
        self.check_unchanged(lent)?;
        Ok(read)
    }

    /// The same for a few positions.
    fn check_unchanged_at(&self, lent: &LentRows<'_>, positions: &[usize]) -> Result<(), RowsError> {
        self.check_lent(lent.features)?;
        let changed = positions.iter().find(|row| self.has_changed(lent, **row));
        changed.map_or(Ok(()), |row| Err(RowsError::Changed { row: *row }))
    }

    fn has_changed(&self, lent: &LentRows<'_>, row: usize) -> bool {
        if row >= self.n_lent || !self.present[row] || self.places.contains_key(&row) {
            return false;
        }
        let range = row * self.n_features..(row + 1) * self.n_features;
        let now = match lent.features {
            Features::F32(values) => checksum(&values[range]),
            Features::F64(values) => checksum(&values[range]),
        };
        now != self.checksums[row]
    }

    /// Whether lent values have the shape that they had at training.
    fn check_lent(&self, features: Features<'_>) -> Result<(), RowsError> {
        let (found, found_precision) = (len_of(features), precision_of(features));
        let (expected, expected_precision) = (self.n_lent * self.n_features, self.precision());
        if (found, found_precision) == (expected, expected_precision) {
            return Ok(());
        }
        Err(RowsError::OtherRows { found, found_precision, expected, expected_precision })
    }

    /// Appends rows and returns their positions.
    pub(super) fn append(&mut self, rows: &Arriving<'_>) -> Range<usize> {
        let start = self.len();
        let place = self.own_rows();
        self.push_own(rows.features);
        if rows.row_weights.is_some() && self.row_weights.is_none() {
            self.row_weights = Some(vec![1.0; start]);
        }
        for (i, label) in rows.labels.iter().enumerate() {
            let weight = rows.row_weights.as_ref().map_or(1.0, |weights| weights[i]);
            if let Some(weights) = &mut self.row_weights {
                weights.push(weight);
            }
            self.weight_sum += WeightSum::of_row(weight);
            self.places.insert(start + i, place + i);
            self.labels.push(*label);
            self.selectors.push(rows.selectors[i]);
            self.present.push(true);
            self.divisors.set(start + i, rows.divisors[i], start + i + 1);
            self.count(*label, 1);
        }
        self.n_present += rows.labels.len();
        start..self.len()
    }

    /// Takes back rows that were appended last.
    pub(super) fn truncate(&mut self, len: usize) {
        for position in (len..self.len()).rev() {
            if self.present[position] {
                self.n_present -= 1;
                self.weight_sum = self.weight_sum.without(WeightSum::of_row(self.row_weight(position)));
                self.count(self.labels[position], -1);
            }
            if let Some(place) = self.places.remove(&position) {
                self.zeroize_own(place);
            }
        }
        self.labels.truncate(len);
        self.selectors.truncate(len);
        if let Some(weights) = &mut self.row_weights {
            weights.truncate(len);
        }
        self.present.truncate(len);
        self.divisors.truncate(len);
    }

    /// Puts other rows at these positions, and returns what was there.
    pub(super) fn replace(&mut self, positions: &[usize], rows: &Arriving<'_>) -> Vec<Replaced> {
        let place = self.own_rows();
        self.push_own(rows.features);
        let mut before = Vec::with_capacity(positions.len());
        for (i, position) in positions.iter().enumerate() {
            before.push(Replaced {
                position: *position,
                label: self.labels[*position],
                row_weight: self.row_weight(*position),
                divisor: self.divisors.get(*position),
                place: self.places.insert(*position, place + i),
            });
            self.relabel(*position, rows.labels[i]);
            if let Some(weights) = &rows.row_weights {
                self.reweigh(*position, weights[i]);
            }
            self.set_divisor(*position, rows.divisors[i]);
        }
        before
    }

    /// Puts back what was there before, and forgets what had come.
    pub(super) fn put_back(&mut self, before: &[Replaced]) {
        for Replaced { position, label, row_weight, divisor, place } in before {
            let came = match place {
                Some(place) => self.places.insert(*position, *place),
                None => self.places.remove(position),
            };
            if let Some(place) = came {
                self.zeroize_own(place);
            }
            self.relabel(*position, *label);
            self.reweigh(*position, *row_weight);
            self.set_divisor(*position, *divisor);
        }
    }

    /// Overwrites what was there before.
    pub(super) fn erase(&mut self, before: &[Replaced]) {
        before.iter().filter_map(|before| before.place).for_each(|place| self.zeroize_own(place));
    }

    /// Takes rows out of the sums, or puts them in again. They are not overwritten yet.
    pub(super) fn set_present(&mut self, positions: &[usize], present: bool) {
        for position in positions {
            self.present[*position] = present;
            self.count(self.labels[*position], if present { 1 } else { -1 });
            let weight = WeightSum::of_row(self.row_weight(*position));
            self.weight_sum = if present { self.weight_sum + weight } else { self.weight_sum.without(weight) };
        }
        self.n_present =
            if present { self.n_present + positions.len() } else { self.n_present.saturating_sub(positions.len()) };
    }

    /// Overwrites what is known of rows that left.
    pub(super) fn forget(&mut self, positions: &[usize]) {
        for &position in positions {
            self.labels[position].zeroize();
            self.selectors[position].zeroize();
            if let Some(weights) = &mut self.row_weights {
                weights[position].zeroize();
            }
            self.set_divisor(position, RowDivisor::default());
            if let Some(checksum) = self.checksums.get_mut(position) {
                checksum.zeroize();
            }
            if let Some(place) = self.places.remove(&position) {
                self.zeroize_own(place);
            }
        }
    }

    fn set_divisor(&mut self, position: usize, divisor: RowDivisor) {
        let n_positions = self.len();
        self.divisors.set(position, divisor, n_positions);
    }

    fn relabel(&mut self, position: usize, label: f64) {
        self.count(self.labels[position], -1);
        self.labels[position] = label;
        self.count(label, 1);
    }

    fn reweigh(&mut self, position: usize, weight: f64) {
        let before = self.row_weight(position);
        if before == weight {
            return;
        }
        self.weight_sum = self.weight_sum.without(WeightSum::of_row(before)) + WeightSum::of_row(weight);
        let n_rows = self.len();
        self.row_weights.get_or_insert_with(|| vec![1.0; n_rows])[position] = weight;
    }

    fn count(&mut self, label: f64, by: isize) {
        if let Some(count) = self.class_counts.get_mut(label as usize) {
            *count = count.saturating_add_signed(by);
        }
    }

    fn own_rows(&self) -> usize {
        self.own.len() / self.n_features.max(1)
    }

    fn push_own(&mut self, features: Features<'_>) {
        match (&mut self.own, features) {
            (FeatureValues::F32(own), Features::F32(values)) => extend(own, values.iter().copied()),
            (FeatureValues::F64(own), Features::F64(values)) => extend(own, values.iter().copied()),
            (FeatureValues::F32(own), Features::F64(values)) => extend(own, values.iter().map(|x| *x as f32)),
            (FeatureValues::F64(own), Features::F32(values)) => extend(own, values.iter().map(|x| f64::from(*x))),
        }
    }

    fn zeroize_own(&mut self, place: usize) {
        let range = place * self.n_features..(place + 1) * self.n_features;
        match &mut self.own {
            FeatureValues::F32(own) => own[range].zeroize(),
            FeatureValues::F64(own) => own[range].zeroize(),
        }
    }
}

impl Drop for RowTable {
    fn drop(&mut self) {
        self.own.zeroize();
        self.labels.zeroize();
        self.selectors.zeroize();
        self.row_weights.zeroize();
        self.checksums.zeroize();
    }
}

/// What was at a position before another row took its place.
pub(super) struct Replaced {
    pub(super) position: usize,
    label: f64,
    row_weight: f64,
    divisor: RowDivisor,
    place: Option<usize>,
}

/// Appends values; memory that is outgrown is zeroed before it is given back.
fn extend<T: Copy + Zeroize>(vector: &mut Vec<T>, values: impl ExactSizeIterator<Item = T>) {
    let needed = vector.len() + values.len();
    if needed > vector.capacity() {
        let mut larger = Vec::with_capacity(needed + vector.len() / 2);
        larger.extend_from_slice(vector);
        vector.zeroize();
        *vector = larger;
    }
    vector.extend(values);
}

/// The precision of borrowed values.
pub(super) fn precision_of(features: Features<'_>) -> Precision {
    match features {
        Features::F32(_) => Precision::F32,
        Features::F64(_) => Precision::F64,
    }
}

/// How many there are.
pub(super) fn len_of(features: Features<'_>) -> usize {
    match features {
        Features::F32(values) => values.len(),
        Features::F64(values) => values.len(),
    }
}
