//! Memory as a keeper: nothing is written anywhere, and certificates are not signed.

use std::time::{Duration, Instant};

use efface_data::{IdDigest, IdKind, RowId};
use efface_ledger::certificate::{ReleaseCertificate, Undecided, UnloggedRequest, Unsigned};
use efface_ledger::verify::verify_claims;

use super::index::RowIndex;
use crate::certify::{HeldBack, issued, refuse_wrong};
use crate::error::{EngineError, StorageError};
use crate::history::{History, Kept, ReleaseEntry, RowKeys};
use crate::life::{CommittedChange, Found, Keeper, LatestRelease, LoggedEntry, NewRelease, Past, PastRequest};
use crate::status::Status;

pub(crate) struct MemoryKeeper {
    pub(super) index: RowIndex,
    pub(super) past: Past,
    /// The latest release, as everybody may have it.
    pub(super) latest: Option<LatestRelease>,
    /// Positions of rows that left and are not overwritten yet.
    pub(super) unpurged: Vec<usize>,
    pub(super) has_given_up: bool,
}

impl MemoryKeeper {
    pub(super) fn new(index: RowIndex, model: String, class_counts: Vec<usize>) -> Self {
        let history = History { model, class_counts, is_stale: true, ..History::default() };
        let past = Past { history, ..Past::default() };
        Self { index, past, latest: None, unpurged: Vec::new(), has_given_up: false }
    }
}

impl Keeper for MemoryKeeper {
    fn history(&self) -> &History {
        &self.past.history
    }

    fn check_usable(&self) -> Result<(), EngineError> {
        if self.has_given_up { Err(StorageError::Damaged.into()) } else { Ok(()) }
    }

    fn give_up(&mut self) {
        self.has_given_up = true;
    }

    fn find(&self, kind: IdKind, id: &RowId, digest: IdDigest) -> Result<Found, EngineError> {
        Ok(self.index.find(kind, id, digest))
    }

    fn has_subjects(&self) -> Result<bool, EngineError> {
        Ok(self.index.subjects.is_some())
    }

    fn is_removed(&self, digest: IdDigest) -> Result<bool, EngineError> {
        Ok(self.index.removed.contains(&digest))
    }

    fn keys_at(&self, positions: &[usize]) -> Result<Vec<RowKeys>, EngineError> {
        Ok(positions.iter().map(|position| self.index.keys_at(*position)).collect())
    }

    fn past_request(&self, request_id: &str) -> Result<Option<PastRequest>, EngineError> {
        Ok(self.past.requests.get(request_id).cloned())
    }

    fn request_of_change(&self, change: u64) -> Result<Option<String>, EngineError> {
        let mut requests = self.past.requests.iter();
        Ok(requests.find(|(_, request)| request.change == change).map(|(id, _)| id.clone()))
    }

    fn commit_change(&mut self, change: CommittedChange<'_>, _: Kept<'_>) -> Result<(), EngineError> {
        self.index.commit(&change);
        let CommittedChange { removed, removed_keys, history, entry, request, .. } = change;
        let past = &mut self.past;
        if !removed.is_empty() {
            past.requests.values_mut().for_each(|request| request.cells = None);
        }
        self.unpurged.extend(removed);
        past.people.extend(removed_keys.iter().map(RowKeys::person));
        past.history = History { n_people: past.people.len(), ..history };
        past.changes.push(entry);
        if let Some((id, answer)) = request {
            past.requests.insert(id.into(), answer);
        }
        Ok(())
    }

    fn commit_weights(&mut self, is_stale: bool, _: Kept<'_>) -> Result<(), EngineError> {
        self.past.history.is_stale |= is_stale;
        Ok(())
    }

    fn before_release(&mut self) -> Result<Option<HeldBack>, EngineError> {
        Ok(None)
    }

    fn latest_release(&self) -> Result<Option<ReleaseEntry>, EngineError> {
        Ok(self.past.latest_release.clone())
    }

    /// All since the latest release: others have been forgotten.
    fn changes_after(&self, _: u64) -> Result<Vec<LoggedEntry>, EngineError> {
        let changes = (0..).zip(&self.past.changes);
        Ok(changes.map(|(position, entry)| LoggedEntry { position, entry: entry.clone() }).collect())
    }

    fn publish(&mut self, new: NewRelease<'_>, _: Kept<'_>) -> Result<Duration, EngineError> {
        let start = Instant::now();
        let entry = new.entry(&self.past.history);
        let claims = new.certificate.claims::<_, UnloggedRequest>(&self.past.history, Undecided {});
        refuse_wrong(verify_claims(&claims))?;
        let schema = ReleaseCertificate::SCHEMA;
        let certificate = issued(schema, &self.past.history, new.time, Unsigned::ISSUE, claims);
        let certificate = serde_json::to_string(&certificate).expect("plain structures with string keys");
        let past = &mut self.past;
        past.latest_release = Some(entry);
        past.history = History { n_people: 0, is_stale: false, ..past.history.clone() };
        past.changes.clear();
        past.people.clear();
        self.latest = Some(LatestRelease { model: new.model, certificate });
        Ok(start.elapsed())
    }

    fn status(&self, of: Kept<'_>) -> Result<Status, EngineError> {
        Ok(Status::of(of, &self.past.history).since(self.past.latest_release.as_ref()))
    }
}
