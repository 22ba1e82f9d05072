//! Releases on their way to Python.

use efface_engine::LatestRelease;
use numpy::PyArray2;
use pyo3::prelude::*;

/// Weights of all problems, certificate, published model: what leaves, and nothing else.
pub(crate) type ReleasedArrays<'py> = (Bound<'py, PyArray2<f64>>, String, String);

pub(crate) fn arrays<'py>(py: Python<'py>, release: &LatestRelease) -> PyResult<ReleasedArrays<'py>> {
    let LatestRelease { model, certificate } = release;
    Ok((PyArray2::from_vec2(py, &model.problems())?, certificate.clone(), model.to_json()))
}
