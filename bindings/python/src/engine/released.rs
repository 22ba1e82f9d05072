//! What a release leads to in Python: arrays, or an exception.

use std::time::{SystemTime, UNIX_EPOCH};

use efface_core::model::{Excess, Refusal, Refused};
use efface_engine::{HeldBack, LatestRelease, ReleaseAnswer};
use numpy::PyArray2;
use pyo3::prelude::*;

use crate::errors::{named, with_code};

/// The exception of a release that the promise or the policy does not allow.
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
                    "the weights cannot be brought as near to the exact ones as a release claims (raise noise_std, alpha or l2, or lower C)",
                ),
                Refusal::OneClass => {
                    ("LastRowError", "a classifier needs rows of two classes, and those of one are left")
                }
                Refusal::Singular => {
                    ("SingularError", "the sums of the rows cannot be solved; raise alpha or l2, or lower C")
                }
                Refusal::ExtractorExhausted => (
                    "RetrainRequiredError",
                    "more rows have left than the private feature extractor covers; train another extractor",
                ),
                Refusal::OffLattice => ("EffaceError", "a weight is too large for the lattice that the noise lives on"),
            };
            let message = match excess {
                Some(Excess { found, limit }) => format!("{what}: {found:e} of {limit:e}"),
                None => what.into(),
            };
            with_code(py, class, &message, outcome.tag())
        }
        ReleaseAnswer::HeldBack(held_back) => {
            with_code(py, "ReleaseHeldBackError", &what_is_missing(held_back, now()), "held-back")
        }
        ReleaseAnswer::Published(_) => named(py, "EffaceError", "the release is published, but cannot be read"),
    }
}

/// What the policy of a directory asks for, what of it is missing, and what to do.
fn what_is_missing(held_back: &HeldBack, now: u64) -> String {
    let HeldBack { n_people, min_removals, due, .. } = *held_back;
    let people = min_removals.map(|least| {
        let missing = least.saturating_sub(n_people);
        format!(
            "rows of at least {least} people must have left or changed since the release before ({n_people} so far, \
             {missing} missing)"
        )
    });
    let time = due.map(|due| format!("{} must pass", in_words(due.saturating_sub(now))));
    let asked = people.into_iter().chain(time).collect::<Vec<_>>().join(", or ");
    format!(
        "the release policy of this model directory holds the release back: {asked}. Remove more, wait, change the policy \
         with `efface policy`, or set auto_release=False to go on with the release before, which knows the removed rows"
    )
}

fn in_words(seconds: u64) -> String {
    let units = [("days", 86_400), ("hours", 3_600), ("minutes", 60)];
    let unit = units.into_iter().find(|(_, length)| seconds >= 2 * length);
    let (name, length) = unit.unwrap_or(("seconds", 1));
    format!("{} {name}", seconds.div_ceil(length))
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// Weights of all problems, certificate, published model: what leaves, and nothing else.
pub(super) type ReleasedArrays<'py> = (Bound<'py, PyArray2<f64>>, String, String);

pub(super) fn arrays<'py>(py: Python<'py>, release: &LatestRelease) -> PyResult<ReleasedArrays<'py>> {
    let LatestRelease { model, certificate } = release;
    Ok((PyArray2::from_vec2(py, &model.problems())?, certificate.clone(), model.to_json()))
}
