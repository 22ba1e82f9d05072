//! Scenes in six one-vs-all problems with one joint guarantee, in place of LSUN (Guo et al. 2020, Section 4.2).

use serde::{Deserialize, Serialize};

use crate::data::scenes;
use crate::life::{Life, weights};
use crate::objective::{Effort, ObjectiveRun, accuracy_against_removals, grid, measure_all, release_plan};
use crate::page::{Part, Section};
use crate::text::{count, percent};
use crate::{ExperimentError, Progress, Setting};

/// λ of the figure.
const L2_PER_ROW: [f64; 3] = [1e-4, 1e-3, 1e-2];

/// σ of the figure.
const NOISE_STD: [f64; 3] = [0.1, 1.0, 10.0];

/// What was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ScenesResults {
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
pub fn run(setting: &Setting, progress: &mut Progress<'_>) -> Result<ScenesResults, ExperimentError> {
    let data = scenes(&setting.data, setting.quick)?;
    let n_removals = if setting.quick { 2 } else { 10 };
    let effort = Effort { n_removals, n_draws: if setting.quick { 1 } else { 2 } };
    let l2_per_row = if setting.quick { &L2_PER_ROW[..1] } else { &L2_PER_ROW[..] };
    let mut unperturbed_accuracy = 0.0_f64;
    for l2_per_row in l2_per_row {
        let life = Life::begin(&release_plan(&data, *l2_per_row)?, data.train_rows()?, setting.seed)?;
        unperturbed_accuracy = unperturbed_accuracy.max(data.accuracy(&weights(&life.model))?);
    }
    let runs = measure_all(&data, &grid(l2_per_row, &NOISE_STD), effort, setting.seed, progress)?;
    Ok(ScenesResults { n_rows: data.n_rows(), dim: data.dim(), unperturbed_accuracy, runs })
}

impl ScenesResults {
    /// The experiment on the page.
    pub fn section(&self) -> Section {
        let text = format!(
            "Six classes of natural scenes, n = {}, d = {} features of a public image network (ResNet-50; the paper has \
             ten classes of LSUN, n = 1,000,000 and ResNeXt-101 with the same d), rows of norm 1. Six one-vs-all \
             problems, each with all its positives and a fifth of the negatives, chosen by a public rule that looks \
             at the row's id only. One joint guarantee: the six perturbations are one Gaussian in d·6 dimensions, so the \
             budget is one and squares of residuals add up. The best unperturbed model reaches {}. Bounds are means \
             over {} removals.",
            count(self.n_rows),
            count(self.dim),
            percent(self.unperturbed_accuracy),
            self.runs.first().map_or(0, |run| run.n_removals)
        );
        let chart = accuracy_against_removals(
            "scenes-removals",
            "Scenes: accuracy against supported removals at ε = 1",
            &self.runs,
            self.unperturbed_accuracy,
        );
        Section {
            id: "scenes",
            title: "Scenes, six classes (in place of LSUN)".to_owned(),
            parts: vec![Part::Text(text), Part::Chart(chart)],
        }
    }
}
