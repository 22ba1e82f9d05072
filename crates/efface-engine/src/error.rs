//! What can go wrong in the engine. Nothing has been changed on disk when an error is returned.

use std::io;
use std::path::PathBuf;

use efface_core::model::{PlanError, TrainError};
use efface_core::noise::NoiseError;
use efface_core::rows::StoreError;
use efface_data::{AppendError, EncodeError, LabelError, LookupError, ReadError, RowsFileError};

/// An operation of the engine could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// Input could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Labels do not suit the loss or the classes.
    #[error(transparent)]
    Label(#[from] LabelError),
    /// Rows could not be turned into rows of the model.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// Rows could not be added.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// Rows could not be found.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// The model's own file of rows cannot be used.
    #[error(transparent)]
    Rows(#[from] RowsFileError),
    /// The parameters cannot be trained or promised.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Training failed.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// Rows could not be summed over.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No randomness.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// The place where a model is to be written is taken.
    #[error("{} exists already", path.display())]
    Exists {
        /// The directory.
        path: PathBuf,
    },
    /// The directory is not a model.
    #[error("{} is not a model directory: it has no state.efface", path.display())]
    NotAModel {
        /// The directory.
        path: PathBuf,
    },
    /// The state file is damaged or of another version.
    #[error("{}: {reason}", path.display())]
    BadState {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Another process is changing the model.
    #[error("{} is being changed by another process", path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
    },
    /// An earlier call failed half-way in memory; what is on disk is whole.
    #[error("an earlier operation on this model failed; open it again")]
    Damaged,
    /// A removal would leave no row.
    #[error("removing {n_removed} rows would leave none: the model has {n_rows}")]
    LastRow {
        /// Rows to remove.
        n_removed: usize,
        /// Rows there are.
        n_rows: usize,
    },
    /// A removal would leave a class without rows.
    #[error("removing {n_removed} rows would leave none of class `{class}`: it has {n_rows}")]
    LastOfClass {
        /// The class.
        class: String,
        /// Rows of it to remove.
        n_removed: usize,
        /// Rows of it there are.
        n_rows: usize,
    },
    /// A published model cannot be read.
    #[error("{}: {reason}", path.display())]
    BadPublished {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Nothing has been released yet.
    #[error("{} has no release yet", path.display())]
    NoRelease {
        /// The model directory.
        path: PathBuf,
    },
    /// A request names nothing to remove.
    #[error("no row to change was named")]
    NothingNamed,
    /// A request id was used before for another request.
    #[error("request id `{request_id}` was used before, for other rows")]
    RequestReused {
        /// The request id.
        request_id: String,
    },
    /// A tolerance is not a positive number.
    #[error("tolerance must be positive and finite, got `{value}`")]
    Tolerance {
        /// Its value.
        value: f64,
    },
}

impl EngineError {
    /// What the user can do about it, where there is something.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Exists { .. } => Some("choose another --out, or move the old model away"),
            Self::NotAModel { .. } => Some("`efface train DATA --label NAME --out DIR` makes one"),
            Self::Locked { .. } => Some("wait until it is done, then try again"),
            Self::NoRelease { .. } => Some("publish one with `efface release DIR`"),
            Self::LastOfClass { .. } => Some("train a new model without that class"),
            Self::LastRow { .. } => Some("delete the whole model directory instead"),
            Self::Encode(EncodeError::Scale { .. }) => {
                Some("--scale unit (every row to norm 1) or --scale clip:R (divide by R, shorten longer rows)")
            }
            Self::Lookup(LookupError::Unknown { .. }) => Some("ids are as in the --id column, or row numbers from 0"),
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                Some("free some space; the model is as it was before")
            }
            Self::Rows(RowsFileError::Io { source, .. }) if source.kind() == io::ErrorKind::StorageFull => {
                Some("free some space; the model is as it was before")
            }
            _ => None,
        }
    }

    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}
