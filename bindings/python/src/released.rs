//! Releases on their way to Python.

use efface_engine::{MemoryRelease, ReleaseAnswer};
use numpy::PyArray2;
use pyo3::prelude::*;

/// Whether a model may leave.
pub(crate) enum Released {
    /// It may, and here it is.
    Published(Published),
    /// The promise does not allow it, or the policy asks to wait.
    Refused(ReleaseAnswer),
}

/// A release: what leaves, and nothing else.
#[derive(Clone)]
pub(crate) struct Published {
    /// One vector per problem, the intercept last.
    pub(crate) weights: Vec<Vec<f64>>,
    /// JSON.
    pub(crate) certificate: String,
    /// JSON.
    pub(crate) model: String,
}

/// Weights of all problems, certificate, published model.
pub(crate) type ReleasedArrays<'py> = (Bound<'py, PyArray2<f64>>, String, String);

impl Published {
    pub(crate) fn into_arrays(self, py: Python<'_>) -> PyResult<ReleasedArrays<'_>> {
        Ok((PyArray2::from_vec2(py, &self.weights)?, self.certificate, self.model))
    }
}

impl From<&MemoryRelease> for Published {
    fn from(release: &MemoryRelease) -> Self {
        let MemoryRelease { weights, certificate, model, .. } = release.clone();
        Self { weights, certificate, model }
    }
}
