//! Which exception an error of the engine becomes. The classes live in `efface._exceptions`.

use efface_core::model::{PlanError, TrainError};
use efface_data::{AppendError, LookupError, ReadError, RowsError};
use efface_engine::{CertifyError, ChangeError, EngineError, OpenError};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// The exception of an error.
pub(crate) fn raised(py: Python<'_>, error: &EngineError) -> PyErr {
    let message = match (error, advice(error)) {
        (EngineError::Change(ChangeError::NoRowIds), _) => NO_ROW_IDS.into(),
        (error, Some(advice)) => format!("{error}; {advice}"),
        (error, None) => error.to_string(),
    };
    with_code(py, class_of(error), &message, error.code())
}

/// Why no id names a row, as a user of frames knows it, and what to do.
const NO_ROW_IDS: &str = "the rows of this model have no ids: the index of the frame it was fitted on has labels that repeat \
                          or are neither integers nor text, or y has an index and X has not. Remove by subjects=, or fit \
                          again with ids=, or with X.reset_index(drop=True) to number the rows";

/// What to do, by the names that parameters have in Python.
fn advice(error: &EngineError) -> Option<&'static str> {
    Some(match error {
        EngineError::Plan(PlanError::Noise { .. }) => "noise_std sets it",
        EngineError::Plan(PlanError::Lattice { .. }) => "raise noise_std, epsilon or delta",
        EngineError::Plan(PlanError::Releases { .. }) => "max_releases sets it",
        EngineError::Train(TrainError::OutOfReach { .. }) => {
            "set noise_std, or alpha (1/C) or l2, to that, or lower max_releases"
        }
        EngineError::Train(TrainError::TooWide { .. }) => {
            "give noise_std, for example 0.001, and a scale that bounds the rows"
        }
        _ => return None,
    })
}

/// An exception of `efface._exceptions` by its name, for what this module refuses itself.
pub(crate) fn named(py: Python<'_>, class: &str, message: &str) -> PyErr {
    let exception = || py.import("efface._exceptions")?.getattr(class)?.call1((message,));
    made(exception(), message)
}

/// The same, with the stable name under which the engine knows what is wrong.
pub(crate) fn with_code(py: Python<'_>, class: &str, message: &str, code: &str) -> PyErr {
    let exception = || {
        let exception = py.import("efface._exceptions")?.getattr(class)?.call1((message,))?;
        exception.setattr("code", code)?;
        Ok(exception)
    };
    made(exception(), message)
}

fn made(exception: PyResult<Bound<'_, PyAny>>, message: &str) -> PyErr {
    match exception {
        Ok(exception) => PyErr::from_value(exception),
        // Without its package the module still says what is wrong.
        Err(_) => PyRuntimeError::new_err(message.to_owned()),
    }
}

/// A parameter that cannot be used.
pub(crate) fn bad_parameter(py: Python<'_>, message: &str) -> PyErr {
    named(py, "PlanError", message)
}

/// The class of an error. The enums may grow, so each match ends in what fits any error of its kind.
fn class_of(error: &EngineError) -> &'static str {
    match error {
        EngineError::Plan(PlanError::Classes { .. }) => "RowError",
        EngineError::Plan(_)
        | EngineError::Export(_)
        | EngineError::Certify(CertifyError::Policy)
        | EngineError::Schema(_)
        | EngineError::Read(ReadError::Network { .. } | ReadError::DerivedBesideScale { .. })
        | EngineError::Open(
            OpenError::ExtractorShare { .. } | OpenError::ExtractorGroup { .. } | OpenError::NoPrivateNetwork,
        ) => "PlanError",
        EngineError::InMemory(RowsError::Changed { .. } | RowsError::OtherRows { .. }) => "RowsChangedError",
        EngineError::Append(AppendError::AlreadyPresent { .. }) | EngineError::Lookup(LookupError::Repeated { .. }) => {
            "RepeatedIdError"
        }
        EngineError::Lookup(LookupError::AlreadyRemoved { .. }) => "AlreadyRemovedError",
        EngineError::Lookup(_) => "UnknownIdError",
        EngineError::Change(error) => match error {
            ChangeError::RepeatedId { .. } => "RepeatedIdError",
            ChangeError::LastRow { .. } | ChangeError::LastWeight { .. } => "LastRowError",
            ChangeError::NoRowIds
            | ChangeError::NoIdNamed { .. }
            | ChangeError::NoLabelNamed { .. }
            | ChangeError::NoSubjectNamed { .. }
            | ChangeError::RowWeight { .. }
            | ChangeError::Unweighted { .. }
            | ChangeError::ForeignRows { .. }
            | ChangeError::ClassGone { .. } => "RowError",
            // The rows have left: not to be taken for a request that was refused.
            ChangeError::NotSettled { .. } => "EffaceError",
            // Everything else is an argument of the call.
            _ => "PlanError",
        },
        EngineError::Train(error) => match error {
            TrainError::Singular { .. } => "SingularError",
            TrainError::OutOfReach { .. } => "OutOfReachError",
            TrainError::NoRows => "RowError",
            TrainError::Store(_) => "DirectoryError",
            _ => "PlanError",
        },
        EngineError::InMemory(_)
        | EngineError::Append(_)
        | EngineError::Read(_)
        | EngineError::Label(_)
        | EngineError::Encode(_) => "RowError",
        EngineError::Open(_)
        | EngineError::Storage(_)
        | EngineError::Certify(_)
        | EngineError::Rows(_)
        | EngineError::Store(_) => "DirectoryError",
        // There is no randomness, or something that this module does not know yet.
        _ => "EffaceError",
    }
}
