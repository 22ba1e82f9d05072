//! What every experiment is given: where the data is, how much to do, and whom to tell how far it has come.

use std::cell::RefCell;
use std::path::PathBuf;

/// What every experiment is given.
pub struct Setting<'a> {
    /// Directory with one folder per data set.
    pub data: PathBuf,
    /// Few rows and few repeats: a smoke run, whose numbers mean nothing.
    pub quick: bool,
    /// Seed of orders, samples and noise, so that a run can be repeated. What is trained here is not to be published.
    pub seed: u64,
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
        Self { data, quick, seed, stage: RefCell::default(), tell: RefCell::new(tell) }
    }

    /// A stage of `of` steps begins.
    pub(crate) fn begin(&self, what: impl Into<String>, of: usize) {
        self.tell(|stage| *stage = Stage { what: what.into(), done: 0, of });
    }

    /// One more step of the stage is done.
    pub(crate) fn step(&self) {
        self.tell(|stage| stage.done += 1);
    }

    fn tell(&self, change: impl FnOnce(&mut Stage)) {
        change(&mut self.stage.borrow_mut());
        (self.tell.borrow_mut())(&self.stage.borrow());
    }
}
