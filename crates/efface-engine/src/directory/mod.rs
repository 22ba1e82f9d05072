//! A model directory: made by training, opened by every later operation, and never half changed.
//!
//! | part | holds |
//! |---|---|
//! | `make/` | a new directory: by training, or of a model that lived in memory |
//! | `open.rs`, `recovery/` | opening one: what a crash or an old backup left is put right |
//! | `keeper.rs`, `database/` | who is in the model, what was asked; one commit per change |
//! | `state_file/`, `checkpoint.rs` | the secret state as bytes, and when they are written |
//! | `certify/` | who signs, the log, releases, requests, withdrawals |
//! | `files.rs`, `lock.rs`, `witness.rs` | durable writes, one writer, a memory elsewhere |

pub(crate) mod certify;
mod checkpoint;
pub(crate) mod database;
pub(crate) mod files;
mod keeper;
mod latest;
pub(crate) mod lock;
pub(crate) mod make;
mod open;
mod queries;
mod recovery;
mod removed_list;
mod row_memory;
pub(crate) mod state_file;
mod verify;
pub(crate) mod witness;

pub use latest::latest_certificate;
pub use open::OpenOptions;
pub use queries::AuditMaterial;
pub use verify::DirectoryReport;

pub(crate) use keeper::DirectoryKeeper;

use std::path::Path;

use efface_core::model::{Model, Phase};
use efface_core::noise::NoiseSource;
use efface_data::StoredRows;

use self::certify::publication::Copies;
use self::lock::WriterLock;
use crate::error::EngineError;
use crate::life::{ChangeReport, Life, Missing, ReleaseAnswer, RetrainReport, RowSource, Selection, SettleReport};
use crate::settings::Settings;
use crate::status::Repair;

/// A model on disk, opened for changing. Exactly one process can have it open.
///
/// A change is durable when its call returns. The bytes of rows that left are overwritten by the next
/// [checkpoint](Self::checkpoint), which [`close`](Self::close) makes; a model that is dropped without it makes it when it
/// is next opened.
pub struct ModelDirectory {
    settings: Settings,
    model: Model,
    rows: StoredRows,
    keeper: DirectoryKeeper,
    repairs: Vec<Repair>,
    /// `None`: a copy that is only read.
    _lock: Option<WriterLock>,
}

impl ModelDirectory {
    /// Runs operations on the model. What they changed is durable when this returns.
    pub fn live<T>(
        &mut self,
        operation: impl FnOnce(&mut Life<'_>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let done = operation(&mut self.life());
        if let Some(position) = done.as_ref().err().and_then(EngineError::damaged_row) {
            // Best effort: what stopped the operation is told anyway.
            let _ = self.keeper.note_damaged(position);
        }
        let done = done?;
        self.checkpoint_if_due()?;
        Ok(done)
    }

    fn life(&mut self) -> Life<'_> {
        let Self { settings, model, rows, keeper, .. } = self;
        Life { settings, model, keeper, rows }
    }

    /// [`Life::remove`]; a row or subject that is not there is an error, and nothing is removed. With the damaged rows go
    /// bytes that stand where removed rows were overwritten.
    pub fn remove(&mut self, selection: &Selection, request_id: Option<&str>) -> Result<ChangeReport, EngineError> {
        if *selection == Selection::Damaged {
            self.overwrite_again()?;
        }
        self.live(|life| life.remove(selection, request_id, Missing::Refuse))
    }

    /// [`Life::add`].
    pub fn add(&mut self, source: &RowSource<'_>) -> Result<ChangeReport, EngineError> {
        self.live(|life| life.add(source))
    }

    /// [`Life::correct`].
    pub fn correct(&mut self, source: &RowSource<'_>) -> Result<ChangeReport, EngineError> {
        self.live(|life| life.correct(source))
    }

    /// [`Life::settle`].
    pub fn settle(&mut self, tolerance: Option<f64>) -> Result<SettleReport, EngineError> {
        self.live(|life| life.settle(tolerance))
    }

    /// [`Life::retrain`].
    pub fn retrain(
        &mut self,
        noise: &mut NoiseSource,
        report: &mut dyn FnMut(Phase),
    ) -> Result<RetrainReport, EngineError> {
        self.live(|life| life.retrain(noise, report))
    }

    /// [`Life::release`]. The model and its certificate lie in the directory; with `out`, a copy of the model goes there and
    /// of the certificate beside it.
    pub fn release(&mut self, noise: &mut NoiseSource, out: Option<&Path>) -> Result<ReleaseAnswer, EngineError> {
        let copies = out.map(Copies::reserve).transpose()?;
        let mut answer = self.live(|life| life.release(noise))?;
        if let ReleaseAnswer::Published(report) = &mut answer {
            (report.model, report.certificate) = self.keeper.published(report.release, copies)?;
        }
        // What was removed before may still be an intent.
        self.checkpoint()?;
        Ok(answer)
    }

    /// Makes a checkpoint and lets go of the directory.
    pub fn close(mut self) -> Result<(), EngineError> {
        self.checkpoint()
    }
}
