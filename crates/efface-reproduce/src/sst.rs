//! Sentiment of sentences on public features (Guo et al. 2020, Section 4.2).

use serde::{Deserialize, Serialize};

use crate::page::Section;
use crate::{ExperimentError, Progress, Setting};

/// What was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SstResults {}

/// Runs the experiment.
pub fn run(_setting: &Setting, _progress: &mut Progress<'_>) -> Result<SstResults, ExperimentError> {
    Ok(SstResults {})
}

impl SstResults {
    /// The experiment on the page.
    pub fn section(&self) -> Section {
        Section { id: "sst", title: "Sentences (SST)".to_owned(), parts: Vec::new() }
    }
}
