//! The demo: train on hand-written digits, remove one subject's rows, settle, release, and compare with retraining.
//!
//! Its page is for two readers at once. A privacy officer finds whole sentences and a verdict; an engineer finds every
//! number behind it, and the verdict is computed from these numbers, not handed in. What cannot be checked (a value that
//! is not a number) counts as a promise not kept.

mod evidence;
mod history;
mod promises;
mod scenario;
#[cfg(test)]
mod tests;
mod words;

use efface_core::residual::Rung;
use efface_report::numbers::{count, number, percent, seconds};
use efface_report::{Page, Part, text};

use crate::Result;
use scenario::Scenario;

/// Plays the demo. The noise comes from the system, as that of a real model.
pub fn run() -> Result<DemoResults> {
    Scenario::prepare()?.play()
}

impl DemoResults {
    /// What the demo found, on one page.
    pub fn page(&self) -> Page {
        Page {
            kicker: "Efface demo report".to_owned(),
            title: text![
                count(self.subject.rows.len()),
                " of ",
                count(self.model.n_rows),
                " rows removed from a trained model, and checked against retraining",
            ],
            head: self.verdicts().into_iter().chain([self.figures()]).collect(),
            sections: vec![
                self.promised(),
                self.measured(),
                self.not_promised(),
                self.residual_section(),
                self.accuracy_section(),
                self.hardest_and_easiest(),
                self.run_section(),
                words::section(),
            ],
            foot: words::foot(),
            ..Page::default()
        }
    }

    /// The four numbers to remember.
    fn figures(&self) -> Part {
        let Self { seconds: times, subject, accuracy, .. } = self;
        let ratio = times.retrain / times.remove;
        let ratio = if ratio.is_finite() {
            format!("{} times as long", number(ratio))
        } else {
            "too short to compare".to_owned()
        };
        let lost = match 100.0 * (accuracy.retrained - accuracy.released) {
            points if !points.is_finite() => "not compared with what".to_owned(),
            points if points.abs() < 0.005 => "the same as".to_owned(),
            points if points > 0.0 => format!("{points:.2} percentage points below what"),
            points => format!("{:.2} percentage points above what", -points),
        };
        let settle = seconds(times.settle);
        Part::Figures(vec![
            (
                seconds(times.remove),
                format!("to remove the rows of subject {}, and {settle} to settle before release", subject.number)
                    .into(),
            ),
            (seconds(times.retrain), format!("to retrain without them ({ratio})").into()),
            (
                format!("≤\u{a0}{}", promises::best_guess(self.at_release.mu.promised)),
                "is how often the best guess at what happened is right; a coin: 50\u{a0}%".into(),
            ),
            (percent(accuracy.released), format!("accuracy as released, {lost} retraining gives").into()),
        ])
    }
}

/// What one run of the demo found.
#[derive(Clone, Debug)]
pub struct DemoResults {
    /// The model and the guarantee it was set up for.
    pub model: ModelFacts,
    /// Wall-clock time of each stage.
    pub seconds: StageSeconds,
    /// Whose rows were removed.
    pub subject: Subject,
    /// Promises and measurements right after the instant removal.
    pub after_removal: Check,
    /// Promises and measurements after settling, which are those of the released model.
    pub at_release: Check,
    /// How far the model retrained for comparison may itself be from the exact optimum (upper bound). Measured
    /// distances are distances to that model, so they may exceed a promise by this much.
    pub(crate) retrained_distance_bound: f64,
    /// Accuracy on rows that were never trained on.
    pub accuracy: Accuracy,
    /// Over a sequence of removals.
    pub(crate) residuals: ResidualHistory,
    /// Over the same sequence.
    pub(crate) accuracy_history: AccuracyHistory,
    /// The rows whose removal moves the weights most, largest step first (ten fill a line).
    pub(crate) hardest: Vec<Digit>,
    /// Those that move them least, smallest step first.
    pub(crate) easiest: Vec<Digit>,
}

/// The model and the guarantee it was set up for.
#[derive(Clone, Debug)]
pub struct ModelFacts {
    /// Rows trained on, before any removal.
    pub n_rows: usize,
    /// Features per row.
    pub dim: usize,
    /// The largest ε the model may ever claim, fixed when it was created.
    pub epsilon: f64,
    /// δ of the guarantee.
    pub delta: f64,
    pub(crate) noise_std: f64,
    pub(crate) threads: usize,
    /// Whether the noise came from a seed that someone chose. Then nothing is certified, and the page says so on top.
    pub(crate) danger_fixed_seed: bool,
}

/// Wall-clock seconds per stage.
#[derive(Clone, Copy, Debug)]
pub struct StageSeconds {
    /// Training on all rows.
    pub train: f64,
    /// The instant removal of one subject.
    pub remove: f64,
    /// Settling after it.
    pub settle: f64,
    /// Drawing the noise.
    pub(crate) release: f64,
    /// Training from scratch on the remaining rows, for comparison only.
    pub retrain: f64,
}

/// The subject that was removed.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The subject's number.
    pub number: usize,
    pub(crate) n_subjects: usize,
    /// The rows that were removed.
    pub rows: Vec<Digit>,
}

/// A row of the data, as a picture.
#[derive(Clone, Debug)]
pub struct Digit {
    pub(crate) row_id: usize,
    pub(crate) label: u8,
    /// 8 × 8 pixels, 0 is paper, 255 is ink.
    pub(crate) image: Vec<u8>,
    /// Norm of the step that removing this row alone would take, over the weights of all classes together.
    pub(crate) step_norm: f64,
}

/// A promise and what was found.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// Upper bound that was claimed.
    pub promised: f64,
    /// The value found by comparing with a model retrained from scratch.
    pub measured: f64,
}

/// Promises and measurements at one moment, joint over all classes.
#[derive(Clone, Debug)]
pub struct Check {
    /// The rung of the ladder that gave the promised residual.
    pub(crate) rung: &'static str,
    /// Norm of the gradient left behind.
    pub(crate) residual: Pair,
    /// Distance r of the weights to the retrained ones.
    pub distance: Pair,
    /// Of a release at this moment: distance / noise standard deviation; as promised at a release, the claimed one.
    pub(crate) mu: Pair,
    /// ε that follows from μ at the model's δ.
    pub epsilon: Pair,
}

/// Accuracy on held-out rows, as fractions between 0 and 1.
#[derive(Clone, Copy, Debug)]
pub struct Accuracy {
    pub(crate) n_held_out: usize,
    /// The trained model, before the removal.
    pub before: f64,
    /// After removal and settling, without noise.
    pub(crate) after: f64,
    /// Retrained from scratch without the subject's rows.
    pub retrained: f64,
    /// As released, with noise.
    pub released: f64,
}

/// Residuals of one and the same sequence of removals without settling; entry k − 1 is the state after k removals.
///
/// The steps are taken twice: on a Hessian formed anew each time, and on the stale one. Each rung must bound the steps it
/// is stated for.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResidualHistory {
    /// What each rung promises, summed up, as the ladder orders them. The measured one has its bound on rounding errors.
    pub(crate) bounds: Vec<(Rung, Vec<f64>)>,
    /// The residual that steps on a fresh Hessian left, without any allowance for rounding.
    pub(crate) truth: Vec<f64>,
    pub(crate) stale_truth: Vec<f64>,
}

/// Accuracy on held-out rows over the sequence: pairs of the number of removals so far and a fraction between 0 and 1.
#[derive(Clone, Debug, Default)]
pub(crate) struct AccuracyHistory {
    /// The updated model, without noise.
    pub(crate) updated: Vec<(usize, f64)>,
    /// A model retrained from scratch on the remaining rows.
    pub(crate) retrained: Vec<(usize, f64)>,
    /// The updated model as a release would publish it, with noise.
    pub(crate) released: Vec<(usize, f64)>,
}
