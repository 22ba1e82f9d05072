//! Where a model lives: in memory, or in a directory.

use std::ffi::OsString;

use efface_core::noise::NoiseSource;
use efface_core::rows::Features;
use efface_data::{LabelCodec, Labels, Origin, RawLabels, RowId, TableParts};
use efface_engine::{
    ChangeReport, DirectoryRelease, EngineError, LentRows, MemoryModel, ModelDirectory, NewRows, ReleaseAnswer,
    ReleaseMade, RetrainReport, RowsError, Selection, Settings, SettleReport, Status,
};
use serde::Serialize;
use zeroize::Zeroizing;

use crate::released::{Published, Released};
use crate::rows::{Given, own};
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
    scale: String,
    intercept: bool,
    l2: f64,
    epsilon: f64,
    delta: f64,
    noise_std: f64,
    mechanism: &'static str,
    tolerance: f64,
    n_rows: usize,
    n_iter: Option<usize>,
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
            Self::Directory(open) if skip_missing => open.directory.remove_present(selection, request_id),
            Self::Directory(open) => open.directory.remove(selection, request_id),
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
            Self::Directory(open) => {
                let parts = given.table(features, open.directory.settings())?;
                open.directory.add_table(parts, given.row_weights.clone())
            }
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
            Self::Directory(open) => {
                let parts = given.table(features, open.directory.settings())?;
                open.directory.correct_table(parts, given.row_weights.clone())
            }
            Self::Closed => Err(EngineError::Damaged),
        }
    }

    pub(crate) fn settle(&mut self, lent: &LentRows<'_>, tolerance: Option<f64>) -> Result<SettleReport, EngineError> {
        match self {
            Self::Memory(model) => model.settle(lent, tolerance),
            Self::Directory(open) => open.directory.settle(tolerance),
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
            Self::Directory(open) => {
                open.retrained = true;
                open.directory.retrain(noise, &mut |phase| worker.report(phase))
            }
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
            Self::Directory(open) => match open.directory.release(noise, None)? {
                ReleaseAnswer::Published(_) => {
                    open.retrained = false;
                    open.latest()?.map(Released::Published).ok_or(EngineError::Damaged)
                }
                refused => Ok(Released::Refused(refused)),
            },
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
            Self::Directory(open) => Ok(open.retrained || open.directory.is_stale()?),
            Self::Closed => Err(EngineError::Damaged),
        }
    }

    /// The directory that it lives in.
    pub(crate) fn path(&self) -> Option<OsString> {
        match self {
            Self::Directory(open) => Some(open.directory.path().into()),
            Self::Memory(_) | Self::Closed => None,
        }
    }

    pub(crate) fn status(&self) -> Result<Status, EngineError> {
        match self {
            Self::Memory(model) => Ok(model.status()),
            Self::Directory(open) => open.directory.status(),
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
                let (settings, model) = (open.directory.settings(), open.directory.audit_material().model);
                Ok(Description::of(settings, model.plan().noise_std(), open.directory.n_rows(), None))
            }
            Self::Closed => Err(EngineError::Damaged),
        }
    }

    pub(crate) fn influence(&self, lent: &LentRows<'_>, ids: Option<&[RowId]>) -> Result<Vec<f64>, EngineError> {
        match self {
            Self::Memory(model) => model.influence(lent, ids),
            Self::Directory(open) => open.directory.influence(ids),
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

    /// Gives the model up; a directory is closed as it should be.
    pub(crate) fn close(&mut self) -> Result<(), EngineError> {
        match std::mem::replace(self, Self::Closed) {
            Self::Directory(open) => open.directory.close(),
            Self::Memory(_) | Self::Closed => Ok(()),
        }
    }
}

/// A directory that this process has open.
pub(crate) struct OpenDirectory {
    directory: ModelDirectory,
    /// Whether it was trained again since the latest release.
    retrained: bool,
}

impl OpenDirectory {
    pub(crate) fn new(directory: ModelDirectory) -> Self {
        Self { directory, retrained: false }
    }

    fn latest(&self) -> Result<Option<Published>, EngineError> {
        let Some(DirectoryRelease { model, certificate }) = self.directory.latest_release()? else { return Ok(None) };
        Ok(Some(Published { weights: model.problems(), certificate, model: model.to_json() }))
    }
}

impl Given {
    /// The same rows as a table of a model with these settings.
    fn table(&self, features: Features<'_>, settings: &Settings) -> Result<TableParts, EngineError> {
        let origin = Origin::new("rows");
        let labels = match &settings.codec {
            LabelCodec::Numeric => RawLabels::Numbers(self.labels.clone()),
            LabelCodec::Classes(classes) => RawLabels::Text(class_names(&self.labels, classes)?),
        };
        Ok(TableParts {
            feature_names: settings.features.clone(),
            features: own(features),
            labels: Some(Labels::new(labels, origin.clone(), None)),
            ids: self.ids.clone(),
            subjects: self.subjects.clone(),
            origin,
        })
    }

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
        let config = &settings.config;
        Self {
            loss: config.loss.tag(),
            classes: settings.codec.classes().to_vec(),
            feature_names: settings.features.clone(),
            scale: settings.transform.scale.to_string(),
            intercept: settings.transform.intercept,
            l2: config.l2_per_row,
            epsilon: config.epsilon,
            delta: config.delta,
            noise_std,
            mechanism: config.mechanism.tag(),
            tolerance: config.gradient_tolerance,
            n_rows,
            n_iter,
        }
    }
}

fn class_names(labels: &[f64], classes: &[String]) -> Result<Vec<String>, EngineError> {
    let name = |(row, label): (usize, &f64)| {
        let index = (label.fract() == 0.0 && *label >= 0.0).then_some(*label as usize);
        let class = index.and_then(|index| classes.get(index)).cloned();
        class.ok_or(RowsError::Class { row, value: *label, n_classes: classes.len() })
    };
    Ok(labels.iter().enumerate().map(name).collect::<Result<_, _>>()?)
}
