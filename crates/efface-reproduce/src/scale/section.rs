//! The experiment on the page.

use efface_report::numbers::{bytes, count, number, percent, seconds, setting};
use efface_report::{Axis, Chart, Part, Section, Series, Table};

use super::ScaleResults;
use super::growth::{Cost, Curve, Exponents};
use super::large::{Checked, LargeRun};
use super::likeness::{Likeness, Look};

impl ScaleResults {
    pub(crate) fn section(&self) -> Section {
        let Self { likeness, large, growth } = self;
        let (n_rows, dim, n_removed) = (count(large.n_rows), count(large.dim), count(large.n_removed));
        let parts = vec![
            Part::text(format!(
                "{n_rows} rows of {dim} features in single precision, drawn to look like the features of real scenes: built \
                 (buildings, streets) against nature. A model is trained, {n_removed} rows leave one at a time, the model is \
                 settled, and it is compared with one that is trained from zero on the rows left. Had a claim not \
                 held, the experiment would have ended with an error instead of this page."
            )),
            Part::Table(run_table(large)),
            Part::Table(check_table(large)),
            Part::text(
                "Rows are drawn class by class, as mixtures of eight real rows with normal weights: mean and \
                 covariance of a class are those of the real rows until negative entries are set to zero and rows are \
                 brought to norm 1. What that leaves of the likeness:",
            ),
            Part::Table(likeness_table(likeness)),
            Part::Chart(growth_chart("scale-rows", "Cost against rows", 'n', &growth.by_rows)),
            Part::Chart(growth_chart("scale-features", "Cost against features", 'd', &growth.by_features)),
            Part::Table(exponent_table(&growth.by_rows, &growth.by_features)),
            Part::text(
                "An instant removal reads no row but its own, so it does not grow with n. It goes a few times over three \
                 matrices of d² numbers: d² operations, and more seconds than that where the matrices no longer fit the \
                 processor's caches.",
            ),
        ];
        Section::new("scale", "A million rows, and how costs grow", parts)
    }
}

fn run_table(large: &LargeRun) -> Table {
    let (settling, passes, hessians) = (seconds(large.settle_seconds), large.settle_passes, large.settle_hessians);
    let (noise, epsilon) = (large.release_noise_std, large.release_epsilon);
    let mut rows = [
        ["rows in memory", &bytes(large.rows_bytes)],
        ["drawing them", &seconds(large.draw_seconds)],
        ["training", &seconds(large.train_seconds)],
        ["one removal, median", &seconds(large.removal_median_seconds)],
        ["one removal, 95 %", &seconds(large.removal_95_seconds)],
        [&format!("all {} removals", count(large.n_removed)), &seconds(large.removals_seconds)],
        ["settling", &format!("{settling} ({passes} passes, {hessians} Hessians)")],
        ["training from zero", &seconds(large.retrain_seconds)],
        ["accuracy, settled (secret)", &percent(large.settled_accuracy)],
        [&format!("accuracy, released (noise {noise:.0e}, ε = {epsilon:.1e})"), &percent(large.released_accuracy)],
        ["accuracy, trained from zero", &percent(large.retrained_accuracy)],
    ]
    .map(|row| row.map(str::to_owned))
    .to_vec();
    rows.extend(large.peak_memory_bytes.map(|peak| ["peak memory of the process".to_owned(), bytes(peak)]));
    let [n_rows, dim, n_test_rows] = [large.n_rows, large.dim, large.n_test_rows].map(count);
    let l2 = setting(large.l2_per_row);
    let caption = format!("{n_rows} × {dim}, λ = {l2}; accuracy on {n_test_rows} real test rows");
    Table::new(caption, ["step", "measured"], rows)
}

fn check_table(large: &LargeRun) -> Table {
    let row = |name: &str, checked: &Checked| {
        let Checked { claimed_residual, measured_residual, claimed_distance, measured_distance } = checked;
        let values = [claimed_residual, measured_residual, claimed_distance, measured_distance];
        [&[name.to_owned()], &values.map(|value| number(*value))[..]].concat()
    };
    let retrained = ["trained from zero", "–", "–", &number(large.retrained_claimed_distance), "–"];
    let rows = [
        row("after the removals", &large.instant),
        row("settled", &large.settled),
        retrained.map(str::to_owned).to_vec(),
    ];
    let columns = ["model", "gradient, claimed", "gradient, at least", "distance, claimed", "distance, measured"];
    let caption = "Claims beside measurements; one that does not hold would have ended the experiment. Claims are distances from the exact weights; measured is the distance from \
                   the weights that were trained from zero, which may be as large as both claims together.";
    Table::new(caption, columns, rows)
}

fn likeness_table(likeness: &Likeness) -> Table {
    let Likeness { dim, real, drawn } = likeness;
    let row = |name: &str, show: &dyn Fn(&Look) -> String| vec![name.to_owned(), show(real), show(drawn)];
    let rows = [
        row("rows", &|look| count(look.n_rows)),
        row("mean cosine within a class", &|look| format!("{:.3}", look.cosine_within_class)),
        row("variance within classes", &|look| format!("{:.3}", look.variance_within_class)),
        row("share of its first direction", &|look| percent(look.first_direction_share)),
        row("features that are zero", &|look| percent(look.zero_fraction)),
        row("accuracy on real test rows when trained on these", &|look| percent(look.test_accuracy)),
    ];
    Table::new(format!("Real and drawn rows of {} features", count(*dim)), ["", "real", "drawn"], rows)
}

fn growth_chart(id: &str, title: &str, size: char, curve: &Curve) -> Chart {
    let at = |cost: &Cost| if size == 'n' { cost.n_rows } else { cost.dim } as f64;
    let line = |name: &str, exponent: f64, seconds: fn(&Cost) -> f64| {
        let points = curve.costs.iter().map(|cost| (at(cost), seconds(cost)));
        Series::line(format!("{name} ({size}^{exponent:.2})"), points)
    };
    let (label, fixed) = match curve.costs.first() {
        Some(cost) if size == 'n' => ("rows n", format!("d = {}", count(cost.dim))),
        Some(cost) => ("features d", format!("n = {}", count(cost.n_rows))),
        None => ("size", "no sizes".to_owned()),
    };
    let Curve { exponents, .. } = curve;
    Chart {
        id: id.to_owned(),
        title: title.to_owned(),
        caption: format!(
            "Seconds at {fixed}, both axes by powers of ten. Exponents are fitted over the upper half of the sizes."
        ),
        x: Axis::log(label),
        y: Axis::log("seconds"),
        series: vec![
            line("train", exponents.train, |cost| cost.train_seconds),
            line("settle", exponents.settle, |cost| cost.settle_seconds),
            line("instant removal", exponents.removal, |cost| cost.removal_seconds),
        ],
        ..Chart::default()
    }
}

fn exponent_table(by_rows: &Curve, by_features: &Curve) -> Table {
    let row = |name: &str, exponent: fn(&Exponents) -> f64| {
        let of = |curve: &Curve| format!("{:.2}", exponent(&curve.exponents));
        vec![name.to_owned(), of(by_rows), of(by_features)]
    };
    let rows = [
        row("train", |exponents| exponents.train),
        row("settle", |exponents| exponents.settle),
        row("instant removal", |exponents| exponents.removal),
    ];
    let caption = "Exponent a in seconds ∝ sizeᵃ, fitted over the upper half of the sizes.";
    Table::new(caption, ["", "rows n", "features d"], rows)
}
