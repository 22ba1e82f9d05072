//! Accuracy against supported removals on features of public extractors (Guo et al. 2020, Section 4.2): sentences, and
//! scenes in place of LSUN, in six one-vs-all problems with one joint guarantee.

use efface_report::numbers::{count, percent};
use efface_report::{Part, Section};
use serde::{Deserialize, Serialize};

use crate::data::{DataSet, scenes, sst};
use crate::objective::{Effort, ObjectiveRun, accuracy_against_removals, measure_grid, unperturbed};
use crate::{Result, Setting};

/// λ of both figures.
const L2_PER_ROW: [f64; 3] = [1e-4, 1e-3, 1e-2];

/// Accuracy and supported removals on one data set.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SupportedRemovals {
    n_rows: usize,
    dim: usize,
    /// Accuracy of the most accurate unperturbed model.
    unperturbed_accuracy: f64,
    /// Every λ and σ.
    runs: Vec<ObjectiveRun>,
}

impl SupportedRemovals {
    pub(crate) fn of_sentences(setting: &Setting<'_>) -> Result<Self> {
        let data = sst(&setting.data, setting.quick)?;
        Self::measure(&data, &[0.1, 1.0, 10.0, 100.0], Effort::of(setting), setting)
    }

    /// Six Hessians of 2,048 features take their time: fewer removals than on the other data sets.
    pub(crate) fn of_scenes(setting: &Setting<'_>) -> Result<Self> {
        let data = scenes(&setting.data, setting.quick)?;
        let (n_removals, n_draws) = if setting.quick { (2, 1) } else { (10, 2) };
        Self::measure(&data, &[0.1, 1.0, 10.0], Effort { n_removals, n_draws }, setting)
    }

    fn measure(data: &DataSet, noise_std: &[f64], effort: Effort, setting: &Setting<'_>) -> Result<Self> {
        let l2_per_row = if setting.quick { &L2_PER_ROW[..1] } else { &L2_PER_ROW[..] };
        let unperturbed = unperturbed(data, l2_per_row, setting)?;
        let runs = measure_grid(data, l2_per_row, noise_std, effort, setting)?;
        let unperturbed_accuracy = unperturbed.iter().map(|model| model.accuracy).fold(0.0, f64::max);
        Ok(Self { n_rows: data.n_rows(), dim: data.dim(), unperturbed_accuracy, runs })
    }

    pub(crate) fn sentences_section(&self) -> Section {
        let (n, d, accuracy) = self.facts();
        let text = format!(
            "Positive or negative: n = {n} sentences of the Stanford Sentiment Treebank, d = {d} features of a public \
             sentence encoder (all-mpnet-base-v2 in place of the paper's RoBERTa), rows of norm 1. The best unperturbed \
             model reaches {accuracy}; the paper's reaches 89.0 %. The extractor is public, so only the linear head needs to \
             forget."
        );
        self.section("sst", "Sentences (SST)", "Sentences", text)
    }

    pub(crate) fn scenes_section(&self) -> Section {
        let (n, d, accuracy) = self.facts();
        let n_removals = self.runs.first().map_or(0, |run| run.n_removals);
        let text = format!(
            "Six classes of natural scenes, n = {n}, d = {d} features of a public image network (ResNet-50; the paper has \
             ten classes of LSUN, n = 1,000,000 and ResNeXt-101 with the same d), rows of norm 1. Six one-vs-all \
             problems, each with all its positives and a fifth of the negatives, chosen by a public rule that looks \
             at the row's id only. One joint guarantee: the six perturbations are one Gaussian in d·6 dimensions, so the \
             budget is one and squares of residuals add up. The best unperturbed model reaches {accuracy}. Bounds are means \
             over {n_removals} removals."
        );
        self.section("scenes", "Scenes, six classes (in place of LSUN)", "Scenes", text)
    }

    /// n, d and the accuracy of the best unperturbed model.
    fn facts(&self) -> (String, String, String) {
        (count(self.n_rows), count(self.dim), percent(self.unperturbed_accuracy))
    }

    fn section(&self, id: &str, title: &str, rows: &str, text: String) -> Section {
        let chart_title = format!("{rows}: accuracy against supported removals at ε = 1");
        let id_of_chart = format!("{id}-removals");
        let chart = accuracy_against_removals(&id_of_chart, &chart_title, &self.runs, self.unperturbed_accuracy);
        Section::new(id, title, vec![Part::text(text), Part::Chart(chart)])
    }
}
