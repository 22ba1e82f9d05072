//! Checkpoints: the state in memory becomes the one on disk, and what rows left behind is overwritten.
//!
//! 1. Who was removed since is appended to `state/removed`; the state is written aside, synced and renamed to
//!    `state/<generation>`.
//! 2. One commit of the database makes that generation the current one and clears the intents. From here on it counts.
//! 3. Records of rows that left are overwritten with zeros and synced; the changed segments are stamped.
//! 4. The database notes that, and its log is cut to nothing. Older state files are overwritten and go.
//!
//! A crash before 2 leaves the old state and its intents, which are replayed; after 2, steps 3 and 4 are done at the
//! next opening. Doing them twice changes nothing.

use std::fs;

use efface_data::{IdDigest, StoredRows};

use super::database::{Head, Tables, index, put};
use super::files;
use super::removed_list;
use super::state_file::{self, Stamp};
use super::{DirectoryKeeper, ModelDirectory};
use crate::error::{EngineError, StorageError};
use crate::history::Kept;
use crate::life::Keeper;

/// So many changes after a checkpoint the next one is made: opening after a crash takes no longer than that many steps.
const CHANGES_PER_CHECKPOINT: usize = 256;

impl ModelDirectory {
    /// Makes what changed since the latest checkpoint part of the state on disk, and overwrites the rows that left.
    pub fn checkpoint(&mut self) -> Result<(), EngineError> {
        self.keeper.check_usable()?;
        if self.keeper.n_intents > 0 {
            let of = Kept { settings: &self.settings, model: &self.model, preparation: self.rows.preparation() };
            self.keeper.commit_state(of, |_, _| Ok(())).map_err(pending)?;
        }
        self.purge()
    }

    /// Makes a checkpoint after many changes, and purges rows after one that was made by the way.
    pub(super) fn checkpoint_if_due(&mut self) -> Result<(), EngineError> {
        if self.keeper.n_intents >= CHANGES_PER_CHECKPOINT {
            return self.checkpoint();
        }
        if self.keeper.is_purge_due { self.purge() } else { Ok(()) }
    }

    /// Overwrites what rows that left have left behind, in segments, log and old states.
    pub(super) fn purge(&mut self) -> Result<(), EngineError> {
        self.keeper.purge(&mut self.rows).map_err(pending)
    }
}

impl DirectoryKeeper {
    /// Overwrites what rows that left have left behind, in segments, log and old states.
    pub(super) fn purge(&mut self, rows: &mut StoredRows) -> Result<(), EngineError> {
        let positions = self.database.unpurged()?;
        if !positions.is_empty() {
            rows.purge(&positions)?;
        }
        let before = rows.epochs();
        rows.stamp(self.head.generation)?;
        let epochs = rows.epochs();
        if epochs != before || !positions.is_empty() {
            self.database.commit(|tables| index::purged(tables, &epochs))?;
        }
        self.database.truncate_log()?;
        files::remove_other_states(&self.path, self.head.generation)?;
        self.is_purge_due = false;
        Ok(())
    }

    /// Makes the state in memory the one on disk, together with what `also` writes.
    pub(super) fn commit_state(
        &mut self,
        of: Kept<'_>,
        also: impl FnOnce(&Tables<'_>, &mut Head) -> rusqlite::Result<()>,
    ) -> Result<(), EngineError> {
        self.guarded(|this| this.write_state(of, None, also))
    }

    /// The same within a commit. After a repair, `state/removed` is written anew: it ends with who was `found` to have been
    /// removed and is new to the database.
    pub(super) fn write_state(
        &mut self,
        of: Kept<'_>,
        found: Option<&[IdDigest]>,
        also: impl FnOnce(&Tables<'_>, &mut Head) -> rusqlite::Result<()>,
    ) -> Result<(), EngineError> {
        let mut head = self.head.clone();
        head.generation += 1;
        head.account = of.model.state().account;
        let removed = found.unwrap_or_default();
        match found {
            None => removed_list::append(&self.path, &self.database, head.n_listed)?,
            Some(_) => removed_list::write(&self.path, &[&self.database.suppressed_after(0)?, removed].concat())?,
        }
        head.n_listed = self.database.n_suppressed()? + removed.len();
        let stamp = Stamp {
            model: head.history.model.clone(),
            generation: head.generation,
            n_changes: head.history.n_changes,
            complete_until: head.complete_until(),
            chain: head.chain.clone(),
            n_removed: head.n_listed,
        };
        let (bytes, digest) = state_file::encode(&stamp, of.model, of.preparation);
        head.state = digest;
        let path = files::state_path(&self.path, head.generation);
        files::replace(&path, &bytes)?;
        let committed = self.database.commit(|tables| {
            removed.iter().try_for_each(|digest| index::suppress(tables, *digest).map(drop))?;
            also(tables, &mut head)?;
            // A state that includes them is on the disk.
            tables.execute("DELETE FROM intents", [])?;
            put(tables, "status", &head.status(of))?;
            if let Some(preparation) = of.preparation {
                put(tables, "texts", &preparation.counts().texts())?;
            }
            put(tables, "head", &head)
        });
        if let Err(error) = committed {
            // Best effort: a state that no database knows of is removed at the next opening too.
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        self.head = head;
        self.n_intents = 0;
        self.is_purge_due = true;
        // Who was removed before a repair it may know: what it does not is told when it catches up.
        self.tell_witness(&[])
    }
}

/// The changes themselves are in the journal.
fn pending(error: EngineError) -> EngineError {
    EngineError::Storage(StorageError::PurgePending { source: Box::new(error) })
}
