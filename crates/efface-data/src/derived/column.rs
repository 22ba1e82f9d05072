//! What is counted of one column, and the constants that follow from the counts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Texts;
use super::bins::BinCounts;
use super::number::NumberScale;
use super::raw::RawCell;

/// Counts of the cells of a column. Integers only: whatever was added can be retracted, in any order, without a trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ColumnCounts {
    numbers: BinCounts,
    n_missing: u128,
    n_texts: u128,
    /// By hash, how often each text counts.
    texts: BTreeMap<u64, u128>,
}

/// Texts in fewer rows than this are one category together.
pub const MIN_CATEGORY_ROWS: u64 = 5;

/// A row of weight 1 counts so many times: weights are rounded to parts of that.
pub(crate) const TIMES_PER_ROW: u64 = 1 << 20;

const MIN_CATEGORY_TIMES: u128 = (MIN_CATEGORY_ROWS * TIMES_PER_ROW) as u128;

/// A column with more different texts than this tells rows apart, and is refused.
pub const MAX_TEXTS: usize = 100_000;

impl ColumnCounts {
    /// Counts a cell so many times.
    #[inline]
    pub(crate) fn add(&mut self, cell: RawCell, times: u64) {
        match cell {
            RawCell::Number(x) => self.numbers.add(x, times),
            RawCell::Missing => self.n_missing += u128::from(times),
            RawCell::Text(hash) => {
                self.n_texts += u128::from(times);
                *self.texts.entry(hash).or_default() += u128::from(times);
            }
        }
    }

    /// Takes out a cell that was counted.
    pub(crate) fn retract(&mut self, cell: RawCell, times: u64) {
        match cell {
            RawCell::Number(x) => self.numbers.retract(x, times),
            RawCell::Missing => self.n_missing = self.n_missing.wrapping_sub(u128::from(times)),
            RawCell::Text(hash) => {
                self.n_texts = self.n_texts.wrapping_sub(u128::from(times));
                let count = self.texts.entry(hash).or_default();
                *count = count.wrapping_sub(u128::from(times));
                if *count == 0 {
                    self.texts.remove(&hash);
                }
            }
        }
    }

    /// How many rows have a number, a text, or nothing here.
    pub(crate) fn cells(&self) -> CellCounts {
        let rows = |times: u128| times as f64 / TIMES_PER_ROW as f64;
        CellCounts { numbers: rows(self.numbers.n()), texts: rows(self.n_texts), missing: rows(self.n_missing) }
    }

    /// Whether a text stands in the column.
    pub(crate) fn has(&self, hash: u64) -> bool {
        self.texts.contains_key(&hash)
    }

    /// How many different texts do.
    pub(crate) fn n_different(&self) -> usize {
        self.texts.len()
    }

    /// Whether a text stands in enough rows to be a category.
    pub(crate) fn is_category(&self, hash: u64) -> bool {
        self.texts.get(&hash).is_some_and(|n| *n >= MIN_CATEGORY_TIMES)
    }

    /// The constants that these counts stand for: a function of the counts alone. `names` are the texts behind hashes.
    pub(crate) fn constants(&self, names: &Texts) -> ColumnConstants {
        if self.numbers.n() == 0 && self.n_texts == 0 {
            return ColumnConstants::Empty;
        }
        let has_missing = self.n_missing > 0;
        // A column of as many numbers as texts is one of numbers; its texts then count as missing.
        if self.numbers.n() > 0 && self.numbers.n() >= self.n_texts {
            let has_missing = has_missing || self.n_texts > 0;
            return match NumberScale::of(&self.numbers) {
                Some(scale) => ColumnConstants::Number { scale, has_missing },
                None if has_missing => ColumnConstants::Gaps,
                None => ColumnConstants::Nothing,
            };
        }
        let frequent = self.texts.iter().filter(|(_, n)| **n >= MIN_CATEGORY_TIMES);
        let n_frequent: u128 = frequent.clone().map(|(_, n)| n).sum();
        let named = |hash: &u64| Category { hash: *hash, name: names.get(hash).cloned().unwrap_or_default() };
        let mut categories: Vec<Category> = frequent.map(|(hash, _)| named(hash)).collect();
        categories.sort_by(|a, b| (&a.name, a.hash).cmp(&(&b.name, b.hash)));
        let has_others = n_frequent < self.n_texts || self.numbers.n() > 0;
        let n_features = categories.len() + usize::from(has_others) + usize::from(has_missing);
        // A single one says the same of every row.
        if n_features < 2 {
            return ColumnConstants::Nothing;
        }
        ColumnConstants::Categories { categories, has_others, has_missing }
    }
}

/// In how many rows each kind of cell stands; a row counts as often as it weighs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CellCounts {
    /// Numbers, dates among them.
    pub numbers: f64,
    /// Texts.
    pub texts: f64,
    /// Nothing.
    pub missing: f64,
}

/// What a column becomes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum ColumnConstants {
    /// One feature, `(x − location) / scale` within ±8, and one that says whether a number is there, if one is missing.
    Number {
        /// How a number is scaled.
        #[serde(flatten)]
        scale: NumberScale,
        /// Whether cells without a number have a feature of their own.
        has_missing: bool,
    },
    /// One feature per category.
    Categories {
        /// Texts that stand in enough rows, in the order of their features.
        categories: Vec<Category>,
        /// Whether all other texts, and numbers, have a feature together.
        has_others: bool,
        /// Whether cells with nothing in them have one.
        has_missing: bool,
    },
    /// One feature: whether there is no number. Those that are there are all equal.
    Gaps,
    /// A feature as it is: what it becomes does not depend on the rows.
    Given,
    /// No feature: nothing in it tells rows apart, or everything does.
    Nothing,
    /// No feature: no row has anything in it. Not even its name is published, which rows that are gone may have brought.
    Empty,
}

/// The kinds of [`ColumnConstants`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnTag {
    /// A number, and perhaps whether it is missing.
    Number,
    /// One feature per category.
    Categories,
    /// Whether there is no number.
    Gaps,
    /// A feature as it is.
    Given,
    /// No feature.
    Nothing,
    /// No feature, and no row has anything in it.
    Empty,
}

/// A text that is a category.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Category {
    /// Its hash.
    pub(crate) hash: u64,
    /// The text.
    pub name: String,
}

impl Category {
    /// A text that begins with a question mark gets another one: `?other` and `?missing` are no texts.
    fn feature_name(&self, column: &str) -> String {
        let mark = if self.name.starts_with('?') { "?" } else { "" };
        format!("{column}={mark}{}", self.name)
    }
}

impl ColumnConstants {
    /// The kind.
    pub fn tag(&self) -> ColumnTag {
        match self {
            Self::Number { .. } => ColumnTag::Number,
            Self::Categories { .. } => ColumnTag::Categories,
            Self::Gaps => ColumnTag::Gaps,
            Self::Given => ColumnTag::Given,
            Self::Nothing => ColumnTag::Nothing,
            Self::Empty => ColumnTag::Empty,
        }
    }

    /// Number of features.
    pub fn width(&self) -> usize {
        match self {
            Self::Number { has_missing, .. } => 1 + usize::from(*has_missing),
            Self::Categories { categories, has_others, has_missing } => {
                categories.len() + usize::from(*has_others) + usize::from(*has_missing)
            }
            Self::Given | Self::Gaps => 1,
            Self::Nothing | Self::Empty => 0,
        }
    }

    /// Names of the features of a column: `age`, `age=?missing`, `plan=basic`, `plan=?other`.
    pub fn feature_names(&self, column: &str) -> Vec<String> {
        let (mut names, others, missing) = match self {
            Self::Nothing | Self::Empty => return Vec::new(),
            Self::Given => (vec![column.to_owned()], false, false),
            Self::Gaps => (Vec::new(), false, true),
            Self::Number { has_missing, .. } => (vec![column.to_owned()], false, *has_missing),
            Self::Categories { categories, has_others, has_missing } => {
                let names = categories.iter().map(|category| category.feature_name(column)).collect();
                (names, *has_others, *has_missing)
            }
        };
        names.extend(others.then(|| format!("{column}=?other")));
        names.extend(missing.then(|| format!("{column}=?missing")));
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(numbers: impl IntoIterator<Item = f64>) -> ColumnCounts {
        let mut counts = ColumnCounts::default();
        numbers.into_iter().for_each(|x| counts.add(RawCell::Number(x), TIMES_PER_ROW));
        counts
    }

    fn names(counts: &ColumnCounts, column: &str) -> Vec<String> {
        let texts = ["red", "blue", "mauve", "unknown", "low", "high"].map(|text| (RawCell::text(text), text));
        let hashed = texts.into_iter().filter_map(|(cell, text)| match cell {
            RawCell::Text(hash) => Some((hash, text.to_owned())),
            _ => None,
        });
        counts.constants(&hashed.collect()).feature_names(column)
    }

    fn scale_of(counts: &ColumnCounts) -> (f64, f64) {
        match counts.constants(&Texts::new()) {
            ColumnConstants::Number { scale: NumberScale { location, scale }, has_missing: false } => (location, scale),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn columns_are_centred_and_scaled_wherever_they_lie() {
        // Years lie in one bin, salaries in a few, and neither outliers nor a sign rule.
        assert_eq!(scale_of(&numbers((0..1000).map(|i| 2015.0 + f64::from(i % 10)))), (2020.0, 4.0));
        let salaries = |i: u32| 30_000.0 + 40.0 * f64::from(i);
        assert_eq!(scale_of(&numbers((0..1000).map(salaries))), (49_152.0, 16_384.0));
        let outliers = (0..1000).map(|i| if i % 50 == 0 { 1e30 } else { salaries(i) });
        assert_eq!(scale_of(&numbers(outliers)), (49_152.0, 16_384.0));
        assert_eq!(scale_of(&numbers((0..1000).map(|i| -salaries(i)))), (-49_152.0, 16_384.0));
        // Of three in a hundred that are 1, the deviation is 0.17.
        assert_eq!(scale_of(&numbers((0..1000).map(|i| f64::from(u8::from(i % 100 < 3))))), (0.0, 0.125));
        // Amounts beside zeros, few or many: none of them is cut.
        for share in [2, 7, 40] {
            let amounts = (0..1000).map(|i| if i % 100 < share { f64::from(100 + i / 2) } else { 0.0 });
            let (location, scale) = scale_of(&numbers(amounts));
            assert!(
                8.0 * scale > 600.0 && scale < 600.0 && location <= scale,
                "{share} in a hundred: {location} ± {scale}"
            );
        }
        assert_eq!(numbers([7.0; 20]).constants(&Texts::new()), ColumnConstants::Nothing);
        assert_eq!(numbers([]).constants(&Texts::new()), ColumnConstants::Empty);
    }

    #[test]
    fn texts_become_categories_while_enough_rows_have_them() {
        let mut counts = ColumnCounts::default();
        for text in ["red", "blue"] {
            (0..5).for_each(|_| counts.add(RawCell::text(text), TIMES_PER_ROW));
        }
        counts.add(RawCell::text("mauve"), TIMES_PER_ROW);
        let names = |counts: &ColumnCounts| names(counts, "colour");
        assert_eq!(names(&counts), ["colour=blue", "colour=red", "colour=?other"]);
        counts.retract(RawCell::text("mauve"), TIMES_PER_ROW);
        assert_eq!(names(&counts), ["colour=blue", "colour=red"]);
        counts.add(RawCell::Missing, TIMES_PER_ROW);
        assert_eq!(names(&counts), ["colour=blue", "colour=red", "colour=?missing"]);
        counts.retract(RawCell::text("red"), TIMES_PER_ROW);
        assert_eq!(names(&counts), ["colour=blue", "colour=?other", "colour=?missing"]);
        let marked = Category { hash: 1, name: "?other".into() };
        assert_eq!(marked.feature_name("colour"), "colour=??other");
    }

    #[test]
    fn texts_among_numbers_count_as_missing_until_there_are_more_of_them() {
        let mut counts = numbers((0..100).map(f64::from));
        counts.add(RawCell::text("unknown"), TIMES_PER_ROW);
        assert_eq!(names(&counts, "age"), ["age", "age=?missing"]);
        counts.retract(RawCell::text("unknown"), TIMES_PER_ROW);
        assert_eq!(counts, numbers((0..100).map(f64::from)));
        for i in 0..100 {
            counts.add(RawCell::text(["low", "high"][i % 2]), TIMES_PER_ROW);
        }
        assert_eq!(names(&counts, "age"), ["age", "age=?missing"]);
        counts.add(RawCell::text("low"), TIMES_PER_ROW);
        assert_eq!(names(&counts, "age"), ["age=high", "age=low", "age=?other"]);
        assert_eq!(counts.cells(), CellCounts { numbers: 100.0, texts: 101.0, missing: 0.0 });
    }

    #[test]
    fn columns_that_tell_rows_apart_have_no_features() {
        let mut counts = ColumnCounts::default();
        for i in 0..100 {
            counts.add(RawCell::text(&format!("row {i}")), TIMES_PER_ROW);
        }
        assert_eq!(counts.constants(&Texts::new()), ColumnConstants::Nothing);
    }

    /// The scale of such a column was infinite, which no file holds.
    #[test]
    fn equal_numbers_with_gaps_say_where_the_gaps_are() {
        let mut counts = numbers([7.0; 20]);
        counts.add(RawCell::Missing, TIMES_PER_ROW);
        assert_eq!(names(&counts, "c"), ["c=?missing"]);
        counts.retract(RawCell::Missing, TIMES_PER_ROW);
        assert_eq!(counts, numbers([7.0; 20]));
    }
}
