//! A trained model with everything that removing its rows takes, behind a handle that shows none of it.

mod released;
mod running;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use efface_core::noise::NoiseSource;
use efface_data::derived::Texts;
use efface_data::{LabelCodec, LentRows, NetworkPlaces, Remark};
use efface_engine::{
    EngineError, FittedBesideError, Life, MemoryModel, MemoryRequest, Missing, ModelDirectory, OpenOptions, Passphrase,
    Place, ReleaseAnswer, Selection, with_extractor,
};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Serialize;

use self::released::{ReleasedArrays, arrays, refused};
use crate::config::{Config, Naming, parse};
use crate::errors::{bad_parameter, named, raised};
use crate::features::FeatureEncoder;
use crate::ids;
use crate::rows::{Given, Held, Matrix, numbers};
use crate::state::State;
use crate::work::{self, Worker};

/// A trained model. Opaque: nothing of its secret state can be seen from Python.
#[pyclass(frozen, module = "efface._efface")]
pub(crate) struct Engine {
    /// The rows of a model in memory.
    rows: Mutex<Option<Arc<Matrix>>>,
    state: Mutex<State>,
    n_threads: Option<usize>,
    /// What looks like a mistake in the rows that it was trained on.
    remark: Option<Remark>,
}

#[pymethods]
impl Engine {
    /// Trains a model on rows that stay where they are.
    #[staticmethod]
    #[pyo3(signature = (rows, labels, *, config, feature_names, naming = None, classes = None, row_weights = None,
                        ids = None, subjects = None, features = None, extractor_group = None, outside_scope = Vec::new(),
                        copy = false, seed = None, n_threads = None, progress = None))]
    fn fit(
        py: Python<'_>,
        rows: &Bound<'_, PyAny>,
        labels: &Bound<'_, PyAny>,
        config: &str,
        feature_names: Vec<String>,
        naming: Option<&str>,
        classes: Option<Vec<String>>,
        row_weights: Option<&Bound<'_, PyAny>>,
        ids: Option<&Bound<'_, PyAny>>,
        subjects: Option<&Bound<'_, PyAny>>,
        features: Option<&FeatureEncoder>,
        extractor_group: Option<usize>,
        outside_scope: Vec<String>,
        copy: bool,
        seed: Option<u64>,
        n_threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let config: Config = parse(py, config)?;
        let schema = features.map(|features| features.schema.clone());
        let training = with_extractor(config.training(py)?, schema.as_ref(), extractor_group);
        let training = training.map_err(|error| raised(py, &error.into()))?;
        let Naming { columns, row_names } = naming.map_or_else(|| Ok(Naming::default()), |naming| parse(py, naming))?;
        let scale = config.transform().scale;
        let rows = Matrix::hold(rows, scale)?.with_gaps(py)?;
        let mut rows = if copy { rows.copied(py)? } else { rows };
        let texts = std::mem::take(&mut rows.texts);
        let labels = numbers(labels)?;
        let (ids, subjects) = (ids::read_option(ids)?, ids::read_option(subjects)?);
        if feature_names.len() != rows.n_features {
            let message = format!("{} feature names for {} features", feature_names.len(), rows.n_features);
            return Err(named(py, "RowError", &message));
        }
        let row_weights = row_weights.map(numbers).transpose()?;
        let outside_scope = outside_scope.iter().map(|text| text.parse()).collect::<Result<_, FittedBesideError>>();
        let outside_scope = outside_scope.map_err(|error| bad_parameter(py, &error.to_string()))?;
        let remark = rows.with(py, |features| Remark::ruling_column(features, &feature_names, scale))?;
        let trained = rows.with(py, |features| {
            let train = |worker: &Worker<'_>| {
                let request = MemoryRequest {
                    rows: LentRows { features, cancel: worker.cancel },
                    texts: &texts,
                    labels: &labels,
                    row_weights: row_weights.as_deref(),
                    class_weights: config.class_weights.clone(),
                    max_row_weight: config.max_row_weight(row_weights.is_some()),
                    ids: ids.as_deref(),
                    subjects: subjects.as_deref(),
                    features: feature_names,
                    schema,
                    columns,
                    row_names,
                    codec: classes.map_or(LabelCodec::Numeric, LabelCodec::Classes),
                    transform: config.transform(),
                    row_norm_from_rows: config.row_norm_from_rows,
                    outside_scope,
                    config: training,
                };
                let mut noise = noise(seed)?;
                worker.install(|| MemoryModel::train(&request, &mut noise, &mut |phase| worker.report(&phase)))
            };
            work::run(py, n_threads, progress.as_ref(), train)
        })??;
        let (model, table) = trained.unless_stopped()?.map_err(|error| raised(py, &error))?;
        let state = Mutex::new(State::memory(model, table));
        Ok(Self { rows: Mutex::new(Some(Arc::new(rows))), state, n_threads, remark })
    }

    /// Opens a model directory.
    #[staticmethod]
    #[pyo3(signature = (path, *, memory_bytes = None, witness = None, key = None, passphrase = None, wait = 0.0,
                        n_threads = None))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        memory_bytes: Option<u64>,
        witness: Option<PathBuf>,
        key: Option<PathBuf>,
        passphrase: Option<String>,
        wait: f64,
        n_threads: Option<usize>,
    ) -> PyResult<Self> {
        let Ok(wait) = Duration::try_from_secs_f64(wait) else {
            return Err(bad_parameter(py, &format!("wait must be a number of seconds from 0 on, got `{wait}`")));
        };
        let passphrase = passphrase.map(Passphrase::new);
        let options = OpenOptions { memory_bytes, witness, key, passphrase, wait, ..OpenOptions::default() };
        let open = |_: &Worker<'_>| ModelDirectory::open_with(path, &options).and_then(State::directory);
        let state = work::run(py, n_threads, None, open)?.unless_stopped()?.map_err(|error| raised(py, &error))?;
        Ok(Self { rows: Mutex::new(None), state: Mutex::new(state), n_threads, remark: None })
    }

    /// Moves the model into a directory, where it lives from now on.
    #[pyo3(signature = (path, *, key = None, witness = None))]
    fn save(&self, py: Python<'_>, path: PathBuf, key: Option<PathBuf>, witness: Option<PathBuf>) -> PyResult<String> {
        let place = Place { out: path, key, witness, ..Place::default() };
        let report = self.report(py, |state, lent, _| state.keep(lent, place))?;
        *self.rows.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(report)
    }

    /// Removes rows by ids or by subjects.
    #[pyo3(signature = (*, ids = None, subjects = None, request_id = None, skip_missing = false))]
    fn remove(
        &self,
        py: Python<'_>,
        ids: Option<&Bound<'_, PyAny>>,
        subjects: Option<&Bound<'_, PyAny>>,
        request_id: Option<String>,
        skip_missing: bool,
    ) -> PyResult<String> {
        let selection = ids::selection(py, ids, subjects)?;
        let missing = if skip_missing { Missing::Skip } else { Missing::Refuse };
        let remove = |life: &mut Life<'_>| life.remove(&selection, request_id.as_deref(), missing);
        if let Selection::Ids(ids) = &selection
            && ids.len() <= FEW_ROWS
        {
            return self.report_here(py, |state, lent| state.live(lent, remove));
        }
        self.report(py, |state, lent, _| state.live(lent, remove))
    }

    /// Adds rows.
    #[pyo3(signature = (rows, labels, *, ids = None, subjects = None, row_weights = None))]
    #[expect(clippy::redundant_closure_for_method_calls, reason = "the method itself is of one lifetime only")]
    fn add(
        &self,
        py: Python<'_>,
        rows: &Bound<'_, PyAny>,
        labels: &Bound<'_, PyAny>,
        ids: Option<&Bound<'_, PyAny>>,
        subjects: Option<&Bound<'_, PyAny>>,
        row_weights: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let new = Given::read(rows, labels, ids, subjects, row_weights, self.scale(py)?)?;
        self.report_with(py, new, |life, table, row_weights| life.add_table(table, row_weights))
    }

    /// Replaces the rows of these ids.
    #[pyo3(signature = (ids, rows, labels, *, subjects = None, row_weights = None))]
    #[expect(clippy::redundant_closure_for_method_calls, reason = "the method itself is of one lifetime only")]
    fn correct(
        &self,
        py: Python<'_>,
        ids: &Bound<'_, PyAny>,
        rows: &Bound<'_, PyAny>,
        labels: &Bound<'_, PyAny>,
        subjects: Option<&Bound<'_, PyAny>>,
        row_weights: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let new = Given::read(rows, labels, Some(ids), subjects, row_weights, self.scale(py)?)?;
        self.report_with(py, new, |life, table, weights| life.correct_table(table, weights))
    }

    /// Measures and polishes the weights.
    #[pyo3(signature = (tolerance = None))]
    fn settle(&self, py: Python<'_>, tolerance: Option<f64>) -> PyResult<String> {
        self.report(py, |state, lent, _| state.live(lent, |life| life.settle(tolerance)))
    }

    /// Trains again from zero on the rows that are left.
    #[pyo3(signature = (seed = None))]
    fn retrain(&self, py: Python<'_>, seed: Option<u64>) -> PyResult<String> {
        self.report(py, |state, lent, worker| {
            let mut noise = noise(seed)?;
            state.live(lent, |life| life.retrain(&mut noise, &mut |phase| worker.report(&phase)))
        })
    }

    /// Releases the model: weights, certificate and published model.
    #[pyo3(signature = (seed = None))]
    fn release<'py>(&self, py: Python<'py>, seed: Option<u64>) -> PyResult<ReleasedArrays<'py>> {
        let release = |state: &mut State, lent: &LentRows<'_>, _: &Worker<'_>| {
            Ok((state.release(lent, &mut noise(seed)?)?, state.latest()))
        };
        match self.run(py, release)? {
            (ReleaseAnswer::Published(_), Some(latest)) => arrays(py, &latest),
            (answer, _) => Err(refused(py, &answer)),
        }
    }

    /// The latest release, if there is one.
    fn latest<'py>(&self, py: Python<'py>) -> PyResult<Option<ReleasedArrays<'py>>> {
        let latest = self.read(py, |state| Ok(state.latest()))?;
        latest.map(|release| arrays(py, &release)).transpose()
    }

    /// What looks like a mistake in the rows of `fit`.
    #[getter]
    fn remark(&self) -> Option<String> {
        self.remark.as_ref().map(ToString::to_string)
    }

    /// How many releases were made.
    #[getter]
    fn n_releases(&self, py: Python<'_>) -> PyResult<usize> {
        self.read(py, |state| Ok(state.view()?.n_releases()))
    }

    /// Whether rows changed since the latest release.
    #[getter]
    fn is_stale(&self, py: Python<'_>) -> PyResult<bool> {
        self.read(py, |state| Ok(state.view()?.is_stale()))
    }

    /// The model directory, if it lives in one.
    #[getter]
    fn path(&self, py: Python<'_>) -> PyResult<Option<OsString>> {
        self.read(py, |state| Ok(state.path()))
    }

    /// The current values of the model.
    fn status(&self, py: Python<'_>) -> PyResult<String> {
        self.read(py, |state| Ok(json(&state.view()?.status()?)))
    }

    /// What the model is, as far as everybody may know.
    fn description(&self, py: Python<'_>) -> PyResult<String> {
        self.read(py, |state| Ok(json(&state.description()?)))
    }

    /// How far the weights would move if a row left: of these rows, or of all in order.
    #[pyo3(signature = (ids = None))]
    fn influence<'py>(&self, py: Python<'py>, ids: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let ids = ids::read_option(ids)?;
        let influence = self.run(py, |state, lent, _| state.live(lent, |life| life.influences(ids.as_deref())))?;
        Ok(PyArray1::from_vec(py, influence))
    }

    /// The whole model with its rows, as secret as they are.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.run(py, |state, lent, _| state.bytes(lent))?;
        bytes.map(|bytes| PyBytes::new(py, &bytes)).ok_or_else(|| {
            let message = "a model in a directory cannot be turned into bytes: copy the directory, or open it";
            named(py, "DirectoryError", message)
        })
    }

    /// A model from its bytes, whose networks are looked for among files and in folders.
    #[staticmethod]
    #[pyo3(signature = (data, *, networks = Vec::new()))]
    fn from_bytes(py: Python<'_>, data: &[u8], networks: Vec<PathBuf>) -> PyResult<Self> {
        let read = work::run(py, None, None, |_| MemoryModel::from_bytes(data))?;
        let (model, table, features) = read.unless_stopped()?.map_err(|error| raised(py, &error))?;
        let model = model.with_networks(NetworkPlaces::new(networks));
        let n_features = model.view().settings().features.len();
        let n_rows = features.len() / n_features.max(1);
        let rows = Matrix { n_rows, n_features, held: Held::Own(Arc::new(features)), texts: Texts::new() };
        let state = Mutex::new(State::memory(model, table));
        Ok(Self { rows: Mutex::new(Some(Arc::new(rows))), state, n_threads: None, remark: None })
    }

    /// Lets go of the rows, and of the directory if there is one.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.run(py, |state, _, _| state.close())?;
        *self.rows.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }

    #[expect(clippy::unused_self, reason = "nothing of an engine is shown")]
    fn __repr__(&self) -> &'static str {
        "<efface engine>"
    }
}

/// So few rows leave before a signal could be noticed.
const FEW_ROWS: usize = 64;

/// Unpredictable noise, or noise that can be repeated: nothing is promised of what it made.
fn noise(seed: Option<u64>) -> Result<NoiseSource, EngineError> {
    Ok(match seed {
        Some(seed) => NoiseSource::danger_fixed_seed(seed),
        None => NoiseSource::from_system()?,
    })
}

pub(crate) fn json(report: &impl Serialize) -> String {
    serde_json::to_string(report).expect("plain structures with string keys")
}
