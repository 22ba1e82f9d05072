//! Cells that a program holds, and that become features as those of a file do.

use std::ops::Range;

use zeroize::{Zeroize, Zeroizing};

use super::Schema;
use super::cell::Cell;
use super::encode::RowEncoder;
use crate::derived::Texts;
use crate::error::{CellError, ReadError};
use crate::rows::{FeatureValues, Precision};
use crate::table::Origin;

/// Rows in memory, one column per entry of a schema and in their order.
pub trait CellSource {
    /// Number of rows.
    fn n_rows(&self) -> usize;

    /// Lends the cell of a column in a row.
    fn visit(&self, column: usize, row: usize, take: &mut TakeCell<'_>) -> Result<(), CellError>;
}

/// Takes a cell.
pub type TakeCell<'a> = dyn FnMut(&Cell<'_>) -> Result<(), CellError> + 'a;

/// What rows in memory became.
pub struct EncodedCells {
    /// Row by row, a value per feature of the schema; cells of derived columns are raw.
    pub features: FeatureValues,
    /// The texts behind hashes in raw cells.
    pub texts: Texts,
}

/// What makes features of cells in memory: a schema whose maps are built and whose networks are open.
pub struct CellEncoder {
    encoder: RowEncoder,
    columns: Vec<String>,
    /// Rows at a time take a few megabytes.
    chunk: usize,
}

impl CellEncoder {
    /// Builds the maps and opens the networks of a schema.
    pub fn new(schema: &Schema) -> Result<Self, ReadError> {
        let columns: Vec<String> = schema.columns().iter().map(|column| column.name.clone()).collect();
        let inputs = schema.columns().iter().filter_map(|column| Some(column.kind.image()?.n_inputs())).sum();
        let chunk = (CHUNK_VALUES / schema.dim().max(inputs).max(1)).clamp(32, 1 << 16);
        Ok(Self { encoder: RowEncoder::new(schema)?, columns, chunk })
    }

    /// The features of rows. `go_on` is told how many are done, and may stop the work: then there are none.
    pub fn encode(
        &mut self,
        cells: &dyn CellSource,
        origin: &Origin,
        go_on: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Option<EncodedCells>, ReadError> {
        let encoder = &self.encoder;
        // What an encoding that failed has left is of no use.
        encoder.take_texts();
        let (n_rows, dim) = (cells.n_rows(), encoder.feature_names.len());
        let mut features: Option<FeatureValues> = None;
        for start in (0..n_rows).step_by(self.chunk) {
            if !go_on(start) {
                return Ok(None);
            }
            let mut chunk = self.encode_chunk(cells, start..n_rows.min(start + self.chunk), origin)?;
            let all = features.get_or_insert_with(|| FeatureValues::with_capacity(chunk.precision(), n_rows * dim));
            all.extend_from(&chunk, 0..chunk.len());
            chunk.zeroize();
        }
        let features = features.unwrap_or_else(|| FeatureValues::zeros(Precision::F64, 0));
        Ok(Some(EncodedCells { features, texts: encoder.take_texts().unwrap_or_default() }))
    }

    fn encode_chunk(
        &self,
        cells: &dyn CellSource,
        rows: Range<usize>,
        origin: &Origin,
    ) -> Result<FeatureValues, ReadError> {
        let encoder = &self.encoder;
        encoder.forget();
        let mut values = Zeroizing::new(vec![0.0; rows.len() * encoder.n_values]);
        for (column, name) in self.columns.iter().enumerate() {
            for row in rows.clone() {
                let place = (row - rows.start) * encoder.n_values;
                let into = &mut values[place..place + encoder.n_values];
                let encoded = cells.visit(column, row, &mut |cell| encoder.encode(column, cell, into));
                encoded.map_err(|error| {
                    let place = origin.place(row, Some(name));
                    ReadError::Cell { place, source: Box::new(error) }
                })?;
            }
        }
        let origin = origin.clone().starting_at(origin.first_row() + rows.start as u64);
        encoder.finish(std::mem::take(&mut *values), &origin, rows.len())
    }
}

const CHUNK_VALUES: usize = 1 << 21;
