//! Table 1: times of training and of removal.

use serde::{Deserialize, Serialize};

use crate::page::Section;
use crate::{ExperimentError, Progress, Setting};

/// What was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TimesResults {}

/// Runs the experiment.
pub fn run(_setting: &Setting, _progress: &mut Progress<'_>) -> Result<TimesResults, ExperimentError> {
    Ok(TimesResults {})
}

impl TimesResults {
    /// The experiment on the page.
    pub fn section(&self) -> Section {
        Section { id: "times", title: "Table 1: times".to_owned(), parts: Vec::new() }
    }
}
