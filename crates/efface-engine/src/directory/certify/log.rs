//! The log of a model in use: it begins with the model, every change adds an entry in the change's own commit, and every
//! certificate is signed together with the checkpoint that it is part of.

use std::path::{Path, PathBuf};

use efface_ledger::certificate::{LogPosition, Predicate, Signed};
use efface_ledger::checkpoint::Checkpoint;
use efface_ledger::consistency::ConsistencyFile;
use efface_ledger::entry::{Entry, Event};
use efface_ledger::envelope::{EntryProof, Envelope, LogProof, PAYLOAD_TYPE};
use efface_ledger::key::SigningKey;
use efface_ledger::merkle::{self, Hash, HashStore, TreeError};
use efface_ledger::statement::{Statement, Subject};
use sha2::{Digest, Sha256};

use super::signing;
use crate::certify::issued;
use crate::clock;
use crate::directory::database::ledger::{StoredHashes, read_error};
use crate::directory::database::{Head, Tables, ledger, put};
use crate::directory::{DirectoryKeeper, ModelDirectory, files};
use crate::error::{CertifyError, EngineError};
use crate::life::Past;
use crate::settings::fresh;

/// A certificate that is signed and has its place in the log, which it takes with its entry.
pub(crate) struct Certified {
    pub(crate) text: String,
    /// SHA-256 of its payload.
    pub(crate) digest: String,
    pub(crate) entry: Entry,
}

/// Begins the log of a new directory, signed by the key that is named or by one of its own. `past` is what happened before.
pub(in crate::directory) fn begin(
    keeper: &mut DirectoryKeeper,
    named: Option<&Path>,
    past: &Past,
) -> Result<(), EngineError> {
    let named = named.map(absolute).transpose()?;
    let mut head = keeper.head.clone();
    let public = match &named {
        Some(key) => signing::named_key(key, None)?,
        None => signing::make_own_key(&keeper.path, &head.history.model)?,
    };
    (head.ledger.key_id, head.ledger.log) = (public.id(), random_name()?);
    let n_rows = keeper.database.ask(|c| c.query_row("SELECT count(*) FROM rows", [], |row| row.get(0)))?;
    let changes = head.history.n_changes - past.changes.len() as u64;
    let event = Event::Start { model: head.history.model.clone(), key_id: public.id(), n_rows, changes };
    let entry = Entry::new(clock::timestamp(clock::now()), event);
    keeper.database.commit(|tables| {
        named.as_ref().map_or(Ok(()), |key: &PathBuf| put(tables, "key", key))?;
        ledger::append(tables, &mut head.ledger, &entry)?;
        past.latest_release.as_ref().map_or(Ok(()), |release| release.insert(tables))?;
        past.requests.iter().try_for_each(|(id, request)| request.insert(tables, id))?;
        past.changes.iter().try_for_each(|entry| ledger::append(tables, &mut head.ledger, entry))?;
        ledger::touch(tables, &mut head.history, past.people.iter().copied())?;
        put(tables, "head", &head)
    })?;
    keeper.head = head;
    Ok(())
}

pub(in crate::directory) fn absolute(key: &Path) -> Result<PathBuf, EngineError> {
    let absolute = std::fs::canonicalize(key).map_err(EngineError::io(key))?;
    files::check_is_unicode(&absolute, "key")?;
    Ok(absolute)
}

/// Begins another log of a model that has had so many changes, because entries of the one before were lost: somebody may
/// have a checkpoint with them.
pub(crate) fn restart(tables: &Tables<'_>, head: &mut Head, name: String, changes: u64) -> rusqlite::Result<()> {
    let (model, head) = (head.history.model.clone(), &mut head.ledger);
    let store = StoredHashes { tables, log: &head.log };
    let root = merkle::root(&store, head.size).map_err(read_error)?;
    let (key_id, previous_origin, previous_size) = (head.key_id.clone(), ledger::origin(&model, &head.log), head.size);
    let previous_root = hex::encode(root);
    let event = Event::Restart { model, key_id, previous_origin, previous_size, previous_root, changes };
    (head.log, head.size) = (name, 0);
    ledger::append(tables, head, &Entry::new(clock::timestamp(clock::now()), event))
}

pub(crate) fn random_name() -> Result<String, EngineError> {
    Ok(hex::encode(fresh::<8>()?))
}

impl ModelDirectory {
    /// Notes a change of the key that signs to one that is named. Only in a log of which nothing is known to be lost: the
    /// entry would take the place of one that somebody has a checkpoint of.
    pub(in crate::directory) fn sign_with(&mut self, named: Option<&Path>) -> Result<(), EngineError> {
        let Some(named) = named.map(absolute).transpose()? else { return Ok(()) };
        if Some(&named) == self.keeper.database.key()?.as_ref() {
            return Ok(());
        }
        let key_id = signing::named_key(&named, self.keeper.passphrase.as_ref())?.id();
        let entry = Entry::new(clock::timestamp(clock::now()), Event::Key { key_id: key_id.clone() });
        self.commit_head(|tables, head| {
            put(tables, "key", &named)?;
            head.ledger.key_id = key_id;
            ledger::append(tables, &mut head.ledger, &entry)
        })
    }

    /// The signed checkpoint of the log as it is now.
    pub fn ledger_checkpoint(&self) -> Result<String, EngineError> {
        self.checkpoint_at(self.keeper.head.ledger.size, &self.keeper.signing_key()?)
    }

    /// The proof that an entry is in the log as it is now.
    pub fn inclusion_proof(&self, position: u64) -> Result<Vec<Hash>, EngineError> {
        let size = self.keeper.head.ledger.size;
        if position >= size {
            return Err(CertifyError::NoSuchEntry { position, size }.into());
        }
        self.keeper.ask_hashes(|stored| merkle::inclusion_proof(stored, size, position))
    }

    /// Calls `visit` with every entry of the log as it is hashed, in order.
    pub fn visit_log(&self, visit: impl FnMut(u64, &str)) -> Result<(), EngineError> {
        self.keeper.database.visit_leaves(&self.keeper.head.ledger.log, visit)
    }

    /// A file that shows that the log as it was at a later checkpoint, or as it is now, continues the one of an earlier.
    pub fn ledger_consistency(&self, earlier: &str, later: Option<&str>) -> Result<String, EngineError> {
        let key = self.keeper.signing_key()?;
        let from = self.known_checkpoint(earlier, &key)?;
        let (size, to) = match later {
            None => (self.keeper.head.ledger.size, self.checkpoint_at(self.keeper.head.ledger.size, &key)?),
            Some(later) => (self.known_checkpoint(later, &key)?.size, later.to_owned()),
        };
        if from.size > size {
            let reason = format!("it has {} entries, more than the later one of {size}", from.size);
            return Err(CertifyError::NotConsistent { reason }.into());
        }
        let proof = self.keeper.ask_hashes(|stored| merkle::consistency_proof(stored, from.size, size))?;
        Ok(ConsistencyFile::new(earlier.into(), to, proof).to_text())
    }

    fn known_checkpoint(&self, note: &str, key: &SigningKey) -> Result<Checkpoint, EngineError> {
        let checkpoint = Checkpoint::open(note, &key.public(), &self.keeper.origin())
            .map_err(|error| EngineError::Certify(CertifyError::NotACheckpoint { reason: error.to_string() }))?;
        let (found, size) = (checkpoint.size, self.keeper.head.ledger.size);
        let refused = |reason: String| Err(CertifyError::NotConsistent { reason }.into());
        if found > size {
            return refused(format!("it has {found} entries, and the log {size}: the log was cut"));
        }
        let root = self.keeper.ask_hashes(|stored| merkle::root(stored, found))?;
        if root != checkpoint.root {
            return refused(format!("the first {found} entries of the log are not those of the checkpoint"));
        }
        Ok(checkpoint)
    }

    fn checkpoint_at(&self, size: u64, key: &SigningKey) -> Result<String, EngineError> {
        let root = self.keeper.ask_hashes(|stored| merkle::root(stored, size))?;
        let checkpoint = Checkpoint { origin: self.keeper.origin(), size, root };
        checkpoint.sign(key).map_err(unsigned)
    }
}

impl DirectoryKeeper {
    pub(in crate::directory) fn ask_hashes<T>(
        &self,
        question: impl FnOnce(&StoredHashes<'_>) -> Result<T, TreeError<rusqlite::Error>>,
    ) -> Result<T, EngineError> {
        let log = &self.head.ledger.log;
        // In one transaction: a root or a proof takes a few dozen hashes, and SQLite would lock its files for each.
        self.database.ask(|connection| {
            let tables = &*connection.unchecked_transaction()?;
            question(&StoredHashes { tables, log }).map_err(read_error)
        })
    }

    pub(in crate::directory) fn origin(&self) -> String {
        ledger::origin(&self.head.history.model, &self.head.ledger.log)
    }

    /// Signs a certificate and gives it the next place in the log. It counts once its entry is in the log. `shown` are
    /// earlier entries whose proofs go with it.
    pub(super) fn certify<P: Predicate>(
        &self,
        subject: Subject,
        body: P,
        time: u64,
        key: &SigningKey,
        shown: &[u64],
    ) -> Result<Certified, EngineError> {
        let log = LogPosition { origin: self.origin(), position: self.head.ledger.size };
        let issue = Signed { key_id: self.head.ledger.key_id.clone(), log };
        let certificate = issued(P::SCHEMA, &self.head.history, time, issue, body);
        let statement = Statement::new(vec![subject], P::TYPE, certificate);
        let payload = statement.to_payload().map_err(unsigned)?;
        let digest = hex::encode(Sha256::digest(&payload));
        let entry = statement.predicate.entry(digest.clone());
        let leaf = merkle::leaf_hash(entry.to_leaf().as_bytes());
        let position = self.head.ledger.size;
        let (root, proofs) = self.ask_hashes(|stored| {
            let new = merkle::append(stored, position, leaf)?;
            let grown = Grown { stored, first: merkle::first_hash_index(position), new };
            let size = position + 1;
            let proofs = std::iter::once(position).chain(shown.iter().copied()).map(|position| {
                merkle::inclusion_proof(&grown, size, position).map(|inclusion| EntryProof { position, inclusion })
            });
            Ok((merkle::root(&grown, size)?, proofs.collect::<Result<Vec<_>, _>>()?))
        })?;
        let checkpoint = Checkpoint { origin: self.origin(), size: position + 1, root };
        let checkpoint = checkpoint.sign(key).map_err(unsigned)?;
        let envelope = Envelope::sign(PAYLOAD_TYPE, payload, key).with_log(LogProof { checkpoint, proofs });
        Ok(Certified { text: envelope.to_text(), digest, entry })
    }
}

fn unsigned(error: impl std::error::Error) -> EngineError {
    EngineError::Certify(CertifyError::NotSigned { reason: error.to_string() })
}

/// A log with one more entry than the database has.
struct Grown<'a> {
    stored: &'a StoredHashes<'a>,
    first: u64,
    new: Vec<Hash>,
}

impl HashStore for Grown<'_> {
    type Error = rusqlite::Error;

    fn hash(&self, index: u64) -> rusqlite::Result<Hash> {
        match index.checked_sub(self.first).and_then(|index| self.new.get(index as usize)) {
            Some(hash) => Ok(*hash),
            None => self.stored.hash(index),
        }
    }
}
