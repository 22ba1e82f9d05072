//! What keeps an audit from being made. That a claim breaks is not an error: it is the answer.

use efface_core::model::{PlanError, Refusal, TrainError};
use efface_core::rows::StoreError;
use efface_data::LookupError;

/// An audit could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are named in the messages")]
pub enum AuditError {
    /// Rows could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A row is not there any more.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// A model for comparison could not be trained.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// A problem of the audit's own cannot be promised.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Only models whose noise is added at release can be drawn many times.
    #[error("an audit covers models of mechanism `release`; this one is of mechanism `{found}`")]
    Mechanism { found: &'static str },
    /// The audit computes gradients by itself, and does not know this loss.
    #[error("the audit cannot check the gradient of the `{loss}` loss: it has no slope for it")]
    UnknownLoss { loss: &'static str },
    /// There is nothing left to compare after a removal.
    #[error("an audit needs at least {least} rows, the model has {found}")]
    TooFewRows { found: usize, least: usize },
    /// The state of a model does not fit its own plan.
    #[error("the model's state does not fit its plan")]
    State,
    /// A model that the audit wants to attack may not leave.
    #[error("the release to be attacked was refused: {outcome}; settle or retrain the model first")]
    Refused { outcome: Refusal },
}
