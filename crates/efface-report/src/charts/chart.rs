//! A chart as SVG. From top to bottom: the title (of a file), names of vertical marks, the frame, the legend.

use std::fmt::Write as _;

use super::Place;
use super::axis::Axis;
use super::canvas::{Canvas, TEXT_SIZE, text_with_halo};
use super::frame::{Frame, Line};
use super::legend::{self, Entry};
use super::marks::mark_rows;
use super::style::{Ink, STYLES};
use crate::{AxisScale, Chart, Series};

/// The chart as an SVG. A file has a fixed width; on a page, the page decides.
pub(crate) fn chart_svg(chart: &Chart, place: Place) -> String {
    let ink = Ink::at(place);
    let mut canvas = Canvas::new(place, &chart.title);
    let lines: Vec<Line> = chart.series.iter().enumerate().map(|(i, series)| line(series, i, chart)).collect();
    if lines.iter().all(|line| line.points.is_empty()) {
        return canvas.nothing(&chart.caption);
    }
    let points = || lines.iter().flat_map(|line| line.points.iter().copied());
    let marks: Vec<f64> = chart.marks.iter().map(|mark| Axis::position(mark.x, chart.x.scale)).collect();
    let xs = points().map(|(x, _)| x).chain(marks.iter().copied());
    let x = Axis::around(xs, chart.x.scale, Some(0.85 * canvas.width));
    let y = Axis::around(points().map(|(_, y)| y), chart.y.scale, None);
    let height = if place == Place::Column { 240.0 } else { 540.0 };
    let frame = Frame::new(x, y, (canvas.width, height));

    let named: Vec<(f64, &str)> = chart
        .marks
        .iter()
        .zip(marks)
        .filter(|(_, x)| x.is_finite())
        .map(|(mark, x)| (frame.place((x, 0.0)).0, mark.label.as_str()))
        .collect();
    let (marks, marks_height) = mark_rows(&named, &frame, canvas.width, ink);
    canvas.height += marks_height;
    let entries: Vec<Entry> = lines.iter().map(Entry::of).collect();
    let drawn: String = lines.iter().enumerate().map(|(i, line)| frame.line(line, &marked(line, i, x))).collect();
    let (labels, numbers) = point_numbers(chart, &frame, ink);
    let _ = write!(
        canvas.elements,
        "<g transform=\"translate(0 {:.1})\">{}{marks}{drawn}{numbers}</g>",
        canvas.height,
        frame.axes(&axis_title(&chart.x), &axis_title(&chart.y), ink),
    );
    canvas.height += frame.height + 6.0;
    legend::push(&mut canvas, &entries, frame.left);
    let numbered: Vec<Entry> = labels.iter().enumerate().map(|(i, label)| Entry::numbered(i + 1, label)).collect();
    legend::push(&mut canvas, &numbered, frame.left);
    canvas.height += 8.0;
    canvas.finish(&chart.caption)
}

/// The series in units of the axes. Points that have no place are left out.
fn line<'a>(series: &'a Series, index: usize, chart: &Chart) -> Line<'a> {
    let places = series.points.iter().map(|point| position((point.x, point.y), chart));
    let points = places.filter(|(x, y)| x.is_finite() && y.is_finite()).collect();
    let style = &STYLES[index % STYLES.len()];
    Line { name: &series.name, style, points, joined: series.joined }
}

/// A point in units of the axes.
fn position((x, y): (f64, f64), chart: &Chart) -> (f64, f64) {
    (Axis::position(x, chart.x.scale), Axis::position(y, chart.y.scale))
}

/// A marker on every point where they are few or nothing joins them; else about ten, at places of its own for each
/// line, so that lines which coincide can still be told apart.
fn marked(line: &Line, index: usize, x: Axis) -> Vec<(f64, f64)> {
    if !line.joined || line.points.len() <= FEW_POINTS {
        return line.points.clone();
    }
    let mut marked = Vec::new();
    let spacing = (x.high - x.low) / 10.0;
    let mut last = line.points.first().map_or(0.0, |&(x, _)| x);
    let mut wanted = spacing * (index % STYLES.len()) as f64 / STYLES.len() as f64;
    for &(x, y) in &line.points {
        if (x - last).abs() >= wanted {
            marked.push((x, y));
            (last, wanted) = (x, spacing);
        }
    }
    marked
}

/// Labels of points, each once; and beside each such point the number of its label.
fn point_numbers<'a>(chart: &'a Chart, frame: &Frame, ink: Ink) -> (Vec<&'a str>, String) {
    let (mut labels, mut elements): (Vec<&str>, String) = (Vec::new(), String::new());
    for point in chart.series.iter().flat_map(|series| &series.points) {
        let at = position((point.x, point.y), chart);
        let Some(label) = point.label.as_deref().filter(|_| at.0.is_finite() && at.1.is_finite()) else { continue };
        let number = labels.iter().position(|known| *known == label).unwrap_or_else(|| {
            labels.push(label);
            labels.len() - 1
        });
        let (x, y) = frame.place(at);
        elements += &text_with_halo((x + 11.0, y - 7.0), "middle", TEXT_SIZE - 3.0, &(number + 1).to_string(), ink);
    }
    (labels, elements)
}

fn axis_title(axis: &crate::Axis) -> String {
    if axis.scale == AxisScale::Log { format!("{} (log scale)", axis.label) } else { axis.label.clone() }
}

/// A line of so few points has a marker on each.
const FEW_POINTS: usize = 24;
