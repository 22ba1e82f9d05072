//! Checkpoints: the state in memory becomes the one on disk, and what rows left behind is overwritten.
//!
//! 1. The state is written aside, synced and renamed to `state/<generation>`.
//! 2. One commit of the database makes that generation the current one and clears the intents. From here on it counts.
//! 3. Records of rows that left are overwritten with zeros and synced; the changed segments are stamped.
//! 4. The database notes that, and its log is cut to nothing. Older state files go.
//!
//! A crash before 2 leaves the old state and its intents, which are replayed; after 2, steps 3 and 4 are done at the
//! next opening. Doing them twice changes nothing.

use std::fs;

use crate::database::{Intent, LedgerHead, Tables, index};
use crate::error::EngineError;
use crate::files;
use crate::model_directory::ModelDirectory;
use crate::state_file::{self, Stamp};
use crate::status::Status;

/// So many changes after a checkpoint the next one is made: opening after a crash takes no longer than that many steps.
pub(crate) const CHANGES_PER_CHECKPOINT: usize = 256;

impl ModelDirectory {
    /// Makes what changed since the latest checkpoint part of the state on disk, and overwrites the rows that left.
    pub fn checkpoint(&mut self) -> Result<(), EngineError> {
        if self.is_damaged() {
            return Err(EngineError::Damaged);
        }
        if self.n_intents > 0 {
            self.transaction(|this| this.commit_state(|_, _| Ok(()))).map_err(pending)?;
        }
        self.purge()
    }

    /// Makes the state in memory the one on disk, together with what `also` writes.
    pub(crate) fn commit_state(
        &mut self,
        also: impl FnOnce(&Tables<'_>, &mut LedgerHead) -> rusqlite::Result<()>,
    ) -> Result<(), EngineError> {
        let mut head = self.head.clone();
        head.generation += 1;
        head.account = self.model.state().account;
        let stamp = Stamp {
            model: head.model.clone(),
            generation: head.generation,
            sequence: head.sequence,
            chain: head.chain.clone(),
        };
        let (bytes, digest) = state_file::encode(&stamp, &self.database.suppressed()?, &self.model);
        head.state = digest;
        let path = files::state_path(&self.path, head.generation);
        files::replace(&path, &bytes)?;
        let Self { settings, model, database, .. } = self;
        let committed = database.commit(|tables| {
            also(tables, &mut head.ledger)?;
            Intent::clear(tables)?;
            Status::of(settings, model, &head).write(tables)?;
            head.write(tables)
        });
        if let Err(error) = committed {
            // Best effort: a state that no database knows of is removed at the next opening too.
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        self.head = head;
        self.n_intents = 0;
        self.tell_witness([])
    }

    /// Overwrites what rows that left have left behind, in segments, log and old states.
    pub(crate) fn purge(&mut self) -> Result<(), EngineError> {
        self.purge_now().map_err(pending)
    }

    fn purge_now(&mut self) -> Result<(), EngineError> {
        let positions = self.database.unpurged()?;
        if !positions.is_empty() {
            self.rows.purge(&positions)?;
        }
        let before = self.rows.epochs();
        self.rows.stamp(self.head.generation)?;
        let epochs = self.rows.epochs();
        if epochs != before || !positions.is_empty() {
            self.database.commit(|tables| index::purged(tables, &epochs))?;
        }
        self.database.truncate_log()?;
        files::remove_other_states(&self.path, self.head.generation)
    }
}

/// The changes themselves are in the journal.
fn pending(error: EngineError) -> EngineError {
    EngineError::PurgePending { source: Box::new(error) }
}
