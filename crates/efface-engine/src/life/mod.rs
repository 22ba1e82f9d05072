//! The life of a model, written once: rows are removed, added and corrected, the weights are settled, trained again and
//! released.
//!
//! Two traits say where it is lived. A `Keeper` knows who is in the model and what was asked, and commits each change: a
//! [directory](crate::ModelDirectory) or [memory](crate::MemoryModel). A [`Vault`] has the rows: segments on disk, rows that
//! another program lends, rows elsewhere.
//!
//! ```text
//! request ─▶ keeper: where are the rows? ─▶ vault: a copy of them ─▶ one step of the model ─▶ keeper: one commit ─▶ answer
//! ```

mod change;
mod files;
mod guard;
mod keeper;
mod new_rows;
mod release;
mod report;
mod selection;
mod settle;

pub use new_rows::RowSource;
pub use release::{LatestRelease, ReleaseAnswer, ReleaseReport};
pub use report::ChangeReport;
pub use selection::{Missing, Selection};
pub use settle::{RetrainReport, SettleReport};

pub(crate) use change::numbered_change;
pub(crate) use guard::{check_is_bounded, count_classes, in_words};
pub(crate) use keeper::{CommittedChange, Found, Keeper, LoggedEntry, NewRelease, Past, PastRequest, StepKind};
pub(crate) use release::covered_request;
pub(crate) use settle::train_again;

use efface_core::model::Model;
use efface_core::rows::BLOCK_ROWS;
use efface_data::{RowId, Vault};

use crate::error::EngineError;
use crate::history::Kept;
use crate::settings::Settings;
use crate::status::Status;

/// A model for the length of one operation: its state, who keeps it, and its rows.
///
/// After an error the model is as before, unless the error says otherwise.
pub struct Life<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) model: &'a mut Model,
    pub(crate) keeper: &'a mut dyn Keeper,
    pub(crate) rows: &'a mut dyn Vault,
}

impl Life<'_> {
    /// Norm of the step that removing each of these rows alone would take, in the order of `ids`; `None`: of all rows in the
    /// order of their positions, 0 where a row has left. Estimates, and functions of the rows: keep them inside.
    pub fn influences(&self, ids: Option<&[RowId]>) -> Result<Vec<f64>, EngineError> {
        if let Some(ids) = ids {
            return Ok(self.model.influences(&self.rows.batch(&self.positions_of(ids)?)?)?);
        }
        let n_positions = self.rows.n_positions();
        let present: Vec<usize> = (0..n_positions).filter(|position| self.rows.is_present(*position)).collect();
        let mut influences = vec![0.0; n_positions];
        for positions in present.chunks(16 * BLOCK_ROWS) {
            let found = self.model.influences(&self.rows.batch(positions)?)?;
            positions.iter().zip(found).for_each(|(position, influence)| influences[*position] = influence);
        }
        Ok(influences)
    }
}

/// A model to be looked at.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub(crate) of: Kept<'a>,
    pub(crate) keeper: &'a dyn Keeper,
}

impl<'a> View<'a> {
    /// What was decided at training.
    pub fn settings(&self) -> &'a Settings {
        self.of.settings
    }

    /// The current values of the model.
    pub fn status(&self) -> Result<Status, EngineError> {
        self.keeper.status(self.of)
    }

    /// Scale of the noise.
    pub fn noise_std(&self) -> f64 {
        self.of.model.plan().noise_std()
    }

    /// Number of rows present.
    pub fn n_rows(&self) -> usize {
        self.of.model.state().count.n_rows
    }

    /// Releases so far.
    pub fn n_releases(&self) -> usize {
        self.of.model.state().account.n_releases
    }

    /// Whether rows changed, or the model was trained again, since the latest release.
    pub fn is_stale(&self) -> bool {
        self.keeper.history().is_stale
    }
}
