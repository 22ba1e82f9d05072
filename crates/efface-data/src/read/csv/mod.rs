//! Comma-separated text with a header line. Features are numbers, or what a schema makes of texts; all else is text.

mod lines;

use std::path::{Path, PathBuf};

use csv::{ByteRecord, ErrorKind, Reader, ReaderBuilder};

use self::lines::{LineCounter, MAX_RECORD_BYTES};
use super::cells::CellReader;
use super::input::{BUFFER_BYTES, Input, Meter};
use super::{ReadProgress, TableReader, refuse_wide};
use crate::error::ReadError;
use crate::id::RowId;
use crate::rows::FeatureValues;
use crate::schema::Schema;
use crate::schema::cell::Cell;
use crate::schema::encode::RowEncoder;
use crate::table::{Columns, Labels, Origin, Place, RawLabels, Roles, RowNumber, Table, TableParts};

/// Reads rows; cells are trimmed, blank lines skipped.
pub(super) struct CsvReader {
    records: Records,
    meter: Meter,
    roles: Roles,
    feature_names: Vec<String>,
    /// What makes features of cells that are not simply numbers.
    encoder: Option<RowEncoder>,
    rows_read: u64,
}

impl CsvReader {
    pub(super) fn open(path: &Path, columns: &Columns, schema: Option<&Schema>) -> Result<Self, ReadError> {
        let resolve = |header: &[String]| match schema {
            None => columns.resolve(header, path),
            Some(schema) => columns.resolve_schema(schema, header, path),
        };
        Self::open_with(path, resolve, schema.map(RowEncoder::new))
    }

    /// Opens a file to look at its cells; columns without a name are left out.
    pub(super) fn open_cells(path: &Path, columns: &Columns) -> Result<Self, ReadError> {
        let resolve = |header: &[String]| {
            let unnamed = header.iter().find(|name| name.is_empty());
            let ignore = columns.ignore.iter().chain(unnamed).cloned().collect();
            Columns { ignore, ..columns.clone() }.resolve(header, path)
        };
        Self::open_with(path, resolve, None)
    }

    fn open_with(
        path: &Path,
        resolve: impl FnOnce(&[String]) -> Result<Roles, ReadError>,
        encoder: Option<RowEncoder>,
    ) -> Result<Self, ReadError> {
        let mut input = Input::open(path)?;
        let meter = input.meter();
        let first = input.peek(HEADER_BYTES).map_err(|source| ReadError::Io { file: path.into(), source })?;
        let mut reader = ReaderBuilder::new()
            .flexible(true)
            .delimiter(delimiter(&first))
            .buffer_capacity(BUFFER_BYTES)
            .from_reader(LineCounter::new(input));
        let header = reader.byte_headers().cloned();
        let header = header.map_err(|error| too_long(path, &reader).unwrap_or_else(|| failed(path, error)))?;
        refuse_wide(path, header.len() as u64)?;
        refuse_long_cells(&header, |column| place_of(path, 1, Some(format!("number {}", column + 1))))?;
        let header = header_names(&header, path)?;
        if header.is_empty() {
            return Err(ReadError::Empty { file: path.into() });
        }
        let roles = resolve(&header)?;
        let feature_names = match &encoder {
            None => roles.features.iter().map(|column| header[*column].clone()).collect(),
            Some(encoder) => encoder.feature_names.clone(),
        };
        let records = Records { path: path.into(), header, reader, cells: ByteRecord::new() };
        Ok(Self { records, meter, roles, feature_names, encoder, rows_read: 0 })
    }
}

impl CellReader for CsvReader {
    fn visit_rows(&mut self, max_rows: u64, visit: &mut dyn FnMut(usize, Cell<'_>)) -> Result<u64, ReadError> {
        let mut n_rows = 0;
        while n_rows < max_rows
            && let Some(record) = self.records.next()?
        {
            for (index, &column) in self.roles.features.iter().enumerate() {
                visit(index, Cell::Text(record.unicode(column)?));
            }
            n_rows += 1;
        }
        Ok(n_rows)
    }
}

impl TableReader for CsvReader {
    fn feature_names(&self) -> &[String] {
        &self.feature_names
    }

    fn next_chunk(&mut self, max_rows: usize) -> Result<Option<Table>, ReadError> {
        let (mut lines, mut features, mut labels) = (Vec::new(), Vec::new(), Vec::new());
        let (mut ids, mut subjects) = (Vec::new(), Vec::new());
        while lines.len() < max_rows.max(1)
            && let Some(record) = self.records.next()?
        {
            let start = features.len();
            features.resize(start + self.feature_names.len(), 0.0);
            record.write_features(&self.roles.features, self.encoder.as_ref(), &mut features[start..])?;
            let text = |column: Option<usize>| column.map(|column| record.text(column)).transpose();
            labels.extend(text(self.roles.label)?.map(str::to_owned));
            ids.extend(text(self.roles.id)?.map(RowId::parse));
            subjects.extend(text(self.roles.subject)?.map(RowId::parse));
            lines.push(record.line);
        }
        if lines.is_empty() && self.rows_read > 0 {
            return Ok(None);
        }
        features.shrink_to_fit();
        let Records { path, header, .. } = &self.records;
        let n_rows = lines.len() as u64;
        let origin = Origin::with_lines(path, lines).starting_at(self.rows_read);
        let labels_of =
            |column: usize| Labels::new(RawLabels::Text(labels), origin.clone(), Some(header[column].clone()));
        let table = Table::new(TableParts {
            feature_names: self.feature_names.clone(),
            features: FeatureValues::F64(features),
            labels: self.roles.label.map(labels_of),
            ids: self.roles.id.map(|_| ids),
            subjects: self.roles.subject.map(|_| subjects),
            origin,
            texts: self.encoder.as_ref().and_then(RowEncoder::take_texts),
        })?;
        self.rows_read += n_rows;
        Ok(Some(table))
    }

    fn progress(&self) -> ReadProgress {
        self.meter.progress(self.rows_read)
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
        other => ReadError::Io { file: path.into(), source: std::io::Error::other(format!("{other:?}")) },
    }
}

fn header_names(header: &ByteRecord, path: &Path) -> Result<Vec<String>, ReadError> {
    let name = |(index, bytes): (usize, &[u8])| match std::str::from_utf8(bytes) {
        Ok(name) => Ok(name.trim().to_owned()),
        Err(_) => Err(ReadError::NotUnicode { file: path.into(), what: format!("the name of column {}", index + 1) }),
    };
    header.iter().enumerate().map(name).collect()
}

struct Records {
    path: PathBuf,
    header: Vec<String>,
    reader: Reader<LineCounter<Input>>,
    cells: ByteRecord,
}

impl Records {
    /// The next record, which has as many cells as the header; `None` at the end of the file.
    fn next(&mut self) -> Result<Option<Record<'_>>, ReadError> {
        let Self { path, header, reader, cells } = self;
        let start = reader.position().byte();
        reader.get_mut().record_ended(start);
        let read = reader.read_byte_record(cells);
        if !read.map_err(|error| too_long(path, reader).unwrap_or_else(|| failed(path, error)))? {
            return Ok(None);
        }
        // The byte before the end ends the record: `\n`, the `\r` of `\r\n`, or its last byte.
        let end = reader.position().byte();
        let last_line = reader.get_mut().line_of(end.saturating_sub(1));
        let inside_quotes = cells.as_slice().split(|byte| *byte == b'\n').count() as u64 - 1;
        let line = last_line.saturating_sub(inside_quotes).max(1);
        if cells.len() != header.len() {
            let place = place_of(path, line, None);
            return Err(ReadError::LineLength { place, found: cells.len(), expected: header.len() });
        }
        refuse_long_cells(cells, |column| place_of(path, line, Some(header[column].clone())))?;
        Ok(Some(Record { path, header, cells, line }))
    }
}

struct Record<'a> {
    path: &'a Path,
    header: &'a [String],
    cells: &'a ByteRecord,
    /// On which it begins.
    line: u64,
}

impl<'a> Record<'a> {
    /// Writes the numbers of these columns into a row of zeros, or what a schema makes of their cells.
    fn write_features(
        &self,
        columns: &[usize],
        encoder: Option<&RowEncoder>,
        row: &mut [f64],
    ) -> Result<(), ReadError> {
        for (index, &column) in columns.iter().enumerate() {
            match encoder {
                None => row[index] = self.number(column, columns)?,
                Some(encoder) => encoder
                    .encode(index, &Cell::Text(self.unicode(column)?), row)
                    .map_err(|error| ReadError::Cell { place: self.place(column), source: Box::new(error) })?,
            }
        }
        Ok(())
    }

    /// The number in a column, which is one of several `columns` of numbers.
    fn number(&self, column: usize, columns: &[usize]) -> Result<f64, ReadError> {
        let cell = self.cells[column].trim_ascii();
        let place = || self.place(column);
        let value = || String::from_utf8_lossy(cell).into_owned();
        match parsed(cell) {
            Some(number) if number.is_finite() => Ok(number),
            Some(_) => Err(ReadError::NotFinite { place: place(), value: value() }),
            None if cell.is_empty() => Err(ReadError::EmptyCell { place: place() }),
            None => {
                // The further columns that hold no numbers either, so that they need not be found one by one.
                let is_text = |cell: &[u8]| !cell.is_empty() && parsed(cell).is_none();
                let is_other = |other: &&usize| **other != column && is_text(self.cells[**other].trim_ascii());
                let others = columns.iter().filter(is_other).map(|other| self.header[*other].clone()).collect();
                Err(ReadError::NotANumber { place: place(), value: value(), others })
            }
        }
    }

    fn text(&self, column: usize) -> Result<&'a str, ReadError> {
        match self.unicode(column)?.trim() {
            "" => Err(ReadError::EmptyCell { place: self.place(column) }),
            text => Ok(text),
        }
    }

    fn unicode(&self, column: usize) -> Result<&'a str, ReadError> {
        std::str::from_utf8(&self.cells[column]).map_err(|_| {
            let what = format!("line {}, column `{}`", self.line, self.header[column]);
            ReadError::NotUnicode { file: self.path.into(), what }
        })
    }

    fn place(&self, column: usize) -> Place {
        place_of(self.path, self.line, Some(self.header[column].clone()))
    }
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
            let reason = format!("a cell of {} bytes, at most {MAX_CELL_BYTES} can be read", cell.len());
            Err(ReadError::BadLine { place: place(column), reason })
        }
    }
}

/// What is wrong with a record that was not read to its end because of its length.
fn too_long(path: &Path, reader: &Reader<LineCounter<Input>>) -> Option<ReadError> {
    let line = reader.get_ref().over_limit()?;
    let reason = format!("the row is longer than {MAX_RECORD_BYTES} bytes; is a quote not closed?");
    Some(ReadError::BadLine { place: place_of(path, line, None), reason })
}

fn parsed(cell: &[u8]) -> Option<f64> {
    std::str::from_utf8(cell).ok()?.parse().ok()
}

/// Labels, ids and texts for a schema are far shorter.
const MAX_CELL_BYTES: usize = 1 << 20;
