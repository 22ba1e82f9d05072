//! Making a model directory: aside first, so that a killed process leaves no half of one under its name.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use efface_core::model::Model;
use efface_core::noise::NoiseSource;
use efface_data::StoredRows;
use efface_ledger::certificate::ReleasePolicy;

use crate::database::{Chain, Database, Head, LedgerHead};
use crate::error::EngineError;
use crate::files::{self, RELEASES, STATES};
use crate::ledger;
use crate::lock::WriterLock;
use crate::model_directory::{ModelDirectory, Parts};
use crate::past::AdoptedPast;
use crate::settings::Settings;
use crate::signing;
use crate::witness::{self, Memory, Witness};

/// Where a model directory is made, and what belongs to it beside the model.
pub(crate) struct NewDirectory {
    /// Must not exist.
    pub(crate) out: PathBuf,
    /// The key that signs certificates; `None`: one of the directory's own.
    pub(crate) key: Option<PathBuf>,
    /// A file elsewhere that remembers what was removed.
    pub(crate) witness: Option<PathBuf>,
    /// When releases are made.
    pub(crate) policy: ReleasePolicy,
}

/// A model, its rows and its settings, of which a directory is made.
pub(crate) struct Beginning {
    pub(crate) settings: Settings,
    pub(crate) rows: StoredRows,
    pub(crate) database: Database,
    pub(crate) model: Model,
    /// What happened before.
    pub(crate) past: AdoptedPast,
}

impl NewDirectory {
    /// Makes the directory of what `fill` puts into a folder aside, which also gets what a witness that exists knows. The
    /// lock of the directory is still held.
    pub(crate) fn make<T>(
        &self,
        fill: impl FnOnce(&Path, Option<Memory>) -> Result<(Beginning, T), EngineError>,
    ) -> Result<(T, WriterLock), EngineError> {
        if self.out.exists() {
            return Err(EngineError::Exists { path: self.out.clone() });
        }
        if let Some(key) = &self.key {
            signing::named_key(key, None)?;
        }
        let witness = self.witness.as_deref().map(|path| witness::place(path, &self.out)).transpose()?;
        // Held until the new model is in it: whatever an old one still tells it is read before or refused.
        let witness = witness.map(locked).transpose()?;
        let known = witness.as_ref().map(|(path, _)| Memory::recall(path)).transpose()?.flatten();
        files::remove_abandoned(&self.out);
        let aside = files::aside(&self.out);
        let made = self.begin(&aside, |aside| fill(aside, known)).and_then(|(directory, made)| {
            let lock = publish(directory, witness, &self.out)?;
            Ok((made, lock))
        });
        if made.is_err() {
            // Best effort: the directory is not a model yet.
            let _ = fs::remove_dir_all(&aside);
        }
        made
    }

    /// Writes a whole model directory at `aside`.
    fn begin<T>(
        &self,
        aside: &Path,
        fill: impl FnOnce(&Path) -> Result<(Beginning, T), EngineError>,
    ) -> Result<(ModelDirectory, T), EngineError> {
        let lock = WriterLock::acquire_new(aside)?;
        for folder in [RELEASES, STATES] {
            files::make_private_directory(&aside.join(folder))?;
        }
        let (Beginning { settings, rows, database, model, past }, made) = fill(aside)?;
        let mut name = [0; 16];
        NoiseSource::from_system()?.fill(&mut name);
        let name = hex::encode(name);
        let head = Head {
            sequence: past.n_changes(),
            chain: Chain::start(&name),
            model: name,
            generation: 0,
            state: String::new(),
            n_positions: rows.len(),
            class_counts: rows.count_classes(settings.n_classes())?,
            n_removed: past.n_removed,
            n_suppressed: past.n_suppressed,
            account: model.state().account,
            ledger: LedgerHead::default(),
        };
        let parts = Parts { path: aside.into(), settings, rows, database, head, witness: None, lock };
        let mut directory = parts.with_model(model);
        directory.start()?;
        let ModelDirectory { path, database, head, .. } = &mut directory;
        ledger::begin(path, database, head, self.key.as_deref(), &past)?;
        if self.policy != ReleasePolicy::default() {
            directory.set_policy(self.policy)?;
        }
        directory.correct_status()?;
        directory.purge()?;
        Ok((directory, made))
    }
}

impl ModelDirectory {
    /// Writes the settings and the first checkpoint.
    pub(crate) fn start(&mut self) -> Result<(), EngineError> {
        let settings = self.settings.clone();
        self.rows.sync()?;
        self.transaction(|this| this.commit_state(|tables, _| settings.write(tables)))?;
        self.purge()
    }
}

/// The place of a witness, and its lock.
fn locked(path: PathBuf) -> Result<(PathBuf, WriterLock), EngineError> {
    let lock = WriterLock::acquire_witness(&path, Duration::ZERO)?;
    Ok((path, lock))
}

/// Gives a directory its name, once nothing in it is open but the lock: as long as that is held, nobody takes the
/// directory for abandoned.
fn publish(
    mut directory: ModelDirectory,
    witness: Option<(PathBuf, WriterLock)>,
    out: &Path,
) -> Result<WriterLock, EngineError> {
    let mut told = None;
    if let Some((path, lock)) = witness {
        directory.database.set_witness(&path)?;
        directory.database.truncate_log()?;
        let suppressed = directory.database.suppressed()?;
        told = Some(Witness::create(&path, lock, &directory.settings, &directory.head, suppressed)?);
    }
    let ModelDirectory { path, database, rows, _lock: lock, .. } = directory;
    drop((database, rows));
    fs::rename(&path, out).map_err(EngineError::io(out))?;
    files::sync_parent(out)?;
    // Nobody else could use the witness before the model that it knows was there.
    drop(told);
    Ok(lock)
}
