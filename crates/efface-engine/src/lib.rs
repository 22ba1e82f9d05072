//! One call per user action, each a transaction on a model directory: train, remove, add, correct, settle, retrain,
//! release, status; and what needs no directory: predict, evaluate, plan, train a feature extractor.
//!
//! A model directory holds
//!
//! ```text
//! churn.efface/
//!   lock                  held by the one writer
//!   efface.db             SQLite: settings, index of rows and subjects, intents, requests (no id in clear, no feature)
//!   rows/<number>.rows    the engine's own copy of the rows (overwritten in place when rows leave)
//!   state/<generation>    secret state: weights, curvature, claims (replaced as a whole)
//!   releases/<k>/         published model and its certificate
//!   signing.key, .pub     the key that signs for this model
//! ```
//!
//! `docs/design/model-directory.md` says how it survives a crash and an old backup.

#[cfg(feature = "benchmarks")]
pub mod benchmarks;
mod certify;
mod clock;
mod directory;
mod error;
pub mod extractor;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod history;
mod life;
mod memory;
mod path_text;
mod planning;
mod published;
mod sealed;
mod settings;
mod status;

pub use certify::HeldBack;
pub use directory::certify::signing::{Passphrase, make_key, public_key_of, public_key_path};
pub use directory::certify::{RenewalReport, RequestReport, RevocationReport, near_the_end};
pub use directory::make::{ClassRows, Place, TrainProgress, TrainReport, TrainRequest, TrainedColumn};
pub use directory::{AuditMaterial, DirectoryReport, ModelDirectory, OpenOptions, latest_certificate};
pub use efface_ledger::certificate::{FittedBeside, FittedBesideError, ReleasePolicy};
pub use error::{
    CertifyError, ChangeError, EngineError, ExtractorError, Holder, OpenError, PredictError, StorageError,
};
pub use life::{
    ChangeReport, LatestRelease, Life, Missing, ReleaseAnswer, ReleaseReport, RetrainReport, RowSource, Selection,
    SettleReport, View,
};
pub use memory::{MemoryModel, MemoryRequest};
pub use planning::{Basis, NeededNoise, PlanReport, PlanRow, plan_from_rows, plan_from_sizes};
pub use published::{
    CalibrationReport, ClassEvaluation, ClassReport, DerivedFeatures, Evaluation, Evaluator, NumberEvaluation,
    OnnxOptions, Prediction, Predictions, Predictor, Probabilities, PublishedModel,
};
pub use settings::{RowNames, Settings, with_extractor};
pub use status::{OldPart, Repair, Status};
