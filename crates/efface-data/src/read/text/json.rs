//! One JSON object per line. A column is a name that one of the first objects has; an object without it has nothing there.
//! Columns are in the order of their names: that of the fields would tell which object stood first.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::csv::MAX_CELL_BYTES;
use super::decode::Decoded;
use super::lines::MAX_RECORD_BYTES;
use super::record::Records;
use crate::error::ReadError;
use crate::read::input::{BUFFER_BYTES, Input};
use crate::read::refuse_wide;
use crate::read::source::SourceFile;
use crate::schema::cell::Cell;
use crate::table::{Place, RowNumber, shortened};

pub(super) struct JsonRecords {
    lines: Lines,
    /// Lines that were read to find the names of the columns.
    ahead: VecDeque<(u64, Vec<u8>)>,
    header: Vec<String>,
    column_of: HashMap<String, usize>,
    cells: Vec<Value>,
    /// Of the record.
    line: u64,
}

/// Whether a text begins like an object.
pub(super) fn is_json(input: &mut Input, path: &Path) -> Result<bool, ReadError> {
    let first = input.peek(FIRST_BYTES).map_err(|source| ReadError::Io { file: path.into(), source })?;
    let first = first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&first);
    Ok(first.trim_ascii_start().first() == Some(&b'{'))
}

const FIRST_BYTES: usize = 1 << 12;

impl JsonRecords {
    pub(super) fn open(file: SourceFile<'_>, input: Input) -> Result<Self, ReadError> {
        let reader = BufReader::with_capacity(BUFFER_BYTES, Decoded::new(input, file.encoding));
        let mut lines = Lines { path: file.path.into(), reader, line: 0 };
        let (mut ahead, mut n_bytes) = (VecDeque::new(), 0);
        let mut names = BTreeSet::new();
        while n_bytes < AHEAD_BYTES
            && ahead.len() < AHEAD_LINES
            && let Some(line) = lines.next()?
        {
            names.extend(parsed(&lines, lines.line, &line, Names)?);
            refuse_wide(file.path, names.len() as u64)?;
            n_bytes += line.len();
            ahead.push_back((lines.line, line));
        }
        if names.is_empty() {
            return Err(ReadError::Empty { file: file.path.into() });
        }
        let header: Vec<String> = names.into_iter().collect();
        let column_of = header.iter().cloned().enumerate().map(|(column, name)| (name, column)).collect();
        Ok(Self { lines, ahead, header, column_of, cells: Vec::new(), line: 0 })
    }
}

impl Records for JsonRecords {
    fn header(&self) -> &[String] {
        &self.header
    }

    fn next(&mut self) -> Result<Option<u64>, ReadError> {
        let text = match self.ahead.pop_front() {
            Some((line, text)) => {
                self.line = line;
                text
            }
            None => match self.lines.next()? {
                None => return Ok(None),
                Some(text) => {
                    self.line = self.lines.line;
                    text
                }
            },
        };
        self.cells.clear();
        self.cells.resize(self.header.len(), Value::Missing);
        let into = Cells { column_of: &self.column_of, cells: &mut self.cells };
        parsed(&self.lines, self.line, &text, into)?;
        Ok(Some(self.line))
    }

    fn cell(&self, column: usize) -> Result<Cell<'_>, ReadError> {
        Ok(match &self.cells[column] {
            Value::Missing => Cell::Missing,
            Value::Boolean(truth) => Cell::Boolean(*truth),
            Value::Integer(integer) => Cell::Integer(*integer),
            Value::Number(number) => Cell::Number(*number),
            Value::Text(text) => Cell::Text(text),
            Value::Long(found) => {
                let (place, found) = (self.place(column), *found);
                return Err(ReadError::LongCell { place, found, limit: MAX_CELL_BYTES });
            }
            Value::Nested(what) => {
                let reason = format!("{what}, where a text, a number, true, false or null is expected");
                return Err(ReadError::BadLine { place: self.place(column), reason });
            }
        })
    }

    fn place(&self, column: usize) -> Place {
        let column = Some(self.header[column].clone());
        Place { file: self.lines.path.clone(), row: RowNumber::Line(self.line), column }
    }
}

struct Lines {
    path: PathBuf,
    reader: BufReader<Decoded>,
    /// Of the line that was read last.
    line: u64,
}

impl Lines {
    /// The next line that is not blank.
    fn next(&mut self) -> Result<Option<Vec<u8>>, ReadError> {
        loop {
            let mut text = Vec::new();
            let limited = self.reader.by_ref().take(MAX_RECORD_BYTES + 1).read_until(b'\n', &mut text);
            self.line += 1;
            if limited.map_err(|source| ReadError::Io { file: self.path.clone(), source })? == 0 {
                return Ok(None);
            }
            if text.len() as u64 > MAX_RECORD_BYTES {
                return Err(self.bad(self.line, format!("the line is longer than {MAX_RECORD_BYTES} bytes")));
            }
            if !text.trim_ascii().is_empty() {
                return Ok(Some(text));
            }
        }
    }

    fn bad(&self, line: u64, reason: String) -> ReadError {
        ReadError::BadLine {
            place: Place { file: self.path.clone(), row: RowNumber::Line(line), column: None },
            reason,
        }
    }
}

fn parsed<'de, S: DeserializeSeed<'de>>(
    lines: &Lines,
    line: u64,
    text: &'de [u8],
    seed: S,
) -> Result<S::Value, ReadError> {
    if text.trim_ascii_start().first() == Some(&b'[') {
        let reason = "an array; each line is one object: {\"column\": value, …}".to_owned();
        return Err(lines.bad(line, reason));
    }
    let mut json = serde_json::Deserializer::from_slice(text);
    let value = seed.deserialize(&mut json).and_then(|value| json.end().map(|()| value));
    // The parser counts lines too, and each of them is its first.
    value.map_err(|error| {
        if error.is_eof() {
            let reason = "the line ends before its object is closed; each object stands on one line";
            return lines.bad(line, reason.to_owned());
        }
        let reason = error.to_string();
        let reason = reason.split(" at line ").next().unwrap_or_default();
        // A reason may quote a text of any length.
        let reason = if reason.len() <= MOST_SAID { reason.to_owned() } else { shortened(reason) };
        let what = if error.is_data() { "" } else { "not a JSON object: " };
        lines.bad(line, format!("{what}{reason}, at character {}", error.column()))
    })
}

/// What stands in a field.
#[derive(Clone)]
enum Value {
    Missing,
    Boolean(bool),
    Integer(i128),
    Number(f64),
    Text(String),
    /// A text of so many bytes, too many for a cell: an error where it is asked for.
    Long(usize),
    /// An object or a list: an error where it is asked for.
    Nested(&'static str),
}

/// The names of an object's fields.
struct Names;

impl<'de> DeserializeSeed<'de> for Names {
    type Value = Vec<String>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Vec<String>, D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Names {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Vec<String>, A::Error> {
        let mut names = Vec::new();
        while let Some((name, IgnoredAny)) = fields.next_entry()? {
            names.push(name);
        }
        Ok(names)
    }
}

/// The fields of an object, each in the place of its column.
struct Cells<'a> {
    column_of: &'a HashMap<String, usize>,
    cells: &'a mut [Value],
}

impl<'de> DeserializeSeed<'de> for Cells<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Cells<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let mut seen = vec![false; self.cells.len()];
        while let Some(name) = fields.next_key::<String>()? {
            let Some(&column) = self.column_of.get(&name) else {
                return Err(A::Error::custom(format!(
                    "field `{}` is in none of the lines at the beginning of the file, which say what columns there are",
                    shortened(&name)
                )));
            };
            if std::mem::replace(&mut seen[column], true) {
                return Err(A::Error::custom(format!("two fields are called `{}`", shortened(&name))));
            }
            self.cells[column] = fields.next_value_seed(OneValue)?;
        }
        Ok(())
    }
}

struct OneValue;

impl<'de> DeserializeSeed<'de> for OneValue {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for OneValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Missing)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Value, E> {
        Ok(Value::Boolean(truth))
    }

    fn visit_i64<E>(self, integer: i64) -> Result<Value, E> {
        Ok(Value::Integer(integer.into()))
    }

    fn visit_u64<E>(self, integer: u64) -> Result<Value, E> {
        Ok(Value::Integer(integer.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        let is_long = text.len() > MAX_CELL_BYTES;
        Ok(if is_long { Value::Long(text.len()) } else { Value::Text(text.to_owned()) })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Nested("a list"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Value::Nested("an object"))
    }
}

/// A reason of more bytes is cut.
const MOST_SAID: usize = 200;

/// So many lines, or bytes, are looked at to find the names of the columns.
const AHEAD_LINES: usize = 1000;
const AHEAD_BYTES: usize = 1 << 20;
