//! Who keeps a model: who is in it, what was asked and answered, what was released; and one commit per change.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::time::Duration;

use efface_core::model::{Model, Release};
use efface_data::{IdDigest, IdKey, IdKind, RowId};
use efface_ledger::entry::Entry;
use serde::{Deserialize, Serialize};

use super::change::StepKind;
use super::report::ChangeReport;
use crate::certify::{Draft, HeldBack};
use crate::error::EngineError;
use crate::published::PublishedModel;
use crate::settings::Settings;
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

#[derive(Clone, Copy)]
pub(crate) struct Kept<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) model: &'a Model,
}

/// Where the history of a model stands. Changes with every commit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct History {
    /// A random name that tells this model from others.
    pub(crate) model: String,
    pub(crate) n_changes: u64,
    pub(crate) class_counts: Vec<usize>,
    pub(crate) n_removed: usize,
    /// Rows that were offered again after their removal, and left out.
    pub(crate) n_suppressed: usize,
    /// People whose rows left or changed since the latest release.
    pub(crate) n_people: usize,
    /// Whether rows changed, or the model was trained again, since the latest release.
    pub(crate) is_stale: bool,
}

pub(crate) enum Found {
    /// At these positions, ascending; at least one.
    At(Vec<usize>),
    /// They were removed.
    Removed,
    /// There never were any.
    Unknown,
}

/// Under what a row is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowKeys {
    pub(crate) id: IdDigest,
    pub(crate) subject: Option<IdDigest>,
}

impl RowKeys {
    /// Whose row it is: its subject, or itself where rows belong to nobody.
    pub(crate) fn person(&self) -> IdDigest {
        self.subject.unwrap_or(self.id)
    }

    pub(crate) fn is_among(&self, contains: impl Fn(IdDigest) -> bool) -> bool {
        contains(self.id) || self.subject.is_some_and(contains)
    }
}

pub(crate) fn row_keys(key: &IdKey, ids: &[RowId], subjects: Option<&[RowId]>) -> Vec<RowKeys> {
    let subject = |i: usize| subjects.map(|subjects| key.digest(IdKind::Subject, &subjects[i]));
    let ids = ids.iter().enumerate();
    ids.map(|(i, id)| RowKeys { id: key.digest(IdKind::Row, id), subject: subject(i) }).collect()
}

pub(crate) struct CommittedChange<'a> {
    pub(crate) kind: StepKind,
    /// Positions of rows that left.
    pub(crate) removed: Vec<usize>,
    pub(crate) removed_keys: Vec<RowKeys>,
    /// Positions of rows that arrived.
    pub(crate) added: Range<usize>,
    pub(crate) added_keys: Vec<RowKeys>,
    /// The history after it, but for the people, whom the keeper counts.
    pub(crate) history: History,
    pub(crate) entry: Entry,
    pub(crate) request: Option<(&'a str, PastRequest)>,
}

/// A request that was answered: asked again, it gets the same answer. What was asked is kept as a hash only.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PastRequest {
    /// Which change of the model it was.
    pub(crate) change: u64,
    /// A keyed hash of what was asked for.
    pub(crate) fingerprint: String,
    pub(crate) report: ChangeReport,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReleaseEntry {
    pub(crate) release: usize,
    /// When it was published, in seconds since 1970; as far as it is known.
    pub(crate) time: Option<u64>,
    pub(crate) n_removed: usize,
    /// r, as claimed: what the account adds up.
    pub(crate) distance_bound: f64,
    /// Whether its randomness was unpredictable.
    pub(crate) certified: bool,
    /// SHA-256 of the payload of its certificate, where it was signed and is known.
    pub(crate) certificate: Option<String>,
    /// Changes of the rows before it; none where that is not known.
    pub(crate) n_changes: Option<u64>,
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
            distance_bound: claim.distance_bound.get(),
            certified: claim.certified,
            certificate: None,
            n_changes: Some(history.n_changes),
        }
    }
}
