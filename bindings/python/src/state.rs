//! A model that Python holds, in memory or in a directory: where it lives decides who keeps it, and nothing else.

use std::ffi::OsString;

use efface_core::noise::NoiseSource;
use efface_core::rows::Features;
use efface_data::{
    ColumnKind, LabelCodec, Labels, LentRows, LentTable, LentVault, Origin, RawLabels, RowsError, Scale, ScaleError,
    TableParts,
};
use efface_engine::{
    EngineError, LatestRelease, Life, MemoryModel, ModelDirectory, Place, ReleaseAnswer, Settings, StorageError, View,
};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::rows::Given;

/// A model, and its latest release: of the directory, or of the time before it had one.
pub(crate) struct State {
    /// `None` once the model is given up.
    home: Option<Home>,
    latest: Option<LatestRelease>,
}

/// Where a model lives.
enum Home {
    /// In memory, on rows that are lent.
    Memory(Box<(MemoryModel, LentTable)>),
    Directory(Box<ModelDirectory>),
}

impl State {
    pub(crate) fn memory(model: MemoryModel, rows: LentTable) -> Self {
        let latest = model.latest_release().cloned();
        Self { home: Some(Home::Memory(Box::new((model, rows)))), latest }
    }

    pub(crate) fn directory(directory: ModelDirectory) -> Result<Self, EngineError> {
        let latest = directory.latest_release()?;
        Ok(Self { home: Some(Home::Directory(Box::new(directory))), latest })
    }

    /// Runs operations on the model.
    pub(crate) fn live<T>(
        &mut self,
        lent: &LentRows<'_>,
        operation: impl FnOnce(&mut Life<'_>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        match self.home.as_mut().ok_or(StorageError::Damaged)? {
            Home::Memory(held) => held.0.live(&mut LentVault::new(&mut held.1, *lent)?, operation),
            Home::Directory(directory) => directory.live(operation),
        }
    }

    pub(crate) fn view(&self) -> Result<View<'_>, EngineError> {
        Ok(match self.home.as_ref().ok_or(StorageError::Damaged)? {
            Home::Memory(held) => held.0.view(),
            Home::Directory(directory) => directory.view(),
        })
    }

    fn in_memory(&self) -> Option<&MemoryModel> {
        if let Some(Home::Memory(held)) = &self.home { Some(&held.0) } else { None }
    }

    fn in_directory(&self) -> Option<&ModelDirectory> {
        if let Some(Home::Directory(directory)) = &self.home { Some(directory) } else { None }
    }

    /// Releases the model.
    pub(crate) fn release(
        &mut self,
        lent: &LentRows<'_>,
        noise: &mut NoiseSource,
    ) -> Result<ReleaseAnswer, EngineError> {
        let answer = self.live(lent, |life| life.release(noise))?;
        if matches!(answer, ReleaseAnswer::Published(_)) {
            self.latest = match self.in_directory() {
                Some(directory) => directory.latest_release()?,
                None => self.in_memory().and_then(MemoryModel::latest_release).cloned(),
            };
        }
        Ok(answer)
    }

    pub(crate) fn latest(&self) -> Option<LatestRelease> {
        self.latest.clone()
    }

    /// The directory that it lives in.
    pub(crate) fn path(&self) -> Option<OsString> {
        self.in_directory().map(|directory| directory.path().into())
    }

    /// What everybody may know of the model.
    pub(crate) fn description(&self) -> Result<Value, EngineError> {
        let view = self.view()?;
        let settings = view.settings();
        let Settings { config, columns, transform, .. } = settings;
        Ok(json!({
            "loss": config.loss.tag(),
            "classes": settings.codec.classes(),
            "feature_names": settings.features,
            // Whether it is known that the features had these names where they came from.
            "features_had_names": columns.features.is_some(),
            "id_column": columns.id,
            "subject_column": columns.subject,
            "row_names": settings.row_names,
            "scale": transform.scale.to_string(),
            "intercept": transform.intercept,
            (config.ridge.name()): config.ridge.strength(),
            "epsilon": config.epsilon,
            "delta": config.delta,
            "noise_std": view.noise_std(),
            "max_releases": config.max_releases,
            "multi_class": config.multi_class.tag(),
            "mechanism": config.mechanism.kind().tag(),
            "tolerance": config.gradient_tolerance,
            // The most that a row may weigh; null: every row counts once.
            "max_row_weight": settings.max_row_weight,
            "class_weights": settings.class_weights,
            "n_rows": view.n_rows(),
            // What makes features of raw cells, where they are more than columns as they are or derived.
            "schema": settings.schema.as_ref().filter(|schema| schema.columns().iter().any(|column| column.kind != ColumnKind::Derived)),
            "extractor_group": config.extractor.map(|extractor| extractor.group),
            "n_iter": self.in_memory().map(MemoryModel::iterations),
        }))
    }

    /// The whole model with its rows; `None` of one that lives in a directory.
    pub(crate) fn bytes(&mut self, lent: &LentRows<'_>) -> Result<Option<Zeroizing<Vec<u8>>>, EngineError> {
        match self.home.as_mut().ok_or(StorageError::Damaged)? {
            Home::Memory(held) => Ok(Some(held.0.to_bytes(&LentVault::new(&mut held.1, *lent)?)?)),
            Home::Directory(_) => Ok(None),
        }
    }

    /// Moves a model in memory into a directory.
    pub(crate) fn keep(&mut self, lent: &LentRows<'_>, place: Place) -> Result<Value, EngineError> {
        let directory = match self.home.as_mut().ok_or(StorageError::Damaged)? {
            Home::Memory(held) => held.0.keep(&LentVault::new(&mut held.1, *lent)?, place)?,
            Home::Directory(directory) => return Err(StorageError::Exists { path: directory.path().into() }.into()),
        };
        let (n_rows, n_releases) = (directory.n_rows(), directory.n_releases());
        let report = json!({"model": directory.path(), "n_rows": n_rows, "n_releases": n_releases});
        self.home = Some(Home::Directory(Box::new(directory)));
        Ok(report)
    }

    /// Gives the model up; a directory is closed as it should be.
    pub(crate) fn close(&mut self) -> Result<(), EngineError> {
        match self.home.take() {
            Some(Home::Directory(directory)) => directory.close(),
            _ => Ok(()),
        }
    }
}

impl Given {
    /// New rows as a table of a model with these settings.
    pub(crate) fn table(&self, features: Features<'_>, settings: &Settings) -> Result<TableParts, EngineError> {
        let origin = Origin::new("rows");
        let texts = (settings.transform.scale == Scale::Auto).then(|| self.rows.texts.clone());
        if texts.is_some() {
            check_numbers(features, settings.features.len())?;
        }
        let labels = match &settings.codec {
            LabelCodec::Numeric => RawLabels::Numbers(self.labels.clone()),
            LabelCodec::Classes(classes) => RawLabels::Text(class_names(&self.labels, classes)?),
        };
        Ok(TableParts {
            feature_names: settings.features.clone(),
            features: features.into(),
            labels: Some(Labels::new(labels, origin.clone(), None)),
            ids: self.ids.clone(),
            subjects: self.subjects.clone(),
            row_weights: None,
            origin,
            texts,
        })
    }
}

/// Refuses infinite numbers among raw cells.
fn check_numbers(features: Features<'_>, n_features: usize) -> Result<(), RowsError> {
    let found = match features {
        Features::F32(values) => values.iter().position(|x| x.is_infinite()).map(|at| (at, f64::from(values[at]))),
        Features::F64(values) => values.iter().position(|x| x.is_infinite()).map(|at| (at, values[at])),
    };
    let Some((at, value)) = found else { return Ok(()) };
    let (row, feature) = (at / n_features.max(1), at % n_features.max(1));
    Err(RowsError::Scale { row, source: ScaleError::NotFinite { feature, value } })
}

fn class_names(labels: &[f64], classes: &[String]) -> Result<Vec<String>, EngineError> {
    let name = |(row, label): (usize, &f64)| {
        let index = (label.fract() == 0.0 && *label >= 0.0).then_some(*label as usize);
        let class = index.and_then(|index| classes.get(index)).cloned();
        class.ok_or(RowsError::Class { row, value: *label, n_classes: classes.len() })
    };
    Ok(labels.iter().enumerate().map(name).collect::<Result<_, _>>()?)
}
