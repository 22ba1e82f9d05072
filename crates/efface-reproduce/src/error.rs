//! Why an experiment could not be done.

use std::path::PathBuf;

use efface_core::accounting::subsampled::MechanismError;
use efface_core::model::{PlanError, TrainError};
use efface_core::noise::NoiseError;
use efface_core::rows::StoreError;
use efface_data::{EncodeError, LabelError, LookupError, ReadError, SchemaError};

use crate::data::Source;

/// What an experiment gives, or why it could not be done.
pub(crate) type Result<T, E = ExperimentError> = std::result::Result<T, E>;

/// Why an experiment could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are named in the messages")]
pub enum ExperimentError {
    /// A data set is not there.
    #[error("{}: not found; expected {}, published at {}", source_of.name, path.display(), source_of.published)]
    Missing { source_of: &'static Source, path: PathBuf },
    /// A data set is there and is not what its name says.
    #[error("{}: {what}", path.display())]
    Unexpected { path: PathBuf, what: String },
    /// A file could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A schema is not one.
    #[error(transparent)]
    Schema(#[from] SchemaError),
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
    /// The system gives no randomness.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// Training failed.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// What is claimed of a model does not hold: never the data's fault.
    #[error("{what} is `{found:e}` where at most `{claimed:e}` is claimed")]
    ClaimBroken { what: String, found: f64, claimed: f64 },
    /// A settled model may not leave under the promise it was trained for.
    #[error("{what} may not be released")]
    NotReleased { what: String },
    /// Pictures of another size than a network takes.
    #[error(transparent)]
    Images(#[from] efface_extractor::ImagesError),
    /// A private training that cannot be.
    #[error(transparent)]
    ExtractorPlan(#[from] efface_extractor::PlanError),
    /// No such promise to a group.
    #[error(transparent)]
    Mechanism(#[from] MechanismError),
    /// Training of a network failed.
    #[error(transparent)]
    Extractor(#[from] efface_extractor::TrainError),
    /// What a stopped run would go on from could not be written.
    #[error("{}: {source}", path.display())]
    Checkpoint { path: PathBuf, source: std::io::Error },
    /// Rows could not be summed over.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ExperimentError {
    /// An error unless what was found is within what is claimed. What is not a number is within nothing.
    pub(crate) fn unless_within(what: impl Into<String>, found: f64, claimed: f64) -> Result<()> {
        if found <= claimed { Ok(()) } else { Err(Self::ClaimBroken { what: what.into(), found, claimed }) }
    }
}
