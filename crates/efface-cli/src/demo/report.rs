//! The page that the demo leaves behind: what was promised, what was measured, and what no one promises.
//!
//! One self-contained HTML file, for two readers at once. A privacy officer finds whole sentences and a verdict; an
//! engineer finds every number behind it, and the verdict is computed from these numbers here, not handed in. What
//! cannot be checked (a value that is not a number) counts as a promise not kept.

mod evidence;
mod promises;
#[cfg(test)]
mod tests;

pub(super) use promises::broken_promises;

use crate::charts::escape;
use crate::numbers::{self, count, seconds};
use crate::page;

/// Everything the page says about one run of the demo.
#[derive(Clone, Debug)]
pub(super) struct Report {
    /// Name and version of the program, for the foot of the page.
    pub(super) software: String,
    /// The model and the guarantee it was set up for.
    pub(super) model: ModelFacts,
    /// Wall-clock time of each stage.
    pub(super) seconds: StageSeconds,
    /// Whose rows were removed.
    pub(super) subject: Subject,
    /// Promises and measurements right after the instant removal.
    pub(super) after_removal: Check,
    /// Promises and measurements after settling, which are those of the released model.
    pub(super) at_release: Check,
    /// How far the model retrained for comparison may itself be from the exact optimum (upper bound). Measured
    /// distances are distances to that model, so they may exceed a promise by this much.
    pub(super) retrained_distance_bound: f64,
    /// Accuracy on rows that were never trained on.
    pub(super) accuracy: Accuracy,
    /// The residual over a sequence of removals.
    pub(super) residuals: ResidualHistory,
    /// Accuracy over the same sequence.
    pub(super) accuracy_history: AccuracyHistory,
    /// The rows whose removal moves the weights most, largest step first (ten fill a line).
    pub(super) hardest: Vec<RankedDigit>,
    /// The rows whose removal moves the weights least, smallest step first.
    pub(super) easiest: Vec<RankedDigit>,
}

/// The model and the guarantee it was set up for.
#[derive(Clone, Debug)]
pub(super) struct ModelFacts {
    /// Rows trained on, before any removal.
    pub(super) n_rows: usize,
    /// Features per row.
    pub(super) dim: usize,
    /// Classes, each with its own weights (one-vs-rest).
    pub(super) n_classes: usize,
    /// λ of the objective, which adds `λ·n/2·‖w‖²`.
    pub(super) l2_per_row: f64,
    /// The largest ε the model may ever claim, fixed when it was created.
    pub(super) epsilon: f64,
    /// δ of the guarantee.
    pub(super) delta: f64,
    /// Standard deviation s of the noise that a release adds to every weight.
    pub(super) noise_std: f64,
    /// Threads used.
    pub(super) threads: usize,
    /// What was done to the rows before training, as a sentence.
    pub(super) preprocessing: String,
    /// Whether the noise came from a seed that someone chose. Then nothing is certified, and the page says so on top.
    pub(super) danger_fixed_seed: bool,
}

/// Wall-clock seconds per stage.
#[derive(Clone, Copy, Debug)]
pub(super) struct StageSeconds {
    /// Training on all rows.
    pub(super) train: f64,
    /// The instant removal of one subject.
    pub(super) remove: f64,
    /// Settling after it.
    pub(super) settle: f64,
    /// Drawing the noise and writing the release.
    pub(super) release: f64,
    /// Training from scratch on the remaining rows, for comparison only.
    pub(super) retrain: f64,
}

/// The subject that was removed.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    /// The subject's number.
    pub(super) number: usize,
    /// How many subjects the rows were dealt to.
    pub(super) n_subjects: usize,
    /// The rows that were removed.
    pub(super) rows: Vec<Digit>,
}

/// A row of the data, as a picture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Digit {
    /// Id of the row.
    pub(super) row_id: usize,
    /// The digit it shows.
    pub(super) label: u8,
    /// 8 × 8 pixels, 0 to 16.
    pub(super) image: [u8; 64],
}

/// A row with the effort that removing it alone would take.
#[derive(Clone, Copy, Debug)]
pub(super) struct RankedDigit {
    /// The row.
    pub(super) digit: Digit,
    /// Norm of the removal step, over the weights of all classes together.
    pub(super) step_norm: f64,
}

/// A promise and what was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    /// Upper bound that was claimed.
    pub(super) promised: f64,
    /// The value found by comparing with a model retrained from scratch.
    pub(super) measured: f64,
}

/// Promises and measurements at one moment, joint over all classes.
#[derive(Clone, Debug)]
pub(super) struct Check {
    /// The rung of the ladder that gave the promised residual.
    pub(super) rung: String,
    /// Norm of the gradient left behind.
    pub(super) residual: Pair,
    /// Distance r of the weights to the retrained ones.
    pub(super) distance: Pair,
    /// μ of a release at this moment: distance / noise standard deviation; as promised at a release, the claimed one.
    pub(super) mu: Pair,
    /// ε that follows from μ at the model's δ.
    pub(super) epsilon: Pair,
}

/// Accuracy on held-out rows, as fractions between 0 and 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accuracy {
    /// Rows held out.
    pub(super) n_held_out: usize,
    /// The trained model, before the removal.
    pub(super) before: f64,
    /// After removal and settling, without noise.
    pub(super) after: f64,
    /// Retrained from scratch without the subject's rows.
    pub(super) retrained: f64,
    /// As released, with noise.
    pub(super) released: f64,
}

/// Residuals of one and the same sequence of removals without settling; entry k − 1 is the state after k removals.
///
/// The steps are taken twice: on a Hessian formed anew each time, and on the stale one. Each rung must bound the steps it
/// is stated for. A rung that was not computed is empty.
#[derive(Clone, Debug, Default)]
pub(super) struct ResidualHistory {
    /// Rows that leave with each removal.
    pub(super) rows_per_removal: usize,
    /// Rung "worst case", summed up.
    pub(super) worst_case: Vec<f64>,
    /// Rung "step norm", summed up.
    pub(super) step_norm: Vec<f64>,
    /// Rung "data-dependent", summed up.
    pub(super) data_dependent: Vec<f64>,
    /// Rung "stale curvature", summed up.
    pub(super) stale_curvature: Vec<f64>,
    /// Rung "per row", summed up.
    pub(super) per_row: Vec<f64>,
    /// Rung "measured", with its bound on rounding errors.
    pub(super) measured: Vec<f64>,
    /// The residual that steps on a fresh Hessian left, without any allowance for rounding.
    pub(super) truth: Vec<f64>,
    /// The residual that steps on the stale Hessian left.
    pub(super) stale_truth: Vec<f64>,
}

/// Accuracy on held-out rows over the sequence: pairs of the number of removals so far and a fraction between 0 and 1.
#[derive(Clone, Debug, Default)]
pub(super) struct AccuracyHistory {
    /// The updated model, without noise.
    pub(super) updated: Vec<(usize, f64)>,
    /// A model retrained from scratch on the remaining rows.
    pub(super) retrained: Vec<(usize, f64)>,
    /// The updated model as a release would publish it, with noise.
    pub(super) released: Vec<(usize, f64)>,
}

/// The page as one HTML document that refers to nothing outside itself.
pub(super) fn render(report: &Report) -> String {
    let mut body = head(report);
    body += &promises::promised(report);
    body += &promises::measured(report);
    body += &promises::not_promised(report);
    body += &evidence::residuals(report);
    body += &evidence::accuracy(report);
    body += &evidence::hardest_and_easiest(report);
    body += &evidence::run(report);
    body += include_str!("report/glossary.html");
    body += &foot(report);
    let title = format!("Efface demo: {} rows removed", count(report.subject.rows.len()));
    page::document(&title, &body)
}

/// Title, verdict and the four numbers to remember.
fn head(report: &Report) -> String {
    let n_removed = count(report.subject.rows.len());
    let ratio = report.seconds.retrain / report.seconds.remove;
    let lost = 100.0 * (report.accuracy.retrained - report.accuracy.released);
    format!(
        "<header>\n<p class=\"kicker\">Efface demo report</p>\n\
         <h1>{n_removed} of {n_rows} rows removed from a trained model, and checked against retraining</h1>\n{verdict}\
         <ul class=\"figures\">\n\
         <li><b>{remove}</b> to remove the rows of subject {number}, and {settle} to settle before release</li>\n\
         <li><b>{retrain}</b> to retrain without them ({ratio})</li>\n\
         <li><b>≤&nbsp;{guess}</b> is how often the best guess at what happened is right; a coin: 50&nbsp;%</li>\n\
         <li><b>{released}</b> accuracy as released, {lost} retraining gives</li>\n</ul>\n</header>\n",
        n_rows = count(report.model.n_rows),
        verdict = promises::verdict(report),
        remove = seconds(report.seconds.remove),
        settle = seconds(report.seconds.settle),
        number = report.subject.number,
        retrain = seconds(report.seconds.retrain),
        ratio = numbers::times_as_long(ratio),
        guess = promises::best_guess(report.at_release.mu.promised),
        released = numbers::percent(report.accuracy.released),
        lost = numbers::points_below(lost),
    )
}

/// Where the data comes from, and what wrote the page.
fn foot(report: &Report) -> String {
    format!(
        "<footer>\n<p>Data: E. Alpaydin and C. Kaynak (1998), <cite>Optical Recognition of Handwritten Digits</cite>, \
         UCI Machine Learning Repository; licence CC BY 4.0 (creativecommons.org/licenses/by/4.0). The test part of \
         it, as packaged by scikit-learn; stored as bytes, otherwise unchanged.</p>\n\
         <p>Method: C. Guo, T. Goldstein, A. Hannun and L. van der Maaten (2020), <cite>Certified Data Removal from \
         Machine Learning Models</cite>, with release noise in place of a perturbed objective.</p>\n\
         <p>Written by {}. This page loads nothing from outside.</p>\n</footer>\n",
        escape(&report.software),
    )
}
