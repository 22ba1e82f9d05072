//! What needs no engine: scores under published weights, plans, and the length of the longest row.

use efface_core::model::TrainingPlan;
use efface_data::derived::{Encoder, INTERCEPT};
use efface_data::{FeatureValues, Labels, Origin, RawLabels, RowTransform, Scale, Scaling, Table, TableParts};
use efface_engine::{DerivedFeatures, EngineError, plan_from_rows, plan_from_sizes};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::config::{Config, parse};
use crate::engine::json;
use crate::errors::{bad_parameter, raised};
use crate::rows::{Matrix, numbers};
use crate::work;

/// So few values are multiplied sooner than a signal could be noticed, or a thread started.
const FEW_VALUES: usize = 1 << 20;

/// Scores of rows under weights, one column per set of weights.
#[pyfunction]
#[pyo3(signature = (rows, weights, *, scale, intercept, model = None, n_threads = None))]
pub(crate) fn decision<'py>(
    py: Python<'py>,
    rows: &Bound<'py, PyAny>,
    weights: PyReadonlyArray2<'py, f64>,
    scale: &str,
    intercept: bool,
    model: Option<&str>,
    n_threads: Option<usize>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let scale: Scale = scale.parse().map_err(|error| bad_parameter(py, &format!("{error}")))?;
    let transform = RowTransform { scale, intercept };
    let mut weights: Vec<Vec<f64>> = weights.as_array().outer_iter().map(|row| row.to_vec()).collect();
    let encoder = match model {
        Some(model) if scale == Scale::Auto => {
            let DerivedFeatures { constants, .. } = parse(py, model)?;
            Some(Encoder::new(constants, intercept))
        }
        _ => None,
    };
    if encoder.is_some() && intercept {
        weights.iter_mut().filter_map(|weights| weights.last_mut()).for_each(|weight| *weight /= INTERCEPT);
    }
    let mut rows = Matrix::hold(rows, scale)?;
    if encoder.as_ref().is_some_and(Encoder::has_categories) {
        rows = rows.with_gaps(py)?;
    }
    let (shape, n_features) = ([rows.n_rows, weights.len()], rows.n_features);
    let scores = rows.with(py, |features| {
        let scaling = encoder.as_ref().map_or(Scaling::ByRow(&transform), Scaling::Derived);
        let scores = || efface_data::scores(features, n_features, scaling, &weights).map_err(EngineError::from);
        if rows.n_rows * n_features <= FEW_VALUES {
            return work::run_here(py, n_threads, |pool| pool.install(scores));
        }
        work::run(py, n_threads, None, |worker| worker.install(scores))?.unless_stopped()
    })??;
    let mut scores = scores.map_err(|error| raised(py, &error))?;
    if let Some(target) = encoder.and_then(|encoder| encoder.constants().target) {
        for score in &mut scores {
            *score = target.location + target.scale * *score;
        }
    }
    PyArray1::from_vec(py, scores).reshape(shape)
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
#[pyo3(signature = (config, *, n_rows = None, dim = None, rows = None, labels = None, classes = None))]
pub(crate) fn plan(
    py: Python<'_>,
    config: &str,
    n_rows: Option<usize>,
    dim: Option<usize>,
    rows: Option<&Bound<'_, PyAny>>,
    labels: Option<&Bound<'_, PyAny>>,
    classes: Option<Vec<String>>,
) -> PyResult<String> {
    let config: Config = parse(py, config)?;
    let mut training = config.training(py)?;
    training.n_classes = classes.as_ref().map(|classes| classes.len() as u32);
    let report = match (rows, labels, n_rows, dim) {
        (Some(rows), Some(labels), ..) => {
            let transform = config.transform();
            let table = table(py, rows, labels, transform.scale)?;
            work::run(py, None, None, |worker| worker.install(|| plan_from_rows(&training, table?, None, &transform)))?
                .unless_stopped()?
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
) -> PyResult<Result<Table, EngineError>> {
    let rows = Matrix::hold(rows, scale)?.with_gaps(py)?;
    let features: FeatureValues = rows.with(py, |features| features.into())?;
    let labels = numbers(labels)?;
    let origin = Origin::new("rows");
    let parts = TableParts {
        feature_names: (0..rows.n_features).map(|i| format!("x{i}")).collect(),
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
