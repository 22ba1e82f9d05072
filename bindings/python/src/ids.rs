//! Ids of rows and subjects: integer arrays, or lists of integers and texts.

use efface_data::RowId;
use efface_engine::Selection;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::errors::bad_parameter;

/// Reads ids.
pub(crate) fn read(ids: &Bound<'_, PyAny>) -> PyResult<Vec<RowId>> {
    if let Ok(array) = ids.cast::<PyArray1<i64>>() {
        let array = array.readonly();
        return Ok(array.as_array().iter().map(|id| RowId::Integer(*id)).collect());
    }
    if ids.is_instance_of::<pyo3::types::PyString>() {
        return Err(PyTypeError::new_err("ids must be a list or an array, got a single text"));
    }
    ids.try_iter()?.map(|id| one(&id?)).collect()
}

/// The same, where there may be none.
pub(crate) fn read_option(ids: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Vec<RowId>>> {
    ids.map(read).transpose()
}

/// Which rows a request names.
pub(crate) fn selection(
    py: Python<'_>,
    ids: Option<&Bound<'_, PyAny>>,
    subjects: Option<&Bound<'_, PyAny>>,
) -> PyResult<Selection> {
    match (ids, subjects) {
        (Some(ids), None) => Ok(Selection::Ids(read(ids)?)),
        (None, Some(subjects)) => Ok(Selection::Subjects(read(subjects)?)),
        (Some(_), Some(_)) => Err(bad_parameter(py, "name either ids or subjects, not both")),
        (None, None) => Err(bad_parameter(py, "no row was named: give ids or subjects")),
    }
}

fn one(id: &Bound<'_, PyAny>) -> PyResult<RowId> {
    if let Ok(text) = id.cast::<pyo3::types::PyString>() {
        return Ok(RowId::parse(&text.to_cow()?));
    }
    match id.extract::<i64>() {
        Ok(integer) => Ok(RowId::Integer(integer)),
        Err(_) => Err(PyTypeError::new_err(format!("an id must be an integer or a text, got {}", id.repr()?))),
    }
}
