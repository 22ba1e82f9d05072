//! What an open model directory tells of its model, without changing it.

use std::fs;
use std::path::Path;

use efface_data::RowId;

use crate::error::EngineError;
use crate::model_directory::ModelDirectory;
use crate::published::{PublishedModel, latest_certificate};
use crate::settings::Settings;
use crate::status::Status;

/// A release of a model directory.
pub struct DirectoryRelease {
    /// What was published.
    pub model: PublishedModel,
    /// Its certificate, as it was signed. Nothing of it is verified here.
    pub certificate: String,
}

impl ModelDirectory {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was decided at training.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The current values of the model.
    pub fn status(&self) -> Result<Status, EngineError> {
        let status =
            Status::of(&self.settings, &self.model, &self.head).since(self.database.latest_release()?.as_ref());
        let (n_unpurged, mended) = (self.database.unpurged()?.len(), self.database.mended()?);
        Ok(Status { n_unpurged, mended, witness: self.database.witness()?, ..status })
    }

    /// Whether rows changed since the latest release, or there is none.
    pub fn is_stale(&self) -> Result<bool, EngineError> {
        let covered = self.database.latest_release()?.and_then(|latest| latest.sequence);
        Ok(covered != Some(self.head.sequence))
    }

    /// The latest release, if there is one.
    pub fn latest_release(&self) -> Result<Option<DirectoryRelease>, EngineError> {
        if self.n_releases() == 0 {
            return Ok(None);
        }
        let model = PublishedModel::open(&self.path)?;
        let file = latest_certificate(&self.path)?;
        let certificate = fs::read_to_string(&file).map_err(EngineError::io(&file))?;
        Ok(Some(DirectoryRelease { model, certificate }))
    }

    /// Norm of the step that removing each row alone would take: of these rows, or of all in the order of their
    /// positions, 0 for those that left. An estimate.
    pub fn influence(&self, ids: Option<&[RowId]>) -> Result<Vec<f64>, EngineError> {
        Ok(match ids {
            None => self.model.influences(&self.rows)?,
            Some(ids) => self.model.influences(&self.rows.batch(&self.positions_of(ids)?)?)?,
        })
    }
}
