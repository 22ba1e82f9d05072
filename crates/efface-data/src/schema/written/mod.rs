//! Numbers as people write them: percents, money, thousands, decimal commas, dates. What a text means depends on that text
//! and on what is declared, never on other rows; a file whose numbers contradict one another is refused.

mod amount;
mod date;

use std::cell::Cell;

use serde::{Deserialize, Serialize};

use crate::error::CellError;

/// What is declared about the way numbers and dates are written, where one text can be read in two ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Notation {
    /// What stands before a fraction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decimal: Option<DecimalMark>,
    /// What comes first in `05/06/2024`. Where nothing is declared, that is a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dates: Option<DateOrder>,
}

impl Notation {
    /// The same, with what another one declares in the first place.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { decimal: self.decimal.or(other.decimal), dates: self.dates.or(other.dates) }
    }
}

/// What stands before a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DecimalMark {
    /// `1,234.5`
    #[serde(rename = ".")]
    Point,
    /// `1.234,5`
    #[serde(rename = ",")]
    Comma,
}

impl DecimalMark {
    fn symbol(self) -> char {
        if self == Self::Point { '.' } else { ',' }
    }
}

/// What comes first in a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DateOrder {
    /// 31/05/2024
    #[serde(rename = "dmy")]
    DayFirst,
    /// 05/31/2024
    #[serde(rename = "mdy")]
    MonthFirst,
}

/// Reads the numbers of one file.
///
/// | written | is |
/// |---|---|
/// | `12.5 %`, `$1,234.50`, `-€ 3`, `(42)`, `42-` | 12.5, 1234.5, −3, −42, −42 |
/// | `1,234,567`, `1.234.567,8`, `1'234.5`, `1 234,5` | 1234567, 1234567.8, 1234.5, 1234.5 |
/// | `3,25`, `0,125` | 3.25, 0.125 |
/// | `1,234`, `1.234`, `1.234 €` | 1234, 1.234, 1234, unless a decimal mark is declared |
/// | `2024-05-31`, `31.05.2024`, `31 May 2024`, `2024-05-31T18:00:00Z` | days since 1970, and the part of the day |
/// | `05/31/2024` | the same, if the order is declared |
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    notation: Notation,
    told: Cell<Evidence>,
}

/// What a number tells about the decimal mark of its file.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Told {
    Nothing,
    /// It can be read with this one only.
    Shown(DecimalMark),
    /// It could be read with the other one, too, and would be another number.
    Assumed(DecimalMark),
}

/// What the numbers of a file have told so far, by mark.
#[derive(Clone, Copy, Debug, Default)]
struct Evidence {
    shown: [bool; 2],
    assumed: [bool; 2],
}

impl Numbers {
    pub(crate) fn new(notation: Notation) -> Self {
        Self { notation, told: Cell::default() }
    }

    /// The number that a text stands for; `None`: it is a text.
    pub(crate) fn read(&self, text: &str) -> Result<Option<f64>, CellError> {
        let text = text.trim();
        let Some((x, told)) = self.look_at(text) else { return Ok(None) };
        let (mark, is_shown) = match told {
            Told::Nothing => return Ok(Some(x)),
            Told::Shown(mark) => (mark, true),
            Told::Assumed(mark) => (mark, false),
        };
        let mut so_far = self.told.get();
        let (mine, other) = (mark as usize, 1 - mark as usize);
        if so_far.assumed[other] || so_far.shown[other] && !is_shown {
            return Err(CellError::TwoMarks { value: text.to_owned() });
        }
        let told = if is_shown { &mut so_far.shown } else { &mut so_far.assumed };
        told[mine] = true;
        self.told.set(so_far);
        Ok(Some(x))
    }

    fn look_at(&self, text: &str) -> Option<(f64, Told)> {
        if let Ok(x) = text.parse::<f64>() {
            return match text.contains('.') {
                false => Some((x, Told::Nothing)),
                true if may_be_thousands(text) => amount::amount(text, self.notation.decimal),
                true => Some((x, Told::Shown(DecimalMark::Point))),
            };
        }
        if text.len() > LONGEST || !text.bytes().any(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let day = || date::date(text, self.notation.dates).map(|days| (days, Told::Nothing));
        day().or_else(|| amount::amount(text, self.notation.decimal)).filter(|(x, _)| x.is_finite())
    }
}

/// Nothing that long is a number that somebody wrote.
const LONGEST: usize = 64;

/// Whether a plain number such as `1.234` may have been meant as 1234.
fn may_be_thousands(text: &str) -> bool {
    match text.strip_prefix(['-', '+']).unwrap_or(text).as_bytes() {
        [b'1'..=b'9', before @ .., b'.', a, b, c] => {
            before.len() <= 2 && before.iter().chain([a, b, c]).all(u8::is_ascii_digit)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of the last of these texts, read one after the other.
    fn last(notation: Notation, texts: &[&str]) -> Result<Option<f64>, CellError> {
        let numbers = Numbers::new(notation);
        let mut read: Vec<_> = texts.iter().map(|text| numbers.read(text)).collect();
        read.pop().expect("a text")
    }

    #[test]
    fn a_file_that_contradicts_itself_is_refused() {
        let undeclared = Notation::default();
        for texts in [
            ["12,5", "1.234"],
            ["1.234", "12,5"],
            ["0,25", "1,234"],
            ["1,234", "0,25"],
            ["1.234 €", "12.5"],
            ["1.234 €", "1.234"],
        ] {
            assert!(matches!(last(undeclared, &texts), Err(CellError::TwoMarks { .. })), "{texts:?}");
            let declared = Notation { decimal: Some(DecimalMark::Comma), ..undeclared };
            assert!(matches!(last(declared, &texts), Ok(Some(_))), "{texts:?}");
        }
        for texts in [["12,5", "12.5"], ["1.234", "7.5"], ["1,234", "7.5"], ["1.234 €", "0,5"], ["12,5", "31.05.2024"]]
        {
            assert!(matches!(last(undeclared, &texts), Ok(Some(_))), "{texts:?}");
        }
    }

    #[test]
    fn plain_numbers_are_read_as_they_are() {
        for text in ["1", "-1.5", "1e5", "1.5e-3", ".5", "5.", "+2", "1.2345", "12345.678", "1.234"] {
            assert_eq!(last(Notation::default(), &[text]).expect("a number"), text.parse().ok(), "{text}");
        }
        let comma = Notation { decimal: Some(DecimalMark::Comma), ..Notation::default() };
        for (text, expected) in
            [("1.234", 1234.0), ("-1.234", -1234.0), ("1.23", 1.23), ("0.123", 0.123), ("1.2345", 1.2345)]
        {
            assert_eq!(last(comma, &[text]).expect("a number"), Some(expected), "{text}");
        }
    }

    #[test]
    fn texts_stay_texts() {
        for text in ["", "basic", "05/31/2024", "31/05/2024", "555-0199", "5 kg"] {
            assert_eq!(last(Notation::default(), &[text]).expect("a text"), None, "{text}");
        }
        let day_first = Notation { dates: Some(DateOrder::DayFirst), ..Notation::default() };
        assert_eq!(last(day_first, &["31/05/2024"]).expect("a date"), Some(19_874.0));
    }
}
