//! A model directory: made by training, opened by every later operation, and committed as a whole.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use efface_core::model::{Model, Phase, TrainingConfig, TrainingPlan};
use efface_core::noise::NoiseSource;
use efface_core::rows::RowStore;
use efface_data::{
    Columns, FeatureOrder, LabelCodec, MemoryRows, RemovedIds, RowTransform, RowsFile, Table, encode_table,
};
use serde::Serialize;

use crate::directory::{self, RELEASES, ROWS, STATE, WriterLock};
use crate::error::EngineError;
use crate::settings::Settings;
use crate::state_file::{self, RowIndex, Snapshot};

/// A model on disk, opened for changing. Exactly one process can have it open.
pub struct ModelDirectory {
    pub(crate) path: PathBuf,
    pub(crate) settings: Settings,
    pub(crate) model: Model,
    pub(crate) rows: MemoryRows,
    pub(crate) index: RowIndex,
    /// Set while an operation is under way, and left set by one that fails half-way in memory.
    pub(crate) damaged: bool,
    _lock: WriterLock,
}

/// What to train, on what.
pub struct TrainRequest {
    /// The rows, with labels.
    pub table: Table,
    /// How the columns were read.
    pub columns: Columns,
    /// How rows are scaled.
    pub transform: RowTransform,
    /// What to train and promise. `n_classes` is filled in from the labels.
    pub config: TrainingConfig,
    /// Where the model directory is made. Must not exist.
    pub out: PathBuf,
}

/// What training led to.
#[derive(Clone, Debug, Serialize)]
pub struct TrainReport {
    /// Rows trained on.
    pub n_rows: usize,
    /// Features, the intercept included.
    pub dim: usize,
    /// Number of classes; 0 for regression.
    pub classes: usize,
    /// Measured, upper bound.
    pub gradient_residual: f64,
    /// Distance to the exact minimiser, upper bound.
    pub distance_bound: f64,
    /// Passes over the rows.
    pub iterations: usize,
    /// Time of training alone.
    pub train_seconds: f64,
    /// Time of the whole call.
    pub seconds: f64,
    /// Whether the randomness behind the model was unpredictable.
    pub certified: bool,
    /// The model directory.
    pub model: PathBuf,
}

impl ModelDirectory {
    /// Trains a model and makes its directory, aside first: a killed process leaves no half of one under its name.
    pub fn train(
        request: TrainRequest,
        noise: &mut NoiseSource,
        report: &mut dyn FnMut(Phase),
    ) -> Result<TrainReport, EngineError> {
        let start = Instant::now();
        let out = request.out.clone();
        if out.exists() {
            return Err(EngineError::Exists { path: out });
        }
        let (settings, plan, rows) = prepare(request)?;
        let training = Instant::now();
        let trained = plan.train(&rows, noise, report)?;
        let train_seconds = training.elapsed().as_secs_f64();
        let model = trained.model;
        check_is_bounded(&model)?;

        directory::remove_abandoned(&out);
        let aside = directory::with_suffix(&out, &format!(".partial-{}", std::process::id()));
        let written = write_new(&aside, &settings, &model, &rows).and_then(|_lock| {
            fs::rename(&aside, &out).map_err(EngineError::io(&out))?;
            directory::sync_parent(&out)
        });
        if let Err(error) = written {
            // Best effort: the directory is not a model yet.
            let _ = fs::remove_dir_all(&aside);
            return Err(error);
        }
        let claim = model.claim();
        Ok(TrainReport {
            n_rows: rows.n_rows(),
            dim: rows.dim(),
            classes: settings.n_classes(),
            gradient_residual: claim.gradient_residual.get(),
            distance_bound: claim.distance_bound.get(),
            iterations: trained.iterations,
            train_seconds,
            seconds: start.elapsed().as_secs_f64(),
            certified: model.state().certified,
            model: out,
        })
    }

    /// Opens a model for changing: takes the lock, reads state and rows, and finishes what a crash left undone.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, EngineError> {
        let path = path.as_ref();
        check_is_model(path)?;
        let lock = WriterLock::acquire(path)?;
        let Snapshot { settings, model, mut index } = read_state(path)?;
        let mut file = RowsFile::open(path.join(ROWS))?;
        file.purge(&index.pending_purge)?;
        file.cut(index.ids.len())?;
        index.pending_purge.clear();
        let empty = empty_rows(&settings, model.dim(), index.removed.clone());
        let rows = file.load(empty, index.ids.clone(), index.subjects.clone())?;
        if rows.n_rows() != model.state().n_rows {
            let reason = format!("{} rows are present where the state counts {}", rows.n_rows(), model.state().n_rows);
            return Err(EngineError::BadState { path: path.join(STATE), reason });
        }
        crate::releases::finish_publication(path, model.state().account.n_releases)?;
        Ok(Self { path: path.into(), settings, model, rows, index, damaged: false, _lock: lock })
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

    /// Makes the state in memory the one on disk.
    pub(crate) fn commit(&mut self) -> Result<(), EngineError> {
        self.index.removed = self.rows.removed().clone();
        let bytes = state_file::encode(&self.settings, &self.model, &self.index);
        directory::replace(&self.path.join(STATE), &bytes)
    }

    /// Overwrites the rows that have left in the file of rows. Done again at the next opening if it is cut short.
    pub(crate) fn purge(&mut self) -> Result<(), EngineError> {
        let purged = RowsFile::open(self.path.join(ROWS)).and_then(|mut file| file.purge(&self.index.pending_purge));
        purged.map_err(|source| EngineError::PurgePending { source })?;
        self.index.pending_purge.clear();
        Ok(())
    }
}

/// Reads the state without taking the lock: it is replaced as a whole, so a reader sees the old or the new one.
pub(crate) fn read_state(path: &Path) -> Result<Snapshot, EngineError> {
    check_is_model(path)?;
    let file = path.join(STATE);
    let bytes = zeroize::Zeroizing::new(fs::read(&file).map_err(EngineError::io(&file))?);
    state_file::decode(&file, &bytes)
}

/// Fails closed: a model of which nothing can be claimed is neither kept nor published.
pub(crate) fn check_is_bounded(model: &Model) -> Result<(), EngineError> {
    if model.claim().distance_bound.is_finite() {
        return Ok(());
    }
    let plan = model.plan();
    Err(EngineError::Unbounded { l2_per_row: plan.config().l2_per_row, noise_std: plan.noise_std() })
}

fn check_is_model(path: &Path) -> Result<(), EngineError> {
    let state = path.join(STATE);
    match fs::metadata(&state) {
        Ok(file) if file.is_file() => Ok(()),
        Err(source) if source.kind() == std::io::ErrorKind::PermissionDenied => {
            Err(EngineError::Io { path: state, source })
        }
        _ => Err(EngineError::NotAModel { path: path.into() }),
    }
}

/// Encodes the table and checks the plan, before anything is written.
fn prepare(request: TrainRequest) -> Result<(Settings, TrainingPlan, MemoryRows), EngineError> {
    let TrainRequest { table, columns, transform, mut config, .. } = request;
    let codec = LabelCodec::for_labels(table.labels(), config.loss.is_classification())?;
    config.n_classes = config.loss.is_classification().then_some(codec.classes().len() as u32);
    let plan = TrainingPlan::new(config.clone())?;
    let features = table.feature_names().to_vec();
    let precision = table.features().precision();
    let encoded = encode_table(table, &transform, Some(&codec), FeatureOrder::AsRead, precision)?;
    let mut salt = [0; 32];
    NoiseSource::from_system()?.fill(&mut salt);
    let mut key = [0; 32];
    NoiseSource::from_system()?.fill(&mut key);
    let settings = Settings { config, features, columns, transform, codec, precision, salt };
    let mut rows = empty_rows(&settings, encoded.dim(), RemovedIds::new(key));
    rows.append(encoded)?;
    Ok((settings, plan, rows))
}

fn empty_rows(settings: &Settings, dim: usize, removed: RemovedIds) -> MemoryRows {
    let Settings { precision, transform, salt, .. } = settings;
    MemoryRows::new(dim, *precision, transform.row_norm_bound(), *salt, removed)
}

/// Writes a whole model directory, and holds its lock: as long as it is held, nobody takes it for abandoned.
fn write_new(aside: &Path, settings: &Settings, model: &Model, rows: &MemoryRows) -> Result<WriterLock, EngineError> {
    directory::make_private_directory(aside)?;
    let lock = WriterLock::acquire(aside)?;
    directory::make_private_directory(&aside.join(RELEASES))?;
    let mut file = RowsFile::create(aside.join(ROWS), rows.dim(), settings.precision)?;
    file.append(rows, 0..rows.len())?;
    file.sync()?;
    let index = RowIndex {
        ids: (0..rows.len()).map(|position| rows.id(position).cloned()).collect(),
        subjects: (0..rows.len()).map(|position| rows.subject(position).cloned()).collect(),
        removed: rows.removed().clone(),
        n_removed: 0,
        n_removed_at_release: 0,
        pending_purge: Vec::new(),
        requests: std::collections::BTreeMap::new(),
    };
    let state = aside.join(STATE);
    directory::write_synced(&state, &state_file::encode(settings, model, &index))?;
    directory::sync_parent(&state)?;
    Ok(lock)
}

impl Settings {
    /// How to read more rows: the features by name, and the columns of labels, ids and subjects unless the file is an
    /// array, where these are files of their own that belong to the rows trained on.
    pub(crate) fn columns_for(&self, array: bool) -> Columns {
        let features = Some(self.features.clone());
        if array { Columns { features, ..Columns::default() } } else { Columns { features, ..self.columns.clone() } }
    }
}
