//! A model in memory: for rows that somebody else owns. Everything that must be kept to remove rows later is in the
//! [`MemoryModel`] and is gone with it, unless it [moves](MemoryModel::keep) into a directory.

mod bytes;
mod index;
mod keeper;
mod train;

#[cfg(test)]
mod tests;

pub use train::MemoryRequest;

use std::fmt;

use efface_core::model::Model;
use efface_data::{NetworkPlaces, Vault};

use self::keeper::MemoryKeeper;
use crate::directory::ModelDirectory;
use crate::directory::make::{Adopted, Place};
use crate::error::EngineError;
use crate::history::Kept;
use crate::life::{Keeper, LatestRelease, Life, View};
use crate::settings::Settings;

/// A trained model in memory, with everything that removing its rows takes. Secret, but for its latest release.
pub struct MemoryModel {
    settings: Settings,
    model: Model,
    keeper: MemoryKeeper,
    iterations: usize,
}

impl MemoryModel {
    /// Runs operations on the model, whose rows are in this vault.
    pub fn live<T>(
        &mut self,
        rows: &mut dyn Vault,
        operation: impl FnOnce(&mut Life<'_>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let Self { settings, model, keeper, .. } = self;
        let done = operation(&mut Life { settings, model, keeper, rows });
        rows.purge(&std::mem::take(&mut self.keeper.unpurged))?;
        done
    }

    /// Makes a model directory that goes on where this model stopped: the account of its releases and what was removed
    /// are carried over. The directory is open and locked. Do not use this model any more then: two of them would spend
    /// one promise twice.
    pub fn keep(&self, rows: &dyn Vault, place: Place) -> Result<ModelDirectory, EngineError> {
        self.keeper.check_usable()?;
        let Self { settings, model, keeper, .. } = self;
        let (removed, past) = (keeper.index.removed(), &keeper.past);
        let of = Kept { settings, model, preparation: rows.preparation() };
        let adopted = Adopted { of, rows, keeper, removed, past };
        ModelDirectory::adopt(&adopted, place)
    }

    /// The same whose networks are looked for here, when they move into a directory.
    #[must_use]
    pub fn with_networks(self, places: NetworkPlaces) -> Self {
        Self { settings: self.settings.with_networks(places), ..self }
    }

    /// The model to be looked at.
    pub fn view(&self) -> View<'_> {
        let of = Kept { settings: &self.settings, model: &self.model, preparation: None };
        View { of, keeper: &self.keeper }
    }

    /// Passes over the rows that the training took.
    pub fn iterations(&self) -> usize {
        self.iterations
    }

    /// The latest release.
    pub fn latest_release(&self) -> Option<&LatestRelease> {
        self.keeper.latest.as_ref()
    }
}

/// Shape only: the state is secret.
impl fmt::Debug for MemoryModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shape = f.debug_struct("MemoryModel");
        shape.field("n_rows", &self.model.state().count.n_rows).field("dim", &self.model.dim()).finish_non_exhaustive()
    }
}
