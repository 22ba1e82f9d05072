//! What everybody inside may know of a model, wherever it lives.

use super::keeper::{Keeper, Kept};
use crate::error::EngineError;
use crate::settings::Settings;
use crate::status::Status;

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
