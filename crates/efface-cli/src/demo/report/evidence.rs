//! The sections that an engineer reads: residuals, accuracy, the digits that are hard to remove, and the run itself.

use std::fmt::Write as _;

use super::{Digit, RankedDigit, Report, ResidualHistory};
use crate::charts::{Horizontal, LineChart, Scale, Series, digit_svg, escape};
use crate::numbers::{count, number, number_up, percent, seconds, setting};

impl ResidualHistory {
    /// The rungs with their names, as the ladder orders them.
    pub(super) fn rungs(&self) -> [Rung<'_>; 6] {
        let (fresh, stale) = (&self.truth, &self.stale_truth);
        [
            Rung { name: "worst case", bounds: &self.worst_case, truth: fresh },
            Rung { name: "step norm", bounds: &self.step_norm, truth: fresh },
            Rung { name: "data-dependent", bounds: &self.data_dependent, truth: fresh },
            Rung { name: "stale curvature", bounds: &self.stale_curvature, truth: stale },
            Rung { name: "per row", bounds: &self.per_row, truth: fresh },
            Rung { name: "measured", bounds: &self.measured, truth: fresh },
        ]
    }
}

/// A rung's promises, and the residual they are about.
pub(super) struct Rung<'a> {
    pub(super) name: &'static str,
    pub(super) bounds: &'a [f64],
    pub(super) truth: &'a [f64],
}

/// What each rung looks at, in the order of [`ResidualHistory::rungs`].
const RUNG_MEANINGS: [(&str, &str); 6] = [
    ("Counts only: how many rows leave, how many stay, and λ. Assumes the worst of every row.", "1"),
    ("The length of the step that the weights took.", "d"),
    ("The step, and how strongly the remaining rows point along it.", "d²"),
    (
        "The same, and how far the weights have moved since the curvature was last computed. Needs no new curvature, \
         so a removal takes the same time however many rows there are.",
        "d²",
    ),
    ("The step as each remaining row sees it.", "n·d"),
    ("The gradient itself, plus a limit on rounding errors.", "n·d"),
];

/// Section with the residual chart and what the rungs mean.
pub(super) fn residuals(report: &Report) -> String {
    let history = &report.residuals;
    let n_removals = history.truth.len();
    let mut series = vec![over_removals("truth", &history.truth)];
    series.extend(history.rungs().map(|rung| over_removals(rung.name, rung.bounds)));
    series.push(over_removals("truth of the stale steps", &history.stale_truth));
    let chart = LineChart {
        description: "Line chart: the gradient left behind after each removal, with the six bounds on it",
        x_label: "removals so far",
        horizontal: Horizontal::Counts,
        y_label: "gradient left behind (norm)",
        scale: Scale::Log10,
        series: &series,
    };
    let mut rows = String::new();
    for (Rung { name, bounds, truth }, (meaning, cost)) in history.rungs().into_iter().zip(RUNG_MEANINGS) {
        if let (Some(&bound), Some(&truth)) = (bounds.last(), truth.last()) {
            let _ = writeln!(
                rows,
                "<tr><th scope=\"row\">{name}</th><td class=\"words\">{meaning}</td><td class=\"num\">{cost}</td>\
                 <td class=\"num\">{}</td><td class=\"num\">{}</td></tr>",
                number_up(bound),
                number(if truth > 0.0 { bound / truth } else { f64::NAN }),
            );
        }
    }
    format!(
        "<section>\n<h2>The gradient left behind, removal by removal</h2>\n\
         <p>A model that is exactly trained has gradient zero. What an instant removal leaves of it, the \
         <em>residual</em>, limits the distance to the retrained model. There are six ways to bound it, the rungs of \
         a ladder: the first costs nothing to compute and knows nothing of the data, the last looks at every row and \
         is nearly the truth. For this picture {n} removals were made one after another without settling in \
         between.</p>\n<figure>\n{chart}\n\
         <figcaption>Norm of the gradient left behind after each removal, over the weights of all classes together (a \
         pure number, logarithmic scale). One removal takes out {per_removal}. Every bound is a promise and must \
         lie above the broad line, the truth; “stale curvature” saves the work of computing the curvature anew, so its \
         steps leave a little more, and it must lie above the truth of those. Values of exactly zero are not drawn.</figcaption>\n</figure>\n\
         <figure>\n<div class=\"wide\">\n<table>\n\
         <thead><tr><th scope=\"col\">Rung</th><th scope=\"col\">What it looks at</th>\
         <th scope=\"col\" class=\"num\">Cost</th><th scope=\"col\" class=\"num\">Bound</th>\
         <th scope=\"col\" class=\"num\">Bound / truth</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n\
         <figcaption>The rungs after {n} removals. Cost: operations to compute the bound of one removal, in \
         proportion, with n rows and d features. The last column says how many times too large the bound \
         is.</figcaption>\n</figure>\n\
         </section>\n",
        n = count(n_removals),
        chart = chart.to_html(),
        per_removal = rows_in_words(history.rows_per_removal),
    )
}

/// Section with accuracies on held-out rows.
pub(super) fn accuracy(report: &Report) -> String {
    let accuracy = &report.accuracy;
    let history = &report.accuracy_history;
    let mut rows = String::new();
    for (model, fraction) in [
        ("Trained on all rows, before the removal", accuracy.before),
        ("After removal and settling, without noise", accuracy.after),
        ("Retrained from scratch without the rows", accuracy.retrained),
        ("As released, with noise", accuracy.released),
    ] {
        let correct = (fraction * accuracy.n_held_out as f64).round();
        let _ = writeln!(
            rows,
            "<tr><th scope=\"row\">{model}</th><td class=\"num\">{}</td><td class=\"num\">{}</td></tr>",
            percent(fraction),
            if correct.is_finite() { count(correct as usize) } else { number(correct) },
        );
    }
    let series = [
        ("retrained from scratch", &history.retrained),
        ("updated, without noise", &history.updated),
        ("as released, with noise", &history.released),
    ]
    .map(|(name, points)| Series {
        name: name.to_owned(),
        points: points.iter().map(|&(k, fraction)| (k as f64, fraction)).collect(),
    });
    let chart = LineChart {
        description: "Line chart: accuracy on held-out rows after each removal",
        x_label: "removals so far",
        horizontal: Horizontal::Counts,
        y_label: "accuracy on held-out rows",
        scale: Scale::Percent,
        series: &series,
    };
    format!(
        "<section>\n<h2>Accuracy</h2>\n<p>Fewer rows mostly teach a model less, whichever way they leave. What counts \
         is the difference from retraining.</p>\n<figure>\n<div class=\"wide\">\n<table>\n\
         <thead><tr><th scope=\"col\">Model</th><th scope=\"col\" class=\"num\">Accuracy</th>\
         <th scope=\"col\" class=\"num\">Rows correct</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n\
         <figcaption>Share of {n} held-out rows that each model classifies correctly. These rows were never trained \
         on.</figcaption>\n</figure>\n<figure>\n{chart}\n\
         <figcaption>Accuracy in percent of the {n} held-out rows, over the same removals as above ({per_removal} \
         each). One row is {one_row}. The axis does not start at zero.</figcaption>\n</figure>\n</section>\n",
        n = count(accuracy.n_held_out),
        chart = chart.to_html(),
        per_removal = rows_in_words(report.residuals.rows_per_removal),
        one_row = percent(1.0 / accuracy.n_held_out as f64),
    )
}

/// Section with the digits that move the model most and least.
pub(super) fn hardest_and_easiest(report: &Report) -> String {
    let gallery = |title: &str, digits: &[RankedDigit]| {
        let items: String = digits.iter().map(|ranked| card(&ranked.digit, Some(ranked.step_norm))).collect();
        format!("<h3>{title}</h3>\n<ol class=\"digits\">\n{items}</ol>\n")
    };
    let compared = match (report.hardest.first(), report.easiest.first()) {
        (Some(hardest), Some(easiest)) if easiest.step_norm > 0.0 => {
            let ratio = number(hardest.step_norm / easiest.step_norm);
            format!(" The hardest step is {ratio} times as long as the easiest.")
        }
        _ => String::new(),
    };
    format!(
        "<section>\n<h2>Which digits are hard to remove</h2>\n\
         <p>When a row leaves, the weights take a step. It is long when the model leant on that row: \
         often an unusual hand, or a digit that looks like another one. It is short when other rows say the same. A \
         long step is not a weaker promise; it only leaves more to settle.</p>\n<figure>\n{hardest}{easiest}\
         <figcaption>Images of 8 × 8 pixels, with the label, the length of the removal step if this row alone left \
         (norm over the weights of all classes, a pure number) and the id of the \
         row.{compared}</figcaption>\n</figure>\n</section>\n",
        hardest = gallery("Hardest", &report.hardest),
        easiest = gallery("Easiest", &report.easiest),
    )
}

/// Section on the run: the subject, the model, the times.
pub(super) fn run(report: &Report) -> String {
    let (model, subject, times) = (&report.model, &report.subject, &report.seconds);
    let pictures: String = subject.rows.iter().map(|digit| card(digit, None)).collect();
    let facts: String = [
        ("Training rows", count(model.n_rows)),
        ("Features per row (d)", count(model.dim)),
        ("Classes, one-vs-rest", count(model.n_classes)),
        ("λ, L2 penalty per row", setting(model.l2_per_row)),
        ("ε allowed", setting(model.epsilon)),
        ("δ", setting(model.delta)),
        ("Noise standard deviation s", setting(model.noise_std)),
        ("Threads", count(model.threads)),
    ]
    .map(|(name, value)| format!("<tr><th scope=\"row\">{name}</th><td class=\"num\">{value}</td></tr>\n"))
    .concat();
    let stages: String = [
        ("Train on all rows", times.train),
        ("Remove one subject", times.remove),
        ("Settle", times.settle),
        ("Release", times.release),
        ("Retrain from scratch (only to compare)", times.retrain),
    ]
    .map(|(name, value)| format!("<tr><th scope=\"row\">{name}</th><td class=\"num\">{}</td></tr>\n", seconds(value)))
    .concat();
    format!(
        "<section>\n<h2>The run</h2>\n<div class=\"columns\">\n\
         <table>\n<caption>Model: linear, logistic loss. Rows: \
         {preprocessing}</caption>\n<tbody>\n{facts}</tbody>\n</table>\n\
         <table>\n<caption>Wall-clock time per stage on this machine; threads: {threads}.</caption>\n\
         <tbody>\n{stages}</tbody>\n</table>\n</div>\n<figure>\n<ol class=\"digits\">\n{pictures}</ol>\n\
         <figcaption>The {n} rows of subject {number}, one of {n_subjects}: image of 8 × 8 pixels, label and row id. \
         The data does not say who wrote which digit. The demo therefore dealt the rows to numbered subjects, ten \
         rows each; a subject here is not a person.</figcaption>\n</figure>\n</section>\n",
        preprocessing = escape(&model.preprocessing),
        threads = count(model.threads),
        n = count(subject.rows.len()),
        number = subject.number,
        n_subjects = count(subject.n_subjects),
    )
}

/// A digit with what is known of it.
fn card(digit: &Digit, step_norm: Option<f64>) -> String {
    let step = step_norm.map_or(String::new(), |norm| format!("<span>step {}</span>", number(norm)));
    format!(
        "<li>{}<b>{}</b>{step}<span class=\"id\">row {}</span></li>\n",
        digit_svg(&digit.image),
        digit.label,
        digit.row_id
    )
}

/// A series whose entry k − 1 belongs to k removals.
fn over_removals(name: &str, values: &[f64]) -> Series {
    let points = values.iter().enumerate().map(|(i, &value)| ((i + 1) as f64, value)).collect();
    Series { name: name.to_owned(), points }
}

fn rows_in_words(n_rows: usize) -> String {
    if n_rows == 1 { "one row".to_owned() } else { format!("{} rows", count(n_rows)) }
}
