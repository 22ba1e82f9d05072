//! A model directory that this process has open.

use efface_core::noise::NoiseSource;
use efface_core::rows::Features;
use efface_data::{LabelCodec, Labels, Origin, RawLabels, TableParts};
use efface_engine::{
    ChangeReport, DirectoryRelease, EngineError, ModelDirectory, ReleaseAnswer, RetrainReport, RowsError, Selection,
    Settings,
};

use crate::released::{Published, Released};
use crate::rows::{Given, own};
use crate::work::Worker;

/// A directory, and what happened through this handle since the latest release.
pub(crate) struct OpenDirectory {
    directory: ModelDirectory,
    /// The latest release of a model that moved in, until the directory has one of its own.
    inherited: Option<Inherited>,
    /// Whether rows changed, or the model was trained again, since the latest release.
    changed: bool,
}

struct Inherited {
    release: Published,
    is_stale: bool,
}

impl OpenDirectory {
    /// A directory as it was found.
    pub(crate) fn found(directory: ModelDirectory) -> Self {
        Self { directory, inherited: None, changed: false }
    }

    /// The directory of a model that moved in, with its latest release.
    pub(crate) fn adopted(directory: ModelDirectory, release: Option<Published>, is_stale: bool) -> Self {
        let inherited = release.map(|release| Inherited { release, is_stale });
        Self { directory, inherited, changed: false }
    }

    /// To be looked at.
    pub(crate) fn shared(&self) -> &ModelDirectory {
        &self.directory
    }

    /// To be settled.
    pub(crate) fn directory(&mut self) -> &mut ModelDirectory {
        &mut self.directory
    }

    pub(crate) fn remove(
        &mut self,
        selection: &Selection,
        request_id: Option<&str>,
        skip_missing: bool,
    ) -> Result<ChangeReport, EngineError> {
        let report = if skip_missing {
            self.directory.remove_present(selection, request_id)?
        } else {
            self.directory.remove(selection, request_id)?
        };
        self.changed |= report.n_changed > 0 && !report.repeated;
        Ok(report)
    }

    pub(crate) fn add(&mut self, given: &Given, features: Features<'_>) -> Result<ChangeReport, EngineError> {
        let columns = &self.directory.settings().columns;
        if columns.id.is_some() && given.ids.is_none() {
            return Err(RowsError::NoIds.into());
        }
        if columns.subject.is_some() && given.subjects.is_none() {
            return Err(RowsError::NoSubjects.into());
        }
        let parts = table(given, features, self.directory.settings())?;
        let report = self.directory.add_table(parts, given.row_weights.clone())?;
        self.changed |= report.n_changed > 0;
        Ok(report)
    }

    pub(crate) fn correct(&mut self, given: &Given, features: Features<'_>) -> Result<ChangeReport, EngineError> {
        let parts = table(given, features, self.directory.settings())?;
        let report = self.directory.correct_table(parts, given.row_weights.clone())?;
        self.changed = true;
        Ok(report)
    }

    pub(crate) fn retrain(
        &mut self,
        noise: &mut NoiseSource,
        worker: &Worker<'_>,
    ) -> Result<RetrainReport, EngineError> {
        self.changed = true;
        self.directory.retrain(noise, &mut |phase| worker.report(phase))
    }

    pub(crate) fn release(&mut self, noise: &mut NoiseSource) -> Result<Released, EngineError> {
        match self.directory.release(noise, None)? {
            ReleaseAnswer::Published(_) => {
                self.changed = false;
                self.inherited = None;
                self.latest()?.map(Released::Published).ok_or(EngineError::Damaged)
            }
            refused => Ok(Released::Refused(refused)),
        }
    }

    /// The latest release: of the directory, or else of the model that moved in.
    pub(crate) fn latest(&self) -> Result<Option<Published>, EngineError> {
        if let Some(Inherited { release, .. }) = &self.inherited {
            return Ok(Some(release.clone()));
        }
        let Some(DirectoryRelease { model, certificate }) = self.directory.latest_release()? else { return Ok(None) };
        Ok(Some(Published { weights: model.problems(), certificate, model: model.to_json() }))
    }

    pub(crate) fn is_stale(&self) -> Result<bool, EngineError> {
        Ok(self.changed
            || match &self.inherited {
                Some(inherited) => inherited.is_stale,
                None => self.directory.is_stale()?,
            })
    }

    pub(crate) fn close(self) -> Result<(), EngineError> {
        self.directory.close()
    }
}

/// Rows that were given as a table of a model with these settings.
fn table(given: &Given, features: Features<'_>, settings: &Settings) -> Result<TableParts, EngineError> {
    let origin = Origin::new("rows");
    let labels = match &settings.codec {
        LabelCodec::Numeric => RawLabels::Numbers(given.labels.clone()),
        LabelCodec::Classes(classes) => RawLabels::Text(class_names(&given.labels, classes)?),
    };
    Ok(TableParts {
        feature_names: settings.features.clone(),
        features: own(features),
        labels: Some(Labels::new(labels, origin.clone(), None)),
        ids: given.ids.clone(),
        subjects: given.subjects.clone(),
        origin,
    })
}

fn class_names(labels: &[f64], classes: &[String]) -> Result<Vec<String>, EngineError> {
    let name = |(row, label): (usize, &f64)| {
        let index = (label.fract() == 0.0 && *label >= 0.0).then_some(*label as usize);
        let class = index.and_then(|index| classes.get(index)).cloned();
        class.ok_or(RowsError::Class { row, value: *label, n_classes: classes.len() })
    };
    Ok(labels.iter().enumerate().map(name).collect::<Result<_, _>>()?)
}
