//! Comma-separated text with a header line. Semicolons, tabs and bars separate as well, and so does what a line `sep=;`
//! above the header names.
//!
//! The parser takes the end of a text for the end of a quote that is not closed. So a mark follows the text: it is a record of
//! its own, or inside the last cell, and then the quote before that cell is still open.

use std::io::{self, Chain, Cursor, Read};
use std::path::{Path, PathBuf};

use csv::{ByteRecord, ErrorKind, Reader, ReaderBuilder};

use super::decode::Decoded;
use super::lines::{LineCounter, MAX_RECORD_BYTES};
use super::record::Records;
use crate::error::ReadError;
use crate::read::input::{BUFFER_BYTES, Input};
use crate::read::refuse_wide;
use crate::read::source::SourceFile;
use crate::schema::cell::Cell;
use crate::table::{Place, RowNumber};

pub(super) struct CsvRecords {
    path: PathBuf,
    header: Vec<String>,
    reader: Reader<LineCounter<Text>>,
    cells: ByteRecord,
    /// On which the record begins.
    line: u64,
}

/// A text whose first bytes have been looked at.
type Text = Chain<Chain<Cursor<Vec<u8>>, Decoded>, &'static [u8]>;

/// What follows a text.
const END: &[u8] = b"\n\0end of the text\0";

impl CsvRecords {
    pub(super) fn open(file: SourceFile<'_>, input: Input) -> Result<Self, ReadError> {
        let path = file.path;
        let mut text = Decoded::new(input, file.encoding);
        let mut first = first_line(&mut text).map_err(|source| ReadError::Io { file: path.into(), source })?;
        let named = named_delimiter(&first);
        first.drain(..named.map_or(0, |(_, n_bytes)| n_bytes));
        let header_line = 1 + u64::from(named.is_some());
        let mut reader = ReaderBuilder::new()
            .flexible(true)
            .delimiter(named.map_or_else(|| delimiter(&first), |(delimiter, _)| delimiter))
            .buffer_capacity(BUFFER_BYTES)
            .from_reader(LineCounter::new(Cursor::new(first).chain(text).chain(END), header_line));
        let header = reader.byte_headers().cloned();
        let header = header.map_err(|error| too_long(path, &reader).unwrap_or_else(|| failed(path, error)))?;
        match end(&mut reader, &header) {
            Some(End::Text) => return Err(ReadError::Empty { file: path.into() }),
            Some(End::OpenQuote { line }) => return Err(open_quote(place_of(path, line, None))),
            None => {}
        }
        refuse_wide(path, header.len() as u64)?;
        refuse_long_cells(&header, |column| place_of(path, header_line, Some(format!("number {}", column + 1))))?;
        let header = header_names(&header, path)?;
        Ok(Self { path: path.into(), header, reader, cells: ByteRecord::new(), line: 0 })
    }
}

impl Records for CsvRecords {
    fn header(&self) -> &[String] {
        &self.header
    }

    /// The record has as many cells as the header.
    fn next(&mut self) -> Result<Option<u64>, ReadError> {
        let Self { path, header, reader, cells, .. } = self;
        let start = reader.position().byte();
        reader.get_mut().record_ended(start);
        let read = reader.read_byte_record(cells);
        if !read.map_err(|error| too_long(path, reader).unwrap_or_else(|| failed(path, error)))? {
            return Ok(None);
        }
        match end(reader, cells) {
            Some(End::Text) => return Ok(None),
            Some(End::OpenQuote { line }) => {
                return Err(open_quote(place_of(path, line, header.get(cells.len() - 1).cloned())));
            }
            None => {}
        }
        // The byte before the end ends the record: `\n`, the `\r` of `\r\n`, or its last byte.
        let end = reader.position().byte();
        let last_line = reader.get_mut().line_of(end.saturating_sub(1));
        let inside_quotes = cells.as_slice().split(|byte| *byte == b'\n').count() as u64 - 1;
        let line = last_line.saturating_sub(inside_quotes).max(1);
        if cells.len() != header.len() {
            let place = place_of(path, line, None);
            let (found, expected, n_lines) = (cells.len(), header.len(), inside_quotes + 1);
            return Err(ReadError::LineLength { place, found, expected, n_lines });
        }
        refuse_long_cells(cells, |column| place_of(path, line, Some(header[column].clone())))?;
        self.line = line;
        Ok(Some(line))
    }

    fn cell(&self, column: usize) -> Result<Cell<'_>, ReadError> {
        let text = std::str::from_utf8(&self.cells[column]).map_err(|_| {
            let what = format!("line {}, column `{}`", self.line, self.header[column]);
            ReadError::NotUnicode { file: self.path.clone(), what }
        });
        Ok(Cell::Text(text?))
    }

    fn place(&self, column: usize) -> Place {
        place_of(&self.path, self.line, Some(self.header[column].clone()))
    }
}

/// How a text ends.
enum End {
    Text,
    /// A quote was opened on this line.
    OpenQuote {
        line: u64,
    },
}

/// Whether a record has the mark after the end of the text in it.
fn end(reader: &mut Reader<LineCounter<Text>>, cells: &ByteRecord) -> Option<End> {
    let offset = reader.position().byte();
    let counter = reader.get_mut();
    let last = cells.iter().next_back().filter(|_| counter.ends_at(offset))?;
    if cells.len() == 1 && *last == END[1..] {
        return Some(End::Text);
    }
    let n_newlines = last.split(|byte| *byte == b'\n').skip(1).count() as u64;
    last.ends_with(END).then(|| End::OpenQuote { line: counter.line_of(offset).saturating_sub(n_newlines).max(1) })
}

fn open_quote(place: Place) -> ReadError {
    ReadError::BadLine { place, reason: "a quote is opened here and not closed".into() }
}

/// The first bytes of a text: to the end of a line, if there is one within the limit.
fn first_line(text: &mut Decoded) -> io::Result<Vec<u8>> {
    let (mut first, mut n_read) = (vec![0; HEADER_BYTES], 0);
    while n_read < HEADER_BYTES && !first[..n_read].contains(&b'\n') {
        match text.read(&mut first[n_read..])? {
            0 => break,
            n => n_read += n,
        }
    }
    first.truncate(n_read);
    Ok(first)
}

/// The delimiter that a line `sep=;` above the header names, as spreadsheets do, and the length of that line.
fn named_delimiter(first: &[u8]) -> Option<(u8, usize)> {
    let n_bytes = first.iter().position(|byte| *byte == b'\n').map_or(first.len(), |newline| newline + 1);
    let line = first[..n_bytes].strip_suffix(b"\n").unwrap_or(&first[..n_bytes]);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\"")).unwrap_or(line);
    match line {
        [s @ .., b'=', delimiter] if s.eq_ignore_ascii_case(b"sep") => {
            let can_separate = *delimiter == b'\t' || delimiter.is_ascii_punctuation() && *delimiter != b'"';
            can_separate.then_some((*delimiter, n_bytes))
        }
        _ => None,
    }
}

/// What separates the names of columns: the one of comma, semicolon, tab and bar that stands there most often, outside of
/// quotes.
fn delimiter(first: &[u8]) -> u8 {
    let mut counts = [0; DELIMITERS.len()];
    let mut is_quoted = false;
    for byte in first {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'\n' | b'\r' if !is_quoted => break,
            _ if is_quoted => {}
            byte => DELIMITERS.iter().zip(&mut counts).filter(|(it, _)| *it == byte).for_each(|(_, n)| *n += 1),
        }
    }
    let most = counts.iter().max().copied().unwrap_or(0);
    DELIMITERS[counts.iter().position(|count| *count == most).unwrap_or(0)]
}

const DELIMITERS: [u8; 4] = *b",;\t|";

/// So much of a file is looked at to find out what separates its columns.
const HEADER_BYTES: usize = 1 << 16;

fn failed(path: &Path, error: csv::Error) -> ReadError {
    match error.into_kind() {
        ErrorKind::Io(source) => ReadError::Io { file: path.into(), source },
        other => ReadError::Io { file: path.into(), source: io::Error::other(format!("{other:?}")) },
    }
}

fn header_names(header: &ByteRecord, path: &Path) -> Result<Vec<String>, ReadError> {
    let name = |(index, bytes): (usize, &[u8])| match std::str::from_utf8(bytes) {
        Ok(name) => Ok(name.trim().to_owned()),
        Err(_) => Err(ReadError::NotUnicode { file: path.into(), what: format!("the name of column {}", index + 1) }),
    };
    header.iter().enumerate().map(name).collect()
}

fn place_of(path: &Path, line: u64, column: Option<String>) -> Place {
    Place { file: path.into(), row: RowNumber::Line(line), column }
}

fn refuse_long_cells(cells: &ByteRecord, place: impl Fn(usize) -> Place) -> Result<(), ReadError> {
    // Most records are shorter than one cell may be.
    if cells.as_slice().len() <= MAX_CELL_BYTES {
        return Ok(());
    }
    match cells.iter().enumerate().find(|(_, cell)| cell.len() > MAX_CELL_BYTES) {
        None => Ok(()),
        Some((column, cell)) => {
            Err(ReadError::LongCell { place: place(column), found: cell.len(), limit: MAX_CELL_BYTES })
        }
    }
}

/// What is wrong with a record that was not read to its end because of its length.
fn too_long(path: &Path, reader: &Reader<LineCounter<Text>>) -> Option<ReadError> {
    let line = reader.get_ref().over_limit()?;
    let reason = format!("the row is longer than {MAX_RECORD_BYTES} bytes; is a quote not closed?");
    Some(ReadError::BadLine { place: place_of(path, line, None), reason })
}

/// Labels, ids and texts for a schema are far shorter.
pub(super) const MAX_CELL_BYTES: usize = 1 << 20;
