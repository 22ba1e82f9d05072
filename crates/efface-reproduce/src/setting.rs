//! What every experiment is given: where the data is, how much to do, and whom to tell how far it has come.

use std::cell::RefCell;
use std::fs;
use std::path::PathBuf;

use crate::{ExperimentError, Result};

/// What every experiment is given.
pub struct Setting<'a> {
    /// Directory with one folder per data set.
    pub data: PathBuf,
    /// Few rows and few repeats: a smoke run, whose numbers mean nothing.
    pub quick: bool,
    /// Seed of orders, samples and noise, so that a run can be repeated. What is trained here is not to be published.
    pub seed: u64,
    /// Where long work is written down, so that a run that is stopped can go on.
    checkpoints: Option<PathBuf>,
    stage: RefCell<Stage>,
    tell: RefCell<&'a mut dyn FnMut(&Stage)>,
}

/// Where an experiment is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// What is being done.
    pub what: String,
    /// Steps done.
    pub done: usize,
    /// Steps in all.
    pub of: usize,
}

impl<'a> Setting<'a> {
    /// A setting that tells `tell` of every step.
    pub fn new(data: PathBuf, quick: bool, seed: u64, tell: &'a mut dyn FnMut(&Stage)) -> Self {
        Self { data, quick, seed, checkpoints: None, stage: RefCell::default(), tell: RefCell::new(tell) }
    }

    /// Long work is written down in this folder from time to time, and goes on from what is there.
    #[must_use]
    pub fn with_checkpoints(self, folder: PathBuf) -> Self {
        Self { checkpoints: Some(folder), ..self }
    }

    /// A stage of `of` steps begins.
    pub(crate) fn begin(&self, what: impl Into<String>, of: usize) {
        self.tell(|stage| *stage = Stage { what: what.into(), done: 0, of });
    }

    /// One more step of the stage is done.
    pub(crate) fn step(&self) {
        self.tell(|stage| stage.done += 1);
    }

    /// So many steps of the stage are done.
    pub(crate) fn is_at(&self, done: usize) {
        self.tell(|stage| stage.done = done);
    }

    /// What was kept under a name.
    pub(crate) fn kept(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.checkpoint(name)?).ok()
    }

    /// Keeps this under a name, in the place of what was kept before.
    pub(crate) fn keep(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let Some(path) = self.checkpoint(name) else { return Ok(()) };
        let aside = path.with_extension("tmp");
        let kept = path.parent().map_or(Ok(()), fs::create_dir_all);
        let kept = kept.and_then(|()| fs::write(&aside, bytes)).and_then(|()| fs::rename(&aside, &path));
        kept.map_err(|source| ExperimentError::Checkpoint { path, source })
    }

    /// Takes away what was kept under a name, and the folder once it is empty.
    pub(crate) fn forget(&self, name: &str) {
        // Best effort: what stays is of no use, and does no harm.
        if let Some(path) = self.checkpoint(name) {
            let _ = fs::remove_file(&path);
            let _ = path.parent().map(fs::remove_dir);
        }
    }

    fn checkpoint(&self, name: &str) -> Option<PathBuf> {
        Some(self.checkpoints.as_ref()?.join(format!("{name}.checkpoint")))
    }

    fn tell(&self, change: impl FnOnce(&mut Stage)) {
        change(&mut self.stage.borrow_mut());
        (self.tell.borrow_mut())(&self.stage.borrow());
    }
}
