//! What the user can do about an error, a remark or a check that was not made, in the words of the command line.

mod extractor;
mod reading;

use efface_core::model::{PlanError, TrainError};
use efface_data::{
    AppendError, EncodeError, ExportError, IdKind, LabelError, LookupError, Remark, SchemaError, SegmentError,
    StoredRowsError,
};
use efface_engine::{CertifyError, ChangeError, EngineError, OpenError, PredictError, StorageError};
use efface_ledger::key::KeyError;
use efface_ledger::verify::{Check, CheckName, CheckOutcome};

/// The hint for an error, where there is something to do.
pub(crate) fn hint(error: &EngineError) -> Option<&'static str> {
    specific(error).or_else(|| {
        error.is_disk_full().then_some("free some space, then try again; a model that was there is as it was before")
    })
}

/// `verify` names all of them.
const DAMAGED_ROWS: &str =
    "`efface remove DIR --damaged` trains again without damaged rows; `efface correct` replaces one by its id";

const WHICH_MARK: &str = "say which it is when you train: --decimal , (1.234 is 1234) or --decimal . (1,234 is 1234)";

const FILL_IN: &str = "fill it in, or leave the row out; only features may have gaps, with --scale auto";

fn specific(error: &EngineError) -> Option<&'static str> {
    Some(match error {
        error if error.damaged_row().is_some() => DAMAGED_ROWS,
        EngineError::Storage(error) => return for_storage(error),
        EngineError::Open(error) => return for_opening(error),
        EngineError::Change(error) => return for_change(error),
        EngineError::Certify(error) => return for_certifying(error),
        EngineError::Read(error) => return reading::hint(error),
        EngineError::Export(ExportError::Network { source, .. }) => return reading::for_network(source),
        EngineError::Lookup(error) => return for_lookup(error),
        EngineError::Plan(error) => return for_plan(error),
        EngineError::Train(error) => return for_training(error),
        EngineError::Extractor(error) => return extractor::hint(error),
        EngineError::Encode(EncodeError::Scale { .. }) => {
            "train with --scale unit (every row to norm 1), clip:R (divide by R, shorten longer rows) or within:R (a larger \
             limit)"
        }
        EngineError::Encode(EncodeError::Label(LabelError::Cell { .. })) => WHICH_MARK,
        EngineError::Encode(EncodeError::Label(LabelError::Empty { .. })) => FILL_IN,
        EngineError::Encode(EncodeError::Label(LabelError::UnknownClass { .. })) => {
            "mend the label; a model learns no new classes, so train a new one on all rows where it is meant"
        }
        EngineError::Encode(EncodeError::Label(LabelError::NotANumber { .. })) => {
            "to predict classes instead of numbers, train with --loss logistic"
        }
        EngineError::Schema(SchemaError::Exists { .. }) => "choose another --out, or move the old schema away",
        EngineError::Label(LabelError::NotAnInteger { .. } | LabelError::TooManyClasses { .. }) => {
            "to predict numbers instead of classes, train with --loss squared"
        }
        EngineError::Predict(PredictError::Numbers | PredictError::NoProbabilities) => {
            "models trained with --loss logistic have probabilities"
        }
        EngineError::Append(AppendError::AlreadyPresent { .. }) => {
            "`efface correct` replaces rows; an `add` that was interrupted goes on when it is run again with the same --request-id"
        }
        EngineError::Rows(error) if matches!(**error, StoredRowsError::File(SegmentError::Truncated { .. })) => {
            "they are cut short, or older than the database: bring back rows/ of the same time as efface.db; where there is \
             no such backup, `efface remove DIR --damaged` drops the missing rows"
        }
        _ => return None,
    })
}

fn for_storage(error: &StorageError) -> Option<&'static str> {
    Some(match error {
        StorageError::DamagedDatabase { .. } => {
            "bring efface.db back from a backup; whoever was removed since is removed again when the model is next opened"
        }
        StorageError::OtherRow { .. } => "bring rows/ and efface.db back from backups of the same time",
        StorageError::Exists { .. } => "choose another place, or move what is there away",
        StorageError::WitnessBehind { .. } => "it is updated when the model is next opened",
        StorageError::PurgePending { .. } => "they are overwritten when the model is next opened",
        StorageError::Unfinished { .. } => "put right what the message names, and try again",
        _ => return None,
    })
}

fn for_opening(error: &OpenError) -> Option<&'static str> {
    Some(match error {
        OpenError::NotAModel { .. } => "`efface train DATA --label NAME --out DIR` makes one",
        OpenError::Unfinished { .. } => "`efface train` with the same --out clears it; or delete it",
        OpenError::Locked { .. } | OpenError::WitnessLocked { .. } => "wait until it is done, then try again",
        OpenError::NoWitness { .. } => "bring it back, or begin a new one elsewhere with --witness PATH",
        OpenError::ForeignWitness { .. } => {
            "name the model's own with --witness PATH, or a file that does not exist yet"
        }
        OpenError::WitnessInside { .. } => {
            "keep it on another disk or machine, where it is not backed up together with the model"
        }
        OpenError::WitnessWithoutIds => "name the column of ids with --id, or begin a new witness",
        OpenError::DamagedState { .. } => {
            "bring it back from a backup, or delete it: the model is then trained again on its rows"
        }
        OpenError::NoPrivateNetwork => {
            "--extractor-group is for a column of kind `network` with a `statement`, or goes with --extractor-epsilon"
        }
        OpenError::ExtractorGroup { .. } => "give a smaller --extractor-group, or train the network with more noise",
        OpenError::LostRemovals { .. } => "bring back state/ and efface.db of the same time, or the witness",
        _ => return None,
    })
}

/// The hint for an error of `efface correct`, where it differs from that of other commands.
pub(crate) fn for_correction(error: &EngineError) -> Option<&'static str> {
    match error {
        EngineError::Lookup(LookupError::Unknown { kind: IdKind::Row, .. }) => {
            Some("`efface correct` replaces rows by their ids; `efface add` takes new rows")
        }
        EngineError::Change(ChangeError::InPart { source, .. }) => for_correction(source),
        _ => None,
    }
}

fn for_change(error: &ChangeError) -> Option<&'static str> {
    Some(match error {
        ChangeError::NoLabelNamed { .. } => "--label NAME|FILE names the column or the array of labels",
        ChangeError::NoSubjectNamed { .. } => "--subject NAME names the column (or the array) of subjects",
        ChangeError::NoIdNamed { .. } => "--id NAME names the column (or the array) of ids",
        ChangeError::InPart { source, .. } => {
            return hint(source)
                .or(Some("mend the file and run the same again: with --request-id it goes on where it was"));
        }
        ChangeError::TooManyTexts { .. } => "leave it out with --ignore, or name it with --id or --subject",
        ChangeError::ClassGone { .. } => "train a new model to bring the class back",
        ChangeError::LastRow { .. } | ChangeError::LastWeight { .. } => "delete the whole model directory instead",
        ChangeError::NoSubjects => "name rows with --id",
        ChangeError::NoRowIds => "name people with --subject",
        ChangeError::RepeatedId { .. } => reading::UNIQUE_IDS,
        ChangeError::NotSettled { .. } => "`efface settle DIR` tries again",
        _ => return None,
    })
}

fn for_lookup(error: &LookupError) -> Option<&'static str> {
    Some(match error {
        LookupError::Unknown { kind: IdKind::Row, .. } => {
            "nothing was changed; ids are as in the --id column, or row numbers from 0 in a model trained without one; \
             `remove --skip-missing` leaves out those that are not there"
        }
        LookupError::Unknown { kind: IdKind::Subject, .. } => {
            "nothing was changed; subjects are as in the --subject column that the model was trained with; \
             `remove --skip-missing` leaves out those that are not there"
        }
        LookupError::AlreadyRemoved { .. } => {
            "nothing was changed now; `remove --skip-missing` leaves out those that are not there any more"
        }
        LookupError::Repeated { .. } => "nothing was changed; name each of them once",
        _ => return None,
    })
}

fn for_certifying(error: &CertifyError) -> Option<&'static str> {
    Some(match error {
        CertifyError::NoRelease { .. } => "publish one with `efface release DIR`",
        CertifyError::Unnamed { .. } => {
            "carry them out again, each as it was asked for (`efface certificate show` lists the requests of a release); \
             if nobody knows them any more, train a new model"
        }
        CertifyError::NotCopied { .. } => "copy the model and its certificate from there",
        CertifyError::Key { source, .. } => match **source {
            KeyError::NeedsPassphrase => "give it with --passphrase-file FILE, or in EFFACE_PASSPHRASE",
            KeyError::NotPrivate { .. } => "`chmod 600` makes it its owner's alone",
            _ => return None,
        },
        CertifyError::PublicKey { .. } => "`efface key show KEY|DIR` prints a public key",
        CertifyError::OtherKey { .. } => "sign with another key from now on by naming it with --key FILE",
        CertifyError::KeyName { .. } => {
            "nobody would accept what it signs: bring the key and its .pub back from a backup"
        }
        CertifyError::NoSuchRequest { .. } => {
            "requests are named by the --request-id they were made with, or `change-N`; those from before the log are not in it"
        }
        CertifyError::Revoked { .. } => "`efface release DIR` publishes a new one",
        _ => return None,
    })
}

fn for_plan(error: &PlanError) -> Option<&'static str> {
    Some(match error {
        PlanError::Noise { .. } => "--noise-std sets it, for example to 0.001",
        PlanError::Lattice { .. } => "raise --noise-std, --epsilon or --delta",
        PlanError::Releases { .. } => "--max-releases sets it",
        PlanError::NegativesWithoutNoise => "add noise with --noise-std, for example 0.001",
        _ => return None,
    })
}

fn for_training(error: &TrainError) -> Option<&'static str> {
    Some(match error {
        TrainError::OutOfReach { .. } => "set --noise-std, or --alpha or --l2, to that, or lower --max-releases",
        TrainError::UnboundedRows => "train with --scale unit, clip:R or within:R",
        TrainError::TooWide { .. } => {
            "add noise with --noise-std, for example 0.001, and bound the rows with --scale unit, clip:R or within:R"
        }
        _ => return None,
    })
}

/// What to do about a remark on the rows.
pub(crate) fn for_remark(remark: &Remark) -> &'static str {
    match remark {
        Remark::OneColumnRules { .. } => {
            "bring columns to similar sizes by public constants, or leave it out with --ignore"
        }
        Remark::LooksLikeAnId { .. } => "if it is an id, name it with --id, or leave it out with --ignore",
        Remark::TextsAmongNumbers { .. } => {
            "mend them, or declare in a schema what they mean, when you train (`efface schema`)"
        }
        Remark::NumbersAmongTexts { .. } => {
            "if they are amounts, mend the texts, or leave the column out with --ignore"
        }
        Remark::LonelyClass { .. } => "is its label a mistake? Removing the row removes the class",
        Remark::AlikeClasses { .. } => "if they are meant to be one, mend the labels",
    }
}

/// What a check takes that was not made.
pub(crate) fn for_check(check: &Check) -> Option<&'static str> {
    match check.outcome {
        CheckOutcome::Failed if check.check == CheckName::Rows => return Some(DAMAGED_ROWS),
        CheckOutcome::NotChecked => {}
        _ => return None,
    }
    Some(match check.check {
        CheckName::Signature => "give --key PUB",
        CheckName::Model => "give --model",
        CheckName::Checkpoint => "efface ledger consistency --since … --until …",
        CheckName::Previous => "give it with --previous",
        CheckName::Replay => "ask for it with --replay",
        _ => return None,
    })
}
