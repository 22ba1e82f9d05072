//! Feature matrices: NumPy arrays and Arrow data, used where they are whenever their layout allows it.

use std::sync::Arc;

use arrow_array::{Float32Array, Float64Array};
use efface_core::rows::Features;
use efface_data::derived::{self, Texts};
use efface_data::{FeatureValues, RowId, Scale};
use numpy::{Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::arrow;
use crate::cells::{self, Cells};
use crate::errors::named;
use crate::features::EncodedRows;
use crate::ids;

/// Rows that are held as long as a model needs them.
pub(crate) struct Matrix {
    pub(crate) n_rows: usize,
    pub(crate) n_features: usize,
    pub(crate) held: Held,
    /// The texts behind hashes in raw cells.
    pub(crate) texts: Texts,
}

/// Who owns the values.
pub(crate) enum Held {
    Numpy32(Py<PyArray2<f32>>),
    Numpy64(Py<PyArray2<f64>>),
    Arrow32(Float32Array),
    Arrow64(Float64Array),
    Own(Arc<FeatureValues>),
}

impl Matrix {
    /// Takes hold of rows to be scaled like this: a two-dimensional C-order array of float32 or float64, Arrow data, or
    /// a list of columns. Texts and gaps are taken where constants are derived.
    pub(crate) fn hold(rows: &Bound<'_, PyAny>, scale: Scale) -> PyResult<Self> {
        let (py, cells) = (rows.py(), Cells::new(scale));
        let this = if let Ok(encoded) = rows.cast::<EncodedRows>() {
            encoded.get().matrix()
        } else if let Ok(array) = rows.cast::<PyArray2<f64>>() {
            Self::of_array(array, Held::Numpy64(array.clone().unbind()))
        } else if let Ok(array) = rows.cast::<PyArray2<f32>>() {
            Self::of_array(array, Held::Numpy32(array.clone().unbind()))
        } else if rows.hasattr("__arrow_c_stream__")? || rows.hasattr("__arrow_c_array__")? {
            arrow::rows(rows, cells)?
        } else if let Ok(columns) = rows.cast::<PyList>() {
            cells::rows(columns, cells)?
        } else {
            let kind = rows.get_type().name()?;
            let message =
                format!("rows must be a two-dimensional array of float32 or float64, or Arrow data, got {kind}");
            return Err(named(py, "RowError", &message));
        };
        // Also says now whether the values can be lent at all.
        this.with(py, |_| ())?;
        Ok(this)
    }

    /// The same with every NaN among numbers as a gap, whatever its bits: copied where one would be taken for a text.
    pub(crate) fn with_gaps(self, py: Python<'_>) -> PyResult<Self> {
        let is_foreign = self.texts.is_empty() && self.with(py, derived::has_text)?;
        if is_foreign { self.copied(py) } else { Ok(self) }
    }

    /// The same with values of its own.
    pub(crate) fn copied(self, py: Python<'_>) -> PyResult<Self> {
        let mut own = self.with(py, |features| FeatureValues::from(features))?;
        if let (FeatureValues::F64(values), true) = (&mut own, self.texts.is_empty()) {
            values.iter_mut().filter(|x| x.is_nan()).for_each(|x| *x = derived::MISSING);
        }
        Ok(Self { held: Held::Own(Arc::new(own)), ..self })
    }

    fn of_array<T: Element>(array: &Bound<'_, PyArray2<T>>, held: Held) -> Self {
        Self { n_rows: array.shape()[0], n_features: array.shape()[1], held, texts: Texts::new() }
    }

    /// Lends the values.
    pub(crate) fn with<T>(&self, py: Python<'_>, lend: impl FnOnce(Features<'_>) -> T) -> PyResult<T> {
        Ok(match &self.held {
            Held::Numpy32(array) => {
                let array = array.bind(py).try_readonly()?;
                lend(Features::F32(slice(py, &array)?))
            }
            Held::Numpy64(array) => {
                let array = array.bind(py).try_readonly()?;
                lend(Features::F64(slice(py, &array)?))
            }
            Held::Arrow32(array) => lend(Features::F32(array.values())),
            Held::Arrow64(array) => lend(Features::F64(array.values())),
            Held::Own(values) => lend(values.slice(0..values.len())),
        })
    }
}

/// Rows that come later, with what belongs to each.
pub(crate) struct Given {
    pub(crate) rows: Matrix,
    pub(crate) labels: Vec<f64>,
    pub(crate) row_weights: Option<Vec<f64>>,
    pub(crate) ids: Option<Vec<RowId>>,
    pub(crate) subjects: Option<Vec<RowId>>,
}

impl Given {
    /// Reads what was given.
    pub(crate) fn read(
        rows: &Bound<'_, PyAny>,
        labels: &Bound<'_, PyAny>,
        ids: Option<&Bound<'_, PyAny>>,
        subjects: Option<&Bound<'_, PyAny>>,
        row_weights: Option<&Bound<'_, PyAny>>,
        scale: Scale,
    ) -> PyResult<Self> {
        Ok(Self {
            rows: Matrix::hold(rows, scale)?.with_gaps(rows.py())?,
            labels: numbers(labels)?,
            row_weights: row_weights.map(numbers).transpose()?,
            ids: ids::read_option(ids)?,
            subjects: ids::read_option(subjects)?,
        })
    }
}

fn slice<'a, T: Element>(py: Python<'_>, array: &'a PyReadonlyArray2<'_, T>) -> PyResult<&'a [T]> {
    let in_order = array.is_c_contiguous().then(|| array.as_slice().ok()).flatten();
    in_order.ok_or_else(|| named(py, "RowError", "rows must lie in C order and in native byte order"))
}

/// One number per row.
pub(crate) fn numbers(numbers: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    if let Ok(array) = numbers.cast::<PyArray1<f64>>() {
        return Ok(array.try_readonly()?.as_array().iter().copied().collect());
    }
    numbers.extract()
}
