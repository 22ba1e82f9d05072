//! What needs no engine: scores under published weights, exports, plans, and the length of the longest row.

use std::collections::HashMap;
use std::path::PathBuf;

use efface_core::model::TrainingPlan;
use efface_core::rows::Features;
use efface_data::derived::{ColumnConstants, Constants, Encoder, INTERCEPT};
use efface_data::export::Labels as AnswerLabels;
use efface_data::{
    FeatureValues, Labels, Origin, RawLabels, RowTransform, RowsError, Scale, Scaling, Schema, Table, TableParts,
};
use efface_engine::{DerivedFeatures, EngineError, OnnxOptions, PublishedModel, plan_from_rows, plan_from_sizes};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::config::{Config, parse};
use crate::engine::json;
use crate::errors::{bad_parameter, raised};
use crate::features::FeatureEncoder;
use crate::rows::{Matrix, numbers};
use crate::work;

/// So few values are multiplied sooner than a signal could be noticed, or a thread started.
const FEW_VALUES: usize = 1 << 20;

/// A published model, and the names of all columns of its rows.
type Published = (String, Vec<String>);

/// Scores of rows under weights, one column per set of weights.
#[pyfunction]
#[pyo3(signature = (rows, weights, *, scale, intercept, published = None, n_threads = None))]
pub(crate) fn decision<'py>(
    py: Python<'py>,
    rows: &Bound<'py, PyAny>,
    weights: PyReadonlyArray2<'py, f64>,
    scale: &str,
    intercept: bool,
    published: Option<Published>,
    n_threads: Option<usize>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let mut weights: Vec<Vec<f64>> = weights.as_array().outer_iter().map(|row| row.to_vec()).collect();
    let scaler = Scaler::new(py, scale, intercept, published)?;
    if scaler.encoder.is_some() && intercept {
        weights.iter_mut().filter_map(|weights| weights.last_mut()).for_each(|weight| *weight /= INTERCEPT);
    }
    let (n_rows, mut scores) = scaler.of_rows(py, rows, n_threads, |features, n_features, scaling| {
        efface_data::scores(features, n_features, scaling, &weights)
    })?;
    if let Some(target) = scaler.encoder.and_then(|encoder| encoder.constants().target) {
        for score in &mut scores {
            *score = target.location + target.scale * *score;
        }
    }
    PyArray1::from_vec(py, scores).reshape([n_rows, weights.len()])
}

/// Rows as the weights take them, one column per weight but that of the intercept.
#[pyfunction]
#[pyo3(signature = (rows, *, scale, intercept, published = None, n_threads = None))]
pub(crate) fn transform<'py>(
    py: Python<'py>,
    rows: &Bound<'py, PyAny>,
    scale: &str,
    intercept: bool,
    published: Option<Published>,
    n_threads: Option<usize>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let scaler = Scaler::new(py, scale, intercept, published)?;
    let (n_rows, scaled) = scaler.of_rows(py, rows, n_threads, efface_data::scaled)?;
    let n_columns = scaled.len() / n_rows.max(1);
    PyArray1::from_vec(py, scaled).reshape([n_rows, n_columns])
}

/// What rows go through before they are multiplied.
struct Scaler {
    scale: Scale,
    transform: RowTransform,
    encoder: Option<Encoder>,
}

impl Scaler {
    fn new(py: Python<'_>, scale: &str, intercept: bool, published: Option<Published>) -> PyResult<Self> {
        let scale: Scale = scale.parse().map_err(|error| bad_parameter(py, &format!("{error}")))?;
        let encoder = published.filter(|_| scale == Scale::Auto);
        let encoder = encoder.map(|published| encoder_of(py, &published, intercept)).transpose()?;
        Ok(Self { scale, transform: RowTransform { scale, intercept }, encoder })
    }

    /// The number of rows, and what is computed of them.
    fn of_rows(
        &self,
        py: Python<'_>,
        rows: &Bound<'_, PyAny>,
        n_threads: Option<usize>,
        compute: impl Fn(Features<'_>, usize, Scaling<'_>) -> Result<Vec<f64>, RowsError> + Sync,
    ) -> PyResult<(usize, Vec<f64>)> {
        let mut rows = Matrix::hold(rows, self.scale)?;
        if self.encoder.as_ref().is_some_and(Encoder::has_categories) {
            rows = rows.with_gaps(py)?;
        }
        let n_features = rows.n_features;
        let values = rows.with(py, |features| {
            let scaling = self.encoder.as_ref().map_or(Scaling::ByRow(&self.transform), Scaling::Derived);
            let values = || compute(features, n_features, scaling).map_err(EngineError::from);
            if rows.n_rows * n_features <= FEW_VALUES {
                return work::run_here(py, n_threads, |pool| pool.install(values));
            }
            work::run(py, n_threads, None, |worker| worker.install(values))?.unless_stopped()
        })??;
        Ok((rows.n_rows, values.map_err(|error| raised(py, &error))?))
    }
}

/// The encoder of a published model. Columns that it does not name have nothing in any row.
fn encoder_of(py: Python<'_>, (model, columns): &Published, intercept: bool) -> PyResult<Encoder> {
    let DerivedFeatures { columns: known, constants } = parse(py, model)?;
    let of: HashMap<String, ColumnConstants> = known.into_iter().zip(constants.columns).collect();
    let of = |column: &String| of.get(column).cloned().unwrap_or(ColumnConstants::Empty);
    let constants = Constants { columns: columns.iter().map(of).collect(), ..constants };
    Ok(Encoder::new(constants, intercept))
}

/// What a classifier of ONNX answers.
#[derive(FromPyObject)]
pub(crate) enum GivenLabels {
    Ints(Vec<i64>),
    Texts(Vec<String>),
}

/// A published model as an ONNX file, with texts beside it. Its networks are those of a model directory.
#[pyfunction]
#[pyo3(signature = (published, *, labels = None, metadata = Vec::new(), directory = None))]
pub(crate) fn to_onnx(
    py: Python<'_>,
    published: Published,
    labels: Option<GivenLabels>,
    metadata: Vec<(String, String)>,
    directory: Option<PathBuf>,
) -> PyResult<Bound<'_, PyBytes>> {
    let (text, columns) = published;
    let mut model: PublishedModel = parse(py, &text)?;
    if let Some(directory) = directory {
        model = model.of_directory(&directory);
    }
    let labels = labels.map(|labels| match labels {
        GivenLabels::Ints(labels) => AnswerLabels::Ints(labels),
        GivenLabels::Texts(labels) => AnswerLabels::Texts(labels),
    });
    let options = OnnxOptions { columns: Some(columns), labels, metadata };
    let exported = model.to_onnx(&options).map_err(|error| raised(py, &error.into()))?;
    Ok(PyBytes::new(py, &exported.onnx))
}

/// Names, weights and intercepts.
type OwnUnits<'py> = (Vec<String>, Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>);

/// What weights in the columns' own units belong to, those weights, and their intercepts.
#[pyfunction]
pub(crate) fn in_own_units<'py>(
    py: Python<'py>,
    weights: PyReadonlyArray2<'py, f64>,
    intercept: bool,
    published: Published,
) -> PyResult<OwnUnits<'py>> {
    let encoder = encoder_of(py, &published, intercept)?;
    let weights = weights.as_array();
    let own = weights.outer_iter().map(|row| {
        let row = row.to_vec();
        let (features, rest) = row.split_at(encoder.n_features().min(row.len()));
        encoder.in_own_units(features, rest.first().copied().unwrap_or(0.0))
    });
    let (own, intercepts): (Vec<Vec<f64>>, Vec<f64>) = own.unzip();
    Ok((encoder.own_names(&published.1), PyArray2::from_vec2(py, &own)?, PyArray1::from_vec(py, intercepts)))
}

/// Says where the shared library of ONNX Runtime is, before the first network is opened.
#[pyfunction]
pub(crate) fn onnx_runtime_at_hand(path: PathBuf) {
    efface_onnx::library_at_hand(path);
}

/// The largest Euclidean norm of a row, rounded up.
#[pyfunction]
pub(crate) fn longest_row(py: Python<'_>, rows: &Bound<'_, PyAny>) -> PyResult<f64> {
    let rows = Matrix::hold(rows, Scale::Raw)?;
    let n_features = rows.n_features;
    let longest = rows.with(py, |features| {
        work::run(py, None, None, |worker| {
            worker.install(|| efface_data::longest_row(features, n_features).map_err(EngineError::from))
        })
    })??;
    longest.unless_stopped()?.map_err(|error| raised(py, &error))
}

/// Whether releases of models like this are noisy.
#[pyfunction]
pub(crate) fn draws_noise(py: Python<'_>, config: &str) -> PyResult<bool> {
    let mut training = parse::<Config>(py, config)?.training(py)?;
    training.n_classes = training.loss.is_classification().then_some(2);
    let plan = TrainingPlan::new(training).map_err(|error| raised(py, &error.into()))?;
    Ok(!plan.is_exact())
}

/// What noise costs and how many removals it carries, from sizes alone or from a public sample of rows.
#[pyfunction]
#[pyo3(signature = (config, *, n_rows = None, dim = None, rows = None, labels = None, classes = None, features = None))]
pub(crate) fn plan(
    py: Python<'_>,
    config: &str,
    n_rows: Option<usize>,
    dim: Option<usize>,
    rows: Option<&Bound<'_, PyAny>>,
    labels: Option<&Bound<'_, PyAny>>,
    classes: Option<Vec<String>>,
    features: Option<&FeatureEncoder>,
) -> PyResult<String> {
    let config: Config = parse(py, config)?;
    let mut training = config.training(py)?;
    training.n_classes = classes.as_ref().map(|classes| classes.len() as u32);
    let report = match (rows, labels, n_rows, dim) {
        (Some(rows), Some(labels), ..) => {
            let transform = config.transform();
            let schema = features.map(|features| &features.schema);
            let table = table(py, rows, labels, transform.scale, schema)?;
            let plan = || plan_from_rows(&training, table?, schema, &transform);
            work::run(py, None, None, |worker| worker.install(plan))?.unless_stopped()?
        }
        (None, None, Some(n_rows), Some(dim)) => plan_from_sizes(&training, n_rows, dim),
        _ => return Err(bad_parameter(py, "give either rows and labels, or n_rows and dim")),
    };
    let report = report.map_err(|error| raised(py, &error))?;
    Ok(json(&report))
}

fn table(
    py: Python<'_>,
    rows: &Bound<'_, PyAny>,
    labels: &Bound<'_, PyAny>,
    scale: Scale,
    schema: Option<&Schema>,
) -> PyResult<Result<Table, EngineError>> {
    let rows = Matrix::hold(rows, scale)?.with_gaps(py)?;
    let features: FeatureValues = rows.with(py, |features| features.into())?;
    let labels = numbers(labels)?;
    let origin = Origin::new("rows");
    let parts = TableParts {
        feature_names: schema
            .map_or_else(|| (0..rows.n_features).map(|i| format!("x{i}")).collect(), Schema::feature_names),
        features,
        // Plans know classes by number: their names would be sorted anew.
        labels: Some(Labels::new(RawLabels::Numbers(labels), origin.clone(), None)),
        ids: None,
        subjects: None,
        row_weights: None,
        origin,
        texts: (scale == Scale::Auto).then_some(rows.texts),
    };
    Ok(Table::new(parts).map_err(EngineError::from))
}
