//! A model in memory moves into a directory: its rows as a directory keeps them, and everything that it remembers.

use std::path::PathBuf;

use efface_data::Vault;
use efface_ledger::certificate::ReleasePolicy;

use super::MemoryModel;
use crate::directory::ModelDirectory;
use crate::directory::make::{Adopted, Place};
use crate::error::EngineError;
use crate::life::{Keeper, Kept};

/// Where a model in memory is kept from now on.
#[derive(Clone, Debug, Default)]
pub struct KeepOptions {
    /// The model directory. Must not exist.
    pub out: PathBuf,
    /// The key that signs certificates; `None`: one of the directory's own.
    pub key: Option<PathBuf>,
    /// A file elsewhere that remembers what was removed. Must not exist.
    pub witness: Option<PathBuf>,
}

impl MemoryModel {
    /// Makes a model directory that goes on where this model stands: the account of its releases and what was removed
    /// are carried over. The directory is open and locked. This model is of no more use then: two of them would spend one
    /// promise twice.
    pub fn keep(&self, rows: &dyn Vault, options: KeepOptions) -> Result<ModelDirectory, EngineError> {
        self.keeper.check_usable()?;
        let KeepOptions { out, key, witness } = options;
        let adopted = Adopted {
            of: Kept { settings: &self.settings, model: &self.model },
            rows,
            keeper: &self.keeper,
            removed: self.keeper.index.removed(),
            past: &self.keeper.past,
        };
        ModelDirectory::adopt(&adopted, Place { out, key, witness, policy: ReleasePolicy::default() })
    }
}
