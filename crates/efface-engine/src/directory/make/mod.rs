//! Making a model directory: aside first, so that a killed process leaves no half of one under its name.

mod adopt;
mod import;
mod places;
mod report;
mod row_sink;
mod train;
mod unfinished;

pub(crate) use adopt::Adopted;
pub use report::{ClassRows, TrainReport, TrainedColumn};
pub use train::TrainRequest;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use efface_core::model::{Model, Phase};
use efface_data::{ReadProgress, Remark, StoredRows};
use efface_ledger::certificate::ReleasePolicy;
use zeroize::Zeroizing;

use self::unfinished::unfinished;
use super::DirectoryKeeper;
use super::certify::{log, signing};
use super::database::{Chain, Database, Head, LedgerHead, put};
use super::files::{self, NETWORKS, RELEASES, STATES};
use super::lock::{self, WriterLock};
use super::witness::{self, Memory, Witness};
use crate::error::{EngineError, StorageError};
use crate::history::{History, Kept};
use crate::life::Past;
use crate::settings::{Settings, fresh};

/// Where a model directory is made, and what belongs to it beside the model.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The model directory. Must not exist.
    pub out: PathBuf,
    /// The key that signs certificates; `None`: one of the directory's own.
    pub key: Option<PathBuf>,
    /// A file elsewhere that remembers what was removed. If it exists, rows that it knows were removed are left out of
    /// training; a model that was trained in memory cannot take it over.
    pub witness: Option<PathBuf>,
    /// When releases are made.
    pub policy: ReleasePolicy,
}

/// How training goes on.
#[derive(Clone, Debug)]
pub enum TrainProgress {
    /// What a training that was killed had left was removed.
    Cleared(PathBuf),
    /// Something about the rows that deserves a second look.
    Remark(Remark),
    /// Rows are being read.
    Reading(ReadProgress),
    /// The model is being trained.
    Training(Phase),
}

/// A model directory that has no name yet: removed again unless it is finished.
struct NewDirectory {
    place: Place,
    aside: PathBuf,
    lock: Option<WriterLock>,
    /// Held until the new model is in it: whatever an old one still tells it is read before or refused.
    witness: Option<(WriterLock, PathBuf)>,
    /// What killed trainings had left, and is gone.
    cleared: Vec<PathBuf>,
}

/// Rows on disk, in segments and index.
struct FilledRows {
    rows: StoredRows,
    database: Database,
}

impl NewDirectory {
    fn prepare(place: Place) -> Result<Self, EngineError> {
        if place.out.exists() {
            return Err(StorageError::Exists { path: place.out }.into());
        }
        if let Some(key) = &place.key {
            signing::named_key(key, None)?;
            log::absolute(key)?;
        }
        let witness = match place.witness.as_deref().map(|path| witness::place(path, &place.out)).transpose()? {
            None => None,
            Some(path) => Some((WriterLock::acquire_witness(&path, Duration::ZERO)?, path)),
        };
        let cleared = lock::remove_abandoned(&place.out);
        let aside = files::aside(&place.out);
        let mut unfinished = unfinished();
        let lock = Some(WriterLock::acquire_new(&aside)?);
        unfinished.push(aside.clone());
        drop(unfinished);
        let this = Self { place, aside, lock, witness, cleared };
        for folder in [RELEASES, STATES] {
            files::make_private_directory(&this.aside.join(folder))?;
        }
        Ok(this)
    }

    fn known(&self) -> Result<Option<Memory>, EngineError> {
        Ok(self.witness.as_ref().map(|(_, path)| Memory::recall(path)).transpose()?.flatten())
    }

    /// Writes the rest of the directory, and gives it its name. Its lock is still held.
    fn finish(
        mut self,
        filled: FilledRows,
        settings: &Settings,
        model: &Model,
        past: &Past,
    ) -> Result<WriterLock, EngineError> {
        let FilledRows { mut rows, database } = filled;
        if let Some(schema) = settings.schema.as_ref().filter(|schema| schema.has_networks()) {
            let folder = self.aside.join(NETWORKS);
            files::make_private_directory(&folder)?;
            schema.copy_networks(&folder)?;
            files::sync_directory(&folder)?;
        }
        let preparation = rows.preparation().cloned();
        let of = Kept { settings, model, preparation: preparation.as_ref() };
        let name = hex::encode(fresh::<16>()?);
        let class_counts = rows.count_classes(of.settings.n_classes())?;
        let head = Head {
            chain: Chain::start(&name),
            history: History { model: name, class_counts, n_people: 0, ..past.history.clone() },
            generation: 0,
            state: String::new(),
            n_listed: 0,
            n_positions: rows.len(),
            account: of.model.state().account,
            ledger: LedgerHead::default(),
            unnamed: Vec::new(),
        };
        let mut keeper = DirectoryKeeper::new(self.aside.clone(), database, head, None);
        rows.sync()?;
        keeper.commit_state(of, |tables, _| put(tables, "settings", of.settings))?;
        log::begin(&mut keeper, self.place.key.as_deref(), past)?;
        if self.place.policy != ReleasePolicy::default() {
            keeper.set_policy(of, self.place.policy)?;
        }
        keeper.commit_head(of, |_, _| Ok(()))?;
        keeper.purge(&mut rows)?;
        let witness = self.witness.take();
        let mut suppressed = Vec::new();
        if let Some((_, path)) = &witness {
            keeper.database.set_witness(path)?;
            keeper.database.truncate_log()?;
            suppressed = keeper.database.suppressed_after(0)?;
        }
        let head = keeper.head.clone();
        // Nothing in it is open any more but the lock: as long as that is held, nobody takes it for abandoned.
        drop((keeper, rows));
        let mut unfinished = unfinished();
        let out = &self.place.out;
        let name = || fs::rename(&self.aside, out).map_err(EngineError::io(out));
        // Nobody else can use the witness before the model that it knows is there.
        let told = match witness {
            None => name().map(|()| None),
            Some((lock, path)) => {
                let before = Before::of(&path)?;
                let told = Witness::create(&path, lock, of.settings, &head, &suppressed);
                let named = if told.is_ok() { name() } else { Ok(()) };
                if told.is_err() || named.is_err() {
                    before.put_back(&path);
                }
                named.and_then(|()| told.map(Some))
            }
        };
        let told = told?;
        unfinished.retain(|aside| *aside != self.aside);
        drop(unfinished);
        files::sync_parent(out)?;
        drop(told);
        self.lock.take().ok_or(EngineError::Storage(StorageError::Damaged))
    }
}

/// A witness as it was, which belongs to another model as long as the new one is not there.
struct Before(Option<Zeroizing<Vec<u8>>>);

impl Before {
    fn of(witness: &Path) -> Result<Self, EngineError> {
        Ok(Self(files::if_there(fs::read(witness), witness)?.map(Zeroizing::new)))
    }

    /// Best effort: the error that led here is the one to tell.
    fn put_back(&self, witness: &Path) {
        let _ = match &self.0 {
            Some(bytes) => files::replace(witness, bytes),
            None => fs::remove_file(witness).map_err(EngineError::io(witness)),
        };
    }
}

impl Drop for NewDirectory {
    fn drop(&mut self) {
        if self.lock.is_some() {
            let mut unfinished = unfinished();
            // Best effort: the directory is not a model yet.
            let _ = fs::remove_dir_all(&self.aside);
            unfinished.retain(|aside| *aside != self.aside);
        }
    }
}

/// Rows of a file are read so many bytes at a time.
const CHUNK_BYTES: usize = 8 << 20;

/// So many rows of these many values at a time. Of the widest rows a few take more: each chunk names its columns anew.
pub(crate) fn chunk_rows(dim: usize) -> usize {
    (CHUNK_BYTES / (8 * dim.max(1))).clamp(16, 65_536)
}
