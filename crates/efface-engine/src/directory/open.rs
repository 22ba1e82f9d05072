//! Opening a model directory: the lock is taken, and whatever a crash or an old backup left is put right, step by step.

use std::path::{Path, PathBuf};
use std::time::Duration;

use efface_core::model::Model;
use efface_core::removal::Change;
use efface_core::rows::{RowCount, RowStore, WeightSum};
use efface_data::derived::Preparation;
use efface_data::{Access, StoredRows};

use super::certify::signing::Passphrase;
use super::certify::{publication, revocation};
use super::database::{Database, Head, Intent};
use super::files::{self, DATABASE, RELEASES, ROWS, STATES, check_is_model};
use super::lock::WriterLock;
use super::recovery::{self, Known};
use super::row_memory;
use super::witness::{self, Witness};
use super::{DirectoryKeeper, ModelDirectory};
use crate::error::{EngineError, OpenError, StorageError};
use crate::life::{in_words, train_again};
use crate::settings::{Settings, absent_classes};

/// How a model is opened.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// Rows are held in memory up to so many bytes; `None`: a quarter of the machine's memory.
    pub memory_bytes: Option<u64>,
    /// A file elsewhere that remembers what was removed; `None`: the one that the model was opened with before, if any.
    pub witness: Option<PathBuf>,
    /// The key that signs from now on; `None`: the one that signed before, at first the directory's own.
    pub key: Option<PathBuf>,
    /// What that key is protected with.
    pub passphrase: Option<Passphrase>,
    /// How long to wait for another process that has the directory, or its witness, open.
    pub wait: Duration,
    /// Rows that were cut off the end of a file count as damaged, and can be [dropped](crate::Selection::Damaged);
    /// otherwise such a file is an error.
    pub salvage: bool,
}

impl ModelDirectory {
    /// Opens a model for changing, as it was opened before.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, EngineError> {
        Self::open_with(path, &OpenOptions::default())
    }

    /// Opens a model for changing: takes the lock, finishes what a crash left undone, and repairs what an old backup
    /// brought back.
    pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self, EngineError> {
        let path = path.as_ref();
        check_is_model(path)?;
        let lock = WriterLock::acquire(path, options.wait)?;
        Self::open_locked(path, lock, options).map_err(|error| match error {
            EngineError::Storage(
                StorageError::PurgePending { source } | StorageError::WitnessBehind { source, .. },
            ) => EngineError::Storage(StorageError::Unfinished { source }),
            other => other,
        })
    }

    /// The same for a directory whose lock is held. Each step relies on those before it:
    ///
    /// | step | after it |
    /// |---|---|
    /// | `publication::finish`, `revocation::finish` | releases and withdrawals that count have their names |
    /// | `Known` | what any part knows and the database does not is gathered |
    /// | `replay`, or `repair` where there is such | the model is that of the rows that the database has |
    /// | `overwrite_restored_segments` | no segment is older than the database |
    /// | `check_counts` | model and rows count the same |
    /// | `catch_up_witness` | the witness knows what the directory knows |
    /// | `sign_with` | the key that was named signs |
    /// | `checkpoint` | all of it is on the disk |
    pub(super) fn open_locked(path: &Path, lock: WriterLock, options: &OpenOptions) -> Result<Self, EngineError> {
        for folder in [STATES, RELEASES] {
            files::make_private_directory(&path.join(folder))?;
        }
        files::close_to_others(path);
        let mut database = Database::open(path)?;
        let (settings, head, n_repairs) =
            (database.settings()?.with_networks_in(path), database.head()?, database.repairs()?.len());
        let witness = open_witness(path, &mut database, &settings, &head, options)?;
        let intents = database.intents()?;
        check_intents(path, &head, &intents)?;
        publication::finish(path, head.account.n_releases)?;
        revocation::finish(path, head.account.n_releases, &head.ledger.revoked)?;

        let mut known = Known::gather(path, &database, &head, witness.as_ref().map(|witness| &witness.memory))?;
        let mut current = known.current_model(path, &database, &head, &settings)?;
        let open_rows = |current: Option<&(Model, Option<Preparation>)>| {
            let weight_sum = current.map(|(model, _)| model.state().count.weight_sum);
            let intents = if current.is_some() { &intents[..] } else { &[] };
            let preparation = match current {
                Some((_, preparation)) => preparation.clone(),
                None => settings.no_rows_prepared(database.texts()?),
            };
            let access = if options.salvage { Access::Salvage } else { Access::Change };
            let rows = open_rows(path, &settings, &database, &head, options, intents, weight_sum, access)?;
            Ok::<_, EngineError>(rows.prepared(preparation))
        };
        let mut rows = open_rows(current.as_ref())?;
        // Rows that were written and never committed go.
        rows.truncate(head.n_positions)?;
        if known.ask_rows(&database, &rows)? && current.is_some() {
            (current, rows) = (None, open_rows(None)?);
        }
        let mut keeper = DirectoryKeeper::new(path.into(), database, head, witness);
        keeper.passphrase.clone_from(&options.passphrase);
        let (model, replayed) = if let Some((model, _)) = current {
            (model, &*intents)
        } else {
            known.check_complete(path, &keeper.database)?;
            (recovery::repair(&settings, &mut rows, &mut keeper, &known)?, &[][..])
        };
        let mut this = Self { settings, model, rows, keeper, repairs: Vec::new(), _lock: Some(lock) };
        this.replay(replayed)?;
        this.overwrite_restored_segments(options.salvage)?;
        this.check_counts()?;
        this.keeper.catch_up_witness()?;
        this.sign_with(options.key.as_deref())?;
        this.checkpoint()?;
        this.repairs = this.keeper.database.repairs()?.split_off(n_repairs);
        Ok(this)
    }

    /// Opens a model to look at it, also where nothing can be written. No file is changed and nothing is repaired: what a
    /// crash left undone is done in memory only, and parts that do not belong together are an error.
    pub fn open_to_read(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self, EngineError> {
        let path = path.as_ref();
        check_is_model(path)?;
        let lock = WriterLock::acquire_to_read(path, options.wait)?;
        let database = Database::open_still(path)?;
        let (settings, head, intents) = (database.settings()?, database.head()?, database.intents()?);
        check_intents(path, &head, &intents)?;
        let mut known = Known::gather(path, &database, &head, None)?;
        let (model, preparation) =
            known.current_model(path, &database, &head, &settings)?.ok_or_else(|| known.out_of_step(path))?;
        let weight_sum = Some(model.state().count.weight_sum);
        let rows = open_rows(path, &settings, &database, &head, options, &intents, weight_sum, Access::Read)?;
        let rows = rows.prepared(preparation);
        let keeper = DirectoryKeeper::new(path.into(), database, head, None);
        let mut this = Self { settings, model, rows, keeper, repairs: Vec::new(), _lock: lock };
        this.replay(&intents)?;
        this.check_counts()?;
        Ok(this)
    }

    /// Takes the steps again that were taken since the latest checkpoint.
    fn replay(&mut self, intents: &[Intent]) -> Result<(), EngineError> {
        let mut is_damaged = false;
        for Intent { removed, added, texts, .. } in intents {
            self.keeper.n_intents += 1;
            let leaving = self.rows.batch(removed);
            self.rows.remove(removed)?;
            self.rows.admit(added.clone(), texts)?;
            let leaving = match leaving {
                Ok(leaving) if !is_damaged => leaving,
                Err(error) if error.damaged_row().is_none() => return Err(error.into()),
                _ => {
                    is_damaged = true;
                    continue;
                }
            };
            let arriving = self.rows.batch(&added.clone().collect::<Vec<_>>())?;
            let change = Change {
                removed: (!removed.is_empty()).then_some(&leaving as _),
                added: (!added.is_empty()).then_some(&arriving as _),
            };
            self.model.change(&change, &self.rows)?;
        }
        let class_counts = &self.keeper.head.history.class_counts;
        if is_damaged || self.model.plan().must_train_without(absent_classes(class_counts)) {
            // Rows left that nobody knows any more, or the last ones of a class: the model was trained again when they did.
            let class_counts = self.rows.recount(self.settings.n_classes())?;
            self.rows.derive()?;
            self.model = train_again(&self.settings, &self.rows, &class_counts, self.keeper.head.account)?;
        }
        // A class that has gone does not come back, so it is enough to look at what is left.
        self.model.drop_classes(absent_classes(&self.keeper.head.history.class_counts));
        Ok(())
    }

    fn check_counts(&self) -> Result<(), EngineError> {
        let found = RowCount { n_rows: self.rows.n_rows(), weight_sum: self.rows.weight_sum() };
        let expected = self.model.state().count;
        if found == expected {
            return Ok(());
        }
        let reason = format!("{} are present where the state counts {}", in_words(found), in_words(expected));
        Err(OpenError::BadState { path: self.keeper.path.clone(), reason }.into())
    }
}

fn check_intents(path: &Path, head: &Head, intents: &[Intent]) -> Result<(), EngineError> {
    let last = |intent: &Intent| intent.removed.iter().map(|position| position + 1).max().unwrap_or(0);
    match intents.iter().find(|intent| last(intent).max(intent.added.end) > head.n_positions) {
        None => Ok(()),
        Some(intent) => {
            let (found, limit) = (last(intent).max(intent.added.end), head.n_positions);
            let reason = format!("change {} refers to position {found} of {limit}", intent.change);
            Err(OpenError::BadState { path: path.join(DATABASE), reason }.into())
        }
    }
}

/// Opens the rows as they were at the latest checkpoint: without the `intents` that came after it. `weight_sum` is what
/// they weighed then, from the state; `None`: they are weighed.
#[expect(clippy::too_many_arguments, reason = "what is known of the rows is kept in five places")]
fn open_rows(
    path: &Path,
    settings: &Settings,
    database: &Database,
    head: &Head,
    options: &OpenOptions,
    intents: &[Intent],
    weight_sum: Option<WeightSum>,
    access: Access,
) -> Result<StoredRows, EngineError> {
    let n_positions = head.n_positions;
    let mut gone = database.gone(n_positions)?;
    for position in intents.iter().flat_map(|intent| &intent.removed) {
        gone.remove(*position);
    }
    for Intent { added, .. } in intents {
        gone.extend(added.clone());
    }
    let memory = options.memory_bytes.unwrap_or_else(row_memory::default_bytes);
    let bound = settings.transform.row_norm_bound();
    let rows = StoredRows::open(access, &path.join(ROWS), bound, memory, n_positions, gone, weight_sum)?;
    let (dim, precision) = (settings.transform.kept().model_dim(settings.features.len()), settings.precision);
    let weighted = settings.max_row_weight.is_some();
    let layout = rows.layout();
    if (layout.dim, layout.precision, layout.weighted) != (dim, precision, weighted) {
        let with = if weighted { "with" } else { "without" };
        let reason = format!("{layout}, expected {dim} values in {precision}, {with} weights");
        return Err(OpenError::BadState { path: path.join(ROWS), reason }.into());
    }
    Ok(rows)
}

/// The witness that was named, or else the one that the model has; made where a new one is named.
fn open_witness(
    directory: &Path,
    database: &mut Database,
    settings: &Settings,
    head: &Head,
    options: &OpenOptions,
) -> Result<Option<Witness>, EngineError> {
    let known = database.witness()?;
    let named = options.witness.as_deref().map(|path| witness::place(path, directory)).transpose()?;
    let Some(path) = named.clone().or_else(|| known.clone()) else { return Ok(None) };
    // One that was there and is not any more is missed, also when it is named again.
    let is_new = named.is_some() && named != known;
    if !is_new && !path.exists() {
        return Err(OpenError::NoWitness { path }.into());
    }
    // Locked before it is read: what another copy of the directory does is known to this one or not begun yet.
    let lock = WriterLock::acquire_witness(&path, options.wait)?;
    let witness = if path.exists() {
        Witness::open(&path, lock)?
    } else {
        Witness::create(&path, lock, settings, head, &database.suppressed_after(0)?)?
    };
    if witness.memory.model != head.history.model {
        return Err(OpenError::ForeignWitness { path }.into());
    }
    if known.as_deref() != Some(&*path) {
        database.set_witness(&path)?;
    }
    files::sync_parent(&path)?;
    Ok(Some(witness))
}
