//! Which exception an error of the engine becomes. The classes live in `efface._exceptions`.

use efface_core::model::{PlanError, TrainError};
use efface_data::{AppendError, LookupError};
use efface_engine::{EngineError, RowsError};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// The exception of an error.
pub(crate) fn raised(py: Python<'_>, error: &EngineError) -> PyErr {
    let message = match error {
        EngineError::NoRowIds => NO_ROW_IDS.into(),
        other => other.to_string(),
    };
    named(py, class_of(error), &message)
}

/// Why no id names a row, as a user of frames knows it, and what to do.
const NO_ROW_IDS: &str = "the rows of this model have no ids: the index of the frame it was fitted on has labels that repeat \
                          or are neither integers nor text, or y has an index and X has not. Remove by subjects=, or fit \
                          again with ids=, or with X.reset_index(drop=True) to number the rows";

/// An exception of `efface._exceptions` by its name.
pub(crate) fn named(py: Python<'_>, class: &str, message: &str) -> PyErr {
    let exception = || py.import("efface._exceptions")?.getattr(class)?.call1((message,));
    match exception() {
        Ok(exception) => PyErr::from_value(exception),
        // Without its package the module still says what is wrong.
        Err(_) => PyRuntimeError::new_err(message.to_owned()),
    }
}

/// A parameter that cannot be used.
pub(crate) fn bad_parameter(py: Python<'_>, message: &str) -> PyErr {
    named(py, "PlanError", message)
}

fn class_of(error: &EngineError) -> &'static str {
    match error {
        EngineError::Plan(error) => of_plan(error),
        EngineError::InMemory(RowsError::Changed { .. } | RowsError::OtherRows { .. }) => "RowsChangedError",
        EngineError::Append(AppendError::AlreadyPresent { .. })
        | EngineError::RepeatedId { .. }
        | EngineError::Lookup(LookupError::Repeated { .. }) => "RepeatedIdError",
        EngineError::Lookup(LookupError::AlreadyRemoved { .. }) => "AlreadyRemovedError",
        EngineError::Lookup(_) => "UnknownIdError",
        EngineError::LastRow { .. } | EngineError::LastWeight { .. } => "LastRowError",
        EngineError::Train(TrainError::Singular { .. }) => "SingularError",
        EngineError::Train(TrainError::OutOfReach { .. }) => "OutOfReachError",
        EngineError::InMemory(_)
        | EngineError::Append(_)
        | EngineError::Read(_)
        | EngineError::RowWeight { .. }
        | EngineError::Unweighted { .. }
        | EngineError::NoRowIds
        | EngineError::Label(_)
        | EngineError::Encode(_)
        | EngineError::Schema(_)
        | EngineError::ClassGone { .. }
        | EngineError::Train(TrainError::NoRows) => "RowError",
        EngineError::Tolerance { .. }
        | EngineError::Sizes { .. }
        | EngineError::NothingNamed
        | EngineError::RequestReserved { .. }
        | EngineError::RequestReused { .. }
        | EngineError::NoSubjects
        | EngineError::Policy
        | EngineError::Train(TrainError::TooWide { .. } | TrainError::UnboundedRows)
        | EngineError::Unbounded { .. } => "PlanError",
        EngineError::Io { .. }
        | EngineError::Exists { .. }
        | EngineError::NotAModel { .. }
        | EngineError::BadState { .. }
        | EngineError::Locked { .. }
        | EngineError::Database { .. }
        | EngineError::Rows(_)
        | EngineError::Damaged
        | EngineError::NoRelease { .. }
        | EngineError::BadPublished { .. }
        | EngineError::NoWitness { .. }
        | EngineError::ForeignWitness { .. }
        | EngineError::WitnessInside { .. }
        | EngineError::BadWitness { .. }
        | EngineError::WitnessBehind { .. }
        | EngineError::PurgePending { .. }
        | EngineError::Unfinished { .. }
        | EngineError::Key { .. }
        | EngineError::OtherKey { .. }
        | EngineError::Revoked { .. } => "DirectoryError",
        _ => "EffaceError",
    }
}

fn of_plan(error: &PlanError) -> &'static str {
    match error {
        PlanError::Classes { .. } => "RowError",
        _ => "PlanError",
    }
}
