//! A section with every kind of part, as hard to draw as real ones.

use efface_reproduce::page::{Axis, Chart, ImageRow, Images, Mark, Part, Point, Section, Series, Table};

use super::super::shown::Shown;

pub(super) fn shown() -> Shown {
    let parts = vec![
        Part::Text("Plain text with a <b> & c.".to_owned()),
        Part::Chart(bounds()),
        Part::Chart(tradeoff()),
        Part::Chart(accuracy()),
        Part::Images(images()),
        Part::Table(table()),
    ];
    Shown {
        section: Section { id: "fixture", title: "A fixture".to_owned(), parts },
        quick: true,
        command: "efface reproduce fixture --data DIR".to_owned(),
        facts: "1.50 s on 2 threads, seed 1.".to_owned(),
    }
}

/// Powers of ten on both axes, twelve decades and more, and values that have no place.
fn bounds() -> Chart {
    let curve = |name: &str, factor: f64, power: f64| {
        Series::line(name, (0..=120).map(|i| 10_f64.powf(f64::from(i) / 40.0)).map(|m| (m, factor * m.powf(power))))
    };
    let mut series = vec![
        curve("exact gradient left, ‖∇L(w⁻)‖₂", 3e-14, 1.0),
        curve("data-dependent bound", 4e-10, 1.5),
        curve("bound from stale curvature", 2e-8, 2.0),
        curve("worst case, γC²/λ²", 3e-3, 1.0),
        curve("budget σε/c", 1.1e-1, 0.0),
    ];
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        series[0].points.push(Point { x: 10.0, y: bad, label: None });
    }
    Chart {
        id: "fixture-bounds".to_owned(),
        title: "Gradient left after removal, and what is known about it".to_owned(),
        caption: "The exact gradient lies orders of magnitude below each bound.".to_owned(),
        x: Axis::log("rows removed"),
        y: Axis::log("gradient norm"),
        series,
        marks: Vec::new(),
    }
}

/// Twenty points with words beside them.
fn tradeoff() -> Chart {
    let series = ["10⁻⁴", "10⁻³", "10⁻²", "10⁻¹"].iter().enumerate().map(|(i, lambda)| {
        let points = [0.1, 1.0, 10.0, 100.0, 1000.0].iter().enumerate().map(|(j, sigma)| Point {
            x: 10_f64.powf(-1.0 + i as f64 + 0.9 * j as f64),
            y: 0.98 - 0.012 * i as f64 - 0.004 * (i * j) as f64 - if j == 4 { 0.15 } else { 0.002 * j as f64 },
            label: Some(format!("λ = {lambda}, σ = {sigma}")),
        });
        Series { name: format!("λ = {lambda}"), points: points.collect(), joined: false }
    });
    Chart {
        id: "fixture-tradeoff".to_owned(),
        title: "Accuracy against the number of removals that fit".to_owned(),
        caption: "More noise and more regularization buy removals with accuracy.".to_owned(),
        x: Axis::log("removals before retraining"),
        y: Axis::percent("test accuracy"),
        series: series.collect(),
        marks: Vec::new(),
    }
}

/// Flat lines, marks and a series without a value.
fn accuracy() -> Chart {
    let flat = |name: &str, level: f64, slope: f64| {
        Series::line(name, (0..=50).map(|i| f64::from(i) / 100.0).map(|x| (x, level + slope * x)))
    };
    let mark = |x: f64, label: &str| Mark { x, label: label.to_owned() };
    Chart {
        id: "fixture-accuracy".to_owned(),
        title: "Accuracy while half of the rows leave".to_owned(),
        caption: "Removal and retraining cannot be told apart.".to_owned(),
        x: Axis::percent("rows removed"),
        y: Axis::percent("test accuracy"),
        series: vec![
            flat("retrained", 0.9842, -0.002),
            flat("removed", 0.9841, -0.002),
            flat("published, with noise for ε = 1, δ = 10⁻⁴", 0.975, -0.01),
            flat("never measured", f64::NAN, 0.0),
        ],
        marks: vec![
            mark(0.12, "budget of the paper spent"),
            mark(0.14, "retraining"),
            mark(0.5, "half of the rows left"),
        ],
    }
}

fn images() -> Images {
    let image = |k: usize| -> Vec<u8> {
        let ink = |i: usize| {
            let (x, y) = ((i % 28) as f64 - 13.5, (i / 28) as f64 - 13.5);
            let ring = (x.hypot(1.2 * y) - 6.0 - 0.4 * k as f64).abs();
            (255.0 * (1.6 - 0.6 * ring).clamp(0.0, 1.0)) as u8
        };
        (0..28 * 28).map(ink).collect()
    };
    let row = |name: &str, first: usize| ImageRow {
        name: name.to_owned(),
        images: (0..10).map(|k| (image((k + first) % 10), format!("{:.1}·10⁻³", 9.9 - k as f64))).collect(),
    };
    Images {
        id: "fixture-images".to_owned(),
        title: "Rows that are hard and rows that are easy to remove".to_owned(),
        caption: "Norm of the Newton step below each.".to_owned(),
        side: 28,
        rows: vec![row("Hardest to remove: ‖H⁻¹Δ‖₂ is largest", 0), row("Easiest to remove", 5)],
    }
}

fn table() -> Table {
    let text = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
    Table {
        caption: "Times of one removal.".to_owned(),
        columns: text(["data", "removal", "verdict"]),
        rows: vec![text(["first | row", "≤ 2.5 ms", "kept"]), text(["second", "12 s", "kept"])],
    }
}
