//! What labels mean: classes with an order, or plain numbers.
//!
//! A class has one canonical name. When all labels are numbers they must be integers, and `1`, `1.0` and a numeric 1
//! are one class called `1`; when all are booleans, `True` and `true` are one class called `true`; otherwise a label
//! is its text. Classes are sorted, numbers by value and texts by their bytes, so that the index of a class depends on
//! the set of labels only.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use crate::error::LabelError;
use crate::place::Place;
use crate::table::{Labels, RawLabels, listed};

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
    /// The codec that labels call for: classes for a loss of classification, numbers otherwise.
    pub fn for_labels(labels: Option<&Labels>, is_classification: bool) -> Result<Self, LabelError> {
        match labels {
            Some(labels) if is_classification => Self::for_classification(labels),
            _ => Ok(Self::Numeric),
        }
    }

    /// Finds the classes among the labels: at least two, at most [`MAX_CLASSES`].
    pub fn for_classification(labels: &Labels) -> Result<Self, LabelError> {
        let classes = match &labels.values {
            RawLabels::Text(texts) => text_classes(texts, labels)?,
            RawLabels::Numbers(numbers) => number_classes(numbers, labels)?,
        };
        match classes.as_slice() {
            [class] => Err(LabelError::OneClass {
                file: labels.origin().file().into(),
                class: class.clone(),
                n_rows: labels.values.len(),
            }),
            _ => Ok(Self::Classes(classes)),
        }
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
    let by_name: HashMap<&str, f64> = classes.iter().map(String::as_str).zip((0_u32..).map(f64::from)).collect();
    let by_integer: HashMap<i64, f64> =
        by_name.iter().filter_map(|(name, index)| Some((as_integer(name.parse().ok()?)?, *index))).collect();
    let of_number = |number: f64| by_integer.get(&as_integer(number)?);
    let of_text = |text: &str| {
        let canonical = || text.parse().ok().and_then(of_number).or_else(|| by_name.get(as_boolean(text)?));
        by_name.get(text).or_else(canonical)
    };
    let unknown = |row: usize, value: String| LabelError::UnknownClass {
        place: labels.place(row),
        value,
        classes: listed(classes),
    };
    match &labels.values {
        RawLabels::Text(texts) => {
            let code = |(row, text): (usize, &String)| of_text(text).copied().ok_or_else(|| unknown(row, text.clone()));
            texts.iter().enumerate().map(code).collect()
        }
        RawLabels::Numbers(numbers) => {
            let code = |(row, x): (usize, &f64)| of_number(*x).copied().ok_or_else(|| unknown(row, x.to_string()));
            numbers.iter().enumerate().map(code).collect()
        }
    }
}

fn encode_numbers(labels: &Labels) -> Result<Vec<f64>, LabelError> {
    let finite = |row: usize, number: Option<f64>, value: &dyn ToString| match number {
        Some(number) if number.is_finite() => Ok(number),
        _ => Err(LabelError::NotANumber { place: labels.place(row), value: value.to_string() }),
    };
    match &labels.values {
        RawLabels::Text(texts) => texts.iter().enumerate().map(|(row, x)| finite(row, x.parse().ok(), x)).collect(),
        RawLabels::Numbers(numbers) => numbers.iter().enumerate().map(|(row, x)| finite(row, Some(*x), x)).collect(),
    }
}

fn number_classes(numbers: &[f64], labels: &Labels) -> Result<Vec<String>, LabelError> {
    let mut classes = BTreeSet::new();
    for (row, number) in numbers.iter().enumerate() {
        let class = integer_class(*number, || labels.place(row), number)?;
        if classes.insert(class) && classes.len() > MAX_CLASSES {
            return Err(LabelError::TooManyClasses { place: labels.place(row), value: number.to_string() });
        }
    }
    Ok(classes.iter().map(i64::to_string).collect())
}

fn text_classes(texts: &[String], labels: &Labels) -> Result<Vec<String>, LabelError> {
    // Distinct texts with the first row of each, in the order of rows.
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let mut distinct: Vec<(&str, usize)> = Vec::new();
    for (row, text) in texts.iter().enumerate() {
        if *seen.entry(text).or_insert(row) == row {
            distinct.push((text, row));
            if distinct.len() > MAX_CLASSES {
                break;
            }
        }
    }
    for (text, row) in &distinct {
        if text.is_empty() {
            return Err(LabelError::Empty { place: labels.place(*row) });
        }
        if text.parse::<f64>().is_ok_and(|number| !number.is_finite()) {
            return Err(LabelError::NotFinite { place: labels.place(*row), value: (*text).to_owned() });
        }
    }
    if let Some(numbers) = distinct.iter().map(|(text, _)| text.parse::<f64>().ok()).collect::<Option<Vec<_>>>() {
        let mut classes = BTreeSet::new();
        for (number, (text, row)) in numbers.iter().zip(&distinct) {
            classes.insert(integer_class(*number, || labels.place(*row), text)?);
        }
        refuse_too_many(classes.len(), &distinct, labels)?;
        return Ok(classes.iter().map(i64::to_string).collect());
    }
    refuse_too_many(distinct.len(), &distinct, labels)?;
    let booleans: Option<BTreeSet<&str>> = distinct.iter().map(|(text, _)| as_boolean(text)).collect();
    let classes = booleans.unwrap_or_else(|| distinct.iter().map(|(text, _)| *text).collect());
    Ok(classes.into_iter().map(str::to_owned).collect())
}

fn refuse_too_many(n_classes: usize, distinct: &[(&str, usize)], labels: &Labels) -> Result<(), LabelError> {
    match distinct.last() {
        Some((text, row)) if n_classes > MAX_CLASSES => {
            Err(LabelError::TooManyClasses { place: labels.place(*row), value: (*text).to_owned() })
        }
        _ => Ok(()),
    }
}

/// A number as a class.
fn integer_class(number: f64, place: impl Fn() -> Place, value: &impl ToString) -> Result<i64, LabelError> {
    as_integer(number).ok_or_else(|| {
        let (place, value) = (place(), value.to_string());
        if number.is_finite() {
            LabelError::NotAnInteger { place, value }
        } else {
            LabelError::NotFinite { place, value }
        }
    })
}

/// The integer that a number is, if it is one that a double tells apart from its neighbours.
fn as_integer(number: f64) -> Option<i64> {
    const LIMIT: f64 = (1_u64 << 53) as f64;
    (number.fract() == 0.0 && number.abs() <= LIMIT).then_some(number as i64)
}

/// The canonical spelling of a boolean.
fn as_boolean(text: &str) -> Option<&'static str> {
    match text {
        "true" | "True" | "TRUE" => Some("true"),
        "false" | "False" | "FALSE" => Some("false"),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
