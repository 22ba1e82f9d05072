//! Scenes, six one-vs-all problems with one joint guarantee, in place of LSUN (Guo et al. 2020, Section 4.2).

use serde::{Deserialize, Serialize};

use crate::page::Section;
use crate::{ExperimentError, Progress, Setting};

/// What was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ScenesResults {}

/// Runs the experiment.
pub fn run(_setting: &Setting, _progress: &mut Progress<'_>) -> Result<ScenesResults, ExperimentError> {
    Ok(ScenesResults {})
}

impl ScenesResults {
    /// The experiment on the page.
    pub fn section(&self) -> Section {
        Section { id: "scenes", title: "Scenes".to_owned(), parts: Vec::new() }
    }
}
