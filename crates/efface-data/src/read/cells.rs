//! Cells as they stand in a file, before anything is made of them; and tables of numbers read through a schema.

use std::path::Path;

use super::array::ArrayReader;
use super::binary::unknown_kind;
use super::chain::Chain;
use super::kind::Kind;
use super::parquet::ParquetReader;
use super::source::{Source, SourceFile};
use super::text::{TextReader, Wanted};
use super::{ReadProgress, TableReader};
use crate::error::ReadError;
use crate::rows::FeatureValues;
use crate::schema::cell::Cell;
use crate::schema::encode::RowEncoder;
use crate::schema::{ALL_COLUMNS, ColumnSchema, Schema};
use crate::table::{Columns, Table, TableParts};

/// A file whose cells can be looked at. Its features are the columns that have no other role.
pub(crate) trait CellReader: TableReader {
    /// Visits the cells of at most `max_rows` rows, each with the index of its column, and returns the number of rows;
    /// 0 at the end of the file. The cells of one column come in the order of rows.
    fn visit_rows(&mut self, max_rows: u64, visit: &mut dyn FnMut(usize, Cell<'_>)) -> Result<u64, ReadError>;
}

/// Columns of a type that cannot be read.
/// Opens a table to look at its cells. Of several files the first says which columns there are.
pub(crate) fn open_cells(source: &Source, columns: &Columns) -> Result<Box<dyn CellReader>, ReadError> {
    let first = open_one(source.file(0), columns)?;
    if source.files().len() == 1 {
        return Ok(first);
    }
    let (files, is_numbered) = (source.files(), columns.id.is_none());
    let columns = Columns { features: Some(first.feature_names().to_vec()), ..columns.clone() };
    let others = source.clone();
    let open = move |index| open_one(others.file(index), &columns);
    Ok(Box::new(Chain::new(first, files, is_numbered, Box::new(open))))
}

fn open_one(file: SourceFile<'_>, columns: &Columns) -> Result<Box<dyn CellReader>, ReadError> {
    let path = file.path;
    Ok(match Kind::of(path) {
        Some(Kind::Csv | Kind::JsonLines | Kind::Stream) => Box::new(TextReader::open(file, columns, Wanted::Cells)?.0),
        Some(Kind::Parquet) => Box::new(ParquetReader::open_cells(path, columns)?),
        Some(Kind::Npy | Kind::Idx | Kind::Npz) => Box::new(ArrayReader::open(path, columns)?),
        Some(Kind::Libsvm) => return Err(ReadError::NoSchema { file: path.into() }),
        None => return Err(unknown_kind(path)),
    })
}

impl CellReader for ArrayReader {
    fn visit_rows(&mut self, max_rows: u64, visit: &mut dyn FnMut(usize, Cell<'_>)) -> Result<u64, ReadError> {
        let max_rows = usize::try_from(max_rows).unwrap_or(usize::MAX);
        let Some(table) = self.next_chunk(max_rows)? else { return Ok(0) };
        for row in 0..table.n_rows() {
            for column in 0..table.feature_names().len() {
                visit(column, cell(&table, row, column));
            }
        }
        Ok(table.n_rows() as u64)
    }
}

/// A table of numbers whose columns a schema encodes.
pub(super) struct EncodedReader {
    inner: ArrayReader,
    encoder: RowEncoder,
    /// For each entry of the schema its column in the inner table (`None`: all of them), and that column's name.
    columns: Vec<(Option<usize>, String)>,
}

impl EncodedReader {
    /// Opens an array. Its columns are `x0`, `x1`, …; those without an entry are left out.
    pub(super) fn open(path: &Path, columns: &Columns, schema: &Schema) -> Result<Self, ReadError> {
        columns.check_are_of(schema, path)?;
        let all = Columns { features: None, ignore: Vec::new(), ..columns.clone() };
        let inner = ArrayReader::open(path, &all)?;
        let names = inner.feature_names();
        let find = |column: &ColumnSchema| {
            if column.name == ALL_COLUMNS {
                return Ok((None, column.name.clone()));
            }
            let at = names.iter().position(|name| *name == column.name);
            Ok((Some(at.ok_or_else(|| column.absent(path, names))?), column.name.clone()))
        };
        let columns = schema.columns().iter().map(find).collect::<Result<_, ReadError>>()?;
        Ok(Self { encoder: RowEncoder::new(schema)?, columns, inner })
    }
}

impl TableReader for EncodedReader {
    fn feature_names(&self) -> &[String] {
        &self.encoder.feature_names
    }

    fn next_chunk(&mut self, max_rows: usize) -> Result<Option<Table>, ReadError> {
        let Some(table) = self.inner.next_chunk(max_rows)? else { return Ok(None) };
        let n_values = self.encoder.n_values;
        let mut values = vec![0.0; table.n_rows() * n_values];
        for row in 0..table.n_rows() {
            let into = &mut values[row * n_values..(row + 1) * n_values];
            for (entry, (column, name)) in self.columns.iter().enumerate() {
                let cell = column.map_or_else(|| all_cells(&table, row), |column| cell(&table, row, column));
                self.encoder.encode(entry, &cell, into).map_err(|error| {
                    let place = table.origin().place(row, Some(name));
                    ReadError::Cell { place, source: Box::new(error) }
                })?;
            }
        }
        let feature_names = self.encoder.feature_names.clone();
        let features = self.encoder.finish(values, table.origin(), table.n_rows())?;
        let texts = self.encoder.take_texts();
        Table::new(TableParts { feature_names, features, texts, ..table.into_parts() }).map(Some)
    }

    fn progress(&self) -> ReadProgress {
        self.inner.progress()
    }
}

/// The row of an array as one cell.
fn all_cells(table: &Table, row: usize) -> Cell<'static> {
    let dim = table.feature_names().len();
    let mut values = vec![0.0; dim];
    table.features().read(row * dim, &mut values);
    Cell::List(values)
}

fn cell(table: &Table, row: usize, column: usize) -> Cell<'static> {
    let index = row * table.feature_names().len() + column;
    match table.features() {
        FeatureValues::F32(values) => Cell::Single(values[index]),
        FeatureValues::F64(values) => Cell::Number(values[index]),
    }
}
