//! What an open model directory tells of its model, without changing it.

use std::fs;
use std::path::Path;

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

    /// The latest release that lies in the directory, if there is one: a model that was adopted may have made others.
    pub fn latest_release(&self) -> Result<Option<DirectoryRelease>, EngineError> {
        let model = match PublishedModel::open(&self.path) {
            Ok(model) => model,
            Err(EngineError::NoRelease { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let file = latest_certificate(&self.path)?;
        let certificate = fs::read_to_string(&file).map_err(EngineError::io(&file))?;
        Ok(Some(DirectoryRelease { model, certificate }))
    }
}
