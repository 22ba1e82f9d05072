//! From a raw row to a row of the model, by derived constants.

use std::collections::HashMap;

use efface_core::rounding::UpperBound;
use efface_core::rows::{Features, RowValue};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::Texts;
use super::column::ColumnConstants;
use super::number::NumberScale;
use super::raw::RawCell;
use crate::rows::FeatureValues;
use crate::scale::NORM_TOLERANCE;

/// What the columns of a table become. A function of the rows present, and the same as if no other had ever been there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Constants {
    /// One per column.
    pub columns: Vec<ColumnConstants>,
    /// How numbers to be predicted are scaled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<NumberScale>,
}

impl Constants {
    /// The same with these texts as the names of categories: none that is not among them.
    #[must_use]
    pub fn named(mut self, texts: &Texts) -> Self {
        for column in &mut self.columns {
            if let ColumnConstants::Categories { categories, .. } = column {
                for category in categories {
                    category.name = texts.get(&category.hash).cloned().unwrap_or_default();
                }
            }
        }
        self
    }
}

/// Encodes rows by given constants.
#[derive(Clone, Debug)]
pub struct Encoder {
    constants: Constants,
    has_intercept: bool,
    n_features: usize,
    /// Longer rows are shortened to this.
    norm_limit: f64,
    /// Location and scale of each column, if all of them are numbers without gaps.
    plain: Option<Vec<NumberScale>>,
    /// One per column: where the feature of each category is.
    places: Vec<HashMap<u64, usize>>,
}

/// The constant of an intercept: its weight is pulled towards zero by the same ridge as the others, and so the intercept
/// itself 64 times less.
pub const INTERCEPT: f64 = 8.0;

/// A row is usually as long as the root of the number of columns; one that is longer than so many times that is shortened.
const USUAL_LENGTHS: f64 = 4.0;

impl Encoder {
    /// An encoder of rows with these constants.
    pub fn new(constants: Constants, has_intercept: bool) -> Self {
        let columns = &constants.columns;
        let n_used = columns.iter().filter(|column| column.width() > 0).count();
        let as_number = |column: &ColumnConstants| match column {
            ColumnConstants::Number { scale, has_missing: false } => Some(*scale),
            _ => None,
        };
        let plain = columns.iter().map(as_number).collect();
        let places_of = |column: &ColumnConstants| match column {
            ColumnConstants::Categories { categories, .. } => {
                categories.iter().enumerate().map(|(place, category)| (category.hash, place)).collect()
            }
            _ => HashMap::new(),
        };
        let places = columns.iter().map(places_of).collect();
        let n_features = columns.iter().map(ColumnConstants::width).sum();
        let norm_limit = USUAL_LENGTHS * (n_used.max(1) as f64).sqrt();
        Self { constants, has_intercept, n_features, norm_limit, plain, places }
    }

    /// What it encodes by.
    pub fn constants(&self) -> &Constants {
        &self.constants
    }

    /// Columns of a raw row.
    pub fn n_columns(&self) -> usize {
        self.constants.columns.len()
    }

    /// Features of a row, without the intercept's constant.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// Whether it tells a text from a gap.
    pub fn has_categories(&self) -> bool {
        self.constants.columns.iter().any(|column| matches!(column, ColumnConstants::Categories { .. }))
    }

    /// Values of a row of the model.
    pub fn dim(&self) -> usize {
        self.n_features + usize::from(self.has_intercept)
    }

    /// No row of the model has a larger norm.
    ///
    /// ```text
    /// √((4 √c (1 + 10⁻⁶))² + [8² with an intercept])        c: columns that have features
    /// ```
    pub fn row_norm_bound(&self) -> UpperBound {
        let features = UpperBound::new(self.norm_limit) * UpperBound::new(1.0 + NORM_TOLERANCE);
        let intercept = if self.has_intercept { UpperBound::new(INTERCEPT) } else { UpperBound::ZERO };
        (features.squared() + intercept.squared()).sqrt()
    }

    /// What longer rows are shortened to, the intercept's constant aside.
    pub(crate) fn norm_limit(&self) -> f64 {
        self.norm_limit
    }

    /// Names of the features, given those of the columns.
    pub fn feature_names(&self, columns: &[String]) -> Vec<String> {
        columns.iter().zip(&self.constants.columns).flat_map(|(name, column)| column.feature_names(name)).collect()
    }

    /// Encodes raw rows, those that are present; the others are zeros.
    pub(crate) fn encode_rows(&self, raw: Features<'_>, present: &[bool], into: &mut FeatureValues) {
        let (n_columns, dim) = (self.n_columns(), self.dim());
        into.resize(present.len() * dim);
        if dim == 0 {
            return;
        }
        let mut features = Zeroizing::new(Vec::with_capacity(dim));
        match (raw, into) {
            (Features::F32(raw), FeatureValues::F32(into)) => {
                self.encode_each(raw.chunks_exact(n_columns), present, into.chunks_exact_mut(dim), &mut features);
            }
            (Features::F64(raw), FeatureValues::F64(into)) => {
                self.encode_each(raw.chunks_exact(n_columns), present, into.chunks_exact_mut(dim), &mut features);
            }
            // Both have the precision of the store.
            _ => {}
        }
    }

    fn encode_each<'a, T: RowValue + 'a>(
        &self,
        raw: impl Iterator<Item = &'a [T]>,
        present: &[bool],
        into: impl Iterator<Item = &'a mut [T]>,
        features: &mut Vec<f64>,
    ) {
        for ((raw, present), row) in raw.zip(present).zip(into) {
            if *present {
                self.encode(raw, row, features);
            } else {
                row.fill(T::default());
            }
        }
    }

    /// Encodes one raw row. `features` is a buffer.
    pub(crate) fn encode<T: RowValue>(&self, raw: &[T], row: &mut [T], features: &mut Vec<f64>) {
        features.clear();
        match &self.plain {
            Some(scales) => features.extend(raw.iter().zip(scales).map(|(x, scale)| scale.apply(x.wide()))),
            None => self.encode_cells(raw, features),
        }
        // What is missing where nothing was missing before is as good as the middle.
        features.iter_mut().filter(|x| x.is_nan()).for_each(|x| *x = 0.0);
        let square: f64 = features.iter().map(|x| x * x).sum();
        let limit = self.norm_limit;
        if square > limit * limit {
            let factor = limit / square.sqrt();
            for x in features.iter_mut() {
                *x *= factor;
            }
        }
        let (into, intercept) = row.split_at_mut(self.n_features);
        into.iter_mut().zip(&*features).for_each(|(into, x)| *into = T::nearest(*x));
        intercept.fill(T::nearest(INTERCEPT));
    }

    fn encode_cells<T: RowValue>(&self, raw: &[T], features: &mut Vec<f64>) {
        for ((value, column), places) in raw.iter().zip(&self.constants.columns).zip(&self.places) {
            let cell = RawCell::of_value(*value);
            let start = features.len();
            features.resize(start + column.width(), 0.0);
            let into = &mut features[start..];
            match (column, cell) {
                (ColumnConstants::Number { scale, .. }, RawCell::Number(x)) => into[0] = scale.apply(x),
                (ColumnConstants::Number { has_missing, .. }, _) => into[1..].fill(f64::from(u8::from(*has_missing))),
                (ColumnConstants::Categories { categories, has_others, has_missing }, cell) => {
                    let known = match cell {
                        RawCell::Text(hash) => places.get(&hash).copied(),
                        _ => None,
                    };
                    let place = match (known, cell) {
                        (Some(place), _) => Some(place),
                        (None, RawCell::Missing) => has_missing.then_some(column.width() - 1),
                        (None, _) => has_others.then_some(categories.len()),
                    };
                    if let Some(place) = place {
                        into[place] = 1.0;
                    }
                }
                (ColumnConstants::Given, _) => into[0] = value.wide(),
                (ColumnConstants::Gaps, cell) => into[0] = f64::from(u8::from(!matches!(cell, RawCell::Number(_)))),
                (ColumnConstants::Nothing | ColumnConstants::Empty, _) => {}
            }
        }
    }

    /// A number to be predicted as the model takes it.
    pub(crate) fn encode_target(&self, y: f64) -> f64 {
        self.constants.target.map_or(y, |target| (y - target.location) / target.scale)
    }

    /// Weights in the columns' own units, and the intercept that goes with them: one per [name](Self::own_names), of numbers
    /// as they stand in the table, and of all other features as they are. A column without features has the weight 0.
    ///
    /// ```text
    /// y = Σ w x + b        for rows that are neither clipped nor shortened
    /// ```
    pub fn in_own_units(&self, weights: &[f64], intercept: f64) -> (Vec<f64>, f64) {
        let target = self.constants.target.unwrap_or(NumberScale::UNIT);
        let (mut weights, mut own, mut shift) = (weights.iter(), Vec::new(), 0.0);
        for column in &self.constants.columns {
            let mut of_column: Vec<f64> = weights.by_ref().take(column.width()).copied().collect();
            if let (ColumnConstants::Number { scale, .. }, Some(first)) = (column, of_column.first_mut()) {
                *first /= scale.scale;
                shift += *first * scale.location;
            }
            of_column.resize(of_column.len().max(1), 0.0);
            own.extend(of_column.into_iter().map(|weight| target.scale * weight));
        }
        (own, target.location + target.scale * (intercept - shift))
    }

    /// What weights in own units belong to: features, and columns that have none.
    pub fn own_names(&self, columns: &[String]) -> Vec<String> {
        let of = |(name, column): (&String, &ColumnConstants)| {
            if column.width() == 0 { vec![name.clone()] } else { column.feature_names(name) }
        };
        columns.iter().zip(&self.constants.columns).flat_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use efface_core::rounding::norm;

    use super::*;
    use crate::derived::MISSING;
    use crate::derived::column::Category;
    use crate::derived::number::MOST_SCALES;

    fn number(location: f64, scale: f64) -> ColumnConstants {
        ColumnConstants::Number { scale: NumberScale { location, scale }, has_missing: false }
    }

    fn encoded(constants: Vec<ColumnConstants>, has_intercept: bool, raw: &[f64]) -> (Vec<f64>, f64) {
        let encoder = Encoder::new(Constants { columns: constants, target: None }, has_intercept);
        let mut row = vec![f64::NAN; encoder.dim()];
        encoder.encode(raw, &mut row, &mut Vec::new());
        assert!(norm(&row).get() <= encoder.row_norm_bound().get());
        let single: Vec<f32> = raw.iter().map(|x| *x as f32).collect();
        let mut rounded = vec![f32::NAN; encoder.dim()];
        encoder.encode(&single, &mut rounded, &mut Vec::new());
        let rounded: Vec<f64> = rounded.into_iter().map(f64::from).collect();
        assert!(norm(&rounded).get() <= encoder.row_norm_bound().get());
        (row, encoder.row_norm_bound().get())
    }

    #[test]
    fn numbers_are_centred_scaled_and_clipped() {
        let columns = || (0..40).map(|_| number(2020.0, 4.0)).collect::<Vec<_>>();
        let mut raw = vec![2020.0; 40];
        (raw[0], raw[1], raw[2], raw[3]) = (2018.0, 1e30, -1e30, f64::NAN);
        let (row, bound) = encoded(columns(), true, &raw);
        assert_eq!(row[..5], [-0.5, MOST_SCALES, -MOST_SCALES, 0.0, 0.0]);
        assert_eq!(row[40], INTERCEPT);
        assert!((bound - (640.0_f64 + 64.0).sqrt()).abs() < 1e-4);
        // A row of outliers is shortened.
        let (row, _) = encoded(columns(), false, &[1e30; 40]);
        assert!((norm(&row).get() - 4.0 * 40.0_f64.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn cells_become_categories_and_slots() {
        let hash = |text: &str| if let RawCell::Text(hash) = RawCell::text(text) { hash } else { 0 };
        let category = |name: &str| Category { hash: hash(name), name: name.into() };
        let plan = ColumnConstants::Categories {
            categories: vec![category("basic"), category("plus")],
            has_others: true,
            has_missing: true,
        };
        let age = ColumnConstants::Number { scale: NumberScale { location: 40.0, scale: 16.0 }, has_missing: true };
        let columns = || vec![plan.clone(), ColumnConstants::Nothing, age.clone()];
        let row = |plan: RawCell, age: RawCell| {
            let encoder = Encoder::new(Constants { columns: columns(), target: None }, false);
            let raw = [plan.packed(), 5.0, age.packed()];
            let mut row = vec![0.0; encoder.dim()];
            encoder.encode(&raw, &mut row, &mut Vec::new());
            row
        };
        assert_eq!(row(RawCell::text("plus"), RawCell::Number(48.0)), [0.0, 1.0, 0.0, 0.0, 0.5, 0.0]);
        assert_eq!(row(RawCell::text("gold"), RawCell::Missing), [0.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
        assert_eq!(row(RawCell::Number(7.0), RawCell::text("old")), [0.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
        assert_eq!(row(RawCell::Missing, RawCell::Number(40.0)), [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
        let names = Encoder::new(Constants { columns: columns(), target: None }, false).feature_names(&[
            "plan".into(),
            "id".into(),
            "age".into(),
        ]);
        assert_eq!(names, ["plan=basic", "plan=plus", "plan=?other", "plan=?missing", "age", "age=?missing"]);
    }

    #[test]
    fn weights_in_own_units_give_the_same_scores() {
        let age = ColumnConstants::Number { scale: NumberScale { location: 40.0, scale: 16.0 }, has_missing: true };
        let columns = vec![number(2020.0, 4.0), ColumnConstants::Empty, number(-3.0, 0.5), age, ColumnConstants::Gaps];
        let target = NumberScale { location: 1e6, scale: 1024.0 };
        let encoder = Encoder::new(Constants { columns, target: Some(target) }, true);
        let names = ["year", "note", "x", "age", "c"].map(String::from);
        assert_eq!(encoder.own_names(&names), ["year", "note", "x", "age", "age=?missing", "c=?missing"]);
        let (raw, weights) = ([2021.0, MISSING, -2.75, 50.0, 7.0], [0.3, -0.7, 0.2, 0.4, -0.6, 0.11]);
        let mut row = [0.0; 6];
        encoder.encode(&raw, &mut row, &mut Vec::new());
        let score: f64 = row.iter().zip(&weights).map(|(x, w)| x * w).sum();
        let (own, intercept) = encoder.in_own_units(&weights[..5], weights[5] * INTERCEPT);
        let seen = [2021.0, 0.0, -2.75, 50.0, 0.0, 0.0];
        let predicted: f64 = own.iter().zip(&seen).map(|(w, x)| w * x).sum::<f64>() + intercept;
        assert_eq!(own[1], 0.0);
        assert!((predicted - (1e6 + 1024.0 * score)).abs() < 1e-6);
    }
}
