//! From the cells of a row to its features. What becomes of a cell depends on that cell and the schema alone.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::Schema;
use super::cell::{Cell, canonical};
use super::column::{ColumnKind, ColumnSchema, Missing, Scalar, Unknown, ValueRange};
use super::mapping::{Mapping, PlainValues};
use super::written::Numbers;
use crate::derived::{RawCell, Texts};
use crate::error::{CellError, ReadError};
use crate::labels::as_boolean;
use crate::rows::FeatureValues;
use crate::table::{Origin, listed};

pub(crate) struct RowEncoder {
    columns: Vec<ColumnEncoder>,
    markers: HashSet<String>,
    numbers: Numbers,
    pub(crate) feature_names: Vec<String>,
    /// Values of a row that are written cell by cell.
    pub(crate) n_values: usize,
    /// What makes features of whole chunks; `None`: the values are the features.
    mapping: Option<Mapping>,
    /// The texts of cells that are kept raw, by their hashes; `None`: there are no such cells.
    texts: Option<RefCell<Texts>>,
}

impl RowEncoder {
    pub(crate) fn new(schema: &Schema) -> Result<Self, ReadError> {
        let mut offset = 0;
        let columns = schema.columns().iter().map(|column| {
            let encoder = ColumnEncoder::new(column, offset);
            offset += encoder.width;
            encoder
        });
        let columns = columns.collect();
        Ok(Self {
            columns,
            n_values: offset,
            mapping: Mapping::new(schema)?,
            markers: schema.missing_markers.iter().cloned().collect(),
            numbers: Numbers::new(schema.notation),
            feature_names: schema.feature_names(),
            texts: schema.derived().contains(&true).then(RefCell::default),
        })
    }

    /// The texts of the cells that were encoded since this was last asked; `None` where no cell is kept raw.
    pub(crate) fn take_texts(&self) -> Option<Texts> {
        self.texts.as_ref().map(RefCell::take)
    }

    /// Cells of rows that were not finished are left aside.
    pub(crate) fn forget(&self) {
        self.mapping.iter().for_each(Mapping::forget);
    }

    /// The features of rows whose cells have all been encoded.
    pub(crate) fn finish(&self, values: Vec<f64>, origin: &Origin, n_rows: usize) -> Result<FeatureValues, ReadError> {
        match &self.mapping {
            None => Ok(FeatureValues::F64(values)),
            Some(mapping) => {
                let values = Zeroizing::new(values);
                mapping.features(PlainValues { values: &values, per_row: self.n_values }, origin, n_rows)
            }
        }
    }

    /// Writes the values of the schema's column `column` into a row of zeros. Cells of one column come in the order of rows.
    pub(crate) fn encode(&self, column: usize, cell: &Cell<'_>, row: &mut [f64]) -> Result<(), CellError> {
        let encoder = &self.columns[column];
        if let Some(mapping) = &self.mapping {
            let is_gap = is_missing(cell, |text| self.markers.contains(text));
            if mapping.gather(column, if is_gap { &Cell::Missing } else { cell }, &encoder.declared_missing)? {
                return Ok(());
            }
        }
        let into = &mut row[encoder.offset..encoder.offset + encoder.width];
        if let (Rule::Raw, Some(texts)) = (&encoder.rule, &self.texts) {
            let is_marker = |text: &str| self.markers.contains(text);
            into[0] = raw_cell(cell, is_marker, &self.numbers, &mut texts.borrow_mut())?.packed();
            return Ok(());
        }
        if is_missing(cell, |text| self.markers.contains(text)) {
            let filling = encoder.missing.as_deref().ok_or(CellError::Missing)?;
            into.copy_from_slice(filling);
            return Ok(());
        }
        encoder.rule.encode(cell, &self.numbers, into)
    }
}

/// A cell as it is kept where constants are derived; the text of one is noted.
pub(crate) fn raw_cell(
    cell: &Cell<'_>,
    is_marker: impl Fn(&str) -> bool,
    numbers: &Numbers,
    texts: &mut Texts,
) -> Result<RawCell, CellError> {
    if is_missing(cell, is_marker) {
        return Ok(RawCell::Missing);
    }
    match cell {
        Cell::List(values) => return Err(CellError::List { found: values.len() }),
        Cell::Bytes(_) => return Err(CellError::Bytes),
        _ => {}
    }
    if let Some(x) = cell.amount(numbers)? {
        return Ok(if x.is_finite() { RawCell::Number(x) } else { RawCell::Missing });
    }
    let text = cell.spelling();
    // The same whether a file has types or not.
    if let Some(truth) = as_boolean(&text) {
        return Ok(RawCell::Number(if truth == "true" { 1.0 } else { 0.0 }));
    }
    let raw = RawCell::text(&text);
    if let RawCell::Text(hash) = raw {
        texts.entry(hash).or_insert_with(|| text.into_owned());
    }
    Ok(raw)
}

/// Whether nothing stands in a cell: always for nulls and blanks, and for what is marked so.
pub(super) fn is_missing(cell: &Cell<'_>, is_marker: impl Fn(&str) -> bool) -> bool {
    match cell {
        Cell::Missing => true,
        Cell::Text(text) => {
            let text = canonical(text);
            text.is_empty() || is_marker(text)
        }
        Cell::Number(x) if x.is_nan() => true,
        Cell::Single(x) if x.is_nan() => true,
        Cell::Boolean(_) | Cell::List(_) | Cell::Bytes(_) => false,
        Cell::Integer(_) | Cell::Number(_) | Cell::Single(_) => is_marker(&cell.spelling()),
    }
}

struct ColumnEncoder {
    offset: usize,
    width: usize,
    rule: Rule,
    /// Features of a missing value; `None`: an error.
    missing: Option<Vec<f64>>,
    declared_missing: Missing,
}

impl ColumnEncoder {
    fn new(column: &ColumnSchema, offset: usize) -> Self {
        let rule = Rule::new(column);
        let width = if matches!(rule, Rule::Mapped) { 0 } else { column.width() };
        let mut filling = vec![0.0; width];
        let missing = match &column.missing {
            Missing::Error => None,
            Missing::Zero => Some(filling),
            Missing::Slot => {
                filling.iter_mut().last().into_iter().for_each(|slot| *slot = 1.0);
                Some(filling)
            }
            // A checked schema has no value here that its column cannot encode; if it had, missing would be an error.
            Missing::Value(value) => {
                rule.encode(&value.cell(), &Numbers::default(), &mut filling).is_ok().then_some(filling)
            }
        };
        Self { offset, width, rule, missing, declared_missing: column.missing.clone() }
    }
}

/// A kind, ready for look-ups.
enum Rule {
    Number(Option<ValueRange>),
    Category {
        index_of: HashMap<String, usize>,
        unknown: Option<usize>,
        known: String,
    },
    Bucket {
        column: String,
        buckets: usize,
    },
    Truth {
        truth_of: HashMap<String, bool>,
        known: String,
    },
    Vector {
        dim: usize,
        range: Option<ValueRange>,
    },
    /// As it is.
    Raw,
    /// By a map, of a whole chunk.
    Mapped,
}

impl Rule {
    fn new(column: &ColumnSchema) -> Self {
        match &column.kind {
            ColumnKind::Numeric { range } => Self::Number(*range),
            ColumnKind::Categorical { values, unknown } => Self::Category {
                index_of: values.iter().cloned().zip(0..).collect(),
                unknown: (*unknown == Unknown::Slot).then_some(values.len()),
                known: listed(values),
            },
            ColumnKind::Hashed { buckets } => Self::Bucket { column: column.name.clone(), buckets: *buckets },
            ColumnKind::Boolean { true_values, false_values } => {
                let yes = true_values.iter().map(|text| (text.clone(), true));
                let no = false_values.iter().map(|text| (text.clone(), false));
                let known = listed(&[true_values.as_slice(), false_values.as_slice()].concat());
                Self::Truth { truth_of: yes.chain(no).collect(), known }
            }
            ColumnKind::Derived => Self::Raw,
            ColumnKind::Vector { dim, range } => Self::Vector { dim: *dim, range: *range },
            ColumnKind::Text(_)
            | ColumnKind::Image(_)
            | ColumnKind::Pixels(_)
            | ColumnKind::Network { .. }
            | ColumnKind::Transformer(_) => Self::Mapped,
        }
    }

    /// Writes the features of a cell in which something stands; `into` holds zeros.
    fn encode(&self, cell: &Cell<'_>, numbers: &Numbers, into: &mut [f64]) -> Result<(), CellError> {
        match cell {
            Cell::List(values) if !matches!(self, Self::Vector { .. }) => {
                return Err(CellError::List { found: values.len() });
            }
            Cell::Bytes(_) => return Err(CellError::Bytes),
            _ => {}
        }
        match self {
            // Kept before this is asked.
            Self::Raw | Self::Mapped => {}
            Self::Number(range) => into[0] = scaled(*range, number(cell, numbers)?),
            Self::Category { index_of, unknown, known } => {
                let value = cell.spelling();
                let index = index_of.get(value.as_ref()).copied().or(*unknown);
                let index =
                    index.ok_or_else(|| CellError::Undeclared { value: value.into_owned(), known: known.clone() })?;
                into[index] = 1.0;
            }
            Self::Bucket { column, buckets } => into[bucket(column, &cell.spelling(), *buckets)] = 1.0,
            Self::Truth { truth_of, known } => {
                let value = cell.spelling();
                let declared = truth_of.get(value.as_ref()).copied();
                // A typed boolean says itself which of the two it is.
                let typed = if let Cell::Boolean(truth) = cell { Some(*truth) } else { None };
                let truth = declared
                    .or(typed)
                    .ok_or_else(|| CellError::NotABoolean { value: value.into_owned(), known: known.clone() })?;
                into[0] = if truth { 1.0 } else { -1.0 };
            }
            Self::Vector { dim, range } => {
                let Cell::List(values) = cell else {
                    return Err(CellError::NotAList { value: cell.spelling().into_owned() });
                };
                if values.len() != *dim {
                    return Err(CellError::ListLength { found: values.len(), expected: *dim });
                }
                if let Some(value) = values.iter().find(|value| !value.is_finite()) {
                    return Err(CellError::NotFinite { value: value.to_string() });
                }
                into.iter_mut().zip(values).for_each(|(into, value)| *into = scaled(*range, *value));
            }
        }
        Ok(())
    }
}

/// By its range, or as it is.
fn scaled(range: Option<ValueRange>, x: f64) -> f64 {
    range.map_or(x, |range| range.scale(x))
}

fn number(cell: &Cell<'_>, numbers: &Numbers) -> Result<f64, CellError> {
    match cell.amount(numbers)? {
        Some(x) if x.is_finite() => Ok(x),
        Some(_) => Err(CellError::NotFinite { value: cell.spelling().into_owned() }),
        None => Err(CellError::NotANumber { value: cell.spelling().into_owned() }),
    }
}

/// The bucket of a value: the same on every machine and in every version.
///
/// ```text
/// first 8 bytes of SHA-256(column ‖ 0 ‖ value), little-endian, modulo the number of buckets
/// ```
///
/// Each column picks one bucket per row, so no signs are needed to keep collisions from adding up.
fn bucket(column: &str, value: &str, buckets: usize) -> usize {
    let digest = Sha256::new().chain_update(column).chain_update([0]).chain_update(value).finalize();
    let first = digest.iter().take(8).rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    (first % buckets as u64) as usize
}

impl Scalar {
    fn cell(&self) -> Cell<'_> {
        match self {
            Self::Boolean(value) => Cell::Boolean(*value),
            Self::Number(value) => Cell::Number(*value),
            Self::Text(text) => Cell::Text(text),
        }
    }
}
