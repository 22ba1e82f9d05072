//! A model directory: made by training, opened by every later operation, and never half changed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use efface_core::model::Model;
use efface_core::removal::Change;
use efface_core::rows::{RowCount, RowStore, WeightSum};
use efface_data::StoredRows;

use crate::database::{Database, Head, Intent, Mending};
use crate::error::EngineError;
use crate::files::{self, DATABASE, RELEASES, ROWS, STATES};
use crate::lock::WriterLock;
use crate::memory;
use crate::mending::{self, Found};
use crate::releases;
use crate::revocation;
use crate::settings::Settings;
use crate::signing::{self, Passphrase};
use crate::status::Status;
use crate::witness::{self, Witness};

/// A model on disk, opened for changing. Exactly one process can have it open.
///
/// A change is durable when its call returns. The bytes of rows that left are overwritten by the next
/// [checkpoint](Self::checkpoint), which [`close`](Self::close) makes; a model that is dropped without it makes it when it
/// is next opened.
pub struct ModelDirectory {
    pub(crate) path: PathBuf,
    pub(crate) settings: Settings,
    pub(crate) model: Model,
    pub(crate) rows: StoredRows,
    pub(crate) database: Database,
    pub(crate) head: Head,
    pub(crate) witness: Option<Witness>,
    /// What the key that signs is protected with.
    pub(crate) passphrase: Option<Passphrase>,
    /// Changes since the latest checkpoint.
    pub(crate) n_intents: usize,
    /// What was mended when it was opened.
    mended: Vec<Mending>,
    /// Set while an operation is under way, and left set by one that fails half-way in memory.
    damaged: bool,
    pub(crate) _lock: WriterLock,
}

/// A model directory that is being made or opened: all of it but the model.
pub(crate) struct Parts {
    pub(crate) path: PathBuf,
    pub(crate) settings: Settings,
    pub(crate) rows: StoredRows,
    pub(crate) database: Database,
    pub(crate) head: Head,
    pub(crate) witness: Option<Witness>,
    pub(crate) lock: WriterLock,
}

impl Parts {
    pub(crate) fn with_model(self, model: Model) -> ModelDirectory {
        let Self { path, settings, rows, database, head, witness, lock } = self;
        ModelDirectory {
            path,
            settings,
            model,
            rows,
            database,
            head,
            witness,
            passphrase: None,
            n_intents: 0,
            mended: Vec::new(),
            damaged: false,
            _lock: lock,
        }
    }
}

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
}

impl ModelDirectory {
    /// Opens a model for changing, as it was opened before.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, EngineError> {
        Self::open_with(path, &OpenOptions::default())
    }

    /// Opens a model for changing: takes the lock, finishes what a crash left undone, and mends what an old backup
    /// brought back.
    pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self, EngineError> {
        Self::open_at(path.as_ref(), options).map_err(|error| match error {
            EngineError::PurgePending { source } | EngineError::WitnessBehind { source, .. } => {
                EngineError::Unfinished { source }
            }
            other => other,
        })
    }

    fn open_at(path: &Path, options: &OpenOptions) -> Result<Self, EngineError> {
        check_is_model(path)?;
        let lock = WriterLock::acquire_within(path, options.wait)?;
        Self::open_locked(path, lock, options)
    }

    /// The same for a directory whose lock is held.
    pub(crate) fn open_locked(path: &Path, lock: WriterLock, options: &OpenOptions) -> Result<Self, EngineError> {
        for folder in [STATES, RELEASES] {
            files::make_private_directory(&path.join(folder))?;
        }
        let mut database = Database::open(path)?;
        let n_mended = database.mended()?.len();
        let (settings, head) = (database.settings()?, database.head()?);
        signing::make_own_key_private(path)?;
        let witness = open_witness(path, &mut database, &settings, &head, options)?;
        let intents = database.intents()?;
        check_intents(path, &head, &intents)?;
        let memory_bytes = options.memory_bytes.unwrap_or_else(memory::default_bytes);
        let mut found = mending::find_state(path, &database, &head, &settings)?;
        let replayed = if matches!(found, Found::Current(_)) { &intents[..] } else { &[] };
        let weight_sum = if let Found::Current(model) = &found { Some(model.state().count.weight_sum) } else { None };
        let opening = RowsToOpen { path, settings: &settings, database: &database, head: &head, memory_bytes };
        let mut rows = opening.open(replayed, weight_sum)?;
        if matches!(found, Found::Current(_))
            && let Some(newer) = mending::find_newer_rows(&database, &rows)?
        {
            rows = opening.open(&[], None)?;
            found = Found::Other(newer);
        }
        let parts = Parts { path: path.into(), settings, rows, database, head, witness, lock };
        let mut this = match found {
            Found::Current(model) => {
                let mut this = parts.with_model(*model);
                this.replay(&intents)?;
                this
            }
            Found::Other(other) => mending::train_again(parts, &other)?,
        };
        this.overwrite_restored_segments()?;
        this.check_counts()?;
        this.passphrase.clone_from(&options.passphrase);
        releases::finish_publication(&this.path, this.head.account.n_releases)?;
        revocation::finish(&this.path, this.head.account.n_releases, &this.head.ledger.revoked)?;
        this.count_found_releases()?;
        this.count_found_revocations()?;
        this.catch_up_with_witness()?;
        this.sign_with(options.key.as_deref())?;
        this.checkpoint()?;
        this.mended = this.database.mended()?.split_off(n_mended);
        this.correct_status()?;
        Ok(this)
    }

    /// What was not as it was left when the directory was opened, and was put right.
    pub fn mended_at_opening(&self) -> &[Mending] {
        &self.mended
    }

    /// Releases so far.
    pub fn n_releases(&self) -> usize {
        self.head.account.n_releases
    }

    /// Makes a checkpoint and lets go of the directory.
    pub fn close(mut self) -> Result<(), EngineError> {
        self.checkpoint()
    }

    /// Number of rows present.
    pub fn n_rows(&self) -> usize {
        self.model.state().count.n_rows
    }

    /// Runs an operation that changes the model in memory and commits it. If it fails half-way, the directory is as
    /// before and this handle is not to be used again.
    pub(crate) fn transaction<T>(
        &mut self,
        operation: impl FnOnce(&mut Self) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        if self.damaged {
            return Err(EngineError::Damaged);
        }
        self.damaged = true;
        let done = operation(self)?;
        self.damaged = false;
        Ok(done)
    }

    pub(crate) fn is_damaged(&self) -> bool {
        self.damaged
    }

    /// Takes the steps again that were taken since the latest checkpoint.
    fn replay(&mut self, intents: &[Intent]) -> Result<(), EngineError> {
        for Intent { removed, added, .. } in intents {
            self.n_intents += 1;
            let leaving = self.rows.batch(removed)?;
            self.rows.remove(removed)?;
            self.rows.admit(added.clone())?;
            let arriving = self.rows.batch(&added.clone().collect::<Vec<_>>())?;
            let change = Change {
                removed: (!removed.is_empty()).then_some(&leaving as _),
                added: (!added.is_empty()).then_some(&arriving as _),
            };
            self.model.change(&change, &self.rows)?;
        }
        // A class that has gone does not come back, so it is enough to look at what is left.
        self.settings.drop_classes(&mut self.model, &self.head.class_counts);
        Ok(())
    }

    /// The status is read without the state that it is taken from. Written again if it was damaged and does not say what
    /// that says.
    pub(crate) fn correct_status(&mut self) -> Result<(), EngineError> {
        // The other half of what a status is made of: a database that cannot tell it is damaged.
        self.database.latest_release()?;
        let status = Status::of(&self.settings, &self.model, &self.head);
        if self.database.has_status(&status)? { Ok(()) } else { self.database.commit(|tables| status.write(tables)) }
    }

    fn check_counts(&self) -> Result<(), EngineError> {
        let found = RowCount { n_rows: self.rows.n_rows(), weight_sum: self.rows.weight_sum() };
        let expected = self.model.state().count;
        if found == expected {
            return Ok(());
        }
        let reason = format!("{} are present where the state counts {}", in_words(found), in_words(expected));
        Err(EngineError::BadState { path: self.path.clone(), reason })
    }
}

/// So many rows, and what they weigh where they do not count once each.
pub(crate) fn in_words(RowCount { n_rows, weight_sum }: RowCount) -> String {
    if weight_sum == WeightSum::of_rows(n_rows) {
        return format!("{n_rows} rows");
    }
    format!("{n_rows} rows of weight {}", weight_sum.get())
}

/// Fails closed: a model of which nothing can be claimed is neither kept nor published.
pub(crate) fn check_is_bounded(model: &Model) -> Result<(), EngineError> {
    if model.claim().distance_bound.is_finite() {
        return Ok(());
    }
    let plan = model.plan();
    Err(EngineError::Unbounded { l2_per_row: plan.config().l2_per_row, noise_std: plan.noise_std() })
}

/// Whether there is a model at a path.
pub(crate) fn check_is_model(path: &Path) -> Result<(), EngineError> {
    let database = path.join(DATABASE);
    match fs::metadata(&database) {
        Ok(file) if file.is_file() => Ok(()),
        Err(source) if source.kind() == std::io::ErrorKind::PermissionDenied => {
            Err(EngineError::Io { path: database, source })
        }
        _ => Err(EngineError::NotAModel { path: path.into() }),
    }
}

/// Whether intents speak of positions that count.
fn check_intents(path: &Path, head: &Head, intents: &[Intent]) -> Result<(), EngineError> {
    let last = |intent: &Intent| intent.removed.iter().map(|position| position + 1).max().unwrap_or(0);
    match intents.iter().find(|intent| last(intent).max(intent.added.end) > head.n_positions) {
        None => Ok(()),
        Some(intent) => {
            let (found, limit) = (last(intent).max(intent.added.end), head.n_positions);
            let reason = format!("change {} speaks of position {found} of {limit}", intent.sequence);
            Err(EngineError::BadState { path: path.join(DATABASE), reason })
        }
    }
}

/// What rows are opened by.
struct RowsToOpen<'a> {
    path: &'a Path,
    settings: &'a Settings,
    database: &'a Database,
    head: &'a Head,
    memory_bytes: u64,
}

impl RowsToOpen<'_> {
    /// Opens the rows as they were at the latest checkpoint: without the `intents` that came after it. `weight_sum` is what
    /// they weighed then, from the state; `None`: they are weighed.
    fn open(&self, intents: &[Intent], weight_sum: Option<WeightSum>) -> Result<StoredRows, EngineError> {
        let Self { path, settings, database, head, memory_bytes } = *self;
        let mut gone: BTreeSet<usize> = database.gone()?.into_iter().collect();
        for position in intents.iter().flat_map(|intent| &intent.removed) {
            gone.remove(position);
        }
        for Intent { added, .. } in intents {
            gone.extend(added.clone());
        }
        let bound = settings.transform.row_norm_bound();
        let mut rows = StoredRows::open(&path.join(ROWS), bound, memory_bytes, head.n_positions, gone, weight_sum)?;
        let (dim, precision) = (settings.transform.model_dim(settings.features.len()), settings.precision);
        let weighted = settings.max_row_weight.is_some();
        let layout = rows.layout();
        if (layout.dim, layout.precision, layout.weighted) != (dim, precision, weighted) {
            let with = if weighted { "with" } else { "without" };
            let reason = format!("{layout}, expected {dim} values in {precision}, {with} weights");
            return Err(EngineError::BadState { path: path.join(ROWS), reason });
        }
        // Rows that were written and never committed go.
        rows.truncate(head.n_positions)?;
        Ok(rows)
    }
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
        return Err(EngineError::NoWitness { path });
    }
    // Locked before it is read: what another copy of the directory does is known to this one or not begun yet.
    let lock = WriterLock::acquire_witness(&path, options.wait)?;
    let witness = if path.exists() {
        Witness::open(&path, lock)?
    } else {
        Witness::create(&path, lock, settings, head, database.suppressed()?)?
    };
    if witness.memory.model != head.model {
        return Err(EngineError::ForeignWitness { path });
    }
    if known.as_deref() != Some(&*path) {
        database.set_witness(&path)?;
    }
    files::sync_parent(&path)?;
    Ok(Some(witness))
}
