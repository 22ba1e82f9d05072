//! Files, the database, and what could not be finished.

use std::io;
use std::path::PathBuf;

use super::EngineError;

/// What a model is kept in failed. What was committed before is whole.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
#[non_exhaustive]
pub enum StorageError {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// The place where something is to be written is taken.
    #[error("{} exists already", path.display())]
    Exists { path: PathBuf },
    /// The database of the directory refused.
    #[error("{}: {source}", path.display())]
    Database { path: PathBuf, source: Box<rusqlite::Error> },
    /// A page of the database is not what was written: nothing that it says is believed.
    #[error("{} is damaged", path.display())]
    DamagedDatabase { path: PathBuf },
    /// The record of a row is not that of the row that was looked up: nothing is removed.
    #[error("the record at position {position} is not that of the row that is looked up there")]
    OtherRow { position: usize },
    /// A process that was forked off uses what its parent has open.
    #[error("the model was opened by process {process}, and belongs to it; open it again in this one")]
    OtherProcess { process: u32 },
    /// An earlier commit failed, and nobody knows whether it holds; what is on disk is whole.
    #[error("an earlier operation on this model failed; open it again")]
    Damaged,
    /// A change counts, but the bytes of its old rows could not be overwritten yet.
    #[error("the change is committed, but the removed rows could not be overwritten yet: {source}")]
    PurgePending { source: Box<EngineError> },
    /// A change counts, but the witness could not be told.
    #[error("the change is committed, but the witness {} could not be updated: {source}", path.display())]
    WitnessBehind { path: PathBuf, source: Box<EngineError> },
    /// What an earlier change left to be done cannot be done, and so nothing else can.
    #[error("an earlier change is committed, but could not be finished; nothing was done now: {source}")]
    Unfinished { source: Box<EngineError> },
}

impl StorageError {
    /// Stable name.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Io { .. } => "io",
            Self::Exists { .. } => "exists",
            Self::Database { .. } => "database",
            Self::DamagedDatabase { .. } => "database-damaged",
            Self::OtherRow { .. } => "other-row",
            Self::OtherProcess { .. } => "other-process",
            Self::Damaged => "damaged",
            Self::PurgePending { .. } => "purge-pending",
            Self::WitnessBehind { .. } => "witness-behind",
            Self::Unfinished { .. } => "unfinished",
        }
    }
}

impl EngineError {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| StorageError::Io { path, source }.into()
    }
}
