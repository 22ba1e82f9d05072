//! The file that a training which was stopped goes on from.

use std::fs;
use std::path::{Path, PathBuf};

use efface_extractor::Trainer;

use crate::directory::files;
use crate::error::EngineError;

pub(super) struct Checkpoint {
    path: PathBuf,
    /// What was there at the start.
    found: Option<Vec<u8>>,
}

impl Checkpoint {
    /// Reads it, if there is one.
    pub(super) fn find(path: &Path) -> Result<Self, EngineError> {
        Ok(Self { path: path.into(), found: files::if_there(fs::read(path), path)? })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn found(&self) -> Option<(&Path, &[u8])> {
        Some((&self.path, self.found.as_deref()?))
    }

    /// Replaces it as a whole.
    pub(super) fn write(&self, trainer: &Trainer) -> Result<(), EngineError> {
        files::replace(&self.path, &trainer.checkpoint())
    }

    /// Going on from it once more would publish steps that are not accounted for.
    pub(super) fn remove(&self) {
        // Best effort: the training is done, and the same command is refused because its files are there.
        let _ = fs::remove_file(&self.path);
    }
}
