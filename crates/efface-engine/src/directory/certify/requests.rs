//! What became of a request, certified.

use std::path::Path;

use efface_ledger::certificate::{RequestAnswer, RequestState};
use efface_ledger::entry::Event;
use efface_ledger::statement::Subject;
use serde::Serialize;

use super::sha256;
use crate::clock;
use crate::directory::database::ledger;
use crate::directory::{ModelDirectory, files};
use crate::error::{CertifyError, EngineError, StorageError};
use crate::history::ReleaseEntry;
use crate::life::{covered_request, numbered_change};

/// What became of a request.
#[derive(Clone, Debug, Serialize)]
pub struct RequestReport {
    /// Its id.
    pub request: String,
    /// What became of it.
    pub state: RequestState,
    /// The release that covers it first.
    pub release: Option<usize>,
    /// Rows removed.
    pub n_rows: usize,
    /// When, in UTC.
    pub time: String,
    /// The certificate.
    #[serde(serialize_with = "crate::path_text::one")]
    pub certificate: std::path::PathBuf,
}

impl ModelDirectory {
    /// Certifies what became of a removal request, named by its id or by `change-N`, and writes the certificate to `out`.
    pub fn certify_request(&mut self, request_id: &str, out: &Path) -> Result<RequestReport, EngineError> {
        if out.exists() {
            return Err(StorageError::Exists { path: out.into() }.into());
        }
        let unknown = || EngineError::Certify(CertifyError::NoSuchRequest { request_id: request_id.into() });
        let numbered = || numbered_change(request_id);
        let past = self.keeper.database.past_request(request_id)?.map(|past| past.change);
        let change = past.or_else(numbered).ok_or_else(unknown)?;
        let (log, logged) =
            self.keeper.database.entry_of_change(&self.keeper.head.ledger.log, change)?.ok_or_else(unknown)?;
        let other = |kind| EngineError::Certify(CertifyError::NotARemoval { request_id: request_id.into(), kind });
        let removal = match logged.entry.event.clone() {
            Event::Removal(removal) => removal,
            Event::Correction(_) => return Err(other("a correction")),
            Event::Addition(_) => return Err(other("an addition")),
            _ => return Err(unknown()),
        };
        let covering = if removal.n_rows > 0 { self.release_without(change)? } else { None };
        let (state, release) = match &covering {
            _ if removal.n_rows == 0 => (RequestState::NothingFound, None),
            Some(release) => (RequestState::Covered, Some(release.release)),
            None if self.release_in_use_is_from_before(change)? => (RequestState::Pending, None),
            None => (RequestState::Applied, None),
        };
        let (leaf, n_rows) = (logged.entry.to_leaf(), removal.n_rows);
        let request =
            covered_request(&self.keeper, &self.settings, logged.position, logged.entry.time.clone(), removal)?;
        let answer = RequestAnswer {
            request,
            request_origin: ledger::origin(&self.keeper.head.history.model, &log),
            state: state.tag().into(),
            release,
            release_certificate: covering.and_then(|release| release.certificate),
        };
        // An entry of a log that was lost cannot be shown any more.
        let shown = if log == self.keeper.head.ledger.log { vec![logged.position] } else { Vec::new() };
        let subject = Subject::new("request", sha256(leaf.as_bytes()));
        let certified = self.keeper.certify(subject, answer, clock::now(), &self.keeper.signing_key()?, &shown)?;
        // Its place is tried before the log speaks of it.
        files::reserve(out)?;
        let counted = self.commit_head(|tables, head| ledger::append(tables, &mut head.ledger, &certified.entry));
        if counted.is_err() {
            // Best effort: nothing is in it.
            let _ = std::fs::remove_file(files::aside(out));
        }
        counted?;
        files::publish(out, certified.text.as_bytes())?;
        let (request, time) = (request_id.into(), logged.entry.time);
        Ok(RequestReport { request, state, release, n_rows, time, certificate: out.into() })
    }

    /// The first certified release that knows nothing of the rows that a change took out, and was not withdrawn.
    fn release_without(&self, change: u64) -> Result<Option<ReleaseEntry>, EngineError> {
        let mut after = self.keeper.database.releases_after(change)?.into_iter();
        Ok(after.find(|entry| entry.certified && !self.keeper.head.ledger.revoked.contains(&entry.release)))
    }

    /// Whether the latest release that was not withdrawn is from before a change, as far as that is known.
    fn release_in_use_is_from_before(&self, change: u64) -> Result<bool, EngineError> {
        let latest = self.keeper.head.account.n_releases;
        let in_use = (1..=latest).rev().find(|release| !self.keeper.head.ledger.revoked.contains(release));
        let Some(release) = in_use else { return Ok(false) };
        let n_changes = self.keeper.database.release(release)?.and_then(|entry| entry.n_changes);
        Ok(n_changes.is_none_or(|n_changes| n_changes < change))
    }
}
