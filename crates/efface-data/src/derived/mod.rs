//! Derived constants: preprocessing that is fitted on the rows, and still inside the guarantee.
//!
//! ```text
//! cells ──▶ counts per column (integers, added and retracted exactly) ──▶ constants (coarse) ──▶ encoded rows
//! ```
//!
//! Location, scale and categories of a column are a deterministic function of counts. When a row leaves, its cells are
//! retracted from the counts, which are then those of a table that never had it; so are the constants. They are coarse, so
//! that one row hardly ever changes them. When it does, the model is trained again under the new ones before the next
//! release.
//!
#![doc = include_str!("derived.md")]

mod bins;
mod column;
mod encoder;
mod given;
mod number;
mod raw;

use std::collections::{BTreeMap, BTreeSet};

use efface_core::rows::{Features, RowValue};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

pub use self::column::{Category, CellCounts, ColumnConstants, ColumnTag, MAX_TEXTS, MIN_CATEGORY_ROWS};
use self::column::{ColumnCounts, TIMES_PER_ROW};
pub use self::encoder::{Constants, Encoder, INTERCEPT};
pub use self::given::{MISSING, TextCells, has_text};
pub(crate) use self::number::MOST_SCALES;
pub use self::number::NumberScale;
pub(crate) use self::raw::RawCell;
use crate::rows::{FeatureValues, each};

/// Counts of the cells of a table, column by column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// One per column; `None`: it is a feature as it is, whatever rows there are.
    columns: Vec<Option<ColumnCounts>>,
    /// Of the numbers to be predicted, in a regression.
    target: Option<ColumnCounts>,
    /// The texts that are categories, by their hashes. Whoever keeps the counts keeps them elsewhere.
    #[serde(skip)]
    texts: Texts,
    /// Whether a row left or came back whose cells nobody knows: all are to be counted anew before constants follow.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_unsure: bool,
}

/// The texts behind the hashes in raw rows.
pub type Texts = BTreeMap<u64, String>;

impl Counts {
    /// Of a table without rows. Columns that are not `derived` are given: they are features as they are.
    pub fn new(derived: &[bool], is_regression: bool) -> Self {
        let columns = derived.iter().map(|derived| derived.then(ColumnCounts::default)).collect();
        Self { columns, target: is_regression.then(ColumnCounts::default), texts: Texts::new(), is_unsure: false }
    }

    /// The constants that follow.
    pub fn constants(&self) -> Constants {
        let of = |column: &Option<ColumnCounts>| match column {
            None => ColumnConstants::Given,
            Some(column) => column.constants(&self.texts),
        };
        let target = self.target.as_ref().map(|target| match target.constants(&self.texts) {
            ColumnConstants::Number { scale, .. } => scale,
            _ => NumberScale::UNIT,
        });
        Constants { columns: self.columns.par_iter().map(of).collect(), target }
    }

    /// What stands in the cells of each column; `None` of columns that are features as they are.
    pub fn cells(&self) -> Vec<Option<CellCounts>> {
        self.columns.iter().map(|column| column.as_ref().map(ColumnCounts::cells)).collect()
    }

    /// The texts that are categories, by their hashes. Those that were until a change that is not purged yet are left out.
    pub fn texts(&self) -> Texts {
        let categories = self.texts.iter().filter(|(hash, _)| self.is_category(**hash));
        categories.map(|(hash, text)| (*hash, text.clone())).collect()
    }

    /// All texts that are known.
    pub(crate) fn known_texts(&self) -> &Texts {
        &self.texts
    }

    /// The same counts, with the texts that are categories.
    #[must_use]
    pub fn with_texts(self, texts: Texts) -> Self {
        Self { texts, ..self }
    }

    fn is_category(&self, hash: u64) -> bool {
        self.columns.iter().flatten().any(|column| column.is_category(hash))
    }

    /// The first column that would have more different texts than can be counted, with these rows.
    pub(crate) fn overflowing(&self, rows: RawRows<'_>) -> Option<usize> {
        let Features::F64(raw) = rows.features else { return None };
        let n_columns = self.columns.len();
        (0..n_columns).find(|index| {
            let Some(column) = &self.columns[*index] else { return false };
            let cells = raw.iter().skip(*index).step_by(n_columns).map(|value| RawCell::of(*value));
            let new = cells.filter_map(|cell| if let RawCell::Text(hash) = cell { Some(hash) } else { None });
            let new: BTreeSet<u64> = new.filter(|hash| !column.has(*hash)).collect();
            column.n_different() + new.len() > MAX_TEXTS
        })
    }

    /// A row left or came back whose cells are not known.
    pub(crate) fn lose_count(&mut self) {
        self.is_unsure = true;
    }

    /// Whether the cells must be counted anew before constants follow.
    pub(crate) fn is_unsure(&self) -> bool {
        self.is_unsure
    }

    /// Nothing counted.
    #[must_use]
    pub fn emptied(&self) -> Self {
        let derived: Vec<bool> = self.columns.iter().map(Option::is_some).collect();
        Self::new(&derived, self.target.is_some())
    }

    /// Counts raw rows, given the texts in them.
    pub(crate) fn add(&mut self, rows: RawRows<'_>, texts: &Texts) {
        self.for_each(rows, ColumnCounts::add);
        // A text that becomes one later is in the rows that make it one.
        let categories: Vec<u64> = texts.keys().copied().filter(|hash| self.is_category(*hash)).collect();
        self.texts.extend(categories.into_iter().map(|hash| (hash, texts[&hash].clone())));
    }

    /// Takes out raw rows that were counted.
    pub(crate) fn retract(&mut self, rows: RawRows<'_>) {
        self.for_each(rows, ColumnCounts::retract);
    }

    /// Forgets texts that no longer are categories. Until then a change can be taken back.
    pub(crate) fn tidy(&mut self) {
        let gone: Vec<u64> = self.texts.keys().copied().filter(|hash| !self.is_category(*hash)).collect();
        for mut text in gone.iter().filter_map(|hash| self.texts.remove(hash)) {
            text.zeroize();
        }
    }

    fn for_each(&mut self, rows: RawRows<'_>, count: impl Fn(&mut ColumnCounts, RawCell, u64) + Sync) {
        let RawRows { features, labels, row_weights } = rows;
        let times: Option<Vec<u64>> = row_weights.map(|weights| weights.iter().map(|weight| times(*weight)).collect());
        if let Some(target) = &mut self.target {
            for (row, label) in labels.iter().enumerate() {
                count(target, RawCell::Number(*label), times.as_ref().map_or(TIMES_PER_ROW, |times| times[row]));
            }
        }
        each!(Features, features, raw => self.for_each_cell(raw, times.as_deref(), &count));
    }

    fn for_each_cell<T: RowValue>(
        &mut self,
        raw: &[T],
        times: Option<&[u64]>,
        count: &(impl Fn(&mut ColumnCounts, RawCell, u64) + Sync),
    ) {
        let n_columns = self.columns.len();
        // Each thread has columns of its own: integers need no merging, and few rows no second thread.
        let at_once =
            if raw.len() < MANY_VALUES { n_columns } else { n_columns.div_ceil(rayon::current_num_threads()) };
        self.columns.par_chunks_mut(at_once.max(1)).enumerate().for_each(|(part, columns)| {
            for (index, row) in raw.chunks_exact(n_columns).enumerate() {
                let times = times.map_or(TIMES_PER_ROW, |times| times[index]);
                for (column, value) in columns.iter_mut().zip(&row[part * at_once..]) {
                    if let Some(column) = column {
                        count(column, RawCell::of_value(*value), times);
                    }
                }
            }
        });
    }
}

const MANY_VALUES: usize = 1 << 14;

/// Raw rows to be counted.
#[derive(Clone, Copy)]
pub(crate) struct RawRows<'a> {
    pub(crate) features: Features<'a>,
    pub(crate) labels: &'a [f64],
    /// What each row weighs; `None`: every row counts once.
    pub(crate) row_weights: Option<&'a [f64]>,
}

/// How often a row of this weight counts.
fn times(weight: f64) -> u64 {
    (weight * TIMES_PER_ROW as f64).round() as u64
}

/// How the rows of a store are prepared: what was counted of them, and the constants by which they are encoded now.
#[derive(Clone, Debug)]
pub struct Preparation {
    counts: Counts,
    encoder: Encoder,
    has_intercept: bool,
}

impl Preparation {
    /// Of rows that were counted, encoded by the constants that follow.
    pub fn new(counts: Counts, has_intercept: bool) -> Self {
        let encoder = Encoder::new(counts.constants(), has_intercept);
        Self { counts, encoder, has_intercept }
    }

    /// Of rows that are still encoded by earlier constants.
    pub fn with_constants(counts: Counts, constants: Constants, has_intercept: bool) -> Self {
        Self { counts, encoder: Encoder::new(constants, has_intercept), has_intercept }
    }

    /// The same of no rows; the texts that are categories stay known.
    #[must_use]
    pub fn emptied(&self) -> Self {
        Self::new(self.counts.emptied().with_texts(self.counts.texts()), self.has_intercept)
    }

    /// What was counted.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Encodes rows as they are encoded now.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// Whether rows are encoded by the constants that follow from those present.
    pub fn is_current(&self) -> bool {
        !self.counts.is_unsure() && self.counts.constants() == *self.encoder.constants()
    }

    pub(crate) fn counts_mut(&mut self) -> &mut Counts {
        &mut self.counts
    }

    /// Encodes rows by the constants that follow from those present, from now on. Those before, if they were others.
    pub(crate) fn derive(&mut self) -> Option<Constants> {
        if self.is_current() {
            return None;
        }
        let before = self.encoder.constants().clone();
        self.encode_by(self.counts.constants());
        Some(before)
    }

    pub(crate) fn encode_by(&mut self, constants: Constants) {
        self.encoder = Encoder::new(constants, self.has_intercept);
    }

    /// Encodes raw rows, those that are present; the others are zeros.
    pub(crate) fn encode(&self, raw: Features<'_>, present: &[bool], into: &mut FeatureValues) {
        self.encoder.encode_rows(raw, present, into);
    }
}
