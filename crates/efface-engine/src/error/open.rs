//! Why a model directory cannot be opened.

use std::path::PathBuf;

use efface_core::accounting::subsampled::MechanismError;
use serde::{Deserialize, Serialize};

use crate::clock;

/// A model directory cannot be opened, or its witness cannot be used.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
#[non_exhaustive]
pub enum OpenError {
    /// The directory is not a model.
    #[error("{} {}", path.display(), if path.exists() { "is not a model directory: it has no efface.db" } else { "does not exist" })]
    NotAModel { path: PathBuf },
    /// The directory was never finished.
    #[error("{} does not exist; {} holds rows of a training that was killed", path.display(), left.display())]
    Unfinished { path: PathBuf, left: PathBuf },
    /// A file of the directory is damaged or of another version.
    #[error("{}: {reason}", path.display())]
    BadState { path: PathBuf, reason: String },
    /// The secret state itself is damaged or of another version. The rows are whole: it can be trained again from them.
    #[error("{}: {reason}", path.display())]
    DamagedState { path: PathBuf, reason: String },
    /// Removals have happened of which no part of the directory knows whom they concerned.
    #[error("{}: {reason}", path.display())]
    LostRemovals { path: PathBuf, reason: String },
    /// Another process is changing the model.
    #[error("{} is being changed by {}", path.display(), process(holder.as_ref()))]
    Locked { path: PathBuf, holder: Option<Holder> },
    /// The witness of a model is not where it was.
    #[error("the witness {} is missing: without it, an old backup cannot be told from the current model", path.display())]
    NoWitness { path: PathBuf },
    /// Another process uses the witness: two copies of a directory at once would each count only its own releases.
    #[error("the witness {} is in use by {}: another copy of this model is open", path.display(), process(holder.as_ref()))]
    WitnessLocked { path: PathBuf, holder: Option<Holder> },
    /// A witness lies where it would be restored together with the model.
    #[error("the witness {} lies inside the model directory: an old backup of both would go unnoticed", path.display())]
    WitnessInside { path: PathBuf },
    /// The directory remembers a path as text, and this one is none.
    #[error("the path of the {what} must be valid Unicode, got {}", path.display())]
    NotUnicode { path: PathBuf, what: &'static str },
    /// A witness is that of another model.
    #[error("the witness {} belongs to another model", path.display())]
    ForeignWitness { path: PathBuf },
    /// A witness cannot be used.
    #[error("{}, {line}: {reason}", path.display())]
    BadWitness { path: PathBuf, line: String, reason: String },
    /// Row numbers are no ids: those that a witness knows belong to another file.
    #[error("a witness that knows of removals can only be used with rows that have ids of their own")]
    WitnessWithoutIds,
    /// A network saw the rows, and what that costs is not in the promise.
    #[error(
        "column `{column}` is mapped by a private network, whose statement proves epsilon `{proved}` at delta `{delta:e}` per \
         row; {}",
        stated.map_or_else(|| "no extractor is declared".into(), |stated| format!("declared is `{stated}`"))
    )]
    ExtractorShare { column: String, proved: f64, delta: f64, stated: Option<f64> },
    /// A private network promises nothing to a group of that size.
    #[error("column `{column}`: {source}")]
    ExtractorGroup { column: String, source: MechanismError },
    /// A group of rows is declared where no network has seen them.
    #[error("a group of rows is declared, and no column is mapped by a private network")]
    NoPrivateNetwork,
    /// More rows than a network covers have left it before the model is trained.
    #[error(
        "{n_left} rows that the private network was trained on have been removed, and it covers {group}; train a new \
         network without them"
    )]
    ExtractorExhausted { n_left: usize, group: usize },
}

impl OpenError {
    /// Stable name.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotAModel { .. } => "not-a-model",
            Self::Unfinished { .. } => "unfinished-training",
            Self::NotUnicode { .. } => "not-unicode",
            Self::BadState { .. } | Self::DamagedState { .. } => "bad-state",
            Self::LostRemovals { .. } => "lost-removals",
            Self::Locked { .. } => "locked",
            Self::NoWitness { .. } => "no-witness",
            Self::WitnessLocked { .. } => "witness-locked",
            Self::WitnessInside { .. } => "witness-inside",
            Self::ForeignWitness { .. } => "foreign-witness",
            Self::BadWitness { .. } => "bad-witness",
            Self::WitnessWithoutIds => "witness-without-ids",
            Self::ExtractorShare { .. } => "extractor-share",
            Self::ExtractorGroup { .. } => "extractor-group",
            Self::NoPrivateNetwork => "no-private-network",
            Self::ExtractorExhausted { .. } => "extractor-exhausted",
        }
    }
}

/// Who holds a directory or a witness, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process number.
    pub process: u32,
    /// When it took it, in seconds since 1970.
    pub since: u64,
}

fn process(holder: Option<&Holder>) -> String {
    match holder {
        None => "another process".into(),
        Some(Holder { process, since }) => {
            format!("process {process} (since {} s)", clock::now().saturating_sub(*since))
        }
    }
}
