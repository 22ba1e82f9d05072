//! One column whose cells become features by a map.

use std::cell::RefCell;
use std::ops::Range;

use efface_features::{FeatureSpec, NgramMap, ScatteringMap};
use zeroize::Zeroizing;

use super::CHECKED;
use crate::error::CellError;
use crate::schema::cell::Cell;
use crate::schema::column::{ColumnSchema, Missing};

pub(super) struct MappedColumn {
    pub(super) name: String,
    map: CellMap,
    /// With that of a missing value, if it has one.
    pub(super) width: usize,
    has_slot: bool,
    /// Those of a chunk, in the order of its rows.
    cells: RefCell<Vec<Gathered>>,
}

enum CellMap {
    Ngrams(NgramMap),
    Scattering(ScatteringMap),
}

/// A cell that waits for its map.
enum Gathered {
    Missing,
    Text(Zeroizing<String>),
    Pixels(Zeroizing<Vec<f32>>),
}

/// What is wrong, in which row of those that are mapped.
type Failed = (usize, CellError);

impl MappedColumn {
    /// `None`: the column is plain.
    pub(super) fn new(column: &ColumnSchema) -> Option<Self> {
        let map = match column.kind.map()? {
            FeatureSpec::Ngrams(spec) => CellMap::Ngrams(NgramMap::new(spec).expect(CHECKED)),
            FeatureSpec::Scattering(shape) => CellMap::Scattering(ScatteringMap::new(shape).expect(CHECKED)),
            FeatureSpec::Fourier { .. } => return None,
        };
        let has_slot = column.missing == Missing::Slot;
        Some(Self { name: column.name.clone(), map, width: column.width(), has_slot, cells: RefCell::default() })
    }

    /// Keeps the cell of the next row.
    pub(super) fn gather(&self, cell: &Cell<'_>, missing: &Missing) -> Result<(), CellError> {
        let gathered = match (cell, missing) {
            (Cell::Missing, Missing::Error) => return Err(CellError::Missing),
            (Cell::Missing, _) => Gathered::Missing,
            (cell, _) => self.gathered(cell)?,
        };
        self.cells.borrow_mut().push(gathered);
        Ok(())
    }

    pub(super) fn forget(&self) {
        self.cells.borrow_mut().clear();
    }

    fn gathered(&self, cell: &Cell<'_>) -> Result<Gathered, CellError> {
        match (&self.map, cell) {
            (CellMap::Ngrams(_), Cell::List(values)) => Err(CellError::List { found: values.len() }),
            (CellMap::Ngrams(_), Cell::Text(text)) => Ok(Gathered::Text(Zeroizing::new((*text).to_owned()))),
            (CellMap::Ngrams(_), cell) => Ok(Gathered::Text(Zeroizing::new(cell.spelling().into_owned()))),
            (CellMap::Scattering(map), Cell::List(values)) => {
                let expected = map.n_inputs();
                if values.len() != expected {
                    return Err(CellError::ListLength { found: values.len(), expected });
                }
                Ok(Gathered::Pixels(Zeroizing::new(values.iter().map(|x| *x as f32).collect())))
            }
            (CellMap::Scattering(_), cell) => Err(CellError::NotAnImage { value: cell.spelling().into_owned() }),
        }
    }

    /// Writes the features of cells into rows of zeros.
    pub(super) fn write(&self, rows: Range<usize>, mut into: Vec<&mut [f64]>) -> Result<(), Failed> {
        let cells = self.cells.borrow();
        let (gaps, present): (Vec<usize>, Vec<usize>) =
            (0..into.len()).partition(|row| matches!(cells[rows.start + row], Gathered::Missing));
        let cells: Vec<&Gathered> = present.iter().map(|row| &cells[rows.start + row]).collect();
        match &self.map {
            CellMap::Ngrams(map) => {
                let texts: Vec<&str> = cells.into_iter().map(Gathered::text).collect();
                let mut features = Vec::new();
                map.apply_block(&texts, &mut features);
                for (row, features) in present.into_iter().zip(features) {
                    features.into_iter().for_each(|(at, value)| into[row][at as usize] = f64::from(value));
                }
            }
            CellMap::Scattering(map) => {
                let mut pixels = Zeroizing::new(Vec::with_capacity(cells.len() * map.n_inputs()));
                cells.into_iter().for_each(|cell| pixels.extend_from_slice(cell.pixels()));
                let mut features = vec![0.0; present.len() * map.n_features()];
                let applied = map.apply_block(&pixels, &mut features);
                applied.map_err(|error| (present[error.row()], CellError::Map(error)))?;
                for (row, features) in present.into_iter().zip(features.chunks_exact(map.n_features())) {
                    into[row].iter_mut().zip(features).for_each(|(into, value)| *into = f64::from(*value));
                }
            }
        }
        for row in gaps.into_iter().filter(|_| self.has_slot) {
            into[row][self.width - 1] = 1.0;
        }
        Ok(())
    }
}

impl Gathered {
    fn text(&self) -> &str {
        if let Self::Text(text) = self { text } else { "" }
    }

    fn pixels(&self) -> &[f32] {
        if let Self::Pixels(pixels) = self { pixels } else { &[] }
    }
}
