//! A whole directory that is older than its witness.

use std::collections::BTreeSet;

use efface_core::model::ReleaseAccount;
use efface_data::IdDigest;

use super::{most_spent, note, positions_of_removed};
use crate::directory::ModelDirectory;
use crate::directory::certify::log::{NewLog, restart};
use crate::directory::database::{Mending, index, ledger};
use crate::error::EngineError;
use crate::life::Kept;

impl ModelDirectory {
    /// Removes again what the witness knows was removed, and spends what it knows was spent.
    ///
    /// The witness is told nothing before all of it is on the disk: cut short, it is done again from the beginning.
    pub(in crate::directory) fn catch_up_with_witness(&mut self) -> Result<(), EngineError> {
        let Some(witness) = &self.keeper.witness else { return Ok(()) };
        let memory = &witness.memory;
        let ledger = Some((self.keeper.head.ledger.log.clone(), self.keeper.head.ledger.size));
        let same_history = memory.chain == self.keeper.head.chain
            && memory.account == self.keeper.head.account
            && memory.ledger == ledger;
        if same_history && witness.memory.suppressed.len() == self.keeper.database.n_suppressed()? {
            return Ok(());
        }
        let memory = witness.memory.clone();
        let known: BTreeSet<IdDigest> = self.keeper.database.suppressed()?.into_iter().collect();
        let unknown: Vec<IdDigest> = memory.suppressed.difference(&known).copied().collect();
        let account = most_spent(self.keeper.head.account, memory.account);
        let forgot =
            memory.n_changes > self.keeper.head.history.n_changes || memory.knows_more_of(&self.keeper.head.ledger);
        if forgot || !unknown.is_empty() || account != self.keeper.head.account {
            let witness = self.keeper.witness.take();
            let done = self.follow_witness(memory.n_changes, account, &unknown);
            self.keeper.witness = witness;
            done?;
        }
        let suppressed = self.keeper.database.suppressed()?;
        self.keeper.tell_witness(suppressed)
    }

    /// What was spent first, then who was removed: each step leaves less to be done.
    fn follow_witness(
        &mut self,
        n_changes: u64,
        account: ReleaseAccount,
        unknown: &[IdDigest],
    ) -> Result<(), EngineError> {
        let again = positions_of_removed(&self.keeper.database, unknown)?;
        let mended = note(&self.keeper.database, "the directory was older than its witness", again.len(), 0)?;
        let releases_lost = account.n_releases > self.keeper.head.account.n_releases;
        self.keeper.head.history.n_changes = self.keeper.head.history.n_changes.max(n_changes);
        let (log, earlier) = (
            NewLog::new(&self.keeper.head.history.model, self.keeper.head.history.n_changes)?,
            self.keeper.head.ledger.log.clone(),
        );
        self.model.set_account(account);
        let of = Kept { settings: &self.settings, model: &self.model };
        self.keeper.commit_state(of, |tables, head| {
            head.history.is_stale = true;
            restart(tables, head, &log)?;
            ledger::carry_over(tables, &mut head.ledger, &earlier)?;
            Mending::write_all(&mended, tables)
        })?;
        if !again.is_empty() {
            self.life().remove_again(again)?;
        }
        self.keeper.guarded(|keeper| {
            let mut head = keeper.head.clone();
            keeper.database.commit(|tables| {
                if releases_lost {
                    ledger::count_one(tables, &mut head.history)?;
                    head.write(tables)?;
                }
                unknown.iter().try_for_each(|digest| index::suppress(tables, *digest))
            })?;
            keeper.head = head;
            Ok(())
        })?;
        self.checkpoint()
    }
}
