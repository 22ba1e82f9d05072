//! A table from arrays: rows × features, with labels, ids and subjects in one-dimensional arrays of their own.

mod elements;
mod idx;
mod input;
mod npy;
mod npz;

use std::path::{Path, PathBuf};

use self::elements::Elements;
use self::input::ArrayInput;
pub(super) use self::input::Role;
use self::npz::Archive;
use super::input::Meter;
use super::kind::Kind;
use super::{ReadProgress, TableReader, refuse_selection, refuse_wide};
use crate::error::ReadError;
use crate::id::RowId;
use crate::rows::FeatureValues;
use crate::table::{Columns, Labels, Origin, RawLabels, Table, TableParts};

/// Reads rows of an array; features are called `x0`, `x1`, …
pub(super) struct ArrayReader {
    file: PathBuf,
    features: ArrayInput,
    meter: Meter,
    feature_names: Vec<String>,
    n_rows: usize,
    rows_read: usize,
    /// A column-major array is read whole and turned; these are its rows.
    turned: Option<FeatureValues>,
    labels: Option<ArrayInput>,
    ids: Option<ArrayInput>,
    subjects: Option<ArrayInput>,
    row_weights: Option<ArrayInput>,
}

impl ArrayReader {
    /// Opens an NPY or IDX file, or an NPZ archive. Labels, ids and subjects are paths of NPY or IDX files; of an archive,
    /// names of its members or such paths.
    pub(super) fn open(path: &Path, columns: &Columns) -> Result<Self, ReadError> {
        if Kind::of(path) != Some(Kind::Npz) {
            let features = ArrayInput::open(path, Role::Features)?;
            return Self::new(path, features, columns, |file, role| ArrayInput::open(Path::new(file), role));
        }
        let archive = Archive::open(path)?;
        let features = archive.open_features()?;
        Self::new(path, features, columns, |name, role| archive.open_column(name, role))
    }

    fn new(
        path: &Path,
        features: ArrayInput,
        columns: &Columns,
        open_column: impl Fn(&str, Role) -> Result<ArrayInput, ReadError>,
    ) -> Result<Self, ReadError> {
        let (n_rows, dim) = rows_and_dim(&features)?;
        features.refuse_text(Role::Features)?;
        let feature_names: Vec<String> = (0..dim).map(|feature| format!("x{feature}")).collect();
        refuse_selection(path, columns, &feature_names, ["columns", "the columns of an array"])?;
        let column = |name: &Option<String>, role| match name {
            Some(name) => one_per_row(open_column(name, role)?, role, n_rows).map(Some),
            None => Ok(None),
        };
        Ok(Self {
            file: path.into(),
            meter: features.meter(),
            features,
            feature_names,
            n_rows,
            rows_read: 0,
            turned: None,
            labels: column(&columns.label, Role::Labels)?,
            ids: column(&columns.id, Role::RowIds)?,
            subjects: column(&columns.subject, Role::Subjects)?,
            row_weights: column(&columns.weight, Role::RowWeights)?,
        })
    }

    fn next_features(&mut self, n: usize) -> Result<FeatureValues, ReadError> {
        let dim = self.feature_names.len();
        if !self.features.header.fortran_order {
            return self.features.read_numbers(n * dim);
        }
        let turned = match self.turned.take() {
            Some(turned) => turned,
            None => transposed(&self.features.read_numbers(self.n_rows * dim)?, self.n_rows, dim),
        };
        if n == self.n_rows {
            return Ok(turned);
        }
        let mut rows = FeatureValues::with_capacity(turned.precision(), n * dim);
        rows.extend_from(&turned, self.rows_read * dim..(self.rows_read + n) * dim);
        self.turned = Some(turned);
        Ok(rows)
    }
}

impl TableReader for ArrayReader {
    fn feature_names(&self) -> &[String] {
        &self.feature_names
    }

    fn next_chunk(&mut self, max_rows: usize) -> Result<Option<Table>, ReadError> {
        let n = max_rows.max(1).min(self.n_rows - self.rows_read);
        if n == 0 {
            return Ok(None);
        }
        let first_row = self.rows_read as u64;
        let features = self.next_features(n)?;
        let labels = self.labels.as_mut().map(|array| next_labels(array, n, first_row)).transpose()?;
        let ids = self.ids.as_mut().map(|array| next_ids(array, n)).transpose()?;
        let subjects = self.subjects.as_mut().map(|array| next_ids(array, n)).transpose()?;
        let row_weights = self.row_weights.as_mut().map(|array| next_weights(array, n)).transpose()?;
        self.rows_read += n;
        if self.rows_read == self.n_rows {
            self.turned = None;
            self.features.finish()?;
            let columns = [&mut self.labels, &mut self.ids, &mut self.subjects, &mut self.row_weights];
            for column in columns.into_iter().flatten() {
                column.finish()?;
            }
        }
        let (feature_names, origin) = (self.feature_names.clone(), Origin::new(&self.file).starting_at(first_row));
        Table::new(TableParts { feature_names, features, labels, ids, subjects, row_weights, origin, texts: None })
            .map(Some)
    }

    fn progress(&self) -> ReadProgress {
        self.meter.progress(self.rows_read as u64)
    }
}

/// Number of rows and of features per row; axes beyond the second (of images) are flattened.
fn rows_and_dim(array: &ArrayInput) -> Result<(usize, usize), ReadError> {
    let file = || array.name.clone();
    let (n_rows, dim) = match *array.header.shape.as_slice() {
        [n_rows, dim] => (n_rows, dim),
        [n_rows, ref axes @ ..] if array.flattens && !axes.is_empty() => {
            (n_rows, axes.iter().fold(1, |product: u64, axis| product.saturating_mul(*axis)))
        }
        _ => {
            let expected = "two axes (rows, features)".to_owned();
            return Err(ReadError::Shape { file: file(), found: array.header.shape_text(), expected });
        }
    };
    if n_rows == 0 {
        return Err(ReadError::Empty { file: file() });
    }
    if dim == 0 {
        return Err(ReadError::NoFeatures { file: file() });
    }
    refuse_wide(&array.name, dim)?;
    // The data fits in the file, so its size fits in memory's address range.
    Ok((n_rows as usize, dim as usize))
}

/// Refuses an array that does not have one element per row.
fn one_per_row(array: ArrayInput, role: Role, n_rows: usize) -> Result<ArrayInput, ReadError> {
    let file = || array.name.clone();
    // A column vector, (n, 1), is as good.
    let &([length] | [length, 1]) = array.header.shape.as_slice() else {
        let expected = format!("one axis ({n_rows},)");
        return Err(ReadError::Shape { file: file(), found: array.header.shape_text(), expected });
    };
    if length != n_rows as u64 {
        let (what, expected) = (role.name(), n_rows as u64);
        return Err(ReadError::LengthMismatch { file: file(), what, found: length, expected });
    }
    Ok(array)
}

fn next_labels(array: &mut ArrayInput, n: usize, first_row: u64) -> Result<Labels, ReadError> {
    let values = match array.read_elements(n)? {
        Elements::Booleans(labels) => RawLabels::Text(labels.iter().map(bool::to_string).collect()),
        Elements::Integers(labels) => RawLabels::Numbers(labels.iter().map(|label| *label as f64).collect()),
        Elements::Numbers(labels) => RawLabels::Numbers(labels),
        Elements::Texts(labels) => RawLabels::Text(labels),
    };
    Ok(Labels::new(values, Origin::new(&array.name).starting_at(first_row), None))
}

fn next_ids(array: &mut ArrayInput, n: usize) -> Result<Vec<RowId>, ReadError> {
    match array.read_elements(n)? {
        Elements::Integers(ids) => Ok(ids.into_iter().map(RowId::Integer).collect()),
        Elements::Texts(ids) => Ok(ids.iter().map(|id| RowId::parse(id)).collect()),
        Elements::Booleans(_) | Elements::Numbers(_) => Err(ReadError::UnsupportedType {
            file: array.name.clone(),
            found: "bool or float".to_owned(),
            role: "ids",
            supported: "integers and text",
        }),
    }
}

fn next_weights(array: &mut ArrayInput, n: usize) -> Result<Vec<f64>, ReadError> {
    match array.read_elements(n)? {
        Elements::Integers(weights) => Ok(weights.into_iter().map(|weight| weight as f64).collect()),
        Elements::Numbers(weights) => Ok(weights),
        Elements::Booleans(_) | Elements::Texts(_) => Err(ReadError::UnsupportedType {
            file: array.name.clone(),
            found: "bool or text".to_owned(),
            role: Role::RowWeights.name(),
            supported: "integers and floats",
        }),
    }
}

fn transposed(values: &FeatureValues, n_rows: usize, dim: usize) -> FeatureValues {
    fn transpose<T: Copy + Default>(values: &[T], n_rows: usize, dim: usize) -> Vec<T> {
        // Square tiles, so that both sides stay in cache.
        const TILE: usize = 32;
        let mut out = vec![T::default(); values.len()];
        for first_row in (0..n_rows).step_by(TILE) {
            for first_column in (0..dim).step_by(TILE) {
                for row in first_row..n_rows.min(first_row + TILE) {
                    for column in first_column..dim.min(first_column + TILE) {
                        out[row * dim + column] = values[column * n_rows + row];
                    }
                }
            }
        }
        out
    }
    match values {
        FeatureValues::F32(values) => FeatureValues::F32(transpose(values, n_rows, dim)),
        FeatureValues::F64(values) => FeatureValues::F64(transpose(values, n_rows, dim)),
    }
}
