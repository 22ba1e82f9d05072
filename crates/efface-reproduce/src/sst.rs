//! Sentiment of sentences on the features of a public extractor (Guo et al. 2020, Section 4.2).

use efface_report::numbers::{count, percent};
use efface_report::{Part, Section};

use crate::data::sst;
use crate::objective::{Effort, SupportedRemovals};
use crate::{ExperimentError, Progress, Setting};

/// λ of the figure.
const L2_PER_ROW: [f64; 3] = [1e-4, 1e-3, 1e-2];

/// σ of the figure.
const NOISE_STD: [f64; 4] = [0.1, 1.0, 10.0, 100.0];

/// Runs the experiment.
pub fn run(setting: &Setting, progress: &mut Progress<'_>) -> Result<SupportedRemovals, ExperimentError> {
    let data = sst(&setting.data, setting.quick)?;
    let effort =
        if setting.quick { Effort { n_removals: 3, n_draws: 1 } } else { Effort { n_removals: 100, n_draws: 5 } };
    let l2_per_row = if setting.quick { &L2_PER_ROW[..1] } else { &L2_PER_ROW[..] };
    SupportedRemovals::measure(&data, l2_per_row, &NOISE_STD, effort, setting.seed, progress)
}

/// The experiment on the page.
pub(crate) fn section(results: &SupportedRemovals) -> Section {
    let text = format!(
        "Positive or negative: n = {} sentences of the Stanford Sentiment Treebank, d = {} features of a public \
         sentence encoder (all-mpnet-base-v2 in place of the paper's RoBERTa), rows of norm 1. The best unperturbed \
         model reaches {}; the paper's reaches 89.0 %. The extractor is public, so only the linear head needs to \
         forget.",
        count(results.n_rows),
        count(results.dim),
        percent(results.unperturbed_accuracy)
    );
    let chart = results.chart("sst-removals", "Sentences: accuracy against supported removals at ε = 1");
    Section::new("sst", "Sentences (SST)", vec![Part::text(text), Part::Chart(chart)])
}
