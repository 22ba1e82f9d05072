//! Beyond the paper: half of the rows leave, and nothing is lost.

use serde::{Deserialize, Serialize};

use crate::page::Section;
use crate::{ExperimentError, Progress, Setting};

/// What was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BeyondResults {}

/// Runs the experiment.
pub fn run(_setting: &Setting, _progress: &mut Progress<'_>) -> Result<BeyondResults, ExperimentError> {
    Ok(BeyondResults {})
}

impl BeyondResults {
    /// The experiment on the page.
    pub fn section(&self) -> Section {
        Section { id: "beyond", title: "Beyond the paper".to_owned(), parts: Vec::new() }
    }
}
