//! How a directory is repaired: rows that are too old are overwritten again; for all else the model is trained again.

use std::collections::BTreeSet;

use efface_core::model::Model;
use efface_core::rows::RowStore;
use efface_data::derived::Texts;
use efface_data::{IdDigest, StoredRows};
use efface_ledger::entry::{Entry, Event};

use super::Known;
use crate::clock;
use crate::directory::certify::log::{random_name, restart};
use crate::directory::database::{Database, Intent, index, ledger, put};
use crate::directory::{DirectoryKeeper, ModelDirectory, files};
use crate::error::EngineError;
use crate::history::{Kept, RowKeys};
use crate::life::{PastRequest, train_again};
use crate::settings::Settings;
use crate::status::OldPart;

/// Removes again whoever any part knows was removed, and trains again on the rows that are left, in one commit. The witness
/// is told afterwards: cut short, it is done again from the beginning.
pub(in crate::directory) fn repair(
    settings: &Settings,
    rows: &mut StoredRows,
    keeper: &mut DirectoryKeeper,
    known: &Known,
) -> Result<Model, EngineError> {
    let DirectoryKeeper { path, database, head, .. } = keeper;
    let again = positions_of(database, &known.removed)?;
    rows.remove(&again)?;
    // Rows that were corrected after an old database was saved: it does not know where their new values are.
    let lost = rows.purged_records()?;
    rows.remove(&lost)?;
    let leaving: Vec<usize> = again.iter().chain(&lost).copied().collect();
    let knows_more = known.n_changes > head.history.n_changes;
    head.unnamed.extend(known.still_unnamed(head, leaving.len()));
    // A number that no change has had yet.
    let latest =
        head.unnamed.iter().map(|removal| removal.change).chain([head.history.n_changes, known.n_changes]).max();
    head.history.n_changes = latest.unwrap_or(0) + 1;
    let intent = Intent { change: head.history.n_changes, removed: leaving.clone(), added: 0..0, texts: Texts::new() };
    let (removed_keys, asked_for) = (database.keys_at(&leaving)?, database.keys_at(&again)?);
    head.chain = head.chain.after(&intent, &removed_keys, &[]);
    head.history.n_removed += again.len();
    head.history.class_counts = rows.count_classes(head.history.class_counts.len())?;
    head.history.is_stale = true;
    let releases_lost = known.account.n_releases > head.account.n_releases;
    let mut account = head.account.most(known.account);
    // Those that another part has counted already are counted twice: too many, never too few.
    account.n_left = account.n_left.saturating_add(leaving.len());
    rows.recount(head.history.class_counts.len())?;
    rows.derive()?;
    let model = train_again(settings, rows, &head.history.class_counts, account)?;
    // Rows that came after an old database was saved are lost as well: only the state had counted them.
    let n_lost = lost.len().max(if knows_more { known.n_rows.unwrap_or(0).saturating_sub(rows.n_rows()) } else { 0 });
    let repairs = database.repairs_and(known.found.clone(), again.len(), n_lost)?;
    // A generation that no state file has had yet.
    let latest = files::state_generations(path)?.last().copied().unwrap_or(0);
    head.generation = head.generation.max(latest);
    // Rows that were lost were nobody's request. Those that leave again are a change of their own, and new in the log.
    let n_changes = head.history.n_changes;
    let change = settings.logged_change(n_changes, again.len(), &asked_for, None);
    let earlier = head.ledger.log.clone();
    let (log, changes) = (random_name()?, n_changes - u64::from(!again.is_empty()));
    let mut removed = Vec::new();
    for digest in &known.removed {
        removed.extend((!database.is_suppressed(*digest)?).then_some(*digest));
    }
    keeper.guarded(|keeper| {
        let of = Kept { settings, model: &model, preparation: rows.preparation() };
        keeper.write_state(of, Some(&removed), |tables, head| {
            index::forget(tables, &leaving)?;
            PastRequest::forget_cells(tables)?;
            head.ledger.revoked.extend(&known.revoked);
            head.ledger.revoked.sort_unstable();
            // Entries may have been lost with what was restored: no checkpoint that anybody has is contradicted.
            restart(tables, head, log, changes)?;
            ledger::carry_over(tables, &mut head.ledger, &earlier)?;
            if !again.is_empty() {
                let entry = Entry::new(clock::timestamp(clock::now()), Event::Removal(change));
                ledger::append(tables, &mut head.ledger, &entry)?;
            }
            known.releases.iter().try_for_each(|release| release.insert(tables))?;
            ledger::touch(tables, &mut head.history, removed_keys.iter().map(RowKeys::person))?;
            if releases_lost {
                ledger::count_one(tables, &mut head.history)?;
            }
            put(tables, "repairs", &repairs)
        })
    })?;
    Ok(model)
}

impl ModelDirectory {
    /// Overwrites the rows that left once more in every segment that is older than the database says. Rows that it does not
    /// have are an error, unless they are to be `dropped`.
    pub(in crate::directory) fn overwrite_restored_segments(&mut self, dropped: bool) -> Result<(), EngineError> {
        let expected = self.keeper.database.epochs()?;
        let found = self.rows.epochs();
        let differing: Vec<usize> = (0..found.len()).filter(|i| expected.get(*i) != Some(&found[*i])).collect();
        if differing.is_empty() {
            return Ok(());
        }
        let restored = differing.iter().any(|i| expected.get(*i).is_some_and(|epoch| found[*i] < *epoch));
        let mut purged = self.overwritten()?;
        purged.retain(|position| differing.contains(&self.rows.segment_of(*position)));
        if restored {
            // Told first: once the segments are stamped, nobody sees any more that they were old.
            let n_again = self.rows.count_written(&purged)?;
            let repairs = self.keeper.database.repairs_and(vec![OldPart::Rows], n_again, 0)?;
            self.keeper.database.commit(|tables| put(tables, "repairs", &repairs))?;
        }
        self.rows.purge(&purged)?;
        for segment in differing.iter().filter(|_| !dropped) {
            self.rows.verify(*segment)?;
        }
        self.rows.restamp(&differing, self.keeper.head.generation)?;
        let epochs = self.rows.epochs();
        self.keeper.database.commit(|tables| index::stamped(tables, &epochs))
    }

    /// Overwrites the places of removed rows once more in which something stands again.
    pub(in crate::directory) fn overwrite_again(&mut self) -> Result<(), EngineError> {
        let overwritten = self.overwritten()?;
        if self.rows.count_written(&overwritten)? > 0 {
            self.rows.purge(&overwritten)?;
        }
        Ok(())
    }

    /// Positions of removed rows whose places are zeros, if nothing happened to them.
    pub(in crate::directory) fn overwritten(&self) -> Result<Vec<usize>, EngineError> {
        let unpurged: BTreeSet<usize> = self.keeper.database.unpurged()?.into_iter().collect();
        let gone = self.keeper.database.gone(self.keeper.head.n_positions)?;
        Ok(gone.iter().filter(|position| !unpurged.contains(position)).collect())
    }
}

fn positions_of(database: &Database, removed: &BTreeSet<IdDigest>) -> Result<Vec<usize>, EngineError> {
    let mut positions = BTreeSet::new();
    for digest in removed {
        positions.extend(database.position_of(*digest)?);
        positions.extend(database.positions_of_subject(*digest)?);
    }
    Ok(positions.into_iter().collect())
}
