//! The experiment on the page.

use efface_report::numbers::{count, number, percent, setting};
use efface_report::{Axis, Chart, ImageRow, Images, Part, Section, Series, Table};

use super::MnistResults;
use super::digits::{Digits, RankedDigit};
use super::reference::{ACCURACY_TOLERANCE, Comparison, FACTOR, HEAVY_FACTOR};
use super::residuals::Residuals;
use super::trade_off::TradeOff;
use crate::data::SIDE;
use crate::objective::{Unperturbed, accuracy_against_removals, by_l2};

impl MnistResults {
    pub(crate) fn section(&self) -> Section {
        let (n, d) = (count(self.n_rows), count(self.dim));
        let text = format!(
            "Linear logistic regression that tells a 3 from an 8: n = {n}, d = {d}, every row of norm 1, no intercept, \
             δ = 10⁻⁴ (Section 4.1 of the paper). Mechanism objective runs as it was published: γ = 1/4, \
             data-dependent bound without the factor ½, budget σε/c, a fresh Hessian at every removal."
        );
        let mut parts = vec![Part::text(text)];
        parts.extend(self.trade_off.parts());
        parts.push(Part::Chart(self.residuals.chart()));
        parts.push(Part::Images(self.digits.images()));
        Section::new("mnist", "MNIST, 3 against 8", parts)
    }

    /// What was to hold and does not.
    pub(crate) fn shortfalls(&self) -> Vec<String> {
        let apart = self.trade_off.comparison.iter().filter(|row| !row.agrees);
        let told = apart.map(|row| {
            let (l2, std) = (setting(row.l2_per_row), setting(row.noise_std));
            format!("λ = {l2}, σ = {std}: the published method does not land where the published code does")
        });
        told.collect()
    }
}

impl TradeOff {
    fn parts(&self) -> Vec<Part> {
        let mut parts = vec![
            Part::Chart(self.noise_chart()),
            Part::Chart(self.epsilon_chart()),
            Part::Chart(accuracy_against_removals(
                "mnist-removals",
                "Figure 1, right: accuracy against supported removals at ε = 1",
                &self.runs,
                self.unperturbed.iter().map(|model| model.accuracy).fold(0.0, f64::max),
            )),
        ];
        if !self.comparison.is_empty() {
            parts.push(Part::Table(comparison_table(&self.comparison)));
        }
        parts
    }

    /// Left panel.
    fn noise_chart(&self) -> Chart {
        let series = by_l2(&self.runs).map(|(l2_per_row, runs)| {
            let points = runs.iter().map(|run| (run.strength.noise_std, run.accuracy));
            Series::line(format!("λ = {}", setting(l2_per_row)), points)
        });
        let of_model =
            |model: &Unperturbed| format!("{} at λ = {}", percent(model.accuracy), setting(model.l2_per_row));
        let unperturbed = self.unperturbed.iter().map(of_model).collect::<Vec<_>>().join(", ");
        Chart {
            id: "mnist-noise".to_owned(),
            title: "Figure 1, left: accuracy against the perturbation".to_owned(),
            caption: format!(
                "Accuracy on the test rows of models whose objective is perturbed by b ~ N(0, σ²I), mean over draws \
                 of b. Unperturbed: {unperturbed}."
            ),
            x: Axis::log("standard deviation σ of the perturbation"),
            y: Axis::percent("test accuracy"),
            series: series.collect(),
            ..Chart::default()
        }
    }

    /// Middle panel.
    fn epsilon_chart(&self) -> Chart {
        let series = self.unperturbed.iter().map(|model| {
            let points = self.supporting.iter().filter(|point| point.l2_per_row == model.l2_per_row);
            let points = points.map(|point| (point.epsilon, point.accuracy));
            Series::line(format!("λ = {}", setting(model.l2_per_row)), points)
        });
        let largest = setting(self.runs.iter().map(|run| run.strength.noise_std).fold(0.0, f64::max));
        Chart {
            id: "mnist-epsilon".to_owned(),
            title: "Figure 1, middle: ε against accuracy for 100 supported removals".to_owned(),
            caption: format!(
                "For each λ and ε, σ is as large as 100 removals need. A point is missing where no σ up to {largest} is enough: \
                 more noise makes the weights, and with them the bound, larger."
            ),
            x: Axis::log("ε at δ = 10⁻⁴"),
            y: Axis::percent("test accuracy"),
            series: series.collect(),
            ..Chart::default()
        }
    }
}

impl Residuals {
    fn chart(&self) -> Chart {
        let series = self.lines.iter().map(|line| {
            let how = if line.batch == 1 { "one at a time".to_owned() } else { format!("batches of {}", line.batch) };
            let points = line.points.iter().map(|(removed, residual)| (*removed as f64, *residual));
            Series::line(format!("{}, {how}", line.name), points)
        });
        let last = |name: &str, batch: usize| {
            let line = self.lines.iter().find(|line| line.name == name && line.batch == batch)?;
            line.points.last().map(|point| point.1)
        };
        let told = match (last("measured", 1), last("data-dependent", 1)) {
            (Some(measured), Some(bound)) => {
                format!("At the end the data-dependent bound is {} times what is measured.", number(bound / measured))
            }
            _ => String::new(),
        };
        let (l2, std) = (setting(self.strength.l2_per_row), setting(self.strength.noise_std));
        Chart {
            id: "mnist-residuals".to_owned(),
            title: "Figure 2: gradient residual against the number of removals".to_owned(),
            caption: format!(
                "λ = {l2}, σ = {std}, one random order. The bounds are sums over all removals so far. {told} The line \
                 of Efface is the instant bound of mechanism release, whose model is not perturbed: a Hessian that is formed once, not at every removal, \
                 so that the bound grows with the way the weights have gone, until settling takes it down to 10⁻⁹."
            ),
            x: Axis::linear("number of rows removed"),
            y: Axis::log("gradient residual norm"),
            series: series.collect(),
            ..Chart::default()
        }
    }
}

impl Digits {
    fn images(&self) -> Images {
        let row = |name: &str, digits: &[RankedDigit]| ImageRow {
            name: name.to_owned(),
            images: digits.iter().map(|digit| (digit.pixels.clone(), number(digit.influence))).collect(),
        };
        Images {
            id: "mnist-digits".to_owned(),
            title: "Figure 3: digits that are hard and easy to remove".to_owned(),
            caption: "Norm of the removal step, ‖H⁻¹Δ‖, below each: how far the weights go when the digit leaves."
                .to_owned(),
            side: SIDE,
            rows: vec![row("ten largest ‖H⁻¹Δ‖", &self.hardest), row("ten smallest ‖H⁻¹Δ‖", &self.easiest)],
        }
    }
}

fn comparison_table(comparison: &[Comparison]) -> Table {
    let range = |low: f64, high: f64, text: &dyn Fn(f64) -> String| {
        if low == high { text(low) } else { format!("{} to {}", text(low), text(high)) }
    };
    let accuracy = |value: f64| format!("{value:.3}");
    let rows = comparison.iter().map(|row| {
        vec![
            setting(row.l2_per_row),
            setting(row.noise_std),
            accuracy(row.accuracy.0),
            range(row.accuracy.1, row.accuracy.2, &accuracy),
            number(row.accumulated_bound.0),
            range(row.accumulated_bound.1, row.accumulated_bound.2, &number),
            number(row.supported_removals.0),
            range(row.supported_removals.1, row.supported_removals.2, &number),
            number(row.bound_over_measured),
            if row.agrees { "yes" } else { "NO" }.to_owned(),
        ]
    });
    let heads = [
        "λ",
        "σ",
        "accuracy",
        "accuracy, their code",
        "bound after 100",
        "bound, their code",
        "supported removals",
        "supported, their code",
        "bound ÷ measured",
        "agrees",
    ];
    let caption = format!(
        "Mechanism objective as published beside the paper's own code on the same rows: ε = 1, δ = 10⁻⁴, 100 \
             removals in one random order. Supported: budget over the mean bound of one removal, each as its own program counts \
             it. Agreement: accuracy within {} points, bounds and counts within a factor of \
             {FACTOR}, at λ = 10⁻⁴ (heavy-tailed) {HEAVY_FACTOR}.",
        100.0 * ACCURACY_TOLERANCE
    );
    Table::new(caption, heads, rows)
}
