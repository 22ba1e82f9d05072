//! What a release leads to in Python: arrays, or an exception.

use efface_core::model::{Excess, Refusal, Refused};
use efface_engine::{LatestRelease, ReleaseAnswer};
use numpy::PyArray2;
use pyo3::prelude::*;

use super::json;
use crate::errors::{named, with_code};

/// The exception of a release that the promise does not allow.
pub(super) fn refused(py: Python<'_>, answer: &ReleaseAnswer) -> PyErr {
    match answer {
        ReleaseAnswer::Refused(Refused { outcome, excess }) => {
            let (class, what) = match outcome {
                Refusal::RetrainRequired => ("RetrainRequiredError", "the residual exceeds its budget; retrain"),
                Refusal::BudgetExhausted => (
                    "BudgetExhaustedError",
                    "all max_releases releases that the promise was shared among have been made",
                ),
                Refusal::OutOfReach => (
                    "OutOfReachError",
                    "the weights cannot be brought as near to the exact ones as a release claims (raise noise_std or l2)",
                ),
                Refusal::OneClass => {
                    ("LastRowError", "a classifier needs rows of two classes, and those of one are left")
                }
                Refusal::Singular => ("SingularError", "the sums of the rows cannot be solved; raise l2"),
                Refusal::ExtractorExhausted => (
                    "BudgetExhaustedError",
                    "more rows have left than the private feature extractor promises anything to (delta)",
                ),
                Refusal::OffLattice => ("EffaceError", "a weight is too large for the lattice that the noise lives on"),
            };
            let message = match excess {
                Some(Excess { found, limit }) => format!("{what}: {found:e} of {limit:e}"),
                None => what.into(),
            };
            with_code(py, class, &message, outcome.tag())
        }
        other => named(py, "EffaceError", &json(other)),
    }
}

/// Weights of all problems, certificate, published model: what leaves, and nothing else.
pub(super) type ReleasedArrays<'py> = (Bound<'py, PyArray2<f64>>, String, String);

pub(super) fn arrays<'py>(py: Python<'py>, release: &LatestRelease) -> PyResult<ReleasedArrays<'py>> {
    let LatestRelease { model, certificate } = release;
    Ok((PyArray2::from_vec2(py, &model.problems())?, certificate.clone(), model.to_json()))
}
