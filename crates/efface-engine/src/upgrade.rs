//! Model directories of version 1, with `state.efface` and `rows.bin`, become directories of this version when they are
//! opened for changing.
//!
//! Everything new is written beside the old files, which count until `state.efface` is removed: a crash before that
//! begins anew, and after it only `rows.bin` is left to be removed.

use std::fs;
use std::path::Path;

use efface_core::model::Model;
use efface_core::noise::NoiseSource;
use efface_data::{IdKind, RowLayout, RowsFile, StoredRows, hex};
use zeroize::Zeroizing;

use crate::database::{Chain, Database, Head, NewRow, ReleaseEntry, RowKeys, index};
use crate::error::EngineError;
use crate::files::{self, DATABASE, ROWS, STATES};
use crate::lock::WriterLock;
use crate::model_directory::{ModelDirectory, Parts};
use crate::releases;
use crate::settings::Settings;
use crate::state_file::version_1::{self, RowIndex, Snapshot};
use crate::status::Status;

const STATE: &str = "state.efface";
const ROWS_FILE: &str = "rows.bin";

/// Whether a directory is of version 1.
pub(crate) fn is_version_1(path: &Path) -> bool {
    path.join(STATE).is_file()
}

/// The status of a directory of version 1, which is not changed.
pub(crate) fn status(path: &Path) -> Result<Status, EngineError> {
    let Snapshot { settings, model, index } = read(path)?;
    let n_positions = index.ids.len();
    let status = Status::of(&settings, &model, &head(&index, &model, n_positions, Vec::new(), String::new()));
    let n_removed = index.n_removed_at_release;
    let latest =
        ReleaseEntry { release: status.n_releases, time: None, n_removed, distance_bound: 0.0, certified: true };
    Ok(if status.n_releases > 0 { status.since(Some(&latest)) } else { status })
}

/// Makes a directory of version 1 one of this version, and gives the lock back.
pub(crate) fn run(path: &Path, lock: WriterLock) -> Result<WriterLock, EngineError> {
    remove_leftovers(path)?;
    let Snapshot { settings, model, index } = read(path)?;
    let (found, expected) = (index.ids.iter().flatten().count(), model.state().n_rows);
    if found != expected {
        let reason = format!("{found} rows are present where the state counts {expected}");
        return Err(EngineError::BadState { path: path.join(STATE), reason });
    }
    let rows = copy_rows(path, &settings, model.dim(), &index)?;
    let class_counts = rows.count_classes(settings.n_classes())?;
    let database = index_rows(path, &settings, &index)?;
    let published = releases::uncounted(path, 0)?;
    database.ask(|tables| published.iter().try_for_each(|entry| entry.insert(tables)))?;
    let mut name = [0; 16];
    NoiseSource::from_system()?.fill(&mut name);
    let head = head(&index, &model, rows.len(), class_counts, hex::encode(&name));
    files::make_private_directory(&path.join(STATES))?;
    let parts = Parts { path: path.into(), settings, rows, database, head, witness: None, lock };
    let mut directory = parts.with_model(model);
    directory.start()?;
    files::sync_directory(path)?;
    let ModelDirectory { _lock: lock, .. } = directory;
    remove_file(&path.join(STATE))?;
    files::sync_directory(path)?;
    Ok(lock)
}

/// Removes the old rows once they count no more. They may know rows that have left: they must not come back when the
/// power goes.
pub(crate) fn finish(path: &Path) -> Result<(), EngineError> {
    let rows = path.join(ROWS_FILE);
    if !rows.exists() {
        return Ok(());
    }
    remove_file(&rows)?;
    files::sync_directory(path)
}

fn remove_file(path: &Path) -> Result<(), EngineError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(EngineError::Io { path: path.into(), source })
        }
        _ => Ok(()),
    }
}

/// Removes what an upgrade that was cut short left.
fn remove_leftovers(path: &Path) -> Result<(), EngineError> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        remove_file(&path.join(format!("{DATABASE}{suffix}")))?;
    }
    for folder in [ROWS, STATES] {
        let folder = path.join(folder);
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(EngineError::io(&folder))?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Snapshot, EngineError> {
    let file = path.join(STATE);
    let bytes = Zeroizing::new(fs::read(&file).map_err(EngineError::io(&file))?);
    version_1::decode(&file, &bytes)
}

fn head(index: &RowIndex, model: &Model, n_positions: usize, class_counts: Vec<usize>, name: String) -> Head {
    Head {
        sequence: 0,
        chain: Chain::start(&name),
        model: name,
        generation: 0,
        state: String::new(),
        n_positions,
        class_counts,
        n_removed: index.n_removed,
        n_suppressed: 0,
        account: model.state().account,
    }
}

fn index_rows(path: &Path, settings: &Settings, index: &RowIndex) -> Result<Database, EngineError> {
    let database = Database::create(path)?;
    let key = &settings.id_key;
    database.ask(|tables| {
        for (position, (id, subject)) in index.ids.iter().zip(&index.subjects).enumerate() {
            match id {
                None => index::was_purged(tables, position)?,
                Some(id) => {
                    let subject = subject.as_ref().map(|subject| key.digest(IdKind::Subject, subject));
                    let keys = RowKeys { id: key.digest(IdKind::Row, id), subject };
                    NewRow { position, keys }.insert(tables)?;
                }
            }
        }
        index.removed.digests.iter().try_for_each(|digest| index::suppress(tables, *digest))?;
        index.requests.iter().try_for_each(|(id, past)| past.insert(tables, id))
    })?;
    database.finish_import()
}

/// The same rows at the same positions.
fn copy_rows(path: &Path, settings: &Settings, dim: usize, index: &RowIndex) -> Result<StoredRows, EngineError> {
    let layout = RowLayout::new(dim, settings.precision);
    let bound = settings.transform.row_norm_bound();
    let mut rows = StoredRows::create(&path.join(ROWS), layout, bound, crate::memory::default_bytes())?;
    let selectors: Vec<Option<u64>> =
        index.ids.iter().map(|id| id.as_ref().map(|id| id.selector(&settings.salt))).collect();
    RowsFile::open(path.join(ROWS_FILE))?.copy_to(&mut rows, &selectors)?;
    Ok(rows)
}
