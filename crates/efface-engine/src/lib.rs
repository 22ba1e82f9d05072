//! One call per user action, each a transaction on a model directory: train, remove, add, correct, settle, retrain,
//! release, status; and what needs no directory: predict, evaluate, plan.
//!
//! A model directory holds
//!
//! ```text
//! churn.efface/
//!   lock             held by the one writer
//!   state.efface     secret state: settings, ids, weights, curvature, claims (replaced as a whole)
//!   rows.bin         the engine's own copy of the rows (purged in place)
//!   releases/<k>/    published model and its certificate
//! ```

mod certificate;
mod changes;
mod directory;
mod error;
mod model_directory;
mod planning;
mod published;
mod releases;
mod settings;
mod settling;
mod state_file;
mod status;

pub use certificate::Certificate;
pub use changes::{ChangeReport, OutcomeTag, RowSource, Selection};
pub use error::EngineError;
pub use model_directory::{ModelDirectory, TrainReport, TrainRequest};
pub use planning::{NeededNoise, PlanReport, PlanRequest, PlanRow, plan_from_rows, plan_from_sizes};
pub use published::{Evaluation, Prediction, PublishedModel};
pub use releases::{ReleaseAnswer, ReleaseReport};
pub use settings::Settings;
pub use settling::{RetrainReport, SettleReport};
pub use status::Status;
