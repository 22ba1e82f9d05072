//! Model directories of version 1, with `state.efface` and `rows.bin`, become directories of this version when they are
//! opened for changing.
//!
//! Everything new is written aside, in `upgrade.partial`, and then moved to its place, the database last: once it is
//! there, it is the truth, and the old files go, whatever they are. Without it the old files are, and the upgrade begins
//! anew.

use std::fs;
use std::path::Path;

use efface_core::model::Model;
use efface_core::noise::NoiseSource;
use efface_data::{IdKind, RowLayout, RowsFile, StoredRows, hex};
use zeroize::Zeroizing;

use crate::database::{Chain, Database, Head, LedgerHead, NewRow, ReleaseEntry, RowKeys, index};
use crate::error::EngineError;
use crate::files::{self, DATABASE, ROWS, STATES};
use crate::found_releases;
use crate::lock::WriterLock;
use crate::model_directory::{ModelDirectory, Parts};
use crate::settings::Settings;
use crate::state_file::version_1::{self, RowIndex, Snapshot};
use crate::status::Status;

const STATE: &str = "state.efface";
const ROWS_FILE: &str = "rows.bin";
const ASIDE: &str = "upgrade.partial";

/// Whether a directory is of version 1.
pub(crate) fn is_version_1(path: &Path) -> bool {
    path.join(STATE).is_file() && !path.join(DATABASE).exists()
}

/// The status of a directory of version 1, which is not changed.
pub(crate) fn status(path: &Path) -> Result<Status, EngineError> {
    let Snapshot { settings, model, index } = read(path)?;
    let n_positions = index.ids.len();
    let status = Status::of(&settings, &model, &head(&index, &model, n_positions, Vec::new(), String::new()));
    let n_removed = index.n_removed_at_release;
    let latest = ReleaseEntry {
        release: status.n_releases,
        time: None,
        n_removed,
        distance_bound: 0.0,
        certified: true,
        certificate: None,
        sequence: None,
    };
    Ok(if status.n_releases > 0 { status.since(Some(&latest)) } else { status })
}

/// Makes a directory of version 1 one of this version, and gives the lock back.
pub(crate) fn run(path: &Path, lock: WriterLock) -> Result<WriterLock, EngineError> {
    let Snapshot { settings, model, index } = read(path)?;
    let (found, expected) = (index.ids.iter().flatten().count(), model.state().count.n_rows);
    if found != expected {
        let reason = format!("{found} rows are present where the state counts {expected}");
        return Err(EngineError::BadState { path: path.join(STATE), reason });
    }
    let aside = path.join(ASIDE);
    remove_folder(&aside)?;
    for folder in [&aside, &aside.join(STATES)] {
        files::make_private_directory(folder)?;
    }
    let rows = copy_rows(path, &aside, &settings, model.dim(), &index)?;
    let class_counts = rows.count_classes(settings.n_classes())?;
    let database = index_rows(&aside, &settings, &index)?;
    let published = found_releases::uncounted(path, 0)?;
    database.ask(|tables| published.iter().try_for_each(|found| found.entry.insert(tables)))?;
    let mut name = [0; 16];
    NoiseSource::from_system()?.fill(&mut name);
    let head = head(&index, &model, rows.len(), class_counts, hex::encode(&name));
    let parts = Parts { path: aside.clone(), settings, rows, database, head, witness: None, lock };
    let mut directory = parts.with_model(model);
    directory.start()?;
    let ModelDirectory { _lock: lock, database, rows, .. } = directory;
    drop((database, rows));
    for folder in [ROWS, STATES] {
        remove_folder(&path.join(folder))?;
        rename(&aside, path, folder)?;
    }
    files::sync_directory(path)?;
    rename(&aside, path, DATABASE)?;
    files::sync_directory(path)?;
    Ok(lock)
}

/// Removes what is left of version 1 once it counts no more. It may know rows that have left: it must not come back when
/// the power goes.
pub(crate) fn finish(path: &Path) -> Result<(), EngineError> {
    let (state, rows, aside) = (path.join(STATE), path.join(ROWS_FILE), path.join(ASIDE));
    if !state.exists() && !rows.exists() && !aside.exists() {
        return Ok(());
    }
    remove_file(&state)?;
    remove_file(&rows)?;
    remove_folder(&aside)?;
    files::sync_directory(path)
}

fn rename(from: &Path, to: &Path, name: &str) -> Result<(), EngineError> {
    fs::rename(from.join(name), to.join(name)).map_err(EngineError::io(to.join(name)))
}

fn remove_file(path: &Path) -> Result<(), EngineError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(EngineError::Io { path: path.into(), source })
        }
        _ => Ok(()),
    }
}

fn remove_folder(path: &Path) -> Result<(), EngineError> {
    if path.exists() { fs::remove_dir_all(path).map_err(EngineError::io(path)) } else { Ok(()) }
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
        ledger: LedgerHead::default(),
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
        index.requests.iter().try_for_each(|(id, past)| past.insert(tables, id, None))
    })?;
    database.finish_import()
}

/// The same rows at the same positions.
fn copy_rows(
    path: &Path,
    aside: &Path,
    settings: &Settings,
    dim: usize,
    index: &RowIndex,
) -> Result<StoredRows, EngineError> {
    let layout = RowLayout::new(dim, settings.precision);
    let bound = settings.transform.row_norm_bound();
    let mut rows = StoredRows::create(&aside.join(ROWS), layout, bound, crate::memory::default_bytes())?;
    let selectors: Vec<Option<u64>> =
        index.ids.iter().map(|id| id.as_ref().map(|id| id.selector(&settings.salt))).collect();
    RowsFile::open(path.join(ROWS_FILE))?.copy_to(&mut rows, &selectors)?;
    Ok(rows)
}
