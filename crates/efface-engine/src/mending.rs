//! A directory of which a part, or all, was restored from an older backup: what had been removed is removed again.
//!
//! | older part | noticed by | mended by |
//! |---|---|---|
//! | row segments | the epoch in their header is behind the database | overwriting all rows that left once more |
//! | state | it is not the one that the database names | training again on the rows that are left |
//! | database and state | rows that they have as present are overwritten | removing those again, and training again |
//! | database | a state that knows a later change, or its own state gone | removing again what the state says was removed, and training again |
//! | all but the releases | a release that the account does not count | counting what its certificate says it spent |
//! | all but the withdrawals | one that the database does not know | counting it as withdrawn |
//! | everything | the witness knows more | removing again what the witness says was removed |
//!
//! What releases have spent is the most that any part remembers.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use efface_core::model::{Model, ReleaseAccount, TrainingConfig, TrainingPlan};
use efface_core::noise::NoiseSource;
use efface_core::rounding::UpperBound;
use efface_core::rows::RowStore;
use efface_data::{IdDigest, StoredRows};
use efface_ledger::entry::{Entry, Event};
use zeroize::Zeroizing;

use crate::database::{Database, Head, Intent, Mending, RowKeys, index, ledger, now, timestamp};
use crate::error::EngineError;
use crate::files;
use crate::found_releases::{self, FoundRelease};
use crate::ledger::{NewLog, restart};
use crate::model_directory::{ModelDirectory, Parts, check_is_bounded};
use crate::remaining::absent_classes;
use crate::settings::Settings;
use crate::state_file::StateFile;

/// What state a directory has.
pub(crate) enum Found {
    /// The one that the database names.
    Current(Box<Model>),
    /// Another one, or none.
    Other(OtherState),
}

/// What is known from state files that are not the one the database names.
pub(crate) struct OtherState {
    found: &'static str,
    sequence: u64,
    suppressed: Vec<IdDigest>,
    account: ReleaseAccount,
    /// Rows that the latest of them had.
    n_rows: usize,
}

impl OtherState {
    fn new(found: &'static str) -> Self {
        let account = ReleaseAccount::default();
        Self { found, sequence: 0, suppressed: Vec::new(), account, n_rows: 0 }
    }

    fn learn(&mut self, state: StateFile) {
        if state.stamp.sequence >= self.sequence {
            self.sequence = state.stamp.sequence;
            self.n_rows = state.n_rows();
        }
        self.account = most_spent(self.account, state.account);
        self.suppressed.extend(state.suppressed);
    }
}

/// Looks for the state that the database names. A damaged file is an error; a whole one of another time is not.
pub(crate) fn find_state(
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
        } else if state.stamp.model == head.model {
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
pub(crate) fn is_later(state: &StateFile, head: &Head) -> bool {
    state.stamp.sequence > head.sequence
        || state.stamp.generation > head.generation + 1 && state.account.n_releases > head.account.n_releases
}

/// Looks whether rows have been overwritten that database and state have as present: then both are older than the rows,
/// and those have been removed since.
pub(crate) fn find_newer_rows(database: &Database, rows: &StoredRows) -> Result<Option<OtherState>, EngineError> {
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
pub(crate) fn train_again(parts: Parts, other: &OtherState) -> Result<ModelDirectory, EngineError> {
    let Parts { path, settings, mut rows, mut database, mut head, witness, lock } = parts;
    let again = positions_of_removed(&database, &other.suppressed)?;
    // Rows that were corrected after an old database was saved: it does not know where their new values are.
    rows.remove(&again)?;
    let lost = rows.purged_records()?;
    rows.remove(&lost)?;
    let leaving: Vec<usize> = again.iter().chain(&lost).copied().collect();
    let knows_more = other.sequence > head.sequence;
    head.sequence = head.sequence.max(other.sequence) + 1;
    let intent = Intent { sequence: head.sequence, removed: leaving.clone(), added: 0..0 };
    head.chain = head.chain.after(&intent, &database.keys_at(&leaving)?, &[]);
    head.n_removed += again.len();
    head.class_counts = rows.count_classes(head.class_counts.len())?;
    let releases_lost = other.account.n_releases > head.account.n_releases;
    head.account = most_spent(head.account, other.account);
    // Those that another part has counted already are counted twice: too many, never too few.
    head.account.n_left = head.account.n_left.saturating_add(leaving.len());
    let absent_classes = absent_classes(&head.class_counts).collect();
    let plan = TrainingPlan::new(TrainingConfig { absent_classes, ..settings.config.clone() })?;
    let trained = plan.train_again(&rows, &mut NoiseSource::from_system()?, &mut |_| {})?;
    check_is_bounded(&trained.model)?;
    let model = trained.model.with_account(head.account);
    // Rows that came after an old database was saved are lost as well: only the state had counted them.
    let n_lost = lost.len().max(if knows_more { other.n_rows.saturating_sub(rows.n_rows()) } else { 0 });
    let mended = note(&database, other.found, again.len(), n_lost)?;
    // Suppressed before the state is written, which lists them.
    database.commit(|tables| {
        for digest in &other.suppressed {
            index::suppress(tables, *digest)?;
        }
        Ok(())
    })?;
    // A generation that no state file has had yet.
    let latest = files::state_generations(&path)?.last().copied().unwrap_or(0);
    head.generation = head.generation.max(latest);
    let (removed_keys, asked_for) = (database.keys_at(&leaving)?, database.keys_at(&again)?);
    let mut this = Parts { path, settings, rows, database, head, witness, lock }.with_model(model);
    // Rows that were lost were nobody's request. Those that leave again are a change of their own, and new in the log.
    let change = this.settings.logged_change(this.head.sequence, again.len(), &asked_for, None);
    let earlier = this.head.ledger.log.clone();
    let log = NewLog::new(&this.head.model, this.head.sequence - u64::from(!again.is_empty()))?;
    this.transaction(|this| {
        this.commit_state(|tables, head| {
            leaving.iter().try_for_each(|position| index::forget(tables, *position))?;
            // Entries may have been lost with what was restored: no checkpoint that anybody has is contradicted.
            restart(tables, head, &log)?;
            ledger::carry_over(tables, head, &earlier)?;
            if !again.is_empty() {
                ledger::append(tables, head, &Entry::new(timestamp(now()), Event::Removal(change)))?;
            }
            ledger::touch(tables, head, removed_keys.iter().map(RowKeys::person))?;
            if releases_lost {
                ledger::count_one(tables, head)?;
            }
            Mending::write_all(&mended, tables)
        })
    })?;
    Ok(this)
}

impl ModelDirectory {
    /// Overwrites the rows that left once more in every segment that is older than the database says.
    pub(crate) fn overwrite_restored_segments(&mut self) -> Result<(), EngineError> {
        let expected = self.database.epochs()?;
        let found = self.rows.epochs();
        let differing: Vec<usize> = (0..found.len()).filter(|i| expected.get(*i) != Some(&found[*i])).collect();
        if differing.is_empty() {
            return Ok(());
        }
        let restored = differing.iter().any(|i| expected.get(*i).is_some_and(|epoch| found[*i] < *epoch));
        let gone: Vec<usize> =
            self.database.gone()?.into_iter().filter(|p| differing.contains(&self.rows.segment_of(*p))).collect();
        let unpurged: BTreeSet<usize> = self.database.unpurged()?.into_iter().collect();
        let purged: Vec<usize> = gone.iter().copied().filter(|position| !unpurged.contains(position)).collect();
        if restored {
            // Told first: once the segments are stamped, nobody sees any more that they were old.
            let n_again = self.rows.count_written(&purged)?;
            let mended = note(&self.database, "row segments were older than the database", n_again, 0)?;
            self.database.commit(|tables| Mending::write_all(&mended, tables))?;
        }
        self.rows.purge(&purged)?;
        for segment in &differing {
            self.rows.verify(*segment)?;
        }
        self.rows.restamp(&differing, self.head.generation)?;
        let epochs = self.rows.epochs();
        self.database.commit(|tables| index::stamped(tables, &epochs))
    }

    /// Counts releases that are there under their names and not in the account: it was restored, they were not.
    pub(crate) fn count_found_releases(&mut self) -> Result<(), EngineError> {
        let found = found_releases::uncounted(&self.path, self.head.account.n_releases)?;
        if found.is_empty() {
            return Ok(());
        }
        let mut account = self.head.account;
        for FoundRelease { entry, total_distance } in &found {
            let (distance, total) = (UpperBound::new(entry.distance_bound), *total_distance);
            account.n_releases = entry.release;
            // Some in between may be gone: the total of the certificate counts them too.
            account.distance_squares = (account.distance_squares + distance.squared()).max(total.squared());
            account.distances = (account.distances + distance).max(total);
            account.certified &= entry.certified;
        }
        let mended = note(&self.database, "releases were newer than the database", 0, 0)?;
        let log = NewLog::new(&self.head.model, self.head.sequence)?;
        self.transaction(|this| {
            this.model = this.model.clone().with_account(account);
            this.commit_state(|tables, head| {
                found.iter().try_for_each(|found| found.entry.insert(tables))?;
                restart(tables, head, &log)?;
                ledger::count_one(tables, head)?;
                Mending::write_all(&mended, tables)
            })
        })
    }

    /// Removes again what the witness knows was removed, and spends what it knows was spent.
    ///
    /// The witness is told nothing before all of it is on the disk: cut short, it is done again from the beginning.
    pub(crate) fn catch_up_with_witness(&mut self) -> Result<(), EngineError> {
        let Some(witness) = &self.witness else { return Ok(()) };
        let memory = &witness.memory;
        let ledger = Some((self.head.ledger.log.clone(), self.head.ledger.size));
        let same_history =
            memory.chain == self.head.chain && memory.account == self.head.account && memory.ledger == ledger;
        if same_history && witness.memory.suppressed.len() == self.database.n_suppressed()? {
            return Ok(());
        }
        let memory = witness.memory.clone();
        let known: BTreeSet<IdDigest> = self.database.suppressed()?.into_iter().collect();
        let unknown: Vec<IdDigest> = memory.suppressed.difference(&known).copied().collect();
        let account = most_spent(self.head.account, memory.account);
        let forgot = memory.sequence > self.head.sequence || memory.knows_more_of(&self.head.ledger);
        if forgot || !unknown.is_empty() || account != self.head.account {
            let witness = self.witness.take();
            let done = self.follow_witness(memory.sequence, account, &unknown);
            self.witness = witness;
            done?;
        }
        let suppressed = self.database.suppressed()?;
        self.tell_witness(suppressed)
    }

    /// What was spent first, then who was removed: each step leaves less to be done.
    fn follow_witness(
        &mut self,
        sequence: u64,
        account: ReleaseAccount,
        unknown: &[IdDigest],
    ) -> Result<(), EngineError> {
        let again = positions_of_removed(&self.database, unknown)?;
        let mended = note(&self.database, "the directory was older than its witness", again.len(), 0)?;
        let releases_lost = account.n_releases > self.head.account.n_releases;
        self.head.sequence = self.head.sequence.max(sequence);
        let (log, earlier) = (NewLog::new(&self.head.model, self.head.sequence)?, self.head.ledger.log.clone());
        self.transaction(|this| {
            this.model = this.model.clone().with_account(account);
            this.commit_state(|tables, head| {
                restart(tables, head, &log)?;
                ledger::carry_over(tables, head, &earlier)?;
                Mending::write_all(&mended, tables)
            })?;
            if !again.is_empty() {
                this.remove_positions(&again, 0, None)?;
            }
            let mut head = this.head.clone();
            this.database.commit(|tables| {
                if releases_lost {
                    ledger::count_one(tables, &mut head.ledger)?;
                    head.write(tables)?;
                }
                unknown.iter().try_for_each(|digest| index::suppress(tables, *digest))
            })?;
            this.head = head;
            Ok(())
        })?;
        self.checkpoint()
    }

    /// Lets the witness know what it does not know yet.
    pub(crate) fn tell_witness(&mut self, removed: impl IntoIterator<Item = IdDigest>) -> Result<(), EngineError> {
        match &mut self.witness {
            None => Ok(()),
            Some(witness) => witness
                .follow(&self.head, removed)
                .map_err(|error| EngineError::WitnessBehind { path: witness.path().into(), source: Box::new(error) }),
        }
    }
}

/// Where rows are that ought to have gone.
fn positions_of_removed(database: &Database, suppressed: &[IdDigest]) -> Result<Vec<usize>, EngineError> {
    let mut positions = BTreeSet::new();
    for digest in suppressed {
        positions.extend(database.position_of(*digest)?);
        positions.extend(database.positions_of_subject(*digest)?);
    }
    Ok(positions.into_iter().collect())
}

pub(crate) fn most_spent(one: ReleaseAccount, other: ReleaseAccount) -> ReleaseAccount {
    ReleaseAccount {
        n_releases: one.n_releases.max(other.n_releases),
        distance_squares: one.distance_squares.max(other.distance_squares),
        distances: one.distances.max(other.distances),
        certified: one.certified && other.certified,
        n_left: one.n_left.max(other.n_left),
    }
}

/// What was mended so far and now.
pub(crate) fn note(
    database: &Database,
    found: &str,
    n_removed_again: usize,
    n_lost: usize,
) -> Result<Vec<Mending>, EngineError> {
    let mut mended = database.mended()?;
    mended.push(Mending { time: now(), found: found.into(), n_removed_again, n_lost });
    Ok(mended)
}
