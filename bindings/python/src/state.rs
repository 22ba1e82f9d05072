//! Where a model lives: in memory, or in a directory.

use std::ffi::OsString;
use std::path::PathBuf;

use efface_core::noise::NoiseSource;
use efface_core::rows::Features;
use efface_data::RowId;
use efface_engine::{
    ChangeReport, EngineError, KeepOptions, LentRows, MemoryModel, ModelDirectory, NewRows, ReleaseMade, RetrainReport,
    RowNames, Selection, Settings, SettleReport, Status,
};
use serde::Serialize;
use zeroize::Zeroizing;

use crate::directory::OpenDirectory;
use crate::released::{Published, Released};
use crate::rows::Given;
use crate::work::Worker;

/// A model, wherever it is.
pub(crate) enum State {
    /// In memory, on rows that are lent.
    Memory(Box<MemoryModel>),
    /// In a directory.
    Directory(Box<OpenDirectory>),
    /// Given up.
    Closed,
}

/// What everybody may know of a model.
#[derive(Serialize)]
pub(crate) struct Description {
    loss: &'static str,
    classes: Vec<String>,
    feature_names: Vec<String>,
    /// Whether it is known that the features had these names where they came from.
    features_had_names: bool,
    id_column: Option<String>,
    subject_column: Option<String>,
    row_names: RowNames,
    scale: String,
    intercept: bool,
    l2: f64,
    epsilon: f64,
    delta: f64,
    noise_std: f64,
    max_releases: u64,
    mechanism: &'static str,
    tolerance: f64,
    /// The most that a row may weigh; `None`: every row counts once.
    max_row_weight: Option<f64>,
    n_rows: usize,
    n_iter: Option<usize>,
}

/// What moving into a directory led to.
#[derive(Serialize)]
pub(crate) struct KeepReport {
    /// The directory.
    model: PathBuf,
    n_rows: usize,
    n_releases: usize,
}

impl KeepReport {
    fn of(directory: &ModelDirectory) -> Self {
        Self { model: directory.path().into(), n_rows: directory.n_rows(), n_releases: directory.n_releases() }
    }
}

impl State {
    pub(crate) fn remove(
        &mut self,
        lent: &LentRows<'_>,
        selection: &Selection,
        request_id: Option<&str>,
        skip_missing: bool,
    ) -> Result<ChangeReport, EngineError> {
        match self {
            Self::Memory(model) => model.remove(lent, selection, request_id, skip_missing),
            Self::Directory(open) => open.remove(selection, request_id, skip_missing),
            Self::Closed => Err(EngineError::Damaged),
        }
    }

    pub(crate) fn add(
        &mut self,
        lent: &LentRows<'_>,
        given: &Given,
        features: Features<'_>,
    ) -> Result<ChangeReport, EngineError> {
        match self {
            Self::Memory(model) => model.add(lent, given.new_rows(features), given.ids.as_deref()),
            Self::Directory(open) => open.add(given, features),
            Self::Closed => Err(EngineError::Damaged),
        }
    }

    pub(crate) fn correct(
        &mut self,
        lent: &LentRows<'_>,
        given: &Given,
        features: Features<'_>,
    ) -> Result<ChangeReport, EngineError> {
        let ids = given.ids.as_deref().unwrap_or_default();
        match self {
            Self::Memory(model) => model.correct(lent, ids, given.new_rows(features)),
            Self::Directory(open) => open.correct(given, features),
            Self::Closed => Err(EngineError::Damaged),
        }
    }

    pub(crate) fn settle(&mut self, lent: &LentRows<'_>, tolerance: Option<f64>) -> Result<SettleReport, EngineError> {
        match self {
            Self::Memory(model) => model.settle(lent, tolerance),
            Self::Directory(open) => open.directory().settle(tolerance),
            Self::Closed => Err(EngineError::Damaged),
        }
    }

    pub(crate) fn retrain(
        &mut self,
        lent: &LentRows<'_>,
        noise: &mut NoiseSource,
        worker: &Worker<'_>,
    ) -> Result<RetrainReport, EngineError> {
        match self {
            Self::Memory(model) => model.retrain(lent, noise, &mut |phase| worker.report(phase)),
            Self::Directory(open) => open.retrain(noise, worker),
            Self::Closed => Err(EngineError::Damaged),
        }
    }

    pub(crate) fn release(&mut self, lent: &LentRows<'_>, noise: &mut NoiseSource) -> Result<Released, EngineError> {
        match self {
            Self::Memory(model) => Ok(match (model.release(lent, noise)?, model.latest()) {
                (ReleaseMade::Published { .. }, Some(release)) => Released::Published(release.into()),
                (ReleaseMade::Published { .. }, None) => return Err(EngineError::Damaged),
                (ReleaseMade::Refused(answer), _) => Released::Refused(answer),
            }),
            Self::Directory(open) => open.release(noise),
            Self::Closed => Err(EngineError::Damaged),
        }
    }

    pub(crate) fn latest(&self) -> Result<Option<Published>, EngineError> {
        match self {
            Self::Memory(model) => Ok(model.latest().map(Published::from)),
            Self::Directory(open) => open.latest(),
            Self::Closed => Err(EngineError::Damaged),
        }
    }

    pub(crate) fn is_stale(&self) -> Result<bool, EngineError> {
        match self {
            Self::Memory(model) => Ok(model.is_stale()),
            Self::Directory(open) => open.is_stale(),
            Self::Closed => Err(EngineError::Damaged),
        }
    }

    /// Releases so far.
    pub(crate) fn n_releases(&self) -> Result<usize, EngineError> {
        match self {
            Self::Memory(model) => Ok(model.n_releases()),
            Self::Directory(open) => Ok(open.shared().n_releases()),
            Self::Closed => Err(EngineError::Damaged),
        }
    }

    /// The directory that it lives in.
    pub(crate) fn path(&self) -> Option<OsString> {
        match self {
            Self::Directory(open) => Some(open.shared().path().into()),
            Self::Memory(_) | Self::Closed => None,
        }
    }

    pub(crate) fn status(&self) -> Result<Status, EngineError> {
        match self {
            Self::Memory(model) => Ok(model.status()),
            Self::Directory(open) => open.shared().status(),
            Self::Closed => Err(EngineError::Damaged),
        }
    }

    pub(crate) fn description(&self) -> Result<Description, EngineError> {
        match self {
            Self::Memory(model) => {
                let (n_rows, n_iter) = (model.n_rows(), Some(model.iterations()));
                Ok(Description::of(model.settings(), model.noise_std(), n_rows, n_iter))
            }
            Self::Directory(open) => {
                let directory = open.shared();
                let noise_std = directory.audit_material().model.plan().noise_std();
                Ok(Description::of(directory.settings(), noise_std, directory.n_rows(), None))
            }
            Self::Closed => Err(EngineError::Damaged),
        }
    }

    pub(crate) fn influence(&self, lent: &LentRows<'_>, ids: Option<&[RowId]>) -> Result<Vec<f64>, EngineError> {
        match self {
            Self::Memory(model) => model.influence(lent, ids),
            Self::Directory(open) => open.shared().influences(ids),
            Self::Closed => Err(EngineError::Damaged),
        }
    }

    /// The whole model with its rows; `None` of one that lives in a directory.
    pub(crate) fn to_bytes(&self, lent: &LentRows<'_>) -> Result<Option<Zeroizing<Vec<u8>>>, EngineError> {
        match self {
            Self::Memory(model) => Ok(Some(model.to_bytes(lent)?)),
            Self::Directory(_) => Ok(None),
            Self::Closed => Err(EngineError::Damaged),
        }
    }

    /// Moves a model in memory into a directory.
    pub(crate) fn keep(&mut self, lent: &LentRows<'_>, options: KeepOptions) -> Result<KeepReport, EngineError> {
        match self {
            Self::Memory(model) => {
                let directory = model.keep(lent, options)?;
                let inherited = model.latest().map(Published::from);
                let open = OpenDirectory::adopted(directory, inherited, model.is_stale());
                let report = KeepReport::of(open.shared());
                *self = Self::Directory(Box::new(open));
                Ok(report)
            }
            Self::Directory(open) => Err(EngineError::Exists { path: open.shared().path().into() }),
            Self::Closed => Err(EngineError::Damaged),
        }
    }

    /// Gives the model up; a directory is closed as it should be.
    pub(crate) fn close(&mut self) -> Result<(), EngineError> {
        match std::mem::replace(self, Self::Closed) {
            Self::Directory(open) => open.close(),
            Self::Memory(_) | Self::Closed => Ok(()),
        }
    }
}

impl Given {
    fn new_rows<'a>(&'a self, features: Features<'a>) -> NewRows<'a> {
        NewRows {
            features,
            labels: &self.labels,
            row_weights: self.row_weights.as_deref(),
            subjects: self.subjects.as_deref(),
        }
    }
}

impl Description {
    fn of(settings: &Settings, noise_std: f64, n_rows: usize, n_iter: Option<usize>) -> Self {
        let Settings { config, columns, .. } = settings;
        Self {
            loss: config.loss.tag(),
            classes: settings.codec.classes().to_vec(),
            feature_names: settings.features.clone(),
            features_had_names: columns.features.is_some(),
            id_column: columns.id.clone(),
            subject_column: columns.subject.clone(),
            row_names: settings.row_names,
            scale: settings.transform.scale.to_string(),
            intercept: settings.transform.intercept,
            l2: config.l2_per_row,
            epsilon: config.epsilon,
            delta: config.delta,
            noise_std,
            max_releases: config.max_releases,
            mechanism: config.mechanism.tag(),
            tolerance: config.gradient_tolerance,
            max_row_weight: settings.max_row_weight,
            n_rows,
            n_iter,
        }
    }
}
