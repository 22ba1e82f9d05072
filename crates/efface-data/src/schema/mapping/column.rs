//! One column whose cells become features by a map.

use std::cell::RefCell;
use std::ops::Range;
use std::path::Path;

use efface_features::{ImageShape, NgramMap, ScatteringMap, norm};

use super::CHECKED;
use super::cells::{Gathered, all_pixels, in_bytes};
use crate::error::{CellError, NetworkError};
use crate::networks::{Network, NetworkPlaces};
use crate::schema::cell::Cell;
use crate::schema::column::{ColumnKind, ColumnSchema, Missing};

pub(super) struct MappedColumn {
    pub(super) name: String,
    map: CellMap,
    /// With that of a missing value, if it has one.
    pub(super) width: usize,
    has_slot: bool,
    reads: Reads,
    /// Those of a chunk, in the order of its rows.
    cells: RefCell<Vec<Gathered>>,
}

/// What cells are read as.
#[derive(Clone, Copy)]
enum Reads {
    Texts,
    Images(ImageShape),
    /// Lists of so many numbers.
    Lists(usize),
}

enum CellMap {
    Ngrams(NgramMap),
    Scattering(Box<ScatteringMap>),
    Pixels,
    Network(Network),
    /// Features already, so many.
    Made(usize),
}

/// What is wrong, in which row of those that are mapped.
type Failed = (usize, CellError);

impl MappedColumn {
    /// `None`: the column is plain.
    pub(super) fn new(column: &ColumnSchema, places: &NetworkPlaces) -> Result<Option<Self>, NetworkError> {
        let map = match &column.kind {
            ColumnKind::Text(spec) => CellMap::Ngrams(NgramMap::new(*spec).expect(CHECKED)),
            ColumnKind::Image(shape) => CellMap::Scattering(Box::new(ScatteringMap::new(*shape).expect(CHECKED))),
            ColumnKind::Pixels(_) => CellMap::Pixels,
            ColumnKind::Network { spec, .. } => CellMap::Network(Network::open(spec, places)?),
            ColumnKind::Transformer(spec) => CellMap::Made(spec.features),
            _ => return Ok(None),
        };
        let reads = match (column.kind.image(), &map) {
            (Some(shape), _) => Reads::Images(shape),
            (None, CellMap::Made(n_features)) => Reads::Lists(*n_features),
            (None, _) => Reads::Texts,
        };
        let (name, has_slot) = (column.name.clone(), column.missing == Missing::Slot);
        Ok(Some(Self { name, map, width: column.width(), has_slot, reads, cells: RefCell::default() }))
    }

    /// Keeps the cell of the next row.
    pub(super) fn gather(&self, cell: &Cell<'_>, missing: &Missing) -> Result<(), CellError> {
        let gathered = match (cell, missing, self.reads) {
            (Cell::Missing, Missing::Error, _) if matches!(self.map, CellMap::Pixels) => {
                return Err(CellError::NoImage);
            }
            (Cell::Missing, Missing::Error, _) => return Err(CellError::Missing),
            (Cell::Missing, ..) => Gathered::Missing,
            (cell, _, Reads::Texts) => Gathered::text_of(cell)?,
            (cell, _, Reads::Images(shape)) => Gathered::image_of(cell, shape)?,
            (cell, _, Reads::Lists(n)) => Gathered::list_of(cell, n)?,
        };
        self.cells.borrow_mut().push(gathered);
        Ok(())
    }

    pub(super) fn forget(&self) {
        self.cells.borrow_mut().clear();
    }

    /// Writes the features of cells into rows of zeros. Names of pictures are those of files in `folder`.
    pub(super) fn write(&self, rows: Range<usize>, mut into: Vec<&mut [f64]>, folder: &Path) -> Result<(), Failed> {
        let cells = self.cells.borrow();
        let (gaps, present): (Vec<usize>, Vec<usize>) =
            (0..into.len()).partition(|row| matches!(cells[rows.start + row], Gathered::Missing));
        let cells: Vec<&Gathered> = present.iter().map(|row| &cells[rows.start + row]).collect();
        let texts = || cells.iter().map(|cell| cell.text()).collect::<Vec<_>>();
        let in_row = |(at, error): Failed| (present[at], error);
        let pixels = || match self.reads {
            Reads::Images(shape) => all_pixels(&cells, shape, folder).map_err(in_row),
            Reads::Texts | Reads::Lists(_) => Ok(zeroize::Zeroizing::default()),
        };
        let mut features = Vec::new();
        let n_features = match &self.map {
            CellMap::Ngrams(map) => {
                let mut sparse = Vec::new();
                map.apply_block(&texts(), &mut sparse);
                for (row, features) in present.iter().zip(sparse) {
                    for (at, value) in features {
                        into[*row][at as usize] = f64::from(value);
                    }
                }
                map.n_features()
            }
            CellMap::Scattering(map) => {
                features.resize(present.len() * map.n_features(), 0.0);
                let applied = map.apply_block(&pixels()?, &mut features);
                applied.map_err(|error| in_row((error.row(), CellError::Map(error))))?;
                map.n_features()
            }
            CellMap::Pixels => {
                features.extend_from_slice(&pixels()?);
                in_bytes(&cells, &mut features).map_err(in_row)?;
                self.width
            }
            CellMap::Made(n_features) => {
                features.extend(cells.iter().flat_map(|cell| cell.numbers()));
                features.chunks_exact_mut(*n_features).for_each(norm::to_unit_norm);
                *n_features
            }
            CellMap::Network(network) => {
                let n_features = network.n_features();
                features.resize(present.len() * n_features, 0.0);
                let applied = match network {
                    Network::Images(network) => network.apply(&pixels()?, &mut features),
                    Network::Texts(network) => network.apply(&texts(), &mut features),
                };
                applied.map_err(|error| in_row((error.row(), CellError::Network(error))))?;
                features.chunks_exact_mut(n_features).for_each(norm::to_unit_norm);
                n_features
            }
        };
        for (row, features) in present.iter().zip(features.chunks_exact(n_features)) {
            into[*row].iter_mut().zip(features).for_each(|(into, value)| *into = f64::from(*value));
        }
        for row in gaps.into_iter().filter(|_| self.has_slot) {
            into[row][self.width - 1] = 1.0;
        }
        Ok(())
    }
}
