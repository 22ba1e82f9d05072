//! One cell of a table as it stands in the file, whatever the format: the same value is the same cell.

use std::borrow::Cow;

use super::written::Numbers;
use crate::error::CellError;

/// A cell. Texts come with their outer blanks.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'a> {
    /// A null, or a NaN of a typed column.
    Missing,
    /// A text.
    Text(&'a str),
    /// True or false.
    Boolean(bool),
    /// A whole number.
    Integer(i128),
    /// A number.
    Number(f64),
    /// Single precision: kept apart so that 0.1 is spelt `0.1`.
    Single(f32),
    /// The elements of a list; nulls are NaN.
    List(Vec<f64>),
    /// A file within the table.
    Bytes(&'a [u8]),
}

impl Cell<'_> {
    /// The one text that stands for the value: what makes two cells the same category.
    pub(crate) fn spelling(&self) -> Cow<'_, str> {
        match self {
            Self::Missing => "".into(),
            Self::Text(text) => canonical(text).into(),
            Self::Boolean(value) => if *value { "true" } else { "false" }.into(),
            Self::Integer(value) => value.to_string().into(),
            Self::Number(value) => spelling_of(*value).into(),
            Self::Single(value) => if *value == 0.0 { "0".into() } else { value.to_string() }.into(),
            Self::List(values) => format!("{values:?}").into(),
            Self::Bytes(bytes) => format!("{} bytes", bytes.len()).into(),
        }
    }

    /// The number that stands here; `None`: it is none.
    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            Self::Text(text) => text.trim().parse().ok(),
            Self::Integer(value) => Some(*value as f64),
            Self::Number(value) => Some(*value),
            Self::Single(value) => Some(f64::from(*value)),
            Self::Missing | Self::Boolean(_) | Self::List(_) | Self::Bytes(_) => None,
        }
    }

    /// The number that stands here, also where people write it with a unit, with separators or as a date.
    pub(crate) fn amount(&self, numbers: &Numbers) -> Result<Option<f64>, CellError> {
        if let Self::Text(text) = self { numbers.read(text) } else { Ok(self.number()) }
    }
}

/// A number as its shortest decimal text, without exponent; zero has no sign.
pub(crate) fn spelling_of(value: f64) -> String {
    if value == 0.0 { "0".into() } else { value.to_string() }
}

/// A text without outer blanks, and an integer without the `.0` that spreadsheets and data frames append. All else
/// stays as it is: `007`, `1.50` and `1e3` are texts of their own.
pub(crate) fn canonical(text: &str) -> &str {
    let text = text.trim();
    match text.strip_suffix(".0") {
        Some(integer) if is_integer(integer) => integer,
        _ => text,
    }
}

/// Whether a text is an integer in its only spelling.
fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    match digits {
        [b'0'] => text == "0",
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_has_one_spelling_in_every_format() {
        for cell in [Cell::Text(" 1 "), Cell::Text("1.0"), Cell::Integer(1), Cell::Number(1.0), Cell::Single(1.0)] {
            assert_eq!(cell.spelling(), "1", "{cell:?}");
        }
        for cell in [Cell::Text("0.1"), Cell::Number(0.1), Cell::Single(0.1)] {
            assert_eq!(cell.spelling(), "0.1", "{cell:?}");
        }
        for cell in [Cell::Text("0"), Cell::Text("0.0"), Cell::Number(-0.0), Cell::Single(-0.0)] {
            assert_eq!(cell.spelling(), "0", "{cell:?}");
        }
        assert_eq!((Cell::Text("true").spelling(), Cell::Boolean(true).spelling()), ("true".into(), "true".into()));
        assert_eq!(Cell::Integer(i128::from(u64::MAX)).spelling(), u64::MAX.to_string());
    }

    #[test]
    fn codes_that_look_like_numbers_keep_their_spelling() {
        for text in ["007", "007.0", "1.50", "250.00", "1e3", "+1", "-0.0", ".0", "-.0", "a.0"] {
            assert_eq!(canonical(text), text);
        }
        assert_eq!(canonical("-12.0"), "-12");
    }
}
