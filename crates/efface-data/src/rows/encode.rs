//! From a table to rows of a model: features in the model's order, scaled, rounded and checked; labels as numbers.

use std::collections::HashMap;

use efface_core::rounding::UpperBound;
use efface_core::rows::round_row_weight;
use zeroize::Zeroize;

use crate::derived::{RawRows, Texts};
use crate::error::{AppendError, EncodeError, ScaleError};
use crate::id::{IdKey, IdKind, RowId};
use crate::labels::LabelCodec;
use crate::rows::{FeatureValues, Precision, debug_shape};
use crate::scale::{RowTransform, Scale};
use crate::table::{Table, TableParts, listed};

/// In which order the model takes its features.
#[derive(Clone, Copy, Debug)]
pub enum FeatureOrder<'a> {
    /// As they stand in the table.
    AsRead,
    /// By name; the table must have exactly these.
    Named(&'a [String]),
}

/// Rows ready for a store: each norm is at most the bound, each label a number. Overwritten with zeros when dropped.
#[derive(Clone)]
pub struct EncodedRows {
    pub(crate) dim: usize,
    pub(crate) features: FeatureValues,
    pub(crate) labels: Vec<f64>,
    pub(crate) ids: Vec<RowId>,
    pub(crate) subjects: Option<Vec<RowId>>,
    pub(crate) row_weights: Option<Vec<f64>>,
    pub(crate) row_norm_bound: UpperBound,
    /// The texts behind hashes in rows that are kept raw.
    pub(crate) texts: Texts,
}

impl EncodedRows {
    /// Rows that are scaled already, with one label each and without ids. No row may be longer than the bound, which is
    /// not checked again.
    pub fn new(
        dim: usize,
        features: FeatureValues,
        labels: Vec<f64>,
        row_norm_bound: UpperBound,
    ) -> Result<Self, AppendError> {
        let expected = features.len() / dim.max(1);
        if labels.len() != expected || labels.len() * dim != features.len() {
            return Err(AppendError::Count { what: "labels", found: labels.len(), expected });
        }
        let (ids, texts) = (Vec::new(), Texts::new());
        Ok(Self { dim, features, labels, row_weights: None, ids, subjects: None, row_norm_bound, texts })
    }

    /// Number of values per row, the intercept's constant included.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.labels.len()
    }

    /// One per row: the index of a class, or a number; zero where labels were not asked for.
    pub fn labels(&self) -> &[f64] {
        &self.labels
    }

    /// One per row.
    pub fn ids(&self) -> &[RowId] {
        &self.ids
    }

    /// One per row, if there are any.
    pub fn subjects(&self) -> Option<&[RowId]> {
        self.subjects.as_deref()
    }

    /// The rows as they are counted, where they are raw.
    pub(crate) fn raw(&self) -> RawRows<'_> {
        let features = self.features.slice(0..self.features.len());
        RawRows { features, labels: &self.labels, row_weights: self.row_weights() }
    }

    /// The texts behind hashes in rows that are kept raw.
    pub fn texts(&self) -> &Texts {
        &self.texts
    }

    /// What each row weighs, one per row; `None`: every row counts once.
    pub fn row_weights(&self) -> Option<&[f64]> {
        self.row_weights.as_deref()
    }

    /// The [selector](crate::IdDigest::selector) of each row.
    pub fn selectors(&self, key: &IdKey) -> Vec<u64> {
        self.ids.iter().map(|id| key.digest(IdKind::Row, id).selector()).collect()
    }

    /// The same rows with other labels, one per row: those that a [`ClassCollector`](crate::ClassCollector) gave.
    pub fn with_labels(mut self, labels: Vec<f64>) -> Result<Self, AppendError> {
        self.check_count("labels", labels.len())?;
        self.labels.zeroize();
        self.labels = labels;
        Ok(self)
    }

    /// The same rows, of which row i counts `row_weights[i]` times: rounded to the weights that rows can have, which are
    /// from 0 to [`MOST_ROW_WEIGHT`](efface_core::rows::MOST_ROW_WEIGHT).
    pub fn with_row_weights(mut self, mut row_weights: Vec<f64>) -> Result<Self, AppendError> {
        self.check_count("row weights", row_weights.len())?;
        for (row, weight) in row_weights.iter_mut().enumerate() {
            *weight = round_row_weight(*weight).ok_or(AppendError::RowWeight { row, value: *weight })?;
        }
        self.row_weights.zeroize();
        self.row_weights = Some(row_weights);
        Ok(self)
    }

    /// Refuses rows of another length or precision.
    pub(crate) fn check_shape(&self, dim: usize, precision: Precision) -> Result<(), AppendError> {
        if self.dim != dim {
            return Err(AppendError::Dimension { found: self.dim, expected: dim });
        }
        let found = self.precision();
        if found == precision { Ok(()) } else { Err(AppendError::Precision { found, expected: precision }) }
    }

    /// Refuses other than one of something per row.
    pub(crate) fn check_count(&self, what: &'static str, found: usize) -> Result<(), AppendError> {
        let expected = self.n_rows();
        if found == expected { Ok(()) } else { Err(AppendError::Count { what, found, expected }) }
    }

    /// Keeps the rows for which `kept` is true, one entry per row, and returns how many went.
    pub fn retain(&mut self, kept: &[bool]) -> usize {
        let n_gone = kept.iter().filter(|kept| !**kept).count();
        if n_gone == 0 {
            return 0;
        }
        let mut features = FeatureValues::with_capacity(self.precision(), self.features.len());
        for (row, _) in kept.iter().enumerate().filter(|(_, kept)| **kept) {
            features.extend_from(&self.features, row * self.dim..(row + 1) * self.dim);
        }
        self.features.zeroize();
        self.features = features;
        retain(&mut self.labels, kept);
        retain(&mut self.ids, kept);
        self.subjects.iter_mut().for_each(|subjects| retain(subjects, kept));
        self.row_weights.iter_mut().for_each(|row_weights| retain(row_weights, kept));
        n_gone
    }

    /// The precision the rows are rounded to.
    pub fn precision(&self) -> Precision {
        self.features.precision()
    }

    /// No row has a larger norm.
    pub fn row_norm_bound(&self) -> UpperBound {
        self.row_norm_bound
    }
}

impl Drop for EncodedRows {
    fn drop(&mut self) {
        self.features.zeroize();
        self.labels.zeroize();
        self.ids.zeroize();
        self.subjects.zeroize();
        self.row_weights.zeroize();
        self.texts.values_mut().for_each(Zeroize::zeroize);
    }
}

/// Keeps the entries for which `kept` is true.
fn retain<T>(entries: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    entries.retain(|_| kept.next().copied().unwrap_or(false));
}

debug_shape!(EncodedRows);

/// Encodes a table for a model. Without a codec (for prediction) labels are left aside and zero.
///
/// The table is taken apart, and its values are scaled in place where precision and order allow it.
pub fn encode_table(
    table: Table,
    transform: &RowTransform,
    codec: Option<&LabelCodec>,
    order: FeatureOrder<'_>,
    precision: Precision,
) -> Result<EncodedRows, EncodeError> {
    let n_rows = table.n_rows();
    let columns = columns_in_order(&table, order)?;
    let labels = match (codec, table.labels()) {
        (None, _) => vec![0.0; n_rows],
        (Some(codec), Some(labels)) => codec.encode(labels)?,
        (Some(_), None) => return Err(EncodeError::NoLabels { file: table.origin().file().into() }),
    };
    let TableParts { feature_names, features, ids, subjects, row_weights, origin, texts, .. } = table.into_parts();
    let n_features = feature_names.len();
    let transformed = transformed(features, n_rows, n_features, transform, columns.as_deref(), precision);
    let features = transformed.map_err(|(row, source)| {
        let column = match source {
            ScaleError::NotFinite { feature, .. } => {
                let column = columns.as_ref().map_or(feature, |columns| columns[feature]);
                Some(feature_names[column].as_str())
            }
            ScaleError::NormTooLarge { .. } => None,
        };
        EncodeError::Scale { place: origin.place(row, column), source }
    })?;
    Ok(EncodedRows {
        dim: transform.model_dim(n_features),
        features,
        labels,
        ids: ids.unwrap_or_default(),
        subjects,
        row_weights,
        row_norm_bound: transform.row_norm_bound(),
        texts: texts.unwrap_or_default(),
    })
}

/// For each feature of the model its column in the table; `None`: they are the same.
fn columns_in_order(table: &Table, order: FeatureOrder<'_>) -> Result<Option<Vec<usize>>, EncodeError> {
    let names = table.feature_names();
    let wanted = match order {
        FeatureOrder::Named(wanted) if wanted != names => wanted,
        _ => return Ok(None),
    };
    let file = || table.origin().file().into();
    let mut column_of: HashMap<&str, usize> = names.iter().map(String::as_str).zip(0..).collect();
    let mut take = |name: &String| {
        let missing = || EncodeError::MissingFeature { file: file(), feature: name.clone(), known: listed(names) };
        column_of.remove(name.as_str()).ok_or_else(missing)
    };
    let columns = wanted.iter().map(&mut take).collect::<Result<Vec<_>, _>>()?;
    match column_of.into_iter().min_by_key(|(_, column)| *column) {
        Some((extra, _)) => Err(EncodeError::UnexpectedFeature { file: file(), feature: extra.to_owned() }),
        None => Ok(Some(columns)),
    }
}

/// All rows scaled, with the intercept's constant: in place where they have the right precision. An error names the first
/// row that fails.
fn transformed(
    mut values: FeatureValues,
    n_rows: usize,
    n_features: usize,
    transform: &RowTransform,
    columns: Option<&[usize]>,
    precision: Precision,
) -> Result<FeatureValues, (usize, ScaleError)> {
    if transform.scale == Scale::Auto && columns.is_none() && values.precision() == precision {
        return Ok(values);
    }
    let dim = transform.model_dim(n_features);
    let mut converted = (values.precision() != precision).then(|| FeatureValues::zeros(precision, n_rows * dim));
    let stride = if converted.is_some() { n_features } else { dim };
    if stride > n_features {
        values.spread_rows(n_rows, n_features, dim);
    }
    let (mut as_read, mut row) = (vec![0.0; n_features], vec![1.0; dim]);
    for position in 0..n_rows {
        values.read(position * stride, &mut as_read);
        let features = &mut row[..n_features];
        match columns {
            None => features.copy_from_slice(&as_read),
            Some(columns) => features.iter_mut().zip(columns).for_each(|(feature, column)| *feature = as_read[*column]),
        }
        if transform.scale == Scale::Auto {
            converted.as_mut().unwrap_or(&mut values).write_rounded(position * dim, &mut row);
            continue;
        }
        transform.scale_features(features).map_err(|error| (position, error))?;
        // Writing rounds the row, and the rounded one is checked; the constant of an intercept is 1 already.
        converted.as_mut().unwrap_or(&mut values).write_rounded(position * dim, &mut row);
        transform.check_norm(&row[..n_features]).map_err(|error| (position, error))?;
    }
    Ok(converted.unwrap_or(values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Labels, Origin, RawLabels};

    fn table(features: FeatureValues) -> Table {
        let origin = Origin::with_lines("t.csv", vec![2, 3]);
        let labels = Labels::new(RawLabels::Text(vec!["b".into(), "a".into()]), origin.clone(), Some("y".into()));
        let feature_names = vec!["p".into(), "q".into()];
        let parts = TableParts {
            feature_names,
            features,
            labels: Some(labels),
            ids: None,
            subjects: None,
            row_weights: None,
            origin,
            texts: None,
        };
        Table::new(parts).expect("valid")
    }

    fn rows(features: &[f64]) -> FeatureValues {
        FeatureValues::F64(features.to_vec())
    }

    const UNIT: RowTransform = RowTransform { scale: Scale::Unit, intercept: false };

    #[test]
    fn rows_come_out_scaled_with_the_intercept_last() {
        let transform = RowTransform { scale: Scale::Unit, intercept: true };
        let codec = LabelCodec::Classes(vec!["a".into(), "b".into()]);
        let values = rows(&[3.0, 4.0, 0.0, 0.0]);
        for precision in [Precision::F64, Precision::F32] {
            let encoded =
                encode_table(table(values.clone()), &transform, Some(&codec), FeatureOrder::AsRead, precision)
                    .expect("valid");
            assert_eq!((encoded.dim(), encoded.labels()), (3, &[1.0, 0.0][..]));
            let expected = match precision {
                Precision::F64 => FeatureValues::F64(vec![0.6, 0.8, 1.0, 0.0, 0.0, 1.0]),
                Precision::F32 => FeatureValues::F32(vec![0.6, 0.8, 1.0, 0.0, 0.0, 1.0]),
            };
            assert_eq!(encoded.features, expected);
        }
    }

    #[test]
    fn features_are_put_in_the_order_of_the_model() {
        let names = ["q".to_owned(), "p".to_owned()];
        let order = FeatureOrder::Named(&names);
        let encoded =
            encode_table(table(rows(&[3.0, 4.0, 1.0, 0.0])), &UNIT, None, order, Precision::F64).expect("valid");
        assert_eq!(encoded.features, rows(&[0.8, 0.6, 0.0, 1.0]));
        assert_eq!(encoded.labels(), [0.0, 0.0]);
    }

    #[test]
    fn a_table_with_other_features_is_refused() {
        let message = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            let order = FeatureOrder::Named(&names);
            let encoded = encode_table(table(rows(&[1.0; 4])), &UNIT, None, order, Precision::F64);
            encoded.expect_err("must be refused").to_string()
        };
        assert_eq!(message(&["p", "r"]), "t.csv: no feature `r`; there are `p`, `q`");
        assert_eq!(message(&["p"]), "t.csv: feature `q` is unknown to the model");
        assert_eq!(message(&["p", "q", "p"]), "t.csv: no feature `p`; there are `p`, `q`");
    }

    #[test]
    fn the_first_row_beyond_the_bound_is_named() {
        let transform = RowTransform { scale: Scale::None, intercept: true };
        let values = rows(&[0.6, 0.8, 2.0, 0.0]);
        let error = encode_table(table(values), &transform, None, FeatureOrder::AsRead, Precision::F64)
            .expect_err("must be refused")
            .to_string();
        assert!(error.starts_with("t.csv, line 3: row norm is 2") && error.ends_with("limit is 1.000001"), "{error}");
    }
}
