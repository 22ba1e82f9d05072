//! Who keeps a model: who is in it, what was asked and answered, what was released; and one commit per change.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::time::Duration;

use efface_core::model::Release;
use efface_data::derived::Texts;
use efface_data::{IdDigest, IdKind, RowId};
use efface_ledger::entry::{Change, Entry, Event};
use serde::{Deserialize, Serialize};

use super::report::ChangeReport;
use crate::certify::{Draft, HeldBack};
use crate::error::EngineError;
use crate::history::{History, Kept, ReleaseEntry, RowKeys};
use crate::published::PublishedModel;
use crate::status::Status;

/// Keeps one model. What a commit says holds from then on. One that fails leaves everything as before; where nobody can know
/// whether it holds, the keeper refuses to go on.
pub(crate) trait Keeper {
    fn history(&self) -> &History;

    /// Refuses to go on after a commit of which nobody knows whether it holds.
    fn check_usable(&self) -> Result<(), EngineError>;

    /// Refuses to go on from now on.
    fn give_up(&mut self);

    /// Where the rows of an id or a subject are. `digest` is its keyed hash.
    fn find(&self, kind: IdKind, id: &RowId, digest: IdDigest) -> Result<Found, EngineError>;

    fn has_subjects(&self) -> Result<bool, EngineError>;

    /// Whether an id or a subject was removed on request: it must not come back.
    fn is_removed(&self, digest: IdDigest) -> Result<bool, EngineError>;

    /// Under what the rows at these positions are found.
    fn keys_at(&self, positions: &[usize]) -> Result<Vec<RowKeys>, EngineError>;

    /// The answer that a request got.
    fn past_request(&self, request_id: &str) -> Result<Option<PastRequest>, EngineError>;

    /// The id of the request that a change was, where it has one.
    fn request_of_change(&self, change: u64) -> Result<Option<String>, EngineError>;

    fn commit_change(&mut self, change: CommittedChange<'_>, of: Kept<'_>) -> Result<(), EngineError>;

    /// Commits weights that moved without a change of the rows; `is_stale`: the latest release is not of them.
    fn commit_weights(&mut self, is_stale: bool, of: Kept<'_>) -> Result<(), EngineError>;

    /// Whether a release has to wait. What would prevent one is said now, before anything is spent.
    fn before_release(&mut self) -> Result<Option<HeldBack>, EngineError>;

    /// The latest release, as far as it is known.
    fn latest_release(&self) -> Result<Option<ReleaseEntry>, EngineError>;

    /// The changes beyond the first `changes` of the model, in order.
    fn changes_after(&self, changes: u64) -> Result<Vec<LoggedEntry>, EngineError>;

    /// Publishes a release that the model has accounted for. It is counted before anybody can see it. Answers how long the
    /// certificate took, without what is written.
    fn publish(&mut self, release: NewRelease<'_>, of: Kept<'_>) -> Result<Duration, EngineError>;

    fn status(&self, of: Kept<'_>) -> Result<Status, EngineError>;
}

pub(crate) enum Found {
    /// At these positions, ascending; at least one.
    At(Vec<usize>),
    /// They were removed.
    Removed,
    /// There never were any.
    Unknown,
}

pub(crate) struct CommittedChange<'a> {
    pub(crate) kind: StepKind,
    /// Positions of rows that left.
    pub(crate) removed: Vec<usize>,
    pub(crate) removed_keys: Vec<RowKeys>,
    /// Positions of rows that arrived.
    pub(crate) added: Range<usize>,
    pub(crate) added_keys: Vec<RowKeys>,
    /// The texts in rows that are kept raw.
    pub(crate) texts: Texts,
    /// The history after it, but for the people, whom the keeper counts.
    pub(crate) history: History,
    pub(crate) entry: Entry,
    pub(crate) request: Option<(&'a str, PastRequest)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepKind {
    /// Rows are removed on request: their ids are remembered as such.
    Removal,
    /// Rows are added.
    Addition,
    /// Rows are replaced by rows with the same ids.
    Correction,
}

impl StepKind {
    pub(super) fn event(self, change: Change) -> Event {
        match self {
            Self::Removal => Event::Removal(change),
            Self::Addition => Event::Addition(change),
            Self::Correction => Event::Correction(change),
        }
    }
}

/// A request that was answered: asked again, it gets the same answer. What was asked is kept as a hash only.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PastRequest {
    /// Which change of the model it was.
    pub(crate) change: u64,
    /// A keyed hash of what was asked for.
    pub(crate) fingerprint: String,
    /// Of new rows, a keyed hash of all that stood in them. It is forgotten as soon as any row leaves: whoever holds the
    /// key could try what a row that is gone may have held.
    pub(crate) cells: Option<String>,
    pub(crate) report: ChangeReport,
}

/// What happened to a model in memory: enough for a directory that it moves into. The next certificate speaks of what no
/// release covers yet, and requests get the answers that they got before.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Past {
    pub(crate) history: History,
    pub(crate) latest_release: Option<ReleaseEntry>,
    /// Changes of the rows since then, as a log has them.
    pub(crate) changes: Vec<Entry>,
    /// Whose rows left or changed by them.
    pub(crate) people: HashSet<IdDigest>,
    pub(crate) requests: HashMap<String, PastRequest>,
}

pub(crate) struct LoggedEntry {
    pub(crate) position: u64,
    pub(crate) entry: Entry,
}

pub(crate) struct NewRelease<'a> {
    pub(crate) release: &'a Release,
    pub(crate) model: PublishedModel,
    pub(crate) certificate: Draft<'a>,
    /// When, in seconds since 1970.
    pub(crate) time: u64,
}

impl NewRelease<'_> {
    /// What is remembered of it, but for a signed certificate.
    pub(crate) fn entry(&self, history: &History) -> ReleaseEntry {
        let claim = &self.release.claim;
        ReleaseEntry {
            release: claim.release,
            time: Some(self.time),
            n_removed: history.n_removed,
            certified: claim.certified,
            certificate: None,
            n_changes: Some(history.n_changes),
        }
    }
}
