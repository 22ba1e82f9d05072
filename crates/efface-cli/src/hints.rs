//! What the user can do about an error, in the words of the command line.

use efface_data::{
    AppendError, CellError, EncodeError, IdKind, LabelError, LookupError, ReadError, SchemaError, SegmentError,
    StoredRowsError,
};
use efface_engine::{CertifyError, ChangeError, EngineError, OpenError, StorageError};
use efface_ledger::key::KeyError;

/// The hint for an error, where there is something to do.
#[expect(clippy::too_many_lines, reason = "a table")]
pub(crate) fn hint(error: &EngineError) -> Option<&'static str> {
    match error {
        EngineError::Storage(StorageError::Exists { .. }) => Some("choose another place, or move what is there away"),
        EngineError::Open(OpenError::NotAModel { .. }) => Some("`efface train DATA --label NAME --out DIR` makes one"),
        EngineError::Open(OpenError::Locked { .. } | OpenError::WitnessLocked { .. }) => {
            Some("wait until it is done, then try again")
        }
        EngineError::Change(ChangeError::NoLabelNamed { .. }) => {
            Some("--label NAME|FILE names the column or the array of labels")
        }
        EngineError::Change(ChangeError::NoSubjectNamed { .. }) => {
            Some("--subject NAME names the column (or the array) of subjects")
        }
        EngineError::Change(ChangeError::NoIdNamed { .. }) => Some("--id NAME names the column (or the array) of ids"),
        EngineError::Certify(CertifyError::NoRelease { .. }) => Some("publish one with `efface release DIR`"),
        EngineError::Change(ChangeError::ClassGone { .. }) => Some("train a new model to bring the class back"),
        EngineError::Change(ChangeError::LastRow { .. } | ChangeError::LastWeight { .. }) => {
            Some("delete the whole model directory instead")
        }
        EngineError::Encode(EncodeError::Scale { .. }) => Some(
            "train with --scale unit (every row to norm 1), clip:R (divide by R, shorten longer rows) or within:R (a larger \
             limit)",
        ),
        EngineError::Read(ReadError::NotANumber { .. }) => Some(
            "text columns are read through a schema (`efface schema DATA --out schema.toml`); a column that is no \
             feature is named by --id, --subject or --ignore, or left out of --features",
        ),
        EngineError::Read(ReadError::Cell { source, .. }) => match **source {
            CellError::Missing => Some(
                "in the schema, give the column missing = \"slot\", \"zero\" or { value = … }, or leave the row out",
            ),
            CellError::Undeclared { .. } => {
                Some("in the schema, add it to the column's values, or give the column unknown = \"slot\"")
            }
            CellError::NotANumber { .. } => {
                Some("in the schema, a text that means a missing value is one of the missing_markers")
            }
            _ => None,
        },
        EngineError::Schema(SchemaError::Exists { .. }) => Some("choose another --out, or move the old schema away"),
        EngineError::Label(LabelError::NotAnInteger { .. } | LabelError::TooManyClasses { .. }) => {
            Some("to predict numbers instead of classes, train with --loss squared")
        }
        EngineError::Encode(EncodeError::Label(LabelError::NotANumber { .. })) => {
            Some("to predict classes instead of numbers, train with --loss logistic")
        }
        EngineError::Lookup(LookupError::Unknown { kind: IdKind::Row, .. }) => {
            Some("ids are as in the --id column, or row numbers from 0")
        }
        EngineError::Lookup(LookupError::Unknown { kind: IdKind::Subject, .. }) => {
            Some("subjects are as in the --subject column that the model was trained with")
        }
        EngineError::Append(AppendError::AlreadyPresent { .. }) => Some(
            "`efface correct` replaces rows; only models trained with --id take new ones (others number rows from 0)",
        ),
        EngineError::Open(OpenError::NoWitness { .. }) => {
            Some("bring it back, or begin a new one elsewhere with --witness PATH")
        }
        EngineError::Open(OpenError::ForeignWitness { .. }) => {
            Some("name the model's own with --witness PATH, or a file that does not exist yet")
        }
        EngineError::Open(OpenError::WitnessInside { .. }) => {
            Some("keep it on another disk or machine, where it is not backed up together with the model")
        }
        EngineError::Change(ChangeError::NoSubjects) => Some("name rows with --id"),
        EngineError::Change(ChangeError::NoRowIds) => Some("name people with --subject"),
        EngineError::Open(OpenError::BadState { path, .. })
            if path.parent().is_some_and(|folder| folder.ends_with("state")) =>
        {
            Some("bring it back from a backup, or delete it: the model is then trained again on its rows")
        }
        EngineError::Rows(error) if matches!(**error, StoredRowsError::File(SegmentError::Truncated { .. })) => {
            Some("they are cut short, or older than the database: bring back rows/ of the same time as efface.db")
        }
        EngineError::Open(OpenError::WitnessWithoutIds) => {
            Some("name the column of ids with --id, or begin a new witness")
        }
        EngineError::Storage(StorageError::WitnessBehind { .. }) => Some("it is told when the model is next opened"),
        EngineError::Change(ChangeError::RepeatedId { .. }) => {
            Some("--id must name a column in which every row has its own value")
        }
        EngineError::Storage(StorageError::PurgePending { .. }) => {
            Some("they are overwritten when the model is next opened")
        }
        EngineError::Certify(CertifyError::NotCopied { .. }) => Some("copy the model and its certificate from there"),
        EngineError::Storage(StorageError::Unfinished { .. }) => {
            Some("put right what the message names, and try again")
        }
        EngineError::Change(ChangeError::NotSettled { .. }) => Some("`efface settle DIR` tries again"),
        EngineError::Certify(CertifyError::Key { source, .. }) => match **source {
            KeyError::NeedsPassphrase => Some("give it with --passphrase-file FILE, or in EFFACE_PASSPHRASE"),
            KeyError::NotPrivate { .. } => Some("`chmod 600` makes it its owner's alone"),
            _ => None,
        },
        EngineError::Certify(CertifyError::PublicKey { .. }) => Some("`efface key show KEY|DIR` prints a public key"),
        EngineError::Certify(CertifyError::OtherKey { .. }) => {
            Some("sign with another key from now on by naming it with --key FILE")
        }
        EngineError::Certify(CertifyError::NoSuchRequest { .. }) => Some(
            "requests are named by the --request-id they were made with, or `change-N`; those from before the log are not in it",
        ),
        EngineError::Certify(CertifyError::Revoked { .. }) => Some("`efface release DIR` publishes a new one"),
        _ if error.is_disk_full() => Some("free some space; the model is as it was before"),
        _ => None,
    }
}
