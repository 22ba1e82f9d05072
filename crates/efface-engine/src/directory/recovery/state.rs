//! A state or rows that are not those of the database: what had been removed is removed again, and the model trained again.

use std::fs;
use std::path::Path;

use efface_core::model::{Model, ReleaseAccount, TrainingConfig, TrainingPlan};
use efface_core::noise::NoiseSource;
use efface_core::rows::RowStore;
use efface_data::{IdDigest, StoredRows};
use efface_ledger::entry::{Entry, Event};
use zeroize::Zeroizing;

use super::{most_spent, note, positions_of_removed};
use crate::clock;
use crate::directory::certify::log::{NewLog, restart};
use crate::directory::database::{Database, Head, Intent, Mending, index, ledger};
use crate::directory::files;
use crate::directory::open::Parts;
use crate::directory::state_file::StateFile;
use crate::directory::{DirectoryKeeper, ModelDirectory};
use crate::error::EngineError;
use crate::life::{Kept, RowKeys, absent_classes, check_is_bounded};
use crate::settings::Settings;

/// What state a directory has.
pub(in crate::directory) enum Found {
    /// The one that the database names.
    Current(Box<Model>),
    /// Another one, or none.
    Other(OtherState),
}

/// What is known from state files that are not the one the database names.
pub(in crate::directory) struct OtherState {
    found: &'static str,
    n_changes: u64,
    suppressed: Vec<IdDigest>,
    account: ReleaseAccount,
    /// Rows that the latest of them had.
    n_rows: usize,
}

impl OtherState {
    fn new(found: &'static str) -> Self {
        let account = ReleaseAccount::default();
        Self { found, n_changes: 0, suppressed: Vec::new(), account, n_rows: 0 }
    }

    fn learn(&mut self, state: StateFile) {
        if state.stamp.n_changes >= self.n_changes {
            self.n_changes = state.stamp.n_changes;
            self.n_rows = state.n_rows();
        }
        self.account = most_spent(self.account, state.account);
        self.suppressed.extend(state.suppressed);
    }
}

/// Looks for the state that the database names. A damaged file is an error; a whole one of another time is not.
pub(in crate::directory) fn find_state(
    path: &Path,
    database: &Database,
    head: &Head,
    settings: &Settings,
) -> Result<Found, EngineError> {
    let mut current = None;
    let mut others: Vec<StateFile> = Vec::new();
    for generation in files::state_generations(path)? {
        let file = files::state_path(path, generation);
        let bytes = Zeroizing::new(fs::read(&file).map_err(EngineError::io(&file))?);
        let state = StateFile::decode(&file, &bytes)?;
        if generation == head.generation && state.digest == head.state {
            current = Some((file, state));
        } else if state.stamp.model == head.history.model {
            others.push(state);
        }
    }
    let later = others.iter().any(|state| is_later(state, head));
    // A state knows no more removals than the database that named it.
    let forgetful = match &current {
        Some((_, state)) => database.n_suppressed()? < state.suppressed.len(),
        None => false,
    };
    match current {
        Some((file, state)) if !later && !forgetful => Ok(Found::Current(Box::new(state.model(&file, settings)?))),
        current => {
            let mut other = OtherState::new(match (later, forgetful, others.is_empty()) {
                (true, ..) => "the database was older than the state",
                (_, true, _) => "the database had forgotten removals that the state knows",
                (.., false) => "the state was not the one that the database names",
                (.., true) => "the state was missing",
            });
            others.into_iter().chain(current.map(|(_, state)| state)).for_each(|state| other.learn(state));
            Ok(Found::Other(other))
        }
    }
}

/// Whether a state knows of changes or releases that the database does not. A checkpoint that was cut short leaves the
/// next state, of changes that the database has as intents and of a release that was not published.
pub(in crate::directory) fn is_later(state: &StateFile, head: &Head) -> bool {
    state.stamp.n_changes > head.history.n_changes
        || state.stamp.generation > head.generation + 1 && state.account.n_releases > head.account.n_releases
}

/// Looks whether rows have been overwritten that database and state have as present: then both are older than the rows,
/// and those have been removed since.
pub(in crate::directory) fn find_newer_rows(
    database: &Database,
    rows: &StoredRows,
) -> Result<Option<OtherState>, EngineError> {
    let expected = database.epochs()?;
    if !rows.epochs().iter().zip(&expected).any(|(found, expected)| found > expected) {
        return Ok(None);
    }
    let purged = rows.purged_records()?;
    if purged.is_empty() {
        return Ok(None);
    }
    let mut other = OtherState::new("the database and the state were older than the rows");
    for keys in database.keys_at(&purged)? {
        other.suppressed.push(keys.id);
        if let Some(subject) = keys.subject
            && database.positions_of_subject(subject)?.iter().all(|position| purged.binary_search(position).is_ok())
        {
            other.suppressed.push(subject);
        }
    }
    Ok(Some(other))
}

/// Trains again on the rows that the database and everything else that is known leave.
pub(in crate::directory) fn train_again(parts: Parts, other: &OtherState) -> Result<ModelDirectory, EngineError> {
    let Parts { settings, mut rows, mut keeper, lock } = parts;
    let DirectoryKeeper { path, database, head, .. } = &mut keeper;
    let again = positions_of_removed(database, &other.suppressed)?;
    // Rows that were corrected after an old database was saved: it does not know where their new values are.
    rows.remove(&again)?;
    let lost = rows.purged_records()?;
    rows.remove(&lost)?;
    let leaving: Vec<usize> = again.iter().chain(&lost).copied().collect();
    let knows_more = other.n_changes > head.history.n_changes;
    head.history.n_changes = head.history.n_changes.max(other.n_changes) + 1;
    let intent = Intent { change: head.history.n_changes, removed: leaving.clone(), added: 0..0 };
    head.chain = head.chain.after(&intent, &database.keys_at(&leaving)?, &[]);
    head.history.n_removed += again.len();
    head.history.class_counts = rows.count_classes(head.history.class_counts.len())?;
    let releases_lost = other.account.n_releases > head.account.n_releases;
    head.account = most_spent(head.account, other.account);
    // Those that another part has counted already are counted twice: too many, never too few.
    head.account.n_left = head.account.n_left.saturating_add(leaving.len());
    let absent_classes = absent_classes(&head.history.class_counts).collect();
    let plan = TrainingPlan::new(TrainingConfig { absent_classes, ..settings.config.clone() })?;
    let trained = plan.train_again(&rows, &mut NoiseSource::from_system()?, &mut |_| {})?;
    check_is_bounded(&trained.model)?;
    let model = trained.model.with_account(head.account);
    // Rows that came after an old database was saved are lost as well: only the state had counted them.
    let n_lost = lost.len().max(if knows_more { other.n_rows.saturating_sub(rows.n_rows()) } else { 0 });
    let mended = note(database, other.found, again.len(), n_lost)?;
    // Suppressed before the state is written, which lists them.
    database.commit(|tables| {
        for digest in &other.suppressed {
            index::suppress(tables, *digest)?;
        }
        Ok(())
    })?;
    // A generation that no state file has had yet.
    let latest = files::state_generations(path)?.last().copied().unwrap_or(0);
    head.generation = head.generation.max(latest);
    let (removed_keys, asked_for) = (database.keys_at(&leaving)?, database.keys_at(&again)?);
    head.history.is_stale = true;
    // Rows that were lost were nobody's request. Those that leave again are a change of their own, and new in the log.
    let n_changes = head.history.n_changes;
    let change = settings.logged_change(n_changes, again.len(), &asked_for, None);
    let earlier = head.ledger.log.clone();
    let log = NewLog::new(&head.history.model, n_changes - u64::from(!again.is_empty()))?;
    keeper.commit_state(Kept { settings: &settings, model: &model }, |tables, head| {
        leaving.iter().try_for_each(|position| index::forget(tables, *position))?;
        // Entries may have been lost with what was restored: no checkpoint that anybody has is contradicted.
        restart(tables, head, &log)?;
        ledger::carry_over(tables, &mut head.ledger, &earlier)?;
        if !again.is_empty() {
            let entry = Entry::new(clock::timestamp(clock::now()), Event::Removal(change));
            ledger::append(tables, &mut head.ledger, &entry)?;
        }
        ledger::touch(tables, &mut head.history, removed_keys.iter().map(RowKeys::person))?;
        if releases_lost {
            ledger::count_one(tables, &mut head.history)?;
        }
        Mending::write_all(&mended, tables)
    })?;
    Ok(Parts { settings, rows, keeper, lock }.with_model(model))
}
