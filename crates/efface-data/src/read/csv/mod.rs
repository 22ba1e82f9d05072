//! Comma-separated text with a header line. Features are numbers, or what a schema makes of texts; all else is text.

mod lines;

use std::path::{Path, PathBuf};

use csv::{ByteRecord, ErrorKind, Reader, ReaderBuilder};

use self::lines::LineCounter;
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
    path: PathBuf,
    reader: Reader<LineCounter<Input>>,
    meter: Meter,
    header: Vec<String>,
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
        let input = Input::open(path)?;
        let meter = input.meter();
        let mut reader =
            ReaderBuilder::new().flexible(true).buffer_capacity(BUFFER_BYTES).from_reader(LineCounter::new(input));
        let header = reader.byte_headers().map_err(|error| failed(path, error))?;
        refuse_wide(path, header.len() as u64)?;
        let header = header_names(header, path)?;
        if header.is_empty() {
            return Err(ReadError::Empty { file: path.into() });
        }
        let roles = resolve(&header)?;
        let feature_names = match &encoder {
            None => roles.features.iter().map(|column| header[*column].clone()).collect(),
            Some(encoder) => encoder.feature_names().to_vec(),
        };
        Ok(Self { path: path.into(), reader, meter, header, roles, feature_names, encoder, rows_read: 0 })
    }
}

impl CellReader for CsvReader {
    fn column_names(&self) -> &[String] {
        &self.feature_names
    }

    fn visit_rows(&mut self, max_rows: u64, visit: &mut dyn FnMut(usize, Cell<'_>)) -> Result<u64, ReadError> {
        let rows = Rows::new(&self.path, &self.header, &self.roles, None);
        let mut record = ByteRecord::new();
        let mut n_rows = 0;
        while n_rows < max_rows
            && let Some(line) = next_line(&mut self.reader, &self.path, &mut record)?
        {
            rows.check_length(&record, line)?;
            for (index, &column) in self.roles.features.iter().enumerate() {
                visit(index, Cell::Text(rows.unicode(&record, column, line)?));
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
        let mut rows = Rows::new(&self.path, &self.header, &self.roles, self.encoder.as_ref());
        let mut record = ByteRecord::new();
        while rows.lines.len() < max_rows.max(1)
            && let Some(line) = next_line(&mut self.reader, &self.path, &mut record)?
        {
            rows.push(&record, line)?;
        }
        let n_rows = rows.lines.len() as u64;
        if n_rows == 0 && self.rows_read > 0 {
            return Ok(None);
        }
        let table = rows.into_table(self.feature_names.clone(), self.rows_read)?;
        self.rows_read += n_rows;
        Ok(Some(table))
    }

    fn progress(&self) -> ReadProgress {
        self.meter.progress(self.rows_read)
    }
}

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

/// Reads the next record and returns the line on which it begins; `None` at the end of the file.
fn next_line(
    reader: &mut Reader<LineCounter<Input>>,
    path: &Path,
    record: &mut ByteRecord,
) -> Result<Option<u64>, ReadError> {
    if !reader.read_byte_record(record).map_err(|error| failed(path, error))? {
        return Ok(None);
    }
    // The byte before the end ends the record: `\n`, the `\r` of `\r\n`, or its last byte.
    let end = reader.position().byte();
    let last_line = reader.get_mut().line_of(end.saturating_sub(1));
    let inside_quotes = record.as_slice().split(|byte| *byte == b'\n').count() as u64 - 1;
    Ok(Some(last_line.saturating_sub(inside_quotes).max(1)))
}

struct Rows<'a> {
    path: &'a Path,
    header: &'a [String],
    roles: &'a Roles,
    encoder: Option<&'a RowEncoder>,
    lines: Vec<u64>,
    features: Vec<f64>,
    labels: Vec<String>,
    ids: Vec<RowId>,
    subjects: Vec<RowId>,
}

impl<'a> Rows<'a> {
    fn new(path: &'a Path, header: &'a [String], roles: &'a Roles, encoder: Option<&'a RowEncoder>) -> Self {
        let (lines, features, labels) = (Vec::new(), Vec::new(), Vec::new());
        Self { path, header, roles, encoder, lines, features, labels, ids: Vec::new(), subjects: Vec::new() }
    }

    fn check_length(&self, record: &ByteRecord, line: u64) -> Result<(), ReadError> {
        if record.len() == self.header.len() {
            return Ok(());
        }
        let place = Place { file: self.path.into(), row: RowNumber::Line(line), column: None };
        Err(ReadError::LineLength { place, found: record.len(), expected: self.header.len() })
    }

    fn push(&mut self, record: &ByteRecord, line: u64) -> Result<(), ReadError> {
        self.check_length(record, line)?;
        self.lines.push(line);
        match self.encoder {
            None => {
                for &column in &self.roles.features {
                    let value = self.number(record, column, line)?;
                    self.features.push(value);
                }
            }
            Some(encoder) => self.encode(encoder, record, line)?,
        }
        if let Some(column) = self.roles.label {
            let label = self.text(record, column, line)?.to_owned();
            self.labels.push(label);
        }
        let id = |column| self.text(record, column, line).map(RowId::parse);
        let (id, subject) = (self.roles.id.map(id).transpose()?, self.roles.subject.map(id).transpose()?);
        self.ids.extend(id);
        self.subjects.extend(subject);
        Ok(())
    }

    /// Appends the features that a schema makes of the cells of a record.
    fn encode(&mut self, encoder: &RowEncoder, record: &ByteRecord, line: u64) -> Result<(), ReadError> {
        let start = self.features.len();
        self.features.resize(start + encoder.dim(), 0.0);
        for (index, &column) in self.roles.features.iter().enumerate() {
            let cell = Cell::Text(self.unicode(record, column, line)?);
            encoder
                .encode(index, &cell, &mut self.features[start..])
                .map_err(|error| ReadError::Cell { place: self.place(column, line), source: Box::new(error) })?;
        }
        Ok(())
    }

    fn number(&self, record: &ByteRecord, column: usize, line: u64) -> Result<f64, ReadError> {
        let cell = record[column].trim_ascii();
        match std::str::from_utf8(cell).ok().and_then(|cell| cell.parse::<f64>().ok()) {
            Some(value) if value.is_finite() => Ok(value),
            parsed => {
                let place = self.place(column, line);
                let value = String::from_utf8_lossy(cell).into_owned();
                Err(match parsed {
                    Some(_) => ReadError::NotFinite { place, value },
                    None if cell.is_empty() => ReadError::EmptyCell { place },
                    None => ReadError::NotANumber { place, value, others: self.other_texts(record, column) },
                })
            }
        }
    }

    /// The further features of a record that are no numbers either, so that they need not be found one by one.
    fn other_texts(&self, record: &ByteRecord, first: usize) -> Vec<String> {
        let is_text = |cell: &[u8]| {
            let cell = cell.trim_ascii();
            !cell.is_empty() && std::str::from_utf8(cell).map_or(true, |cell| cell.parse::<f64>().is_err())
        };
        let others = self.roles.features.iter().filter(|column| **column != first && is_text(&record[**column]));
        others.map(|column| self.header[*column].clone()).collect()
    }

    fn text<'r>(&self, record: &'r ByteRecord, column: usize, line: u64) -> Result<&'r str, ReadError> {
        match self.unicode(record, column, line)?.trim() {
            "" => Err(ReadError::EmptyCell { place: self.place(column, line) }),
            text => Ok(text),
        }
    }

    fn unicode<'r>(&self, record: &'r ByteRecord, column: usize, line: u64) -> Result<&'r str, ReadError> {
        std::str::from_utf8(&record[column]).map_err(|_| {
            let what = format!("line {line}, column `{}`", self.header[column]);
            ReadError::NotUnicode { file: self.path.into(), what }
        })
    }

    fn place(&self, column: usize, line: u64) -> Place {
        let column = Some(self.header[column].clone());
        Place { file: self.path.into(), row: RowNumber::Line(line), column }
    }

    fn into_table(mut self, feature_names: Vec<String>, first_row: u64) -> Result<Table, ReadError> {
        self.features.shrink_to_fit();
        let origin = Origin::with_lines(self.path, self.lines).starting_at(first_row);
        let labels = self
            .roles
            .label
            .map(|column| Labels::new(RawLabels::Text(self.labels), origin.clone(), Some(self.header[column].clone())));
        Table::new(TableParts {
            feature_names,
            features: FeatureValues::F64(self.features),
            labels,
            ids: self.roles.id.map(|_| self.ids),
            subjects: self.roles.subject.map(|_| self.subjects),
            origin,
        })
    }
}
