//! Parquet: columns by name, read a batch at a time; only the columns that are needed leave the disk.
//!
//! Types are Parquet's own: what a writer notes about Arrow (dictionaries, large strings, lists of fixed size) is left
//! aside, so that each kind of value comes in one form. Only for some dates and times that note is all there is.

mod batches;
mod cells;
mod columns;
mod footer;
mod metadata;
mod pages;
mod plain;
mod thrift;

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::{Field, Fields, Schema as ArrowSchema};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};

use self::batches::Batches;
use self::cells::{CellError, Slot, append_ids, append_labels, cell, numbers, width, write_features};
use self::columns::{BatchColumn, ColumnPlan, Conversion};
use self::metadata::{check_metadata, damaged, guarded, may_have_gaps, with_noted_times};
use self::pages::PageFile;
use self::plain::converted;
use super::cells::CellReader;
use super::{ReadProgress, TableReader, UnreadableColumn};
use crate::error::ReadError;
use crate::id::RowId;
use crate::rows::{FeatureValues, Precision};
use crate::schema::Schema;
use crate::schema::cell::Cell;
use crate::schema::encode::RowEncoder;
use crate::table::{Columns, Labels, Origin, Place, RawLabels, Table, TableParts};

pub(super) struct ParquetReader {
    path: PathBuf,
    batches: Batches,
    /// Rows of a batch that no chunk has taken yet.
    pending: Option<RecordBatch>,
    plan: ColumnPlan,
    /// Number of features of each column of features.
    widths: Vec<usize>,
    feature_names: Vec<String>,
    /// What makes features of cells that are not simply numbers.
    encoder: Option<RowEncoder>,
    may_have_gaps: bool,
    /// Columns that nothing could be made of.
    pub(super) left_out: Vec<UnreadableColumn>,
    file_bytes: u64,
    n_rows: u64,
    rows_read: u64,
}

impl ParquetReader {
    pub(super) fn open(path: &Path, columns: &Columns, schema: Option<&Schema>) -> Result<Self, ReadError> {
        let mut reader = Self::open_with(path, |fields| ColumnPlan::new(path, fields, columns, schema))?;
        match schema.map(RowEncoder::new).transpose()? {
            None => reader.measure(columns)?,
            Some(encoder) => {
                reader.plan.precision = Precision::F64;
                reader.feature_names.clone_from(&encoder.feature_names);
                reader.encoder = Some(encoder);
            }
        }
        Ok(reader)
    }

    pub(super) fn open_cells(path: &Path, columns: &Columns) -> Result<Self, ReadError> {
        let mut left_out = Vec::new();
        let mut reader = Self::open_with(path, |fields| {
            let (plan, others) = ColumnPlan::of_cells(path, fields, columns)?;
            left_out = others;
            Ok(plan)
        })?;
        reader.feature_names = reader.plan.features.iter().map(|feature| feature.name.clone()).collect();
        reader.left_out = left_out;
        Ok(reader)
    }

    fn open_with(path: &Path, plan: impl FnOnce(&Fields) -> Result<ColumnPlan, ReadError>) -> Result<Self, ReadError> {
        let failed = |source| ReadError::Io { file: path.into(), source };
        let mut file = File::open(path).map_err(failed)?;
        let file_bytes = file.metadata().map_err(failed)?.len();
        if !footer::is_sound(&mut file, file_bytes).map_err(failed)? {
            return Err(damaged(path, "its footer announces more than there is".to_owned()));
        }
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata = guarded(path, || ArrowReaderMetadata::load(&file, options))?;
        let plan = plan(&guarded(path, || Ok::<_, ReadError>(with_noted_times(&metadata)))?)?;
        let (n_rows, n_values) = check_metadata(path, metadata.metadata(), &plan.roots, file_bytes)?;
        if n_rows == 0 {
            return Err(ReadError::Empty { file: path.into() });
        }
        let may_have_gaps = may_have_gaps(metadata.metadata(), &plan);
        let batch_rows = (BATCH_VALUES / (n_values / n_rows).max(1)).clamp(1, MAX_BATCH_ROWS);
        let has_lists = plan.features.iter().any(|feature| feature.is_list);
        let file = PageFile { file: file.into(), has_lists };
        let batches = guarded(path, || Batches::new(file, metadata, &plan.roots, plan.precision, batch_rows as usize))?;
        let (path, widths, feature_names) = (path.into(), Vec::new(), Vec::new());
        let (pending, encoder, left_out, rows_read) = (None, None, Vec::new(), 0);
        Ok(Self {
            path,
            batches,
            pending,
            plan,
            widths,
            feature_names,
            encoder,
            may_have_gaps,
            left_out,
            file_bytes,
            n_rows,
            rows_read,
        })
    }

    /// Whether a feature may be missing in some row.
    pub(super) fn may_have_gaps(&self) -> bool {
        self.may_have_gaps
    }

    /// Finds in the first batch how long lists are, and names the features.
    fn measure(&mut self, columns: &Columns) -> Result<(), ReadError> {
        let first = self.next_batch()?.ok_or_else(|| ReadError::Empty { file: self.path.clone() })?;
        for feature in &self.plan.features {
            let array = first.column(feature.index);
            let width = width(array, feature.is_list).map_err(|error| self.cell(error, 0, feature, 0))?;
            self.widths.push(width);
        }
        self.feature_names = self.plan.feature_names(&self.path, &self.widths, columns)?;
        self.pending = Some(first);
        Ok(())
    }

    /// The next batch that has rows.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, ReadError> {
        if let Some(batch) = self.pending.take() {
            return Ok(Some(batch));
        }
        loop {
            match guarded(&self.path, || self.batches.next())? {
                Some(batch) if batch.num_rows() == 0 => {}
                Some(batch) => return self.converted(batch).map(Some),
                None => return Ok(None),
            }
        }
    }

    /// The batch with numbers and texts in the place of dates, times and decimals.
    fn converted(&self, batch: RecordBatch) -> Result<RecordBatch, ReadError> {
        if self.plan.conversions.is_empty() {
            return Ok(batch);
        }
        let (mut fields, mut columns) = (batch.schema().fields().to_vec(), batch.columns().to_vec());
        for Conversion { index, declared, is_id } in &self.plan.conversions {
            let name = fields[*index].name().clone();
            let other = |_| damaged(&self.path, format!("column `{name}` is of another type than announced"));
            columns[*index] = converted(&columns[*index], declared, *is_id).map_err(other)?;
            fields[*index] = Field::new(&name, columns[*index].data_type().clone(), true).into();
        }
        guarded(&self.path, || RecordBatch::try_new(ArrowSchema::new(fields).into(), columns))
    }

    /// Keeps the rows of a batch that have not been taken.
    fn put_back(&mut self, batch: &RecordBatch, n_taken: usize) {
        let n_left = batch.num_rows() - n_taken;
        self.pending = (n_left > 0).then(|| batch.slice(n_taken, n_left));
    }

    /// Names what is wrong in a batch whose first row is the file's row `first_row`.
    fn cell(&self, error: CellError, first_row: u64, column: &BatchColumn, expected: usize) -> ReadError {
        let place = |row| self.place(first_row, row, column);
        match error {
            CellError::Null { row } => ReadError::Null { place: place(row) },
            CellError::ListLength { row, found } => ReadError::ListLength { place: place(row), found, expected },
            CellError::Type => {
                damaged(&self.path, format!("column `{}` is of another type than announced", column.name))
            }
        }
    }

    fn place(&self, first_row: u64, row: usize, column: &BatchColumn) -> Place {
        Origin::new(&self.path).starting_at(first_row).place(row, Some(&column.name))
    }

    /// Values of a row before whole chunks are mapped.
    fn n_values(&self) -> usize {
        self.encoder.as_ref().map_or(self.feature_names.len(), |encoder| encoder.n_values)
    }

    /// Adds the rows of a batch to those of a chunk.
    fn append(&self, batch: &RecordBatch, rows: &mut Filling) -> Result<(), ReadError> {
        let dim = self.n_values();
        let first_row = self.rows_read + rows.n_rows as u64;
        rows.features.extend_zeros(batch.num_rows() * dim);
        if let (Some(encoder), FeatureValues::F64(values)) = (&self.encoder, &mut rows.features) {
            let values = &mut values[rows.n_rows * dim..];
            self.visit_cells(batch, batch.num_rows(), first_row, |index, row, cell| {
                encoder.encode(index, &cell, &mut values[row * dim..(row + 1) * dim]).map_err(|error| {
                    let place = self.place(first_row, row, &self.plan.features[index]);
                    ReadError::Cell { place, source: Box::new(error) }
                })
            })?;
        }
        let mut slot = Slot { first_row: rows.n_rows, dim, offset: 0, width: 0 };
        // Without a schema there is a width for every column, and with one there is none.
        for (feature, &width) in self.plan.features.iter().zip(&self.widths) {
            slot.width = width;
            write_features(batch.column(feature.index), feature.is_list, slot, &mut rows.features)
                .map_err(|error| self.cell(error, first_row, feature, width))?;
            slot.offset += width;
        }
        if let Some(column) = &self.plan.label {
            append_labels(batch.column(column.index), &mut rows.labels)
                .map_err(|error| self.cell(error, first_row, column, 0))?;
        }
        for (column, ids) in [(&self.plan.id, &mut rows.ids), (&self.plan.subject, &mut rows.subjects)] {
            if let Some(column) = column {
                append_ids(batch.column(column.index), ids).map_err(|error| self.cell(error, first_row, column, 0))?;
            }
        }
        if let Some(column) = &self.plan.weight {
            let weights = numbers(batch.column(column.index));
            rows.row_weights.extend(weights.map_err(|error| self.cell(error, first_row, column, 0))?);
        }
        rows.n_rows += batch.num_rows();
        Ok(())
    }

    /// Visits the cells of the first `n_rows` of a batch, each with the index of its column and its row in the batch.
    fn visit_cells(
        &self,
        batch: &RecordBatch,
        n_rows: usize,
        first_row: u64,
        mut visit: impl FnMut(usize, usize, Cell<'_>) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        for (index, feature) in self.plan.features.iter().enumerate() {
            let array = batch.column(feature.index);
            for row in 0..n_rows {
                visit(index, row, cell(array, row).map_err(|error| self.cell(error, first_row, feature, 0))?)?;
            }
        }
        Ok(())
    }
}

impl CellReader for ParquetReader {
    fn visit_rows(&mut self, max_rows: u64, visit: &mut dyn FnMut(usize, Cell<'_>)) -> Result<u64, ReadError> {
        let Some(batch) = self.next_batch()? else { return Ok(0) };
        let n_taken = batch.num_rows().min(usize::try_from(max_rows).unwrap_or(usize::MAX));
        self.visit_cells(&batch, n_taken, self.rows_read, |index, _, cell| {
            visit(index, cell);
            Ok(())
        })?;
        self.put_back(&batch, n_taken);
        self.rows_read += n_taken as u64;
        Ok(n_taken as u64)
    }
}

impl TableReader for ParquetReader {
    fn feature_names(&self) -> &[String] {
        &self.feature_names
    }

    fn next_chunk(&mut self, max_rows: usize) -> Result<Option<Table>, ReadError> {
        let (dim, max_rows) = (self.n_values() as u64, max_rows.max(1));
        let announced = (self.n_rows - self.rows_read).min(max_rows as u64);
        // A few bytes can stand for any number of equal values, so what is announced is believed up to a limit only.
        let capacity = announced.saturating_mul(dim).min(self.file_bytes.saturating_mul(RESERVED_PER_BYTE));
        let mut rows = Filling {
            n_rows: 0,
            features: FeatureValues::with_capacity(self.plan.precision, capacity as usize),
            labels: None,
            ids: Vec::new(),
            subjects: Vec::new(),
            row_weights: Vec::new(),
        };
        while rows.n_rows < max_rows {
            let Some(batch) = self.next_batch()? else { break };
            let n_taken = batch.num_rows().min(max_rows - rows.n_rows);
            self.append(&batch.slice(0, n_taken), &mut rows)?;
            self.put_back(&batch, n_taken);
        }
        if rows.n_rows as u64 != announced {
            let found = self.rows_read + rows.n_rows as u64;
            return Err(damaged(&self.path, format!("{found} rows, but {} are announced", self.n_rows)));
        }
        if rows.n_rows == 0 {
            return Ok(None);
        }
        let origin = Origin::new(&self.path).starting_at(self.rows_read);
        let features = match (&self.encoder, rows.features) {
            (Some(encoder), FeatureValues::F64(values)) => encoder.finish(values, &origin, rows.n_rows)?,
            (_, features) => features,
        };
        self.rows_read += rows.n_rows as u64;
        let label_name = self.plan.label.as_ref().map(|column| column.name.clone());
        Table::new(TableParts {
            feature_names: self.feature_names.clone(),
            features,
            labels: rows.labels.map(|values| Labels::new(values, origin.clone(), label_name)),
            ids: self.plan.id.as_ref().map(|_| rows.ids),
            subjects: self.plan.subject.as_ref().map(|_| rows.subjects),
            row_weights: self.plan.weight.as_ref().map(|_| rows.row_weights),
            origin,
            texts: self.encoder.as_ref().and_then(RowEncoder::take_texts),
        })
        .map_err(|error| error.of_weight(self.plan.weight.as_ref().map(|column| column.name.as_str())))
        .map(Some)
    }

    fn left_out(&self) -> &[UnreadableColumn] {
        &self.left_out
    }

    /// Bytes are estimated from the rows: columns lie side by side, so reading makes no steady way through the file.
    fn progress(&self) -> ReadProgress {
        let share = self.rows_read as f64 / self.n_rows as f64;
        let bytes_read = ((self.file_bytes as f64 * share) as u64).min(self.file_bytes);
        ReadProgress { rows: self.rows_read, bytes_read, bytes_total: self.file_bytes, guessed_encoding: None }
    }
}

struct Filling {
    n_rows: usize,
    features: FeatureValues,
    labels: Option<RawLabels>,
    ids: Vec<RowId>,
    subjects: Vec<RowId>,
    row_weights: Vec<f64>,
}

/// Values of a batch: few enough that a batch stays in cache while its columns become rows.
const BATCH_VALUES: u64 = 1 << 18;

const MAX_BATCH_ROWS: u64 = 8192;

/// Values for which room is made at once, per byte of the file.
const RESERVED_PER_BYTE: u64 = 8;
