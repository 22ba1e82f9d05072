//! Columns whose cells become features by a map, and the layer on top of all columns.
//!
//! A map takes many cells at a time, on all cores. So cells are gathered while rows are read, and become features when a
//! chunk is complete.

mod cells;
mod column;

use std::ops::Range;
use std::path::Path;

use efface_features::FourierMap;
use zeroize::Zeroizing;

use self::column::MappedColumn;
use super::Schema;
use super::cell::Cell;
use super::column::{ColumnSchema, Missing};
use crate::error::{CellError, ReadError};
use crate::rows::FeatureValues;
use crate::table::Origin;

/// From rows whose plain columns are written, and gathered cells, to features.
pub(super) struct Mapping {
    /// In the order of their features.
    parts: Vec<Part>,
    n_of_columns: usize,
    layer: Option<FourierMap>,
}

/// The features of a column.
enum Part {
    /// So many values, written cell by cell.
    Plain(usize),
    Mapped(Box<MappedColumn>),
}

/// The plain columns of rows that follow one another.
#[derive(Clone, Copy)]
pub(super) struct PlainValues<'a> {
    pub(super) values: &'a [f64],
    pub(super) per_row: usize,
}

impl Mapping {
    /// `None`: all columns are plain, and there is no layer.
    pub(super) fn new(schema: &Schema) -> Result<Option<Self>, ReadError> {
        let part = |column: &ColumnSchema| match MappedColumn::new(column, &schema.networks) {
            Ok(mapped) => {
                Ok(mapped.map_or_else(|| Part::Plain(column.width()), |mapped| Part::Mapped(Box::new(mapped))))
            }
            Err(source) => Err(ReadError::Network { column: column.name.clone(), source: Box::new(source) }),
        };
        let parts = schema.columns().iter().map(part).collect::<Result<Vec<_>, _>>()?;
        if schema.fourier().is_none() && parts.iter().all(|part| matches!(part, Part::Plain(_))) {
            return Ok(None);
        }
        let n_of_columns = parts.iter().map(Part::width).sum();
        let layer = schema.fourier().map(|layer| FourierMap::new(n_of_columns, layer).expect(CHECKED));
        Ok(Some(Self { parts, n_of_columns, layer }))
    }

    /// Keeps a cell of a mapped column; `false`: the column is plain.
    pub(super) fn gather(&self, column: usize, cell: &Cell<'_>, missing: &Missing) -> Result<bool, CellError> {
        match &self.parts[column] {
            Part::Plain(_) => Ok(false),
            Part::Mapped(column) => column.gather(cell, missing).map(|()| true),
        }
    }

    /// The features of the rows of a chunk, whose cells are all gathered.
    pub(super) fn features(
        &self,
        plain: PlainValues<'_>,
        origin: &Origin,
        n_rows: usize,
    ) -> Result<FeatureValues, ReadError> {
        // What maps write is in single precision.
        let is_single = self.layer.is_some() || plain.per_row == 0;
        let width = self.layer.as_ref().map_or(self.n_of_columns, FourierMap::n_features);
        let (n_single, n_double) = if is_single { (n_rows * width, 0) } else { (0, n_rows * width) };
        let (mut single, mut double) = (Vec::with_capacity(n_single), Vec::with_capacity(n_double));
        let mut block = Zeroizing::new(Vec::new());
        let block_rows = (BLOCK_VALUES / self.n_of_columns).clamp(32, 512);
        for start in (0..n_rows).step_by(block_rows) {
            let rows = start..n_rows.min(start + block_rows);
            block.clear();
            block.resize(rows.len() * self.n_of_columns, 0.0);
            self.write_columns(plain, &rows, origin, &mut block)?;
            match &self.layer {
                Some(layer) => {
                    let from = single.len();
                    single.resize(from + rows.len() * width, 0.0);
                    let applied = layer.apply_block(&block, &mut single[from..]);
                    applied
                        .map_err(|error| failed(CellError::Map(error.clone()), origin, start + error.row(), None))?;
                }
                None if is_single => single.extend(block.iter().map(|x| *x as f32)),
                None => double.extend_from_slice(&block),
            }
        }
        self.forget();
        Ok(if is_single { FeatureValues::F32(single) } else { FeatureValues::F64(double) })
    }

    /// Writes the features of all columns of a block of rows.
    fn write_columns(
        &self,
        plain: PlainValues<'_>,
        rows: &Range<usize>,
        origin: &Origin,
        block: &mut [f64],
    ) -> Result<(), ReadError> {
        let (mut offset, mut read) = (0, 0);
        let folder = origin.file().parent().unwrap_or(Path::new(""));
        for part in &self.parts {
            let into = block.chunks_exact_mut(self.n_of_columns).map(|row| &mut row[offset..offset + part.width()]);
            match part {
                Part::Plain(width) => {
                    let from = plain.values.chunks_exact(plain.per_row).skip(rows.start);
                    into.zip(from).for_each(|(into, row)| into.copy_from_slice(&row[read..read + width]));
                    read += width;
                }
                Part::Mapped(column) => {
                    let mapped = column.write(rows.clone(), into.collect(), folder);
                    mapped.map_err(|(row, error)| failed(error, origin, rows.start + row, Some(&column.name)))?;
                }
            }
            offset += part.width();
        }
        Ok(())
    }

    /// Lets go of the cells that were gathered.
    pub(super) fn forget(&self) {
        for part in &self.parts {
            if let Part::Mapped(column) = part {
                column.forget();
            }
        }
    }
}

fn failed(error: CellError, origin: &Origin, row: usize, column: Option<&str>) -> ReadError {
    ReadError::Cell { place: origin.place(row, column), source: Box::new(error) }
}

impl Part {
    fn width(&self) -> usize {
        match self {
            Self::Plain(width) => *width,
            Self::Mapped(column) => column.width,
        }
    }
}

/// Why a map of a schema can be built.
const CHECKED: &str = "the parameters in a schema are checked when it is read";

/// Values of rows that are mapped at a time: enough rows for all cores, and little memory.
const BLOCK_VALUES: usize = 1 << 20;
