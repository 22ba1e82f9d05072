//! What can go wrong in the engine, one enum per operation. Nothing has been changed on disk when an error is returned, unless it
//! says so. Messages are for people and may change; [codes](EngineError::code) are for programs and do not.

mod certify;
mod change;
mod extractor;
mod open;
mod predict;
mod storage;

pub use certify::CertifyError;
pub use change::ChangeError;
pub use extractor::ExtractorError;
pub use open::{Holder, OpenError};
pub use predict::PredictError;
pub use storage::StorageError;

use std::error::Error;
use std::io;

use efface_core::model::{PlanError, TrainError};
use efface_core::noise::NoiseError;
use efface_core::rows::StoreError;
use efface_data::{
    AppendError, EncodeError, ExportError, ImagesError, LabelError, LookupError, ReadError, RowsError, SchemaError,
    SegmentError, StoredRowsError, VaultError,
};

/// An operation of the engine could not be done.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
#[non_exhaustive]
pub enum EngineError {
    /// A model directory cannot be opened.
    Open(#[from] OpenError),
    /// A change is refused.
    Change(#[from] ChangeError),
    /// Something cannot be certified, published or used.
    Certify(#[from] CertifyError),
    /// Something is asked of a model's predictions that they do not have.
    Predict(#[from] PredictError),
    /// A model cannot be written as a file for other programs.
    Export(#[from] ExportError),
    /// Files or the database failed.
    Storage(#[from] StorageError),
    /// Input could not be read.
    Read(#[from] ReadError),
    /// A schema cannot be used.
    Schema(#[from] SchemaError),
    /// Labels do not suit the loss or the classes.
    Label(#[from] LabelError),
    /// Rows could not be turned into rows of the model.
    Encode(#[from] EncodeError),
    /// Rows could not be added.
    Append(#[from] AppendError),
    /// Rows could not be found.
    Lookup(#[from] LookupError),
    /// Rows in memory cannot be used.
    InMemory(#[from] RowsError),
    /// The model's own rows cannot be used.
    Rows(Box<StoredRowsError>),
    /// Rows could not be summed over.
    Store(#[from] StoreError),
    /// The parameters cannot be trained or promised.
    Plan(#[from] PlanError),
    /// Training failed.
    Train(#[from] TrainError),
    /// No randomness.
    Noise(#[from] NoiseError),
    /// An extractor cannot be trained.
    Extractor(#[from] ExtractorError),
    /// A table has no labelled images.
    Images(ImagesError),
}

impl EngineError {
    /// A stable name for programs: `last-row`, `locked`, …
    pub fn code(&self) -> &'static str {
        match self {
            Self::Open(error) => error.code(),
            Self::Change(error) => error.code(),
            Self::Certify(error) => error.code(),
            Self::Predict(error) => error.code(),
            Self::Storage(error) => error.code(),
            Self::Export(_) => "not-exportable",
            Self::Read(_) => "unreadable",
            Self::Schema(_) => "bad-schema",
            Self::Label(_) | Self::Encode(EncodeError::Label(_)) => "bad-label",
            Self::Encode(_) => "bad-row",
            Self::Append(AppendError::AlreadyPresent { .. }) => "already-present",
            Self::Lookup(LookupError::Unknown { .. } | LookupError::NotPresent { .. }) => "unknown-id",
            Self::Lookup(LookupError::AlreadyRemoved { .. }) => "already-removed",
            Self::Lookup(_) => "repeated-id",
            Self::InMemory(RowsError::Changed { .. } | RowsError::OtherRows { .. }) => "rows-changed",
            Self::InMemory(RowsError::Interrupted(_)) => "interrupted",
            Self::Append(_) | Self::InMemory(_) => "bad-rows",
            Self::Rows(_) => "rows-damaged",
            Self::Store(_) => "rows-unreadable",
            Self::Plan(_) | Self::Images(_) => "bad-plan",
            Self::Train(TrainError::OutOfReach { .. }) => "out-of-reach",
            Self::Train(TrainError::Singular { .. }) => "singular",
            Self::Train(_) => "untrainable",
            Self::Noise(_) => "no-randomness",
            Self::Extractor(error) => error.code(),
        }
    }

    /// The position of a row that is not what was written.
    pub fn damaged_row(&self) -> Option<usize> {
        match self {
            Self::Rows(error) => error.damaged_row(),
            Self::Change(ChangeError::NotSettled { source }) => source.damaged_row(),
            Self::Store(error) | Self::Train(TrainError::Store(error)) => {
                error.0.downcast_ref::<StoredRowsError>()?.damaged_row()
            }
            _ => None,
        }
    }

    /// Whether there was no room left for what was to be written, by whatever was to write it.
    pub fn is_disk_full(&self) -> bool {
        let mut causes = std::iter::successors(Some(self as &(dyn Error + 'static)), |error| (*error).source());
        causes.any(|cause| {
            let of_files = cause
                .downcast_ref::<io::Error>()
                .is_some_and(|error| matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded));
            let database = cause.downcast_ref::<Box<rusqlite::Error>>().map(|error| &**error);
            let database = database.or_else(|| cause.downcast_ref::<rusqlite::Error>());
            let of_database = database.and_then(rusqlite::Error::sqlite_error_code);
            of_files || of_database == Some(rusqlite::ErrorCode::DiskFull)
        })
    }
}

impl From<SegmentError> for EngineError {
    fn from(error: SegmentError) -> Self {
        StoredRowsError::from(error).into()
    }
}

impl From<StoredRowsError> for EngineError {
    fn from(error: StoredRowsError) -> Self {
        Self::Rows(Box::new(error))
    }
}

impl From<ImagesError> for EngineError {
    fn from(error: ImagesError) -> Self {
        match error {
            ImagesError::Read(error) => error.into(),
            ImagesError::Encode(error) => error.into(),
            other => Self::Images(other),
        }
    }
}

impl From<VaultError> for EngineError {
    fn from(error: VaultError) -> Self {
        match error {
            VaultError::Stored(error) => error.into(),
            VaultError::Lent(error) => error.into(),
            VaultError::Append(error) => error.into(),
            VaultError::Lookup(error) => error.into(),
            VaultError::Elsewhere(error) => StoreError(error).into(),
            other => StoreError(Box::new(other)).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_whatever_was_to_be_written() {
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let of_file = || EngineError::io("model")(full());
        let rows = StoredRowsError::from(SegmentError::Io { file: "rows".into(), source: full() });
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_FULL);
        let database = rusqlite::Error::SqliteFailure(code, None);
        let key = efface_ledger::key::KeyError::Io { path: "key".into(), source: full() };
        let errors: [EngineError; 7] = [
            of_file(),
            rows.into(),
            StorageError::Database { path: "efface.db".into(), source: Box::new(database) }.into(),
            StorageError::WitnessBehind { path: "witness".into(), source: Box::new(of_file()) }.into(),
            StorageError::PurgePending { source: Box::new(of_file()) }.into(),
            ChangeError::NotSettled { source: Box::new(of_file()) }.into(),
            CertifyError::Key { path: "key".into(), source: Box::new(key) }.into(),
        ];
        for error in errors {
            assert!(error.is_disk_full(), "{error}");
        }
        assert!(!EngineError::io("model")(io::ErrorKind::PermissionDenied.into()).is_disk_full());
    }
}
