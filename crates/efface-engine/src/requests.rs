//! What became of a request, certified.

use std::path::Path;

use efface_ledger::certificate::{Predicate, RequestCertificate, RequestState};
use efface_ledger::entry::Event;
use efface_ledger::merkle::Hash;
use efface_ledger::statement::Subject;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::certificate::SOFTWARE;
use crate::database::{LedgerHead, ReleaseEntry, ledger, now, timestamp};
use crate::error::EngineError;
use crate::files;
use crate::model_directory::ModelDirectory;

/// What became of a request.
#[derive(Clone, Debug, Serialize)]
pub struct RequestReport {
    /// Its id.
    pub request: String,
    /// `applied`, `covered` or `pending`.
    pub state: RequestState,
    /// The release that covers it first.
    pub release: Option<usize>,
    /// Rows removed.
    pub n_rows: usize,
    /// When, in UTC.
    pub time: String,
    /// The certificate.
    pub certificate: std::path::PathBuf,
}

impl ModelDirectory {
    /// Certifies what became of a removal request, named by its id or by `change-N`, and writes the certificate to `out`.
    pub fn certify_request(&mut self, request_id: &str, out: &Path) -> Result<RequestReport, EngineError> {
        if out.exists() {
            return Err(EngineError::Exists { path: out.into() });
        }
        let unknown = || EngineError::NoSuchRequest { request_id: request_id.into() };
        let numbered = || numbered_change(request_id);
        let change = self.database.change_of_request(request_id)?.or_else(numbered).ok_or_else(unknown)?;
        let (log, logged) = self.database.entry_of_change(&self.head.ledger.log, change)?.ok_or_else(unknown)?;
        let Event::Removal(removal) = logged.entry.event.clone() else { return Err(unknown()) };
        let covering = self.release_without(change)?;
        let (state, release) = match &covering {
            Some(release) => (RequestState::Covered, Some(release.release)),
            None if self.release_in_use_is_from_before(change)? => (RequestState::Pending, None),
            None => (RequestState::Applied, None),
        };
        let (leaf, n_rows) = (logged.entry.to_leaf(), removal.n_rows);
        let request = self.covered_request(logged.position, logged.entry.time.clone(), removal)?;
        let issued = timestamp(now());
        let certificate = RequestCertificate {
            schema: RequestCertificate::SCHEMA.into(),
            software: SOFTWARE.into(),
            model: self.head.model.clone(),
            issued,
            key_id: self.head.ledger.key_id.clone(),
            log: self.next_position(),
            request,
            request_origin: LedgerHead { log: log.clone(), ..LedgerHead::default() }.origin(&self.head.model),
            state: state.tag().into(),
            release,
            release_certificate: covering.and_then(|release| release.certificate),
        };
        // An entry of a log that was lost cannot be shown any more.
        let shown = if log == self.head.ledger.log { vec![logged.position] } else { Vec::new() };
        let subject = vec![Subject::new("request", sha256(leaf.as_bytes()))];
        let certified = self.certify(subject, certificate, &self.signing_key()?, &shown)?;
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
        let mut after = self.database.releases_after(change)?.into_iter();
        Ok(after.find(|entry| entry.certified && !self.head.ledger.revoked.contains(&entry.release)))
    }

    /// Whether the latest release that was not withdrawn is from before a change, as far as that is known.
    fn release_in_use_is_from_before(&self, change: u64) -> Result<bool, EngineError> {
        let latest = self.head.account.n_releases;
        let in_use = (1..=latest).rev().find(|release| !self.head.ledger.revoked.contains(release));
        let Some(release) = in_use else { return Ok(false) };
        let sequence = self.database.release(release)?.and_then(|entry| entry.sequence);
        Ok(sequence.is_none_or(|sequence| sequence < change))
    }
}

/// The number in `change-N`, as requests without an id of their own are called.
pub(crate) fn numbered_change(request_id: &str) -> Option<u64> {
    request_id.strip_prefix("change-")?.parse().ok()
}

pub(crate) fn sha256(bytes: &[u8]) -> Hash {
    Sha256::digest(bytes).into()
}

/// SHA-256 in hexadecimal.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    hex::encode(sha256(bytes))
}
