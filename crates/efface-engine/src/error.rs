//! What can go wrong in the engine. Nothing has been changed on disk when an error is returned, unless it says so.

use std::io;
use std::path::{Path, PathBuf};

use efface_core::model::{PlanError, TrainError};
use efface_core::noise::NoiseError;
use efface_core::rows::StoreError;
use efface_data::{
    AppendError, CellError, EncodeError, IdKind, LabelError, LookupError, ReadError, SchemaError, SegmentError,
    StoredRowsError,
};
use efface_ledger::key::{KeyError, PublicKeyError};

use crate::database::now;
use crate::files::STATES;
use crate::in_memory::RowsError;
use crate::lock::Holder;

/// An operation of the engine could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// Input could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Labels do not suit the loss or the classes.
    #[error(transparent)]
    Label(#[from] LabelError),
    /// Rows could not be turned into rows of the model.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// Rows could not be added.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// Rows could not be found.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// Rows in memory cannot be used.
    #[error(transparent)]
    InMemory(#[from] RowsError),
    /// The model's own rows cannot be used.
    #[error(transparent)]
    Rows(Box<StoredRowsError>),
    /// A schema cannot be used.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The parameters cannot be trained or promised.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Training failed.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// Rows could not be summed over.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No randomness.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// The place where a model is to be written is taken.
    #[error("{} exists already", path.display())]
    Exists {
        /// The directory.
        path: PathBuf,
    },
    /// The directory is not a model.
    #[error("{} {}", path.display(), if path.exists() { "is not a model directory: it has no efface.db" } else { "does not exist" })]
    NotAModel {
        /// The directory.
        path: PathBuf,
    },
    /// The state file is damaged or of another version.
    #[error("{}: {reason}", path.display())]
    BadState {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Another process is changing the model.
    #[error("{} is being changed by {}", path.display(), process(holder.as_ref()))]
    Locked {
        /// The directory.
        path: PathBuf,
        /// Who that is, as far as it is known.
        holder: Option<Holder>,
    },
    /// The database of the directory refused.
    #[error("{}: {source}", path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// What it said.
        source: Box<rusqlite::Error>,
    },
    /// Two rows to train on have the same id.
    #[error("rows {first} and {second} (counted from 0) have the same id")]
    RepeatedId {
        /// The first of them.
        first: usize,
        /// The second.
        second: usize,
    },
    /// The witness of a model is not where it was.
    #[error("the witness {} is missing: without it an old backup of the directory could not be told from the model", path.display())]
    NoWitness {
        /// Where it was.
        path: PathBuf,
    },
    /// Another process uses the witness: two copies of a directory at once would each count only its own releases.
    #[error("the witness {} is in use by {}: another copy of this model is open", path.display(), process(holder.as_ref()))]
    WitnessLocked {
        /// The witness.
        path: PathBuf,
        /// Who that is, as far as it is known.
        holder: Option<Holder>,
    },
    /// A witness lies where it would be restored together with the model.
    #[error("the witness {} lies inside the model directory: an old backup of both could not be noticed", path.display())]
    WitnessInside {
        /// The file.
        path: PathBuf,
    },
    /// The model knows nobody by subject.
    #[error("this model knows no subjects: it was trained without")]
    NoSubjects,
    /// No id names a row of the model.
    #[error("the rows of this model have no ids: remove by subject, or train again with an id for each row")]
    NoRowIds,
    /// A witness is that of another model.
    #[error("the witness {} is that of another model", path.display())]
    ForeignWitness {
        /// The file.
        path: PathBuf,
    },
    /// A witness cannot be used.
    #[error("{}, line {line}: {reason}", path.display())]
    BadWitness {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// Row numbers are no ids: those that a witness knows belong to another file.
    #[error("a witness that knows of removals can only be used with rows that have ids of their own")]
    WitnessWithoutIds,
    /// A change counts, but the witness could not be told.
    #[error("the change is in force, but the witness {} could not be told: {source}", path.display())]
    WitnessBehind {
        /// The file.
        path: PathBuf,
        /// Why.
        source: Box<EngineError>,
    },
    /// An earlier call failed half-way in memory; what is on disk is whole.
    #[error("an earlier operation on this model failed; open it again")]
    Damaged,
    /// A removal would leave no row.
    #[error("removing {} would leave none: the model has {n_rows}", rows(*n_removed))]
    LastRow {
        /// Rows to remove.
        n_removed: usize,
        /// Rows there are.
        n_rows: usize,
    },
    /// A row of a model in memory stands where no row can.
    #[error("a row stands at position {position}: positions ascend and end before {limit}")]
    AdoptedPosition {
        /// Its position.
        position: usize,
        /// The first position that is taken, or the number of positions.
        limit: usize,
    },
    /// Rows that are not those of the model that they come with.
    #[error("these are not the rows of the model: {reason}")]
    ForeignRows {
        /// What does not fit.
        reason: String,
    },
    /// A removal would leave rows that count for nothing.
    #[error("removing {} would leave rows that weigh nothing", rows(*n_removed))]
    LastWeight {
        /// Rows to remove.
        n_removed: usize,
    },
    /// A row that comes weighs more than any row of the model may.
    #[error("a row weighs {value}, the limit of this model is {limit}")]
    RowWeight {
        /// Its weight.
        value: f64,
        /// The most that a row may weigh.
        limit: f64,
    },
    /// A row that comes does not count once, and every row of the model does.
    #[error("a row weighs {value}, and every row of this model counts once")]
    Unweighted {
        /// Its weight.
        value: f64,
    },
    /// Rows of a class that left the model with its last row.
    #[error("class `{class}` left this model with its last row")]
    ClassGone {
        /// The class.
        class: String,
    },
    /// A published model cannot be read.
    #[error("{}: {reason}", path.display())]
    BadPublished {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Nothing has been released yet.
    #[error("{} has no release yet", path.display())]
    NoRelease {
        /// The model directory.
        path: PathBuf,
    },
    /// Labels of an array are in a file of their own, and none was named.
    #[error("{}: the labels of these rows are not named", path.display())]
    NoLabelNamed {
        /// The file.
        path: PathBuf,
    },
    /// Rows of this model are told by their ids, and none are named.
    #[error("{}: the ids of these rows are not named", path.display())]
    NoIdNamed {
        /// The file.
        path: PathBuf,
    },
    /// The model knows whose rows it has, and these are nobody's.
    #[error("{}: whose rows these are is not named", path.display())]
    NoSubjectNamed {
        /// The file.
        path: PathBuf,
    },
    /// A request names nothing to remove.
    #[error("no row to change was named")]
    NothingNamed,
    /// A request id is of the form that requests without one get.
    #[error("request id `{request_id}` is reserved: requests without an id of their own are called change-N")]
    RequestReserved {
        /// The request id.
        request_id: String,
    },
    /// A request id was used before for another request.
    #[error("request id `{request_id}` was used before, for other rows")]
    RequestReused {
        /// The request id.
        request_id: String,
    },
    /// A change counts, but the bytes of its old rows could not be overwritten yet.
    #[error("the change is in force, but the old rows could not be overwritten yet: {source}")]
    PurgePending {
        /// Why.
        source: Box<EngineError>,
    },
    /// A release is published, but not where it was asked for too.
    #[error("the release is published in {}, but could not be copied: {source}", folder.display())]
    NotCopied {
        /// Where it is.
        folder: PathBuf,
        /// Why.
        source: Box<EngineError>,
    },
    /// What an earlier change left to be done cannot be done, and so nothing else can.
    #[error("an earlier change is in force, but could not be finished; nothing was done now: {source}")]
    Unfinished {
        /// Why.
        source: Box<EngineError>,
    },
    /// A removal counts, but what it left behind could not be polished away.
    #[error("the removal is in force, but settling failed: {source}")]
    NotSettled {
        /// Why.
        source: Box<EngineError>,
    },
    /// Numbers are so extreme that nothing can be claimed of the model.
    #[error(
        "no finite bound can be given: labels or noise-std `{noise_std}` are too large, or l2 `{l2_per_row}` is too small"
    )]
    Unbounded {
        /// λ.
        l2_per_row: f64,
        /// Scale of the noise.
        noise_std: f64,
    },
    /// A plan is asked for no rows or no features.
    #[error("rows and dim must be at least 1, got `{n_rows}` and `{dim}`")]
    Sizes {
        /// Rows.
        n_rows: usize,
        /// Features.
        dim: usize,
    },
    /// A private key cannot be used.
    #[error("{}", of_file(path, &**source))]
    Key {
        /// The file.
        path: PathBuf,
        /// Why.
        source: Box<KeyError>,
    },
    /// A public key cannot be used.
    #[error("{}", of_file(path, &**source))]
    PublicKey {
        /// The file.
        path: PathBuf,
        /// Why.
        source: Box<PublicKeyError>,
    },
    /// A key is not the one that signs for this model.
    #[error("{} is key {found}, but this model is signed by key {expected}", path.display())]
    OtherKey {
        /// The file.
        path: PathBuf,
        /// Its id.
        found: String,
        /// The id of the key that signs.
        expected: String,
    },
    /// A certificate could not be made, or would be refused by whoever checks it.
    #[error("no certificate can be issued: {reason}")]
    NotSigned {
        /// Why.
        reason: String,
    },
    /// The log does not continue a checkpoint that somebody has.
    #[error("the log does not continue that checkpoint: {reason}")]
    NotConsistent {
        /// Why.
        reason: String,
    },
    /// A text is not a checkpoint of this log under its present key.
    #[error("not a checkpoint of this log under its present key: {reason}")]
    NotACheckpoint {
        /// Why.
        reason: String,
    },
    /// A policy asks for nothing.
    #[error("a policy of 0 removals or 0 seconds asks for nothing")]
    Policy,
    /// A request is not known.
    #[error("there is no removal request `{request_id}` in the log")]
    NoSuchRequest {
        /// The request.
        request_id: String,
    },
    /// The log has no such entry.
    #[error("the log has {size} entries, so there is none at position {position}")]
    NoSuchEntry {
        /// Its position.
        position: u64,
        /// How many there are.
        size: u64,
    },
    /// A release is not there.
    #[error("there is no release {release}: the model has {n_releases}")]
    NoSuchRelease {
        /// k.
        release: usize,
        /// How many there are.
        n_releases: usize,
    },
    /// A release was withdrawn before.
    #[error("release {release} is revoked already")]
    AlreadyRevoked {
        /// k.
        release: usize,
    },
    /// A release must not be used any more.
    #[error("release {release} of {} is revoked", path.display())]
    Revoked {
        /// The model directory or file.
        path: PathBuf,
        /// k.
        release: usize,
    },
    /// A tolerance is not a positive number.
    #[error("tolerance must be positive and finite, got `{value}`")]
    Tolerance {
        /// Its value.
        value: f64,
    },
}

impl EngineError {
    /// What the user can do about it, where there is something.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Exists { .. } => Some("choose another place, or move what is there away"),
            Self::NotAModel { .. } => Some("`efface train DATA --label NAME --out DIR` makes one"),
            Self::Locked { .. } | Self::WitnessLocked { .. } => Some("wait until it is done, then try again"),
            Self::NoLabelNamed { .. } => Some("--label NAME|FILE names the column or the array of labels"),
            Self::NoSubjectNamed { .. } => Some("--subject NAME names the column (or the array) of subjects"),
            Self::NoIdNamed { .. } => Some("--id NAME names the column (or the array) of ids"),
            Self::NoRelease { .. } => Some("publish one with `efface release DIR`"),
            Self::ClassGone { .. } => Some("train a new model to bring the class back"),
            Self::LastRow { .. } | Self::LastWeight { .. } => Some("delete the whole model directory instead"),
            Self::Encode(EncodeError::Scale { .. }) => Some(
                "train with --scale unit (every row to norm 1), clip:R (divide by R, shorten longer rows) or within:R (a larger \
                 limit)",
            ),
            Self::Read(ReadError::NotANumber { .. }) => Some(
                "text columns are read through a schema (`efface schema DATA --out schema.toml`); a column that is no \
                 feature is named by --id, --subject or --ignore, or left out of --features",
            ),
            Self::Read(ReadError::Cell { source, .. }) => match **source {
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
            Self::Schema(SchemaError::Exists { .. }) => Some("choose another --out, or move the old schema away"),
            Self::Label(LabelError::NotAnInteger { .. } | LabelError::TooManyClasses { .. }) => {
                Some("to predict numbers instead of classes, train with --loss squared")
            }
            Self::Encode(EncodeError::Label(LabelError::NotANumber { .. })) => {
                Some("to predict classes instead of numbers, train with --loss logistic")
            }
            Self::Lookup(LookupError::Unknown { kind: IdKind::Row, .. }) => {
                Some("ids are as in the --id column, or row numbers from 0")
            }
            Self::Lookup(LookupError::Unknown { kind: IdKind::Subject, .. }) => {
                Some("subjects are as in the --subject column that the model was trained with")
            }
            Self::Append(AppendError::AlreadyPresent { .. }) => Some(
                "`efface correct` replaces rows; only models trained with --id take new ones (others number rows from 0)",
            ),
            Self::NoWitness { .. } => Some("bring it back, or begin a new one elsewhere with --witness PATH"),
            Self::ForeignWitness { .. } => {
                Some("name the model's own with --witness PATH, or a file that does not exist yet")
            }
            Self::WitnessInside { .. } => {
                Some("keep it on another disk or machine, where it is not backed up together with the model")
            }
            Self::NoSubjects => Some("name rows with --id"),
            Self::NoRowIds => Some("name people with --subject"),
            Self::BadState { path, .. } if path.parent().is_some_and(|folder| folder.ends_with(STATES)) => {
                Some("bring it back from a backup, or delete it: the model is then trained again on its rows")
            }
            Self::Rows(error) if matches!(**error, StoredRowsError::File(SegmentError::Truncated { .. })) => {
                Some("they are cut short, or older than the database: bring back rows/ of the same time as efface.db")
            }
            Self::WitnessWithoutIds => Some("name the column of ids with --id, or begin a new witness"),
            Self::WitnessBehind { .. } => Some("it is told when the model is next opened"),
            Self::RepeatedId { .. } => Some("--id must name a column in which every row has its own value"),
            Self::PurgePending { .. } => Some("they are overwritten when the model is next opened"),
            Self::NotCopied { .. } => Some("copy the model and its certificate from there"),
            Self::Unfinished { .. } => Some("put right what the message names, and try again"),
            Self::NotSettled { .. } => Some("`efface settle DIR` tries again"),
            Self::Key { source, .. } => match **source {
                KeyError::NeedsPassphrase => Some("give it with --passphrase-file FILE, or in EFFACE_PASSPHRASE"),
                KeyError::NotPrivate { .. } => Some("`chmod 600` makes it its owner's alone"),
                _ => None,
            },
            Self::PublicKey { .. } => Some("`efface key show KEY|DIR` prints a public key"),
            Self::OtherKey { .. } => Some("sign with another key from now on by naming it with --key FILE"),
            Self::NoSuchRequest { .. } => Some(
                "requests are named by the --request-id they were made with, or `change-N`; those from before the log are not in it",
            ),
            Self::Revoked { .. } => Some("`efface release DIR` publishes a new one"),
            _ if self.is_disk_full() => Some("free some space; the model is as it was before"),
            _ => None,
        }
    }

    /// Whether there is no room left for what was to be written.
    fn is_disk_full(&self) -> bool {
        let source = match self {
            Self::Io { source, .. } => source,
            Self::Rows(error) => match &**error {
                StoredRowsError::File(SegmentError::Io { source, .. }) => source,
                _ => return false,
            },
            Self::Database { source, .. } => return source.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull),
            _ => return false,
        };
        matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }

    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
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

/// What is wrong with a file, which a message may name itself.
fn of_file(path: &Path, error: &dyn std::error::Error) -> String {
    let (path, message) = (path.display().to_string(), error.to_string());
    if message.starts_with(&path) { message } else { format!("{path}: {message}") }
}

/// Who holds a directory, in words.
fn process(holder: Option<&Holder>) -> String {
    match holder {
        None => "another process".into(),
        Some(Holder { process, since }) => {
            format!("process {process} (since {} s)", now().saturating_sub(*since))
        }
    }
}

/// So many rows, in words.
fn rows(n: usize) -> String {
    if n == 1 { "1 row".into() } else { format!("{n} rows") }
}
