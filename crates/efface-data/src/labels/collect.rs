//! Finding the classes of labels that come in chunks.
//!
//! Which classes there are is known when the last label has been seen: `1` and `1.0` are one class, unless an `a`
//! follows. So every spelling gets a provisional number when it first appears, rows carry that, and at the end a mapping
//! leads from provisional numbers to the indices of the sorted classes.
//!
//! At most [`MAX_CLASSES`] spellings are kept, and after that at most as many integers: with more spellings than that the
//! labels are integers, many of them spelt in several ways, or too many classes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use super::{LabelCodec, MAX_CLASSES, as_boolean, as_integer, encode_numbers};
use crate::error::{EncodeError, LabelError};
use crate::schema::written::Numbers;
use crate::table::{Labels, Place, RawLabels, Table};

/// Labels seen so far, and the provisional numbers of their classes.
#[derive(Debug, Default)]
pub struct ClassCollector {
    is_classification: bool,
    file: PathBuf,
    n_rows: usize,
    /// Provisional number of each spelling that was kept.
    by_spelling: HashMap<Box<str>, usize>,
    /// The first provisional number of each integer.
    by_integer: HashMap<i64, usize>,
    /// Spelling of each provisional number, and the integer that it is.
    spellings: Vec<(Box<str>, Option<i64>)>,
    /// The first number or amount that is no integer: an error, unless a word makes it a text.
    fraction: Option<(Place, Box<str>)>,
    has_text: bool,
    /// Whether one of the texts is no amount either, as `1.003,70 €` is.
    has_word: bool,
}

impl ClassCollector {
    /// Nothing seen yet. Without classification labels are numbers, and carried as they are.
    pub fn new(is_classification: bool) -> Self {
        Self { is_classification, ..Self::default() }
    }

    /// One number per row of the table, which must have labels. The label of a row that is not `kept` is not looked at:
    /// nobody who is left out makes a class.
    pub fn push_table(&mut self, table: &Table, kept: impl Fn(usize) -> bool) -> Result<Vec<f64>, EncodeError> {
        let labels = table.labels().ok_or_else(|| EncodeError::NoLabels { file: table.origin().file().into() })?;
        Ok(self.push_kept(labels, kept)?)
    }

    /// One number per label: the provisional number of its class, or the number that it is.
    ///
    /// Do not use the collector after an error.
    pub fn push(&mut self, labels: &Labels) -> Result<Vec<f64>, LabelError> {
        self.push_kept(labels, |_| true)
    }

    fn push_kept(&mut self, labels: &Labels, kept: impl Fn(usize) -> bool) -> Result<Vec<f64>, LabelError> {
        if self.n_rows == 0 {
            self.file = labels.origin().file().into();
        }
        self.n_rows += (0..labels.values.len()).filter(|row| kept(*row)).count();
        if !self.is_classification {
            return encode_numbers(labels);
        }
        let place = |row| move || labels.place(row);
        let numbers: Result<Vec<usize>, LabelError> = match &labels.values {
            RawLabels::Text(texts) => {
                let numbers = Numbers::new(labels.notation());
                let number =
                    |(row, x): (usize, &String)| if kept(row) { self.text(x, &numbers, place(row)) } else { Ok(0) };
                texts.iter().enumerate().map(number).collect()
            }
            RawLabels::Numbers(numbers) => {
                let number = |(row, x): (usize, &f64)| if kept(row) { self.number(*x, place(row)) } else { Ok(0) };
                numbers.iter().enumerate().map(number).collect()
            }
        };
        Ok(numbers?.into_iter().map(|number| number as f64).collect())
    }

    /// The codec that all labels together call for, and for each provisional number the index of its class. Labels that
    /// are numbers need no mapping: it is empty.
    pub fn finish(self) -> Result<(LabelCodec, Vec<f64>), LabelError> {
        if !self.is_classification {
            return Ok((LabelCodec::Numeric, Vec::new()));
        }
        let texts = || self.spellings.iter().map(|(text, _)| &**text);
        let fraction = self.fraction.filter(|_| !self.has_word);
        let (classes, mapping) = if let Some((place, value)) = fraction {
            return Err(LabelError::NotAnInteger { place, value: value.into() });
        } else if self.has_text {
            // Booleans whatever their spelling, or texts as they are.
            match texts().map(as_boolean).collect::<Option<Vec<_>>>() {
                Some(booleans) => sorted(booleans.into_iter()),
                None => sorted(texts()),
            }
        } else {
            sorted(self.spellings.iter().map(|(_, integer)| integer.unwrap_or_default()))
        };
        match classes.as_slice() {
            [class] => Err(LabelError::OneClass { file: self.file, class: class.clone(), n_rows: self.n_rows }),
            _ => Ok((LabelCodec::Classes(classes), mapping)),
        }
    }

    fn number(&mut self, number: f64, place: impl Fn() -> Place) -> Result<usize, LabelError> {
        let Some(integer) = as_integer(number) else {
            let (place, value) = (place(), number.to_string());
            return Err(if number.is_finite() {
                LabelError::NotAnInteger { place, value }
            } else {
                LabelError::NotFinite { place, value }
            });
        };
        match self.by_integer.get(&integer) {
            Some(known) => Ok(*known),
            None => self.add(&integer.to_string(), Some(integer), place),
        }
    }

    fn text(&mut self, text: &str, numbers: &Numbers, place: impl Fn() -> Place) -> Result<usize, LabelError> {
        if let Some(known) = self.by_spelling.get(text) {
            return Ok(*known);
        }
        if text.is_empty() {
            return Err(LabelError::Empty { place: place() });
        }
        let number = text.parse::<f64>().ok();
        if number.is_some_and(|number| !number.is_finite()) {
            return Err(LabelError::NotFinite { place: place(), value: text.to_owned() });
        }
        let integer = number.and_then(as_integer);
        let is_full = self.spellings.len() >= MAX_CLASSES;
        if is_full
            && !self.has_text
            && let Some(known) = integer.and_then(|integer| self.by_integer.get(&integer))
        {
            return Ok(*known);
        }
        self.has_text |= number.is_none();
        // What can be read in two ways is an amount in both.
        let amount = number.map_or_else(|| numbers.read(text).unwrap_or(Some(0.0)), Some);
        self.has_word |= amount.is_none();
        if amount.is_some_and(|amount| as_integer(amount).is_none()) && self.fraction.is_none() {
            self.fraction = Some((place(), text.into()));
        }
        self.add(text, integer, place)
    }

    /// Gives a spelling that is new the next provisional number.
    fn add(&mut self, text: &str, integer: Option<i64>, place: impl Fn() -> Place) -> Result<usize, LabelError> {
        let next = self.spellings.len();
        if next >= MAX_CLASSES {
            let too_many = || LabelError::TooManyClasses { place: place(), value: text.to_owned() };
            if let Some((place, value)) = self.fraction.take().filter(|_| !self.has_word) {
                return Err(LabelError::NotAnInteger { place, value: value.into() });
            }
            if self.has_text {
                return Err(too_many());
            }
            // All are integers: another spelling of a known one is no new class.
            let known = integer.and_then(|integer| self.by_integer.get(&integer));
            match known {
                Some(known) => return Ok(*known),
                None if self.by_integer.len() >= MAX_CLASSES => return Err(too_many()),
                None => (),
            }
        }
        self.by_spelling.insert(text.into(), next);
        if let Some(integer) = integer {
            self.by_integer.entry(integer).or_insert(next);
        }
        self.spellings.push((text.into(), integer));
        Ok(next)
    }
}

/// The distinct names in order, and for each name its index among them.
fn sorted<T: Ord + Copy + ToString>(names: impl Iterator<Item = T> + Clone) -> (Vec<String>, Vec<f64>) {
    let classes: BTreeSet<T> = names.clone().collect();
    let index: BTreeMap<T, f64> = classes.iter().copied().zip((0_u32..).map(f64::from)).collect();
    (classes.iter().map(T::to_string).collect(), names.map(|name| index[&name]).collect())
}
