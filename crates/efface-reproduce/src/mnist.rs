//! Figures 1 to 3: linear logistic regression on MNIST 3-vs-8 (Guo et al. 2020, Section 4.1).

use serde::{Deserialize, Serialize};

use crate::page::Section;
use crate::{ExperimentError, Progress, Setting};

/// What was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MnistResults {}

/// Runs the experiment.
pub fn run(_setting: &Setting, _progress: &mut Progress<'_>) -> Result<MnistResults, ExperimentError> {
    Ok(MnistResults {})
}

impl MnistResults {
    /// The experiment on the page.
    pub fn section(&self) -> Section {
        Section { id: "mnist", title: "MNIST, 3 against 8".to_owned(), parts: Vec::new() }
    }
}
