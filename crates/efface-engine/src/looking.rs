//! What an open model directory tells of its model, without changing it.

use std::fs;
use std::path::Path;

use efface_data::RowId;
use efface_ledger::certificate::ReleaseCertificate;
use efface_ledger::envelope::Envelope;
use efface_ledger::statement::Statement;
use serde_json::Value;

use crate::error::EngineError;
use crate::model_directory::ModelDirectory;
use crate::published::{PublishedModel, latest_certificate};
use crate::settings::Settings;
use crate::status::Status;

/// A release of a model directory.
pub struct DirectoryRelease {
    /// What was published.
    pub model: PublishedModel,
    /// The fields of its certificate, with `signed`, and the signed file itself as `envelope`. Nothing of it is verified
    /// here.
    pub certificate: Value,
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
        let text = fs::read(&file).map_err(EngineError::io(&file))?;
        let unreadable =
            |error: &dyn std::error::Error| EngineError::BadPublished { path: file.clone(), reason: error.to_string() };
        let envelope = Envelope::parse(&text).map_err(|error| unreadable(&error))?;
        let statement = Statement::<ReleaseCertificate>::from_payload(envelope.unverified_payload())
            .map_err(|error| unreadable(&error))?;
        let fields = serde_json::to_value(&statement.predicate).and_then(|mut fields| {
            fields["signed"] = true.into();
            fields["envelope"] = serde_json::from_slice(&text)?;
            Ok(fields)
        });
        Ok(Some(DirectoryRelease { model, certificate: fields.map_err(|error| unreadable(&error))? }))
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
