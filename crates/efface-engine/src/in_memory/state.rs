//! What a model in memory is, what it claims, and its rows for whoever keeps them elsewhere.

use efface_data::RowId;

use super::MemoryModel;
use super::rows::LentRows;
use crate::database::{Chain, Head, LedgerHead};
use crate::error::EngineError;
use crate::settings::Settings;
use crate::status::Status;

impl MemoryModel {
    /// What was decided at training.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Passes over the rows that the latest training took.
    pub fn iterations(&self) -> usize {
        self.iterations
    }

    /// Scale of the noise.
    pub fn noise_std(&self) -> f64 {
        self.model.plan().noise_std()
    }

    /// The current values of the model.
    pub fn status(&self) -> Status {
        let status = Status::of(&self.settings, &self.model, &self.head());
        let n_removed_since_release = if self.latest.is_some() { self.since.tally().removed } else { 0 };
        Status { n_removed_since_release, released: self.latest.as_ref().map(|latest| latest.time), ..status }
    }

    /// Norm of the step that removing each row alone would take: of these rows, or of all in the order of their
    /// positions, 0 for those that left. An estimate.
    pub fn influence(&self, lent: &LentRows<'_>, ids: Option<&[RowId]>) -> Result<Vec<f64>, EngineError> {
        let Some(ids) = ids else { return self.rows.read(lent, |rows| Ok(self.model.influences(rows)?)) };
        self.settings.check_has_ids()?;
        let positions = self.index.positions_of(ids, &self.rows.present)?;
        Ok(self.model.influences(&self.rows.unchanged_batch(lent, &positions)?)?)
    }

    /// Where the history of the model stands, as a directory would write it.
    pub(crate) fn head(&self) -> Head {
        Head {
            model: self.name.clone(),
            sequence: self.sequence,
            chain: Chain::start(&self.name),
            generation: 0,
            state: String::new(),
            n_positions: self.rows.len(),
            class_counts: self.rows.class_counts.clone(),
            n_removed: self.n_removed,
            n_suppressed: self.n_suppressed,
            account: self.model.state().account,
            ledger: LedgerHead { n_people: self.since.people.len(), ..LedgerHead::default() },
        }
    }
}
