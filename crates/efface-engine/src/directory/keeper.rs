//! A directory as a keeper: every commit is one transaction of its database, told to the witness.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use efface_data::{IdDigest, IdKind, RowId};
use efface_ledger::key::SigningKey;

use super::certify::signing::{self, Passphrase};
use super::database::{Database, Head, Intent, Tables, index, ledger, put};
use super::files::OWN_KEY;
use super::witness::{self, Witness};
use crate::certify::HeldBack;
use crate::error::{CertifyError, EngineError, StorageError};
use crate::history::{History, Kept, ReleaseEntry, RowKeys};
use crate::life::{CommittedChange, Found, Keeper, LoggedEntry, NewRelease, PastRequest, StepKind};
use crate::status::Status;

pub(crate) struct DirectoryKeeper {
    pub(super) path: PathBuf,
    pub(super) database: Database,
    pub(super) head: Head,
    pub(super) witness: Option<Witness>,
    pub(super) passphrase: Option<Passphrase>,
    /// The key that signs the next release, once it is about to be made.
    pub(super) key: Option<SigningKey>,
    pub(super) n_intents: usize,
    /// Whether a state was written since rows were last purged.
    pub(super) is_purge_due: bool,
    /// Set while a commit is under way, and left set by one that fails.
    is_damaged: bool,
}

impl DirectoryKeeper {
    pub(super) fn new(path: PathBuf, database: Database, head: Head, witness: Option<Witness>) -> Self {
        Self {
            path,
            database,
            head,
            witness,
            passphrase: None,
            key: None,
            n_intents: 0,
            is_purge_due: false,
            is_damaged: false,
        }
    }

    /// Runs a commit. If it fails, nobody knows what holds until the directory is opened again.
    pub(super) fn guarded<T>(
        &mut self,
        commit: impl FnOnce(&mut Self) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.check_usable()?;
        self.is_damaged = true;
        let done = commit(self)?;
        self.is_damaged = false;
        Ok(done)
    }

    /// One commit of what concerns the history alone: neither rows nor weights.
    pub(super) fn commit_head(
        &mut self,
        of: Kept<'_>,
        change: impl FnOnce(&Tables<'_>, &mut Head) -> rusqlite::Result<()>,
    ) -> Result<(), EngineError> {
        self.guarded(|this| {
            let mut head = this.head.clone();
            this.database.commit(|tables| {
                change(tables, &mut head)?;
                put(tables, "status", &head.status(of))?;
                put(tables, "head", &head)
            })?;
            this.head = head;
            this.tell_witness(&[])
        })
    }

    /// Tells the witness how things stand, and who was removed since it was told last.
    pub(super) fn tell_witness(&mut self, removed: &[IdDigest]) -> Result<(), EngineError> {
        let Some(witness) = &mut self.witness else { return Ok(()) };
        witness.follow(&self.head, removed).map_err(|error| {
            let (path, source) = (witness.path.clone(), Box::new(error));
            EngineError::Storage(StorageError::WitnessBehind { path, source })
        })
    }

    /// Remembers a row that was found to be damaged, so that the status names it.
    pub(super) fn note_damaged(&mut self, position: usize) -> Result<(), EngineError> {
        let mut damaged: BTreeSet<usize> = self.database.damaged()?.into_iter().collect();
        damaged.insert(position);
        self.database.commit(|tables| put(tables, "damaged", &damaged))
    }

    /// Lets the witness know what a crash, or its absence, kept from it.
    pub(super) fn catch_up_witness(&mut self) -> Result<(), EngineError> {
        let Some(witness) = &self.witness else { return Ok(()) };
        let new = if witness.memory.n_removed() == self.database.n_suppressed()? {
            Vec::new()
        } else {
            let known = witness::removed_in(&witness.path)?;
            self.database.suppressed_after(0)?.into_iter().filter(|digest| !known.contains(digest)).collect()
        };
        self.tell_witness(&new)
    }

    /// The key that signs, if it is the one that the log names.
    pub(super) fn signing_key(&self) -> Result<SigningKey, EngineError> {
        let (named, path) = (self.database.key()?, self.key_path()?);
        let is_own = named.is_none();
        // The directory's own key has none: one that the environment has is meant for another.
        let passphrase = named.and(self.passphrase.as_ref());
        let key = signing::read_private(&path, passphrase).map_err(signing::key_error(&path))?;
        let (found, expected) = (key.public().id(), &self.head.ledger.key_id);
        if found != *expected {
            return Err(CertifyError::OtherKey { path, found, expected: expected.clone() }.into());
        }
        signing::check_name(&path, &key, is_own.then(|| signing::own_name(&self.head.history.model)))?;
        Ok(key)
    }

    pub(super) fn key_path(&self) -> Result<PathBuf, EngineError> {
        Ok(self.database.key()?.unwrap_or_else(|| self.path.join(OWN_KEY)))
    }
}

impl Keeper for DirectoryKeeper {
    fn history(&self) -> &History {
        &self.head.history
    }

    fn check_usable(&self) -> Result<(), EngineError> {
        self.database.check_process()?;
        if self.is_damaged { Err(StorageError::Damaged.into()) } else { Ok(()) }
    }

    fn give_up(&mut self) {
        self.is_damaged = true;
    }

    fn find(&self, kind: IdKind, _: &RowId, digest: IdDigest) -> Result<Found, EngineError> {
        let positions = match kind {
            IdKind::Row => self.database.position_of(digest)?.into_iter().collect(),
            IdKind::Subject => self.database.positions_of_subject(digest)?,
        };
        Ok(match positions.is_empty() {
            false => Found::At(positions),
            true if self.database.is_suppressed(digest)? => Found::Removed,
            true => Found::Unknown,
        })
    }

    fn has_subjects(&self) -> Result<bool, EngineError> {
        self.database.has_subjects()
    }

    fn is_removed(&self, digest: IdDigest) -> Result<bool, EngineError> {
        self.database.is_suppressed(digest)
    }

    fn keys_at(&self, positions: &[usize]) -> Result<Vec<RowKeys>, EngineError> {
        self.database.keys_at(positions)
    }

    fn past_request(&self, request_id: &str) -> Result<Option<PastRequest>, EngineError> {
        self.database.past_request(request_id)
    }

    fn request_of_change(&self, change: u64) -> Result<Option<String>, EngineError> {
        self.database.request_of_change(change)
    }

    /// One commit: the intent (positions only), the index, what was removed, the answer, the log, the head and the status.
    fn commit_change(&mut self, change: CommittedChange<'_>, of: Kept<'_>) -> Result<(), EngineError> {
        self.guarded(|this| {
            let CommittedChange { kind, removed, removed_keys, added, added_keys, texts, history, entry, request } =
                change;
            let mut head = Head { n_positions: added.end, account: of.model.state().account, ..this.head.clone() };
            head.history = History { n_people: head.history.n_people, ..history };
            let intent = Intent { change: head.history.n_changes, removed, added, texts };
            head.chain = head.chain.after(&intent, &removed_keys, &added_keys);
            head.unnamed.retain(|removal| !removal.is_of(of.settings, &removed_keys));
            let suppressed = this.database.commit(|tables| {
                index::forget(tables, &intent.removed)?;
                let mut arrived = intent.added.clone().zip(&added_keys);
                arrived.try_for_each(|(position, keys)| index::insert(tables, position, keys))?;
                let mut suppressed = Vec::new();
                if kind == StepKind::Removal {
                    for keys in &removed_keys {
                        // A subject goes with the last of its rows.
                        let subject = match keys.subject {
                            Some(subject) if !index::has_rows(tables, subject)? => Some(subject),
                            _ => None,
                        };
                        for digest in subject.into_iter().chain([keys.id]) {
                            suppressed.extend(index::suppress(tables, digest)?.then_some(digest));
                        }
                    }
                }
                if !intent.removed.is_empty() {
                    PastRequest::forget_cells(tables)?;
                }
                if let Some((id, past)) = &request {
                    past.insert(tables, id)?;
                }
                intent.insert(tables)?;
                ledger::append(tables, &mut head.ledger, &entry)?;
                ledger::touch(tables, &mut head.history, removed_keys.iter().map(RowKeys::person))?;
                put(tables, "status", &head.status(of))?;
                put(tables, "head", &head)?;
                Ok(suppressed)
            })?;
            this.head = head;
            this.n_intents += 1;
            this.tell_witness(&suppressed)
        })
    }

    fn commit_weights(&mut self, is_stale: bool, of: Kept<'_>) -> Result<(), EngineError> {
        self.commit_state(of, |_, head| {
            head.history.is_stale |= is_stale;
            Ok(())
        })
    }

    fn before_release(&mut self) -> Result<Option<HeldBack>, EngineError> {
        if !self.head.unnamed.is_empty() {
            let n_rows = self.head.unnamed.iter().map(|removal| removal.n_rows).sum();
            return Err(CertifyError::Unnamed { n_removals: self.head.unnamed.len(), n_rows }.into());
        }
        let held_back = self.held_back()?;
        if held_back.is_none() {
            self.key = Some(self.signing_key()?);
        }
        Ok(held_back)
    }

    /// The account may count later ones than the database lists, after a backup: then nothing is known of the latest but
    /// its number.
    fn latest_release(&self) -> Result<Option<ReleaseEntry>, EngineError> {
        let (release, listed) = (self.head.account.n_releases, self.database.latest_release()?);
        if release == 0 || listed.as_ref().is_some_and(|listed| listed.release >= release) {
            return Ok(listed);
        }
        let certified = self.head.account.certified;
        let (time, n_removed, certificate, n_changes) = (None, 0, None, None);
        Ok(Some(ReleaseEntry { release, time, n_removed, certified, certificate, n_changes }))
    }

    fn changes_after(&self, changes: u64) -> Result<Vec<LoggedEntry>, EngineError> {
        self.database.changes_after(&self.head.ledger.log, changes)
    }

    fn publish(&mut self, release: NewRelease<'_>, of: Kept<'_>) -> Result<Duration, EngineError> {
        self.guarded(|this| this.publish_signed(release, of))
    }

    fn status(&self, of: Kept<'_>) -> Result<Status, EngineError> {
        let status = self.head.status(of).since(self.database.latest_release()?.as_ref());
        let (n_unpurged, repairs) = (self.database.unpurged()?.len(), self.database.repairs()?);
        let damaged = self.database.damaged()?;
        Ok(Status { n_unpurged, repairs, damaged, witness: self.database.witness()?, ..status })
    }
}
