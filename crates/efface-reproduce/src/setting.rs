//! What every experiment is given: where the data is, how much to do, and whom to tell how far it has come.

use std::path::PathBuf;

/// What every experiment is given.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Directory with one folder per data set.
    pub data: PathBuf,
    /// Few rows and few repeats: a smoke run, whose numbers mean nothing.
    pub quick: bool,
    /// Seed of orders, samples and noise, so that a run can be repeated. What is trained here is not to be published.
    pub seed: u64,
}

/// Where an experiment is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// What is being done.
    pub what: String,
    /// Steps done.
    pub done: usize,
    /// Steps in all.
    pub of: usize,
}

/// Is told where an experiment is, again and again.
pub struct Progress<'a> {
    tell: &'a mut dyn FnMut(&Stage),
    stage: Stage,
}

impl<'a> Progress<'a> {
    /// Tells `tell`.
    pub fn new(tell: &'a mut dyn FnMut(&Stage)) -> Self {
        Self { tell, stage: Stage { what: String::new(), done: 0, of: 0 } }
    }

    /// A stage of `of` steps begins.
    pub fn begin(&mut self, what: impl Into<String>, of: usize) {
        self.stage = Stage { what: what.into(), done: 0, of };
        (self.tell)(&self.stage);
    }

    /// One more step of the stage is done.
    pub fn step(&mut self) {
        self.stage.done += 1;
        (self.tell)(&self.stage);
    }
}
