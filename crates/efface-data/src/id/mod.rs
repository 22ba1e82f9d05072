//! Names of rows and of the people (subjects) they belong to.
//!
//! An id is an integer or a text. The same id has one spelling only: whatever reads as a canonical decimal integer is
//! an integer, wherever it comes from, so `7` in a CSV cell, `7` in JSON and `"7"` in JSON name the same row, while
//! `007` stays a text.

mod digest;

pub use digest::{IdDigest, IdKey};

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

/// The id of a row or of a subject. Build it with [`RowId::parse`] or `From`, which keep the spelling unique.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged, from = "Spelling")]
pub enum RowId {
    /// A canonical decimal integer.
    Integer(i64),
    /// Anything else.
    Text(Box<str>),
}

impl RowId {
    /// Reads an id: canonical decimal integers (`0`, `-12`, no sign `+`, no leading zero, within `i64`) become
    /// integers, everything else is kept as text.
    pub fn parse(text: &str) -> Self {
        let is_canonical = text == "0" || !text.strip_prefix('-').unwrap_or(text).starts_with(['0', '+']);
        match text.parse() {
            Ok(integer) if is_canonical => Self::Integer(integer),
            _ => Self::Text(text.into()),
        }
    }

    /// The id of a row that is called by its number.
    pub fn numbered(number: usize) -> Self {
        Self::Integer(i64::try_from(number).unwrap_or(i64::MAX))
    }

    /// What a hash takes of an id: one byte for its type, then its text, so that no two ids give the same bytes.
    pub(crate) fn type_and_text(&self) -> (&'static [u8; 1], Cow<'_, str>) {
        match self {
            Self::Integer(integer) => (b"i", integer.to_string().into()),
            Self::Text(text) => (b"t", (&**text).into()),
        }
    }
}

impl From<&str> for RowId {
    fn from(text: &str) -> Self {
        Self::parse(text)
    }
}

impl fmt::Display for RowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(integer) => integer.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

impl Zeroize for RowId {
    fn zeroize(&mut self) {
        match self {
            Self::Integer(integer) => integer.zeroize(),
            Self::Text(text) => text.zeroize(),
        }
    }
}

/// An id as it may be written in JSON.
#[derive(Deserialize)]
#[serde(untagged, expecting = "an id must be an integer or a string")]
enum Spelling {
    Integer(i64),
    Text(String),
}

impl From<Spelling> for RowId {
    fn from(spelling: Spelling) -> Self {
        match spelling {
            Spelling::Integer(integer) => Self::Integer(integer),
            Spelling::Text(text) => Self::parse(&text),
        }
    }
}

/// Whether an id names a row or a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IdKind {
    /// One row.
    Row,
    /// Everything about one person.
    Subject,
}

impl fmt::Display for IdKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Row => "row",
            Self::Subject => "subject",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_canonical_integers_become_integers() {
        for text in ["0", "7", "-12", "9223372036854775807", "-9223372036854775808"] {
            assert!(matches!(RowId::parse(text), RowId::Integer(_)), "{text}");
            assert_eq!(RowId::parse(text).to_string(), text);
        }
        for text in ["007", "-0", "+5", "", "-", " 7", "1.0", "1e3", "9223372036854775808", "u-17"] {
            assert_eq!(RowId::parse(text), RowId::Text(text.into()), "{text}");
            assert_eq!(RowId::parse(text).to_string(), text);
        }
    }

    #[test]
    fn json_keeps_numbers_and_strings_and_gives_one_spelling_to_one_id() {
        let ids = vec![RowId::Integer(-3), RowId::parse("007"), RowId::parse("u-17")];
        let json = serde_json::to_string(&ids).expect("serializable");
        assert_eq!(json, r#"[-3,"007","u-17"]"#);
        assert_eq!(serde_json::from_str::<Vec<RowId>>(&json).expect("readable"), ids);
        assert_eq!(serde_json::from_str::<RowId>(r#""7""#).expect("readable"), RowId::Integer(7));
        assert!(serde_json::from_str::<RowId>("1.5").is_err());
    }
}
