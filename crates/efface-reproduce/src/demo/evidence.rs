//! The sections that an engineer reads: residuals, accuracy, the digits that are hard to remove, and the run itself.

use efface_core::residual::Rung;
use efface_digits::SIDE;
use efface_report::numbers::{bound, count, counted, number, percent, seconds, setting};
use efface_report::{Axis, Chart, ImageRow, Images, Part, Section, Series, Table, emphasis, text};

use super::scenario::{L2, N_CLASSES, PREPROCESSING, ROWS_PER_SUBJECT};
use super::{DemoResults, Digit, ResidualHistory};

impl ResidualHistory {
    /// The residual that a rung must bound.
    pub(super) fn truth_for(&self, rung: Rung) -> &[f64] {
        if rung == Rung::Stale { &self.stale_truth } else { &self.truth }
    }
}

/// The name of a rung, what it looks at, and the operations that it takes, in proportion.
pub(super) fn in_words(rung: Rung) -> [&'static str; 3] {
    match rung {
        Rung::WorstCase => [
            "worst case",
            "Counts only: how many rows leave, how many stay, and λ. Assumes the worst of every row.",
            "1",
        ],
        Rung::StepNorm => ["step norm", "The length of the step that the weights took.", "d"],
        Rung::DataDependent => {
            ["data-dependent", "The step, and how strongly the remaining rows point along it.", "d²"]
        }
        Rung::Stale => [
            "stale curvature",
            "The same, and how far the weights have moved since the curvature was last computed. Needs no new curvature, so a \
             removal takes the same time however many rows there are.",
            "d²",
        ],
        Rung::PerRow => ["per row", "The step as each remaining row sees it.", "n·d"],
        Rung::Measured => ["measured", "The gradient itself, plus a limit on rounding errors.", "n·d"],
        other => [other.tag(), "", ""],
    }
}

impl DemoResults {
    /// Section with the residual chart and what the rungs mean.
    pub(super) fn residual_section(&self) -> Section {
        let history = &self.residuals;
        let n = count(history.truth.len());
        let mut series = vec![over_removals("truth", &history.truth)];
        series.extend(history.bounds.iter().map(|(rung, bounds)| over_removals(in_words(*rung)[0], bounds)));
        series.push(over_removals("truth of the stale steps", &history.stale_truth));
        let rows = counted(ROWS_PER_SUBJECT, "row", "rows");
        let chart = Chart {
            id: "demo-residuals".to_owned(),
            caption: format!(
                "Norm of the gradient left behind after each removal, over the weights of all classes together (a pure \
                 number). One removal takes out {rows}. Every bound is a promise and must lie above the broad line, the truth; \
                 “stale curvature” saves the work of computing the curvature anew, so its steps leave a little more, and it \
                 must lie above the truth of those. Values of exactly zero are not drawn."
            ),
            x: Axis::linear("removals so far"),
            y: Axis::log("gradient left behind (norm)"),
            series,
            ..Chart::default()
        };
        let rows = history.bounds.iter().filter_map(|(rung, bounds)| {
            let (&promised, &truth) = (bounds.last()?, history.truth_for(*rung).last()?);
            let ratio = number(if truth > 0.0 { promised / truth } else { f64::NAN });
            let [name, meaning, cost] = in_words(*rung).map(str::to_owned);
            Some([name, meaning, cost, bound(promised), ratio])
        });
        let caption = format!(
            "The rungs after {n} removals. Cost: operations to compute the bound of one removal, in proportion, with n rows \
             and d features. The last column says how many times too large the bound is."
        );
        let parts = vec![
            Part::text(text![
                "A model that is exactly trained has gradient zero. What an instant removal leaves of it, the ",
                emphasis("residual"),
                format!(
                    ", limits the distance to the retrained model. There are six ways to bound it, the rungs of a ladder: the \
                     first costs nothing to compute and knows nothing of the data, the last looks at every row and is nearly \
                     the truth. For this picture {n} removals were made one after another without settling in between."
                ),
            ]),
            Part::Chart(chart),
            Part::Table(Table::new(caption, ["Rung", "What it looks at", "Cost", "Bound", "Bound / truth"], rows)),
        ];
        Section::new("", "The gradient left behind, removal by removal", parts)
    }

    pub(super) fn accuracy_section(&self) -> Section {
        let (accuracy, history) = (&self.accuracy, &self.accuracy_history);
        let n = count(accuracy.n_held_out);
        let rows = [
            ("Trained on all rows, before the removal", accuracy.before),
            ("After removal and settling, without noise", accuracy.after),
            ("Retrained from scratch without the rows", accuracy.retrained),
            ("As released, with noise", accuracy.released),
        ]
        .map(|(model, fraction)| {
            let correct = (fraction * accuracy.n_held_out as f64).round();
            let correct = if correct.is_finite() { count(correct as usize) } else { number(correct) };
            [model.to_owned(), percent(fraction), correct]
        });
        let caption = format!(
            "Share of {n} held-out rows that each model classifies correctly. These rows were never trained on."
        );
        let line = |name: &str, points: &[(usize, f64)]| {
            Series::line(name, points.iter().map(|&(k, fraction)| (k as f64, fraction)))
        };
        let (each, one) = (counted(ROWS_PER_SUBJECT, "row", "rows"), percent(1.0 / accuracy.n_held_out as f64));
        let chart = Chart {
            id: "demo-accuracy".to_owned(),
            caption: format!(
                "Accuracy in percent of the {n} held-out rows, over the same removals as above ({each} each). One row is {one}. The \
                 axis does not start at zero."
            ),
            x: Axis::linear("removals so far"),
            y: Axis::percent("accuracy on held-out rows"),
            series: vec![
                line("retrained from scratch", &history.retrained),
                line("updated, without noise", &history.updated),
                line("as released, with noise", &history.released),
            ],
            ..Chart::default()
        };
        let parts = vec![
            Part::text(
                "Fewer rows mostly teach a model less, whichever way they leave. What counts is the difference from \
                 retraining.",
            ),
            Part::Table(Table::new(caption, ["Model", "Accuracy", "Rows correct"], rows)),
            Part::Chart(chart),
        ];
        Section::new("", "Accuracy", parts)
    }

    /// Section with the digits that move the model most and least.
    pub(super) fn hardest_and_easiest(&self) -> Section {
        let card = |digit: &Digit| card(digit, &format!(" step\u{a0}{}", number(digit.step_norm)));
        let row = |name: &str, digits: &[Digit]| ImageRow {
            name: name.to_owned(),
            images: digits.iter().map(card).collect(),
        };
        let compared = match (self.hardest.first(), self.easiest.first()) {
            (Some(hardest), Some(easiest)) if easiest.step_norm > 0.0 => {
                let ratio = number(hardest.step_norm / easiest.step_norm);
                format!(" The hardest step is {ratio} times as long as the easiest.")
            }
            _ => String::new(),
        };
        let images = Images {
            id: "demo-digits".to_owned(),
            caption: format!(
                "Images of 8 × 8 pixels, with the label, the length of the removal step if this row alone left (norm over \
                 the weights of all classes, a pure number) and the id of the row.{compared}"
            ),
            side: SIDE,
            rows: vec![row("Hardest", &self.hardest), row("Easiest", &self.easiest)],
            ..Images::default()
        };
        let parts = vec![
            Part::text(
                "When a row leaves, the weights take a step. It is long when the model leant on that row: often an unusual \
                 hand, or a digit that looks like another one. It is short when other rows say the same. A long step is not a \
                 weaker promise; it only leaves more to settle.",
            ),
            Part::Images(images),
        ];
        Section::new("", "Which digits are hard to remove", parts)
    }

    /// Section on the run: the subject, the model, the times.
    pub(super) fn run_section(&self) -> Section {
        let Self { model, subject, seconds: times, .. } = self;
        let facts = [
            ("Training rows", count(model.n_rows)),
            ("Features per row (d)", count(model.dim)),
            ("Classes, one-vs-rest", count(N_CLASSES as usize)),
            ("λ, L2 penalty per row", setting(L2)),
            ("ε allowed", setting(model.epsilon)),
            ("δ", setting(model.delta)),
            ("Noise standard deviation s", setting(model.noise_std)),
            ("Threads", count(model.threads)),
        ];
        let stages = [
            ("Train on all rows", times.train),
            ("Remove one subject", times.remove),
            ("Settle", times.settle),
            ("Release", times.release),
            ("Retrain from scratch (only to compare)", times.retrain),
        ];
        let facts = Table::pairs(format!("Model: linear, logistic loss. Rows: {PREPROCESSING}"), facts);
        let stages = stages.map(|(stage, value)| (stage, seconds(value)));
        let stages = Table::pairs(
            format!("Wall-clock time per stage on this machine; threads: {}.", count(model.threads)),
            stages,
        );
        let (n, number, n_subjects) = (count(subject.rows.len()), subject.number, count(subject.n_subjects));
        let images = Images {
            id: "demo-subject".to_owned(),
            caption: format!(
                "The {n} rows of subject {number}, one of {n_subjects}: image of 8 × 8 pixels, label and row id. The data does not say who \
                 wrote which digit. The demo therefore dealt the rows to numbered subjects, ten rows each; a subject here is \
                 not a person."
            ),
            side: SIDE,
            rows: vec![ImageRow {
                name: String::new(),
                images: subject.rows.iter().map(|digit| card(digit, "")).collect(),
            }],
            ..Images::default()
        };
        let column = |table: Table| Section::new("", "", vec![Part::Table(table)]);
        Section::new("", "The run", vec![Part::Columns(vec![column(facts), column(stages)]), Part::Images(images)])
    }
}

/// A digit with what is known of it.
fn card(digit: &Digit, step: &str) -> (Vec<u8>, String) {
    (digit.image.clone(), format!("a\u{a0}{}{step} row\u{a0}{}", digit.label, digit.row_id))
}

/// A series whose entry k − 1 belongs to k removals.
fn over_removals(name: &str, values: &[f64]) -> Series {
    Series::line(name, values.iter().enumerate().map(|(i, &value)| ((i + 1) as f64, value)))
}
