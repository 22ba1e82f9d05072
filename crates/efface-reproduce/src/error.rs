//! Why an experiment could not be done.

use std::path::PathBuf;

use efface_core::model::{PlanError, ReleaseOutcome, TrainError};
use efface_core::rows::StoreError;
use efface_data::{EncodeError, LabelError, LookupError, ParseScaleError, ReadError, SchemaError};

use crate::data::Source;

/// Why an experiment could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// A data set is not there.
    #[error("{} is missing: expected {}; published at {}", source_of.name, path.display(), source_of.published)]
    Missing {
        /// Which one, and where it comes from.
        source_of: &'static Source,
        /// The file that was looked for.
        path: PathBuf,
    },
    /// A data set is there and is not what its name says.
    #[error("{}: {what}", path.display())]
    Unexpected {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A distance exceeds what is claimed of it: the claim is wrong.
    #[error("{what}, {n_removed} rows removed: the distance to the retrained model is {distance:e}, beyond {bound:e}")]
    BoundViolated {
        /// Data set and run.
        what: String,
        /// Rows removed so far.
        n_removed: usize,
        /// Distance that was measured.
        distance: f64,
        /// The most that the claims allow.
        bound: f64,
    },
    /// A release was refused although the model is settled.
    #[error("{what}, {n_removed} rows removed: the settled model may not be released")]
    NotReleased {
        /// Data set and run.
        what: String,
        /// Rows removed so far.
        n_removed: usize,
    },
    /// A file could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A schema is not one.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// A scale is not one.
    #[error(transparent)]
    Scale(#[from] ParseScaleError),
    /// Labels could not be encoded.
    #[error(transparent)]
    Label(#[from] LabelError),
    /// Rows could not be encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// A row that should be there is not.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// Settings that cannot be promised.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Training failed.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// What is claimed of a model does not hold: never the data's fault.
    #[error("{what} is `{found}` where at most `{claimed}` is claimed")]
    ClaimBroken {
        /// What was measured.
        what: &'static str,
        /// Its value.
        found: f64,
        /// What was claimed.
        claimed: f64,
    },
    /// A model may not leave under the promise it was trained for.
    #[error("the model cannot be released: {outcome:?}")]
    NotReleased {
        /// What was said instead.
        outcome: ReleaseOutcome,
    },
    /// Rows could not be summed over.
    #[error(transparent)]
    Store(#[from] StoreError),
}
