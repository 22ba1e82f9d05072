//! What labels mean: classes with an order, or plain numbers.
//!
//! A class has one canonical name. When all labels are numbers they must be integers, and `1`, `1.0` and a numeric 1
//! are one class called `1`; when all are booleans, `True` and `true` are one class called `true`; otherwise a label
//! is its text. Classes are sorted, numbers by value and texts by their bytes, so that the index of a class depends on
//! the set of labels only.

mod class_weights;
mod collect;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

pub use self::class_weights::ClassWeights;
pub use self::collect::ClassCollector;
use crate::error::LabelError;
use crate::schema::written::Numbers;
use crate::table::{Labels, Place, RawLabels, listed};

/// How labels become the numbers that rows carry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LabelCodec {
    /// A label is one of these classes, and carried as its index.
    Classes(Vec<String>),
    /// A label is a finite number, and carried as it is.
    Numeric,
}

/// More classes than this are taken for a mistake.
pub const MAX_CLASSES: usize = 1000;

impl LabelCodec {
    /// The codec that labels call for: for a loss of classification at least two and at most [`MAX_CLASSES`] classes,
    /// numbers otherwise.
    pub fn for_labels(labels: Option<&Labels>, is_classification: bool) -> Result<Self, LabelError> {
        let Some(labels) = labels.filter(|_| is_classification) else { return Ok(Self::Numeric) };
        let mut collector = ClassCollector::new(true);
        collector.push(labels)?;
        Ok(collector.finish()?.0)
    }

    /// The classes in the order of their indices; none for numbers.
    pub fn classes(&self) -> &[String] {
        match self {
            Self::Classes(classes) => classes,
            Self::Numeric => &[],
        }
    }

    /// One number per label: the index of its class, or the number that it is.
    pub fn encode(&self, labels: &Labels) -> Result<Vec<f64>, LabelError> {
        match self {
            Self::Classes(classes) => encode_classes(classes, labels),
            Self::Numeric => encode_numbers(labels),
        }
    }
}

fn encode_classes(classes: &[String], labels: &Labels) -> Result<Vec<f64>, LabelError> {
    let by_name = classes.iter().map(String::as_str).zip((0_u32..).map(f64::from)).collect();
    encode_named(&by_name, None, labels)
}

/// The number of each label's class. Without one for all `others`, a label of another class is refused.
fn encode_named(by_name: &HashMap<&str, f64>, others: Option<f64>, labels: &Labels) -> Result<Vec<f64>, LabelError> {
    let by_integer: HashMap<i64, f64> =
        by_name.iter().filter_map(|(name, index)| Some((as_integer(name.parse().ok()?)?, *index))).collect();
    let of_number = |number: f64| by_integer.get(&as_integer(number)?);
    let of_text = |text: &str| {
        let canonical = || text.parse().ok().and_then(of_number).or_else(|| by_name.get(as_boolean(text)?));
        by_name.get(text).or_else(canonical)
    };
    let unknown = |place, value| {
        let mut classes: Vec<(&f64, &str)> = by_name.iter().map(|(name, index)| (index, *name)).collect();
        classes.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let classes: Vec<&str> = classes.into_iter().map(|(_, name)| name).collect();
        LabelError::UnknownClass { place, value, classes: listed(&classes) }
    };
    let or_others = |found: Option<&f64>| found.copied().or(others);
    encode_each(labels, |text| or_others(of_text(text)), |number| or_others(of_number(number)), unknown)
}

fn encode_numbers(labels: &Labels) -> Result<Vec<f64>, LabelError> {
    let numbers = Numbers::new(labels.notation());
    let finite = |number: f64| number.is_finite().then_some(number);
    let of_text = |text: &str| numbers.read(text).ok().flatten().and_then(finite);
    encode_each(labels, of_text, finite, |place, value| match numbers.read(&value) {
        Err(source) => LabelError::Cell { place, source },
        Ok(_) => LabelError::NotANumber { place, value },
    })
}

fn encode_each(
    labels: &Labels,
    of_text: impl Fn(&str) -> Option<f64>,
    of_number: impl Fn(f64) -> Option<f64>,
    refused: impl Fn(Place, String) -> LabelError,
) -> Result<Vec<f64>, LabelError> {
    let or_refused = |row, code: Option<f64>, value: &dyn ToString| {
        code.ok_or_else(|| refused(labels.place(row), value.to_string()))
    };
    match &labels.values {
        RawLabels::Text(texts) => texts.iter().enumerate().map(|(row, x)| or_refused(row, of_text(x), x)).collect(),
        RawLabels::Numbers(xs) => xs.iter().enumerate().map(|(row, x)| or_refused(row, of_number(*x), x)).collect(),
    }
}

/// The class whose index a label is.
pub(crate) fn class_of(label: f64) -> Option<usize> {
    (label.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&label)).then_some(label as usize)
}

/// The integer that a number is, if it is one that a double tells apart from its neighbours.
fn as_integer(number: f64) -> Option<i64> {
    const LIMIT: f64 = (1_u64 << 53) as f64;
    (number.fract() == 0.0 && number.abs() <= LIMIT).then_some(number as i64)
}

pub(crate) fn as_boolean(text: &str) -> Option<&'static str> {
    match text {
        "true" | "True" | "TRUE" => Some("true"),
        "false" | "False" | "FALSE" => Some("false"),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
