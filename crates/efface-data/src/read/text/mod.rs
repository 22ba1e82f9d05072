//! Texts: comma-separated with a header line, or a JSON object per line. Features are numbers, or what a schema makes of
//! cells; all else is text.

mod csv;
mod decode;
mod first_line;
mod json;
mod lines;
mod record;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use self::csv::CsvRecords;
pub use self::first_line::FirstLine;
use self::json::JsonRecords;
use self::record::Records;
use super::binary::refuse_binary;
use super::cells::CellReader;
use super::input::{Input, Meter};
use super::kind::Kind;
use super::source::SourceFile;
use super::{ReadProgress, TableReader, UnreadableColumn};
use crate::error::ReadError;
use crate::id::RowId;
use crate::rows::FeatureValues;
use crate::schema::cell::Cell;
use crate::schema::encode::RowEncoder;
use crate::schema::{Notation, Schema};
use crate::table::{Columns, Labels, Origin, RawLabels, Roles, Table, TableParts};

/// What becomes of the columns of a text.
#[derive(Clone, Copy)]
pub(super) enum Wanted<'a> {
    /// Numbers, as they are.
    Numbers,
    /// What a schema makes of them.
    Schema(&'a Schema),
    /// Whatever stands there, kept raw: constants are derived of it. Columns without a name are left out.
    Derived,
    /// Nothing: their cells are looked at. Columns without a name are left out.
    Cells,
}

/// Reads rows; cells are trimmed, blank lines skipped.
pub(super) struct TextReader {
    path: PathBuf,
    records: Box<dyn Records>,
    meter: Meter,
    roles: Roles,
    feature_names: Vec<String>,
    /// What makes features of cells that are not simply numbers.
    encoder: Option<RowEncoder>,
    notation: Notation,
    left_out: Vec<UnreadableColumn>,
    rows_read: u64,
}

impl TextReader {
    /// Opens a text, and answers the schema by which it is read, if it is read by one.
    pub(super) fn open(
        file: SourceFile<'_>,
        columns: &Columns,
        wanted: Wanted<'_>,
    ) -> Result<(Self, Option<Schema>), ReadError> {
        let path = file.path;
        let mut input = Input::open(path)?;
        let meter = input.meter();
        refuse_binary(&mut input, path)?;
        let is_json = match Kind::of(path) {
            Some(Kind::Stream) => json::is_json(&mut input, path)?,
            kind => kind == Some(Kind::JsonLines),
        };
        let records: Box<dyn Records> =
            if is_json { Box::new(JsonRecords::open(file, input)?) } else { Box::new(CsvRecords::open(file, input)?) };
        let header = records.header();
        let in_first_line = |error: ReadError| if is_json { error } else { error.in_first_line(header) };
        let unnamed = header.iter().position(String::is_empty);
        let named = || {
            let ignore = columns.ignore.iter().cloned().chain(unnamed.map(|_| String::new())).collect();
            Columns { ignore, ..columns.clone() }.resolve(header, path).map_err(in_first_line)
        };
        let is_left_out = matches!(wanted, Wanted::Cells | Wanted::Derived) && columns.features.is_none();
        let (roles, schema) = match wanted {
            Wanted::Numbers => (columns.resolve(header, path).map_err(in_first_line)?, None),
            Wanted::Cells => (named()?, None),
            Wanted::Schema(schema) => (columns.resolve_schema(schema, header, path)?, Some(schema.clone())),
            Wanted::Derived => {
                let roles = named()?;
                let names: Vec<String> = roles.features.iter().map(|column| header[*column].clone()).collect();
                (roles, Some(Schema::of_derived(&names, columns).map_err(|error| no_schema(path, &error))?))
            }
        };
        let encoder = schema.as_ref().map(RowEncoder::new).transpose()?;
        let feature_names = match &encoder {
            None => roles.features.iter().map(|column| header[*column].clone()).collect(),
            Some(encoder) => encoder.feature_names.clone(),
        };
        let notation = schema.as_ref().map(Schema::notation).unwrap_or_default();
        let left_out = unnamed.filter(|_| is_left_out).map(|column| UnreadableColumn {
            name: String::new(),
            what: format!("column {}, without a name", column + 1),
        });
        let (path, left_out) = (path.into(), left_out.into_iter().collect());
        let reader = Self { path, records, meter, roles, feature_names, encoder, notation, left_out, rows_read: 0 };
        Ok((reader, schema))
    }

    /// Writes the features of the record into a row of zeros.
    fn write_features(&self, row: &mut [f64]) -> Result<(), ReadError> {
        let columns = &self.roles.features;
        for (index, &column) in columns.iter().enumerate() {
            match &self.encoder {
                None => row[index] = self.records.number(column, columns)?,
                Some(encoder) => encoder
                    .encode(index, &self.records.cell(column)?, row)
                    .map_err(|error| ReadError::Cell { place: self.records.place(column), source: Box::new(error) })?,
            }
        }
        Ok(())
    }
}

/// What stands in the columns does not make a schema.
pub(super) fn no_schema(path: &Path, reason: &dyn std::fmt::Display) -> ReadError {
    ReadError::NoProposal { file: path.into(), reason: reason.to_string() }
}

impl CellReader for TextReader {
    fn visit_rows(&mut self, max_rows: u64, visit: &mut dyn FnMut(usize, Cell<'_>)) -> Result<u64, ReadError> {
        let mut n_rows = 0;
        while n_rows < max_rows && self.records.next()?.is_some() {
            for (index, &column) in self.roles.features.iter().enumerate() {
                visit(index, self.records.cell(column)?);
            }
            n_rows += 1;
        }
        Ok(n_rows)
    }
}

impl TableReader for TextReader {
    fn feature_names(&self) -> &[String] {
        &self.feature_names
    }

    fn left_out(&self) -> &[UnreadableColumn] {
        &self.left_out
    }

    fn next_chunk(&mut self, max_rows: usize) -> Result<Option<Table>, ReadError> {
        let (mut lines, mut features, mut labels) = (Vec::new(), Vec::new(), Vec::new());
        let (mut ids, mut subjects, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        while lines.len() < max_rows.max(1)
            && let Some(line) = self.records.next()?
        {
            let start = features.len();
            features.resize(start + self.encoder.as_ref().map_or(self.feature_names.len(), |it| it.n_values), 0.0);
            self.write_features(&mut features[start..])?;
            let text = |column: Option<usize>| column.map(|column| self.records.text(column)).transpose();
            labels.extend(text(self.roles.label)?.map(Cow::into_owned));
            ids.extend(text(self.roles.id)?.map(|id| RowId::parse(&id)));
            subjects.extend(text(self.roles.subject)?.map(|subject| RowId::parse(&subject)));
            let weight = self.roles.weight.map(|column| self.records.weight(column));
            weights.extend(weight.transpose()?);
            lines.push(line);
        }
        if lines.is_empty() && self.rows_read > 0 {
            return Ok(None);
        }
        features.shrink_to_fit();
        let n_rows = lines.len();
        let origin = Origin::with_lines(&self.path, lines).starting_at(self.rows_read);
        let features = match &self.encoder {
            Some(encoder) => encoder.finish(features, &origin, n_rows)?,
            None => FeatureValues::F64(features),
        };
        let header = self.records.header();
        let labels_of = |column: usize| {
            let name = Some(header[column].clone());
            Labels::new(RawLabels::Text(labels), origin.clone(), name).written_as(self.notation)
        };
        let table = Table::new(TableParts {
            feature_names: self.feature_names.clone(),
            features,
            labels: self.roles.label.map(labels_of),
            ids: self.roles.id.map(|_| ids),
            subjects: self.roles.subject.map(|_| subjects),
            row_weights: self.roles.weight.map(|_| weights),
            origin,
            texts: self.encoder.as_ref().and_then(RowEncoder::take_texts),
        });
        let table = table.map_err(|error| error.of_weight(self.roles.weight.map(|column| header[column].as_str())))?;
        self.rows_read += n_rows as u64;
        Ok(Some(table))
    }

    fn progress(&self) -> ReadProgress {
        self.meter.progress(self.rows_read)
    }
}
