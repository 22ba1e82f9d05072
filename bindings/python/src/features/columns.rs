//! Columns as Python holds them, lent cell by cell: arrays, lists of values, or either with the place of each row in it.

use std::fs;
use std::path::{Path, PathBuf};

use efface_data::{Cell, CellError, CellSource, ColumnSchema, Schema, TakeCell};
use numpy::{
    Element, PyArray1, PyArrayDyn, PyArrayMethods, PyReadonlyArray1, PyReadonlyArrayDyn, PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBool, PyBytes, PyInt, PyList, PyString, PyTuple};

use crate::errors::named;

/// Columns that stay where they are for as long as this does.
pub(super) struct HeldColumns<'py> {
    columns: Vec<HeldColumn<'py>>,
    /// Whether the cells of each are images.
    images: Vec<bool>,
    n_rows: usize,
}

struct HeldColumn<'py> {
    /// Which of the values each row has; −1: none.
    codes: Option<PyReadonlyArray1<'py, i64>>,
    values: HeldValues<'py>,
}

enum HeldValues<'py> {
    F64(PyReadonlyArrayDyn<'py, f64>),
    F32(PyReadonlyArrayDyn<'py, f32>),
    I64(PyReadonlyArrayDyn<'py, i64>),
    U8(PyReadonlyArrayDyn<'py, u8>),
    Each(Vec<Value>),
}

/// A value of Python's own.
enum Value {
    Missing,
    Text(PyBackedStr),
    Boolean(bool),
    Integer(i128),
    Number(f64),
    Bytes(PyBackedBytes),
    /// What stands in a file is meant.
    File(PathBuf),
}

impl<'py> HeldColumns<'py> {
    /// Takes hold of columns: arrays in C order of float64, float32, int64 or uint8, whose rows are cells; lists; or pairs of
    /// codes and either.
    pub(super) fn hold(schema: &Schema, columns: &[Bound<'py, PyAny>], n_rows: usize) -> PyResult<Self> {
        let entries = schema.columns();
        let held = entries.iter().zip(columns).map(|(entry, column)| HeldColumn::hold(entry, column, n_rows));
        let images = entries.iter().map(|entry| entry.kind.image().is_some()).collect();
        Ok(Self { columns: held.collect::<PyResult<_>>()?, images, n_rows })
    }

    /// The cells, without Python.
    pub(super) fn cells(&self) -> PyResult<LentCells<'_>> {
        let columns = self.columns.iter().map(HeldColumn::lent).collect::<PyResult<_>>()?;
        Ok(LentCells { columns, images: &self.images, n_rows: self.n_rows })
    }
}

impl<'py> HeldColumn<'py> {
    fn hold(entry: &ColumnSchema, column: &Bound<'py, PyAny>, n_rows: usize) -> PyResult<Self> {
        let (codes, values) = match column.cast::<PyTuple>() {
            Ok(pair) => (Some(pair.get_item(0)?), pair.get_item(1)?),
            Err(_) => (None, column.clone()),
        };
        let codes = codes.map(|codes| PyResult::Ok(codes.cast::<PyArray1<i64>>()?.try_readonly()?)).transpose()?;
        let this = Self { codes, values: HeldValues::hold(&values)? };
        let found = this.codes.as_ref().map_or(this.values.len(), |codes| codes.len());
        let refused =
            |message: String| Err(named(column.py(), "RowError", &format!("column `{}`{message}", entry.name)));
        if found != n_rows {
            return refused(format!(" has {found} cells, for {n_rows} rows"));
        }
        let (Some(shape), [_, found @ ..]) = (entry.kind.image(), &this.values.shape()[..]) else { return Ok(this) };
        let expected = [shape.height, shape.width, shape.channels];
        let fits = found.is_empty()
            || found == [expected.iter().product::<usize>()]
            || found == expected
            || shape.channels == 1 && found == &expected[..2];
        if fits {
            Ok(this)
        } else {
            refused(format!(": images of shape {found:?}, expected {expected:?}: height, width, channels"))
        }
    }

    fn lent(&self) -> PyResult<LentColumn<'_>> {
        let codes = self.codes.as_ref().map(|codes| codes.as_slice()).transpose()?;
        let per_row = self.values.shape().get(1..).filter(|rest| !rest.is_empty()).map(|rest| rest.iter().product());
        let values = match &self.values {
            HeldValues::F64(array) => LentValues::F64(array.as_slice()?),
            HeldValues::F32(array) => LentValues::F32(array.as_slice()?),
            HeldValues::I64(array) => LentValues::I64(array.as_slice()?),
            HeldValues::U8(array) => LentValues::U8(array.as_slice()?),
            HeldValues::Each(values) => LentValues::Each(values),
        };
        Ok(LentColumn { codes, values, per_row })
    }
}

impl<'py> HeldValues<'py> {
    fn hold(values: &Bound<'py, PyAny>) -> PyResult<Self> {
        fn array<'py, T: Element>(values: &Bound<'py, PyAny>) -> Option<PyResult<PyReadonlyArrayDyn<'py, T>>> {
            let array = values.cast::<PyArrayDyn<T>>().ok()?;
            Some(array.try_readonly().map_err(Into::into))
        }
        if let Some(array) = array::<f64>(values) {
            return array.map(Self::F64);
        }
        if let Some(array) = array::<f32>(values) {
            return array.map(Self::F32);
        }
        if let Some(array) = array::<i64>(values) {
            return array.map(Self::I64);
        }
        if let Some(array) = array::<u8>(values) {
            return array.map(Self::U8);
        }
        let list = values.cast::<PyList>()?;
        list.iter().map(|value| Value::of(&value)).collect::<PyResult<_>>().map(Self::Each)
    }

    fn shape(&self) -> Vec<usize> {
        match self {
            Self::F64(array) => array.shape().to_vec(),
            Self::F32(array) => array.shape().to_vec(),
            Self::I64(array) => array.shape().to_vec(),
            Self::U8(array) => array.shape().to_vec(),
            Self::Each(values) => vec![values.len()],
        }
    }

    fn len(&self) -> usize {
        self.shape().first().copied().unwrap_or_default()
    }
}

impl Value {
    fn of(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(if value.is_none() {
            Self::Missing
        } else if value.is_instance_of::<PyString>() {
            Self::Text(value.extract()?)
        } else if let Ok(truth) = value.cast::<PyBool>() {
            Self::Boolean(truth.is_true())
        } else if value.is_instance_of::<PyBytes>() {
            Self::Bytes(value.extract()?)
        } else if value.is_instance_of::<PyInt>() {
            value.extract().map(Self::Integer).or_else(|_| value.extract().map(Self::Number))?
        } else if let Ok(number) = value.extract() {
            Self::Number(number)
        } else {
            Self::File(value.extract()?)
        })
    }
}

/// The same, for any thread.
pub(super) struct LentCells<'a> {
    columns: Vec<LentColumn<'a>>,
    images: &'a [bool],
    n_rows: usize,
}

struct LentColumn<'a> {
    codes: Option<&'a [i64]>,
    values: LentValues<'a>,
    /// Numbers per row, where a cell is a list of them.
    per_row: Option<usize>,
}

#[derive(Clone, Copy)]
enum LentValues<'a> {
    F64(&'a [f64]),
    F32(&'a [f32]),
    I64(&'a [i64]),
    U8(&'a [u8]),
    Each(&'a [Value]),
}

impl CellSource for LentCells<'_> {
    fn n_rows(&self) -> usize {
        self.n_rows
    }

    fn visit(&self, column: usize, row: usize, take: &mut TakeCell<'_>) -> Result<(), CellError> {
        let LentColumn { codes, values, per_row } = &self.columns[column];
        let at = match codes {
            None => row,
            Some(codes) => match usize::try_from(codes[row]) {
                Ok(at) => at,
                Err(_) => return take(&Cell::Missing),
            },
        };
        if let Some(width) = per_row {
            return take(&Cell::List(values.list(at * width..(at + 1) * width)));
        }
        match values {
            LentValues::F64(values) => take(&Cell::Number(values[at])),
            LentValues::F32(values) => take(&Cell::Single(values[at])),
            LentValues::I64(values) => take(&Cell::Integer(values[at].into())),
            LentValues::U8(values) => take(&Cell::Integer(values[at].into())),
            LentValues::Each(values) => match &values[at] {
                Value::Missing => take(&Cell::Missing),
                Value::Text(name) if self.images[column] => file(Path::new(&**name), take),
                Value::Text(text) => take(&Cell::Text(text)),
                Value::Boolean(truth) => take(&Cell::Boolean(*truth)),
                Value::Integer(value) => take(&Cell::Integer(*value)),
                Value::Number(value) => take(&Cell::Number(*value)),
                Value::Bytes(bytes) => take(&Cell::Bytes(bytes)),
                Value::File(path) => file(path, take),
            },
        }
    }
}

impl LentValues<'_> {
    fn list(self, range: std::ops::Range<usize>) -> Vec<f64> {
        match self {
            Self::F64(values) => values[range].to_vec(),
            Self::F32(values) => values[range].iter().map(|x| f64::from(*x)).collect(),
            Self::I64(values) => values[range].iter().map(|x| *x as f64).collect(),
            Self::U8(values) => values[range].iter().map(|x| f64::from(*x)).collect(),
            Self::Each(_) => Vec::new(),
        }
    }
}

/// What stands in a file, whose name comes from the program itself and may lead anywhere.
fn file(path: &Path, take: &mut TakeCell<'_>) -> Result<(), CellError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let failed = |reason: String| CellError::Picture { value: name.clone().into_owned(), reason };
    let bytes = fs::read(path).map_err(|error| failed(error.to_string()))?;
    take(&Cell::Bytes(&bytes))
}
