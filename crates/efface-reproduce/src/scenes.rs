//! Scenes in six one-vs-all problems with one joint guarantee, in place of LSUN (Guo et al. 2020, Section 4.2).

use efface_report::numbers::{count, percent};
use efface_report::{Part, Section};

use crate::data::scenes;
use crate::objective::{Effort, SupportedRemovals};
use crate::{ExperimentError, Progress, Setting};

/// λ of the figure.
const L2_PER_ROW: [f64; 3] = [1e-4, 1e-3, 1e-2];

/// σ of the figure.
const NOISE_STD: [f64; 3] = [0.1, 1.0, 10.0];

/// Runs the experiment. Six Hessians of 2,048 features take their time: fewer removals than on the other data sets.
pub fn run(setting: &Setting, progress: &mut Progress<'_>) -> Result<SupportedRemovals, ExperimentError> {
    let data = scenes(&setting.data, setting.quick)?;
    let effort =
        if setting.quick { Effort { n_removals: 2, n_draws: 1 } } else { Effort { n_removals: 10, n_draws: 2 } };
    let l2_per_row = if setting.quick { &L2_PER_ROW[..1] } else { &L2_PER_ROW[..] };
    SupportedRemovals::measure(&data, l2_per_row, &NOISE_STD, effort, setting.seed, progress)
}

/// The experiment on the page.
pub(crate) fn section(results: &SupportedRemovals) -> Section {
    let text = format!(
        "Six classes of natural scenes, n = {}, d = {} features of a public image network (ResNet-50; the paper has \
         ten classes of LSUN, n = 1,000,000 and ResNeXt-101 with the same d), rows of norm 1. Six one-vs-all \
         problems, each with all its positives and a fifth of the negatives, chosen by a public rule that looks \
         at the row's id only. One joint guarantee: the six perturbations are one Gaussian in d·6 dimensions, so the \
         budget is one and squares of residuals add up. The best unperturbed model reaches {}. Bounds are means \
         over {} removals.",
        count(results.n_rows),
        count(results.dim),
        percent(results.unperturbed_accuracy),
        results.runs.first().map_or(0, |run| run.n_removals)
    );
    let chart = results.chart("scenes-removals", "Scenes: accuracy against supported removals at ε = 1");
    Section::new("scenes", "Scenes, six classes (in place of LSUN)", vec![Part::text(text), Part::Chart(chart)])
}
