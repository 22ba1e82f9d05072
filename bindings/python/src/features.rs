//! Features of raw cells: a schema whose maps are ready for rows, and what rows became.

mod columns;

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use efface_core::rows::Features;
use efface_data::derived::Texts;
use efface_data::{CellEncoder, EncodedCells, FeatureValues, Interrupted, NetworkPlaces, Origin, RowsError, Schema};
use efface_engine::EngineError;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use serde::Serialize;

use self::columns::HeldColumns;
use crate::engine::json;
use crate::errors::raised;
use crate::rows::{Held, Matrix};
use crate::work::{self, Worker};

/// What makes features of rows: maps that are built, and networks that are open.
#[pyclass(frozen, module = "efface._efface")]
pub(crate) struct FeatureEncoder {
    pub(crate) schema: Schema,
    encoder: Mutex<CellEncoder>,
}

/// How far rows have become features.
#[derive(Serialize)]
struct Mapped {
    mapped: usize,
}

#[pymethods]
impl FeatureEncoder {
    /// Of a schema as JSON. Networks that it knows by digest are looked for among files and in folders.
    #[new]
    #[pyo3(signature = (schema, *, networks = Vec::new()))]
    fn new(py: Python<'_>, schema: &str, networks: Vec<PathBuf>) -> PyResult<Self> {
        let read = || {
            let schema = Schema::of_json(schema)?;
            let known = schema.network_places().paths().iter().cloned();
            let places = NetworkPlaces::new(known.chain(networks));
            Ok(schema.with_networks(places))
        };
        Self::of(py, read)
    }

    /// Of a schema file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Self::of(py, || Ok(Schema::load(path)?))
    }

    /// The schema, as JSON; networks by their digests.
    #[getter]
    fn schema(&self) -> String {
        json(&self.schema)
    }

    /// Files and folders where its networks are.
    #[getter]
    fn networks(&self) -> Vec<PathBuf> {
        self.schema.network_places().paths().to_vec()
    }

    #[getter]
    fn feature_names(&self) -> Vec<String> {
        self.schema.feature_names()
    }

    /// How its rows are scaled where nobody says otherwise.
    #[getter]
    fn scale(&self) -> String {
        self.schema.usual_transform().scale.to_string()
    }

    /// Features of rows, given a column per entry of the schema.
    #[pyo3(signature = (columns, n_rows, *, n_threads = None, progress = None))]
    fn encode(
        &self,
        py: Python<'_>,
        columns: Vec<Bound<'_, PyAny>>,
        n_rows: usize,
        n_threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<EncodedRows> {
        let held = HeldColumns::hold(&self.schema, &columns, n_rows)?;
        let cells = held.cells()?;
        let encode = |worker: &Worker<'_>| {
            let mut go_on = |mapped| {
                worker.report(&Mapped { mapped });
                !worker.cancel.load(Ordering::Relaxed)
            };
            let mut encoder = self.encoder.lock().unwrap_or_else(PoisonError::into_inner);
            let encoder = &mut *encoder;
            let encoded = worker.install(|| encoder.encode(&cells, &Origin::new("rows"), &mut go_on));
            encoded?.ok_or(EngineError::InMemory(RowsError::Interrupted(Interrupted)))
        };
        let encoded = work::run(py, n_threads, progress.as_ref(), encode)?.unless_stopped()?;
        let EncodedCells { features, texts } = encoded.map_err(|error| raised(py, &error))?;
        let n_features = self.schema.dim();
        Ok(EncodedRows { n_rows, n_features, features: Arc::new(features), texts })
    }
}

impl FeatureEncoder {
    fn of(py: Python<'_>, read: impl FnOnce() -> Result<Schema, EngineError> + Send) -> PyResult<Self> {
        let made = py.detach(|| {
            let schema = read()?;
            let encoder = Mutex::new(CellEncoder::new(&schema)?);
            Ok::<_, EngineError>(Self { schema, encoder })
        });
        made.map_err(|error| raised(py, &error))
    }
}

/// Rows that a [`FeatureEncoder`] made.
#[pyclass(frozen, module = "efface._efface")]
pub(crate) struct EncodedRows {
    n_rows: usize,
    n_features: usize,
    features: Arc<FeatureValues>,
    texts: Texts,
}

impl EncodedRows {
    /// The same values, not copied.
    pub(crate) fn matrix(&self) -> Matrix {
        let held = Held::Own(Arc::clone(&self.features));
        Matrix { n_rows: self.n_rows, n_features: self.n_features, held, texts: self.texts.clone() }
    }
}

#[pymethods]
impl EncodedRows {
    #[getter]
    fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// A copy, of shape (rows, features).
    fn to_numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let shape = [self.n_rows, self.n_features];
        Ok(match self.features.slice(0..self.features.len()) {
            Features::F32(values) => PyArray1::from_slice(py, values).reshape(shape)?.into_any(),
            Features::F64(values) => PyArray1::from_slice(py, values).reshape(shape)?.into_any(),
        })
    }
}
