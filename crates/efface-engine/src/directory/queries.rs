//! What an open model directory tells of its model, without changing it.

use std::fs;
use std::path::Path;

use efface_core::model::Model;
use efface_core::rows::RowBlocks;
use efface_ledger::key::PublicKey;

use super::certify::signing;
use super::database::Database;
use super::files::{self, check_is_model};
use super::{ModelDirectory, latest_certificate, lock, recovery};
use crate::error::{CertifyError, EngineError};
use crate::history::Kept;
use crate::life::{ChangeReport, LatestRelease, View};
use crate::published::PublishedModel;
use crate::settings::Settings;
use crate::status::{Repair, Status};

/// The secret model and its rows, to be looked at and copied in memory, never to be changed or shown.
#[derive(Clone, Copy)]
pub struct AuditMaterial<'a> {
    /// The model as it is now.
    pub model: &'a Model,
    /// The rows present.
    pub rows: &'a dyn RowBlocks,
}

impl ModelDirectory {
    /// Hands out what an audit attacks. Whoever gets it is inside the trust boundary.
    pub fn audit_material(&self) -> AuditMaterial<'_> {
        AuditMaterial { model: &self.model, rows: &self.rows }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.keeper.path
    }

    /// What was decided at training.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The public half of the key that signs for this model.
    pub fn public_key(&self) -> Result<PublicKey, EngineError> {
        signing::read_public(&signing::public_key_path(&self.keeper.key_path()?))
    }

    /// The model to be looked at.
    pub fn view(&self) -> View<'_> {
        View {
            of: Kept { settings: &self.settings, model: &self.model, preparation: self.rows.preparation() },
            keeper: &self.keeper,
        }
    }

    /// Number of rows present.
    pub fn n_rows(&self) -> usize {
        self.view().n_rows()
    }

    /// Releases so far.
    pub fn n_releases(&self) -> usize {
        self.view().n_releases()
    }

    /// The report of a change with what the model claims now: after settling, the settled values.
    #[must_use]
    pub fn brought_up_to_date(&self, report: &ChangeReport) -> ChangeReport {
        report.up_to_date(&self.model)
    }

    /// What was not as it was left when the directory was opened, and was put right.
    pub fn repairs_at_opening(&self) -> &[Repair] {
        &self.repairs
    }

    /// The latest release that lies in the directory, if there is one: a model that was adopted may have made others.
    pub fn latest_release(&self) -> Result<Option<LatestRelease>, EngineError> {
        let model = match PublishedModel::open(&self.keeper.path) {
            Ok(model) => model,
            Err(EngineError::Certify(CertifyError::NoRelease { .. })) => return Ok(None),
            Err(error) => return Err(error),
        };
        let file = latest_certificate(&self.keeper.path)?;
        let certificate = fs::read_to_string(&file).map_err(EngineError::io(&file))?;
        Ok(Some(LatestRelease { model, certificate }))
    }
}

impl Status {
    /// Reads the status of a model directory, beside a writer that may be at work.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, EngineError> {
        let path = path.as_ref();
        check_is_model(path)?;
        let database = Database::open_to_read(path)?;
        let status = database.status()?.since(database.latest_release()?.as_ref());
        let n_unpurged = database.unpurged()?.len();
        let out_of_step = recovery::out_of_step(path, &database)?;
        let (repairs, damaged, witness) = (database.repairs()?, database.damaged()?, database.witness()?);
        let left_behind = lock::abandoned(path);
        let mut loose = files::open_to_others(path);
        loose.extend(witness.clone().filter(|witness| files::is_open_to_others(witness)));
        Ok(Self { n_unpurged, out_of_step, left_behind, damaged, repairs, loose, witness, ..status })
    }
}
