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

mod adoption;
mod audit_material;
mod certificate;
mod change_report;
mod changes;
mod checkpoint;
mod database;
mod error;
mod files;
mod found_releases;
#[doc(hidden)]
pub mod fuzzing;
mod import;
mod in_memory;
mod influence;
mod inspection;
mod ledger;
mod lock;
mod looking;
mod memory;
mod mending;
mod model_directory;
mod new_directory;
mod past;
mod planning;
mod policy;
mod published;
mod releases;
mod remaining;
mod requests;
mod revocation;
mod row_sink;
mod row_source;
mod selection;
mod settings;
mod settling;
mod signing;
mod state_file;
mod status;
mod step;
mod training;
mod verification;
mod witness;

pub use adoption::{AdoptRequest, AdoptedRows, FoundBy};
pub use audit_material::AuditMaterial;
pub use change_report::{ChangeReport, OutcomeTag};
pub use database::{Mending, PastRequest};
pub use efface_ledger::certificate::ReleasePolicy;
pub use error::EngineError;
pub use in_memory::{
    Interrupted, KeepOptions, LentRows, MemoryModel, MemoryRelease, MemoryRequest, NewRows, ReleaseMade, RowsError,
    longest_row, scores,
};
pub use lock::Holder;
pub use looking::DirectoryRelease;
pub use model_directory::{ModelDirectory, OpenOptions};
pub use past::{AdoptedPast, AdoptedRelease, AnsweredRequest};
pub use planning::{NeededNoise, PlanReport, PlanRequest, PlanRow, plan_from_rows, plan_from_sizes};
pub use policy::HeldBack;
pub use published::{Evaluation, Prediction, PublishedModel, latest_certificate};
pub use releases::{ReleaseAnswer, ReleaseReport};
pub use requests::RequestReport;
pub use revocation::RevocationReport;
pub use row_source::RowSource;
pub use selection::Selection;
pub use settings::{RowNames, Settings};
pub use settling::{RetrainReport, SettleReport};
pub use signing::{Passphrase, make_key, public_key_of, public_key_path};
pub use status::Status;
pub use training::{TrainProgress, TrainReport, TrainRequest};
pub use verification::DirectoryReport;
