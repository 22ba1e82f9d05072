//! One call per user action, each a transaction on a model directory: train, remove, add, correct, settle, retrain,
//! release, status; and what needs no directory: predict, evaluate, plan.
//!
//! A model directory holds
//!
//! ```text
//! churn.efface/
//!   lock                  held by the one writer
//!   efface.db             SQLite: settings, index of rows and subjects, journal, requests (no id in clear, no feature)
//!   rows/<number>.rows    the engine's own copy of the rows (overwritten in place when rows leave)
//!   state/<generation>    secret state: weights, curvature, claims (replaced as a whole)
//!   releases/<k>/         published model and its certificate
//! ```
//!
//! `docs/design/model-directory.md` says how it survives a crash and an old backup.

mod certificate;
mod change_report;
mod changes;
mod checkpoint;
mod database;
mod error;
mod files;
#[doc(hidden)]
pub mod fuzzing;
mod import;
mod inspection;
mod lock;
mod memory;
mod mending;
mod model_directory;
mod planning;
mod published;
mod releases;
mod row_source;
mod selection;
mod settings;
mod settling;
mod state_file;
mod status;
mod step;
mod training;
mod upgrade;
mod witness;

pub use certificate::Certificate;
pub use change_report::{ChangeReport, OutcomeTag};
pub use database::Mending;
pub use error::EngineError;
pub use lock::Holder;
pub use model_directory::{ModelDirectory, OpenOptions};
pub use planning::{NeededNoise, PlanReport, PlanRequest, PlanRow, plan_from_rows, plan_from_sizes};
pub use published::{Evaluation, Prediction, PublishedModel};
pub use releases::{ReleaseAnswer, ReleaseReport};
pub use row_source::RowSource;
pub use selection::Selection;
pub use settings::Settings;
pub use settling::{RetrainReport, SettleReport};
pub use status::Status;
pub use training::{TrainProgress, TrainReport, TrainRequest};
