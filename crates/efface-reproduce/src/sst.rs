//! Sentiment of sentences on the features of a public extractor (Guo et al. 2020, Section 4.2).

use serde::{Deserialize, Serialize};

use crate::data::sst;
use crate::life::{Life, weights};
use crate::objective::{Effort, ObjectiveRun, accuracy_against_removals, grid, measure_all, release_plan};
use crate::page::{Part, Section};
use crate::text::{count, percent};
use crate::{ExperimentError, Progress, Setting};

/// λ of the figure.
const L2_PER_ROW: [f64; 3] = [1e-4, 1e-3, 1e-2];

/// σ of the figure.
const NOISE_STD: [f64; 4] = [0.1, 1.0, 10.0, 100.0];

/// What was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SstResults {
    /// n.
    pub n_rows: usize,
    /// d.
    pub dim: usize,
    /// Accuracy of the most accurate unperturbed model.
    pub unperturbed_accuracy: f64,
    /// Every λ and σ.
    pub runs: Vec<ObjectiveRun>,
}

/// Runs the experiment.
pub fn run(setting: &Setting, progress: &mut Progress<'_>) -> Result<SstResults, ExperimentError> {
    let data = sst(&setting.data, setting.quick)?;
    let n_removals = if setting.quick { 3 } else { 100 };
    let effort = Effort { n_removals, n_draws: if setting.quick { 1 } else { 5 } };
    let l2_per_row = if setting.quick { &L2_PER_ROW[..1] } else { &L2_PER_ROW[..] };
    let mut unperturbed_accuracy = 0.0_f64;
    for l2_per_row in l2_per_row {
        let life = Life::begin(&release_plan(&data, *l2_per_row)?, data.train_rows()?, setting.seed)?;
        unperturbed_accuracy = unperturbed_accuracy.max(data.accuracy(&weights(&life.model))?);
    }
    let runs = measure_all(&data, &grid(l2_per_row, &NOISE_STD), effort, setting.seed, progress)?;
    Ok(SstResults { n_rows: data.n_rows(), dim: data.dim(), unperturbed_accuracy, runs })
}

impl SstResults {
    /// The experiment on the page.
    pub fn section(&self) -> Section {
        let text = format!(
            "Positive or negative: n = {} sentences of the Stanford Sentiment Treebank, d = {} features of a public \
             sentence encoder (all-mpnet-base-v2 in place of the paper's RoBERTa), rows of norm 1. The best unperturbed \
             model reaches {}; the paper's reaches 89.0 %. The extractor is public, so only the linear head needs to \
             forget.",
            count(self.n_rows),
            count(self.dim),
            percent(self.unperturbed_accuracy)
        );
        let chart = accuracy_against_removals(
            "sst-removals",
            "Sentences: accuracy against supported removals at ε = 1",
            &self.runs,
            self.unperturbed_accuracy,
        );
        Section { id: "sst", title: "Sentences (SST)".to_owned(), parts: vec![Part::Text(text), Part::Chart(chart)] }
    }
}
