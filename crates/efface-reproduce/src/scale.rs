//! A million rows of 2,048 features, and how costs grow.

use serde::{Deserialize, Serialize};

use crate::page::Section;
use crate::{ExperimentError, Progress, Setting};

/// What was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ScaleResults {}

/// Runs the experiment.
pub fn run(_setting: &Setting, _progress: &mut Progress<'_>) -> Result<ScaleResults, ExperimentError> {
    Ok(ScaleResults {})
}

impl ScaleResults {
    /// The experiment on the page.
    pub fn section(&self) -> Section {
        Section { id: "scale", title: "Scale".to_owned(), parts: Vec::new() }
    }
}
