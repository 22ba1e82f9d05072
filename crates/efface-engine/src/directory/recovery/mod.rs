//! A directory of which a part, or all, was restored from an older backup: whoever was removed stays removed.
//!
//! | older part | noticed by |
//! |---|---|
//! | row segments | the epoch in their header is behind the database |
//! | state | it is not the one that the database names |
//! | database | a state that knows a later change, or its own state gone |
//! | database and state | rows that they have as present are overwritten |
//! | all but the releases | a release that the account does not count |
//! | all but the withdrawals | one that the database does not know |
//! | everything | the witness knows more |
//!
//! Old segments are overwritten once more where rows left. All else is repaired in one way: what any part knows is
//! [gathered](Known), rows that were removed leave again, the model is trained again on the others, and another log begins.
//! What releases have spent is the most that any part remembers.

mod inspection;
mod releases;
mod repair;

pub(super) use inspection::out_of_step;
pub(super) use repair::repair;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use efface_core::model::{Model, ReleaseAccount};
use efface_data::derived::Preparation;
use efface_data::{IdDigest, StoredRows, Vault};

use super::certify::revocation;
use super::database::{Database, Head, UnnamedRemoval};
use super::files;
use super::removed_list;
use super::state_file::StateFile;
use super::witness::{self, Memory, Told};
use crate::error::{EngineError, OpenError, StorageError};
use crate::history::ReleaseEntry;
use crate::sealed::DIGEST_BYTES;
use crate::settings::Settings;
use crate::status::{OldPart, in_words};

/// What the parts of a directory know, and its database may not.
pub(super) struct Known {
    /// How it is seen that the database does not; none: it knows everything.
    pub(super) found: Vec<OldPart>,
    n_changes: u64,
    /// Up to this change a part knows every removal.
    complete_until: u64,
    removed: BTreeSet<IdDigest>,
    /// So many ids and subjects had been removed by the latest state.
    n_removed: usize,
    account: ReleaseAccount,
    /// Releases and withdrawals that the database does not list, and removals that those releases cover.
    releases: Vec<ReleaseEntry>,
    unnamed: Vec<UnnamedRemoval>,
    revoked: Vec<usize>,
    /// Rows that the latest state of another time had; `None`: there is no such state.
    n_rows: Option<usize>,
}

impl Known {
    /// Asks every part but the rows and the state that the database names, without changing anything.
    pub(super) fn gather(
        path: &Path,
        database: &Database,
        head: &Head,
        witness: Option<&Memory>,
    ) -> Result<Self, EngineError> {
        let (found, removed, account) = (Vec::new(), BTreeSet::new(), head.account);
        let (releases, unnamed, revoked) = (Vec::new(), Vec::new(), Vec::new());
        let (n_changes, complete_until, n_removed, n_rows) = (0, head.complete_until(), 0, None);
        let mut known =
            Self { found, n_changes, complete_until, removed, n_removed, account, releases, unnamed, revoked, n_rows };
        known.ask_states(path, head)?;
        known.ask_list(path, database)?;
        known.ask_releases(path, head)?;
        known.revoked = revocation::unlisted(path, known.account.n_releases, &head.ledger.revoked);
        if !known.revoked.is_empty() {
            known.found.push(OldPart::Withdrawals);
        }
        if let Some(witness) = witness {
            known.ask_witness(witness, database, head)?;
        }
        Ok(known)
    }

    /// A damaged state is an error; a whole one of another time is not.
    fn ask_states(&mut self, path: &Path, head: &Head) -> Result<(), EngineError> {
        let (mut is_there, mut others) = (false, Vec::new());
        for generation in files::state_generations(path)? {
            let file = files::state_path(path, generation);
            if generation == head.generation && digest_of(&file).map_err(EngineError::io(&file))? == head.state {
                is_there = true;
                continue;
            }
            // One that is not there any more was removed by a writer at work.
            others.extend(StateFile::read(&file)?.filter(|state| state.stamp.model == head.history.model));
        }
        if others.iter().any(|state| is_later(state, head)) {
            self.found.push(OldPart::Database);
        } else if is_there {
            return Ok(());
        } else if others.is_empty() {
            self.found.push(OldPart::NoState);
        } else {
            self.found.push(OldPart::State);
        }
        for state in others {
            self.learn(&state);
        }
        self.removed.extend(removed_list::read(path)?);
        Ok(())
    }

    /// What is listed was in the database before.
    fn ask_list(&mut self, path: &Path, database: &Database) -> Result<(), EngineError> {
        if removed_list::has_more_than(path, database.n_suppressed()?)? {
            self.removed.extend(removed_list::read(path)?);
            if self.found.is_empty() {
                self.found.push(OldPart::Removals);
            }
        }
        Ok(())
    }

    fn learn(&mut self, state: &StateFile) {
        if state.stamp.n_changes >= self.n_changes {
            self.n_changes = state.stamp.n_changes;
            self.n_rows = Some(state.n_rows());
        }
        self.complete_until = self.complete_until.max(state.stamp.complete_until);
        self.n_removed = self.n_removed.max(state.stamp.n_removed);
        self.account = self.account.most(state.account);
    }

    fn ask_witness(&mut self, memory: &Memory, database: &Database, head: &Head) -> Result<(), EngineError> {
        let Some(Told { n_changes, chain, account, .. }) = &memory.latest else { return Ok(()) };
        let account = self.account.most(*account);
        // A log that is left for another one anyway need not have all entries.
        let mut knows_more = account != self.account
            || *n_changes > self.n_changes.max(head.history.n_changes)
            || self.found.is_empty() && memory.knows_more_of(&head.ledger);
        let mut removed = BTreeSet::new();
        if *chain != head.chain || memory.n_removed() != database.n_suppressed()? {
            removed = witness::removed_in(&memory.path)?;
            for digest in &removed {
                knows_more = knows_more || !self.removed.contains(digest) && !database.is_suppressed(*digest)?;
            }
        }
        if knows_more {
            self.found.push(OldPart::All);
            self.n_changes = self.n_changes.max(*n_changes);
            self.complete_until = self.complete_until.max(*n_changes);
            self.account = account;
            self.removed.extend(removed);
        }
        Ok(())
    }

    /// The model of the state that the database names and how its rows are prepared, unless the directory is to be repaired.
    pub(super) fn current_model(
        &mut self,
        path: &Path,
        database: &Database,
        head: &Head,
        settings: &Settings,
    ) -> Result<Option<(Model, Option<Preparation>)>, EngineError> {
        // The state that the database names belongs to it, whatever else there is.
        if !matches!(self.found[..], [] | [OldPart::Removals]) {
            return Ok(None);
        }
        let file = files::state_path(path, head.generation);
        let state = StateFile::read(&file)?.ok_or(StorageError::Damaged)?;
        if !self.found.is_empty() {
            self.learn(&state);
            return Ok(None);
        }
        let preparation = state.preparation(settings, database.texts()?);
        Ok(Some((state.model(&file, settings)?, preparation)))
    }

    /// Why a directory that is only read is not used as it is.
    pub(super) fn out_of_step(&self, path: &Path) -> EngineError {
        EngineError::Open(OpenError::BadState { path: path.into(), reason: in_words(&self.found) })
    }

    /// Fails closed: a state knows how many were removed, and where no other part knows who, somebody would come back.
    pub(super) fn check_complete(&self, path: &Path, database: &Database) -> Result<(), EngineError> {
        let n_known = self.n_known(database)?;
        if n_known >= self.n_removed {
            return Ok(());
        }
        let reason = format!("{n_known} removed ids and people are known, and the state counts {}", self.n_removed);
        Err(OpenError::LostRemovals { path: removed_list::place(path), reason }.into())
    }

    /// Ids and subjects that any part knows to have been removed.
    fn n_known(&self, database: &Database) -> Result<usize, EngineError> {
        let mut n_known = database.n_suppressed()?;
        for digest in &self.removed {
            n_known += usize::from(!database.is_suppressed(*digest)?);
        }
        Ok(n_known)
    }

    /// Whether rows have been overwritten that database and state have as present: then both are older than the rows, and
    /// those have been removed since. A state of another time has a list of who was, unless that is old.
    pub(super) fn ask_rows(&mut self, database: &Database, rows: &StoredRows) -> Result<bool, EngineError> {
        let expected = database.epochs()?;
        let is_newer = rows.epochs().iter().zip(&expected).any(|(found, expected)| found > expected);
        let is_listed = self.n_rows.is_some() && self.n_known(database)? >= self.n_removed;
        if is_listed || !is_newer {
            return Ok(false);
        }
        // Rows of changes that are not in a state yet have left the database, and may have been overwritten.
        let gone = database.gone(rows.n_positions())?;
        let purged: Vec<usize> =
            rows.purged_records()?.into_iter().filter(|position| !gone.contains(*position)).collect();
        for keys in database.keys_at(&purged)? {
            self.removed.insert(keys.id);
            if let Some(subject) = keys.subject
                && database.positions_of_subject(subject)?.iter().all(|position| purged.binary_search(position).is_ok())
            {
                self.removed.insert(subject);
            }
        }
        if !purged.is_empty() {
            self.found.push(OldPart::DatabaseAndState);
        }
        Ok(!purged.is_empty())
    }
}

impl Known {
    /// Removals that nothing but a certificate knows, after so many rows have left again.
    fn still_unnamed(&self, head: &Head, n_removed_again: usize) -> Vec<UnnamedRemoval> {
        let is_new =
            |removal: &&UnnamedRemoval| removal.change > self.complete_until && !head.unnamed.contains(*removal);
        let unnamed: Vec<_> = self.unnamed.iter().filter(is_new).cloned().collect();
        // Rows that were overwritten tell who left, and not by which request.
        let n_rows: usize = unnamed.iter().map(|removal| removal.n_rows).sum();
        if n_rows <= n_removed_again { Vec::new() } else { unnamed }
    }
}

/// Whether a state knows of changes or releases that the database does not. A checkpoint that was cut short leaves the
/// next state, of changes that the database has as intents and of a release that was not published.
fn is_later(state: &StateFile, head: &Head) -> bool {
    state.stamp.n_changes > head.history.n_changes
        || state.stamp.generation > head.generation + 1 && state.account.n_releases > head.account.n_releases
}

fn digest_of(path: &Path) -> io::Result<String> {
    let (mut file, mut digest) = (File::open(path)?, Vec::new());
    let at = file.metadata()?.len().saturating_sub(DIGEST_BYTES as u64);
    file.seek(SeekFrom::Start(at))?;
    file.read_to_end(&mut digest)?;
    Ok(hex::encode(digest))
}
