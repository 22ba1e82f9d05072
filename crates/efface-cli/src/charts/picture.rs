//! A chart of an experiment as SVG: a file of its own, or part of a page.
//!
//! From top to bottom: the title (of a file), names of vertical marks, the frame with words beside points, the legend.

use std::fmt::Write as _;

use efface_reproduce::page::{AxisScale, Chart, Series};

use super::Place;
use super::axis::{Axis, Ruler, decades, evenly, percents, plain, power_of_ten};
use super::frame::{Drawn, Frame, Line};
use super::labels::{Obstacles, Wanted, words};
use super::legend::{Entry, legend};
use super::marks::{MarkRows, mark_rows};
use super::style::{Ink, STYLES};
use super::text::{self, SVG_NAMESPACE, escape, lines};

/// The chart as an SVG. A file has a fixed width; on a page, the page decides.
pub(crate) fn chart_svg(chart: &Chart, place: Place) -> String {
    let ink = ink(place);
    let series: Vec<Line> = chart.series.iter().enumerate().map(|(i, series)| line(series, i, chart)).collect();
    let top = Canvas::new(place, &chart.title);
    if series.iter().all(|line| line.points.is_empty()) {
        return top.nothing(&chart.caption);
    }
    let x = ruler(chart.x.scale, &series, &marks(chart), true);
    let y = ruler(chart.y.scale, &series, &[], false);
    let (x_axis, y_axis) = (x.axis, y.axis);
    let last_tick = text::width(&x.format.format(x_axis.high), f64::from(TEXT_SIZE));
    let lines: Vec<Line> = series.into_iter().enumerate().map(|(i, line)| with_markers(line, i, x_axis)).collect();
    let drawn = Frame {
        x_label: &axis_title(&chart.x.label, chart.x.scale),
        y_label: &axis_title(&chart.y.label, chart.y.scale),
        x,
        y,
        lines: &lines,
        width: WIDTH - MARGIN.max(0.5 * last_tick - MARGIN),
        height: HEIGHT,
        text_size: TEXT_SIZE,
        tick_length: TICK_LENGTH,
        ink,
    }
    .draw();

    let named: Vec<(f64, &str)> = chart
        .marks
        .iter()
        .zip(marks(chart))
        .filter(|(_, x)| x.is_finite())
        .map(|(mark, x)| (drawn.place((x, 0.0)).0, mark.label.as_str()))
        .collect();
    let MarkRows { elements: marks, height: marks_height } = mark_rows(&named, drawn.inside(), WIDTH, ink);
    let mut canvas = top;
    canvas.height += marks_height;
    let (axes, data) = drawn.layers();
    let minor = [minor_ticks(&drawn, x_axis, chart.x.scale, true), minor_ticks(&drawn, y_axis, chart.y.scale, false)];
    let _ = write!(
        canvas.elements,
        "<g transform=\"translate(0 {:.1})\">{axes}{}{marks}{data}{}</g>",
        canvas.height,
        minor.concat(),
        point_labels(chart, &lines, &drawn, ink),
    );
    canvas.height += drawn.height;
    let entries: Vec<Entry> = lines.iter().map(Entry::of).collect();
    let (elements, height) = legend(&entries, canvas.height + 6.0, drawn.inside()[0], WIDTH);
    canvas.elements += &elements;
    canvas.height += height + 14.0;
    canvas.finish(&chart.caption)
}

/// A picture that is being put together, from the top down.
pub(super) struct Canvas {
    place: Place,
    pub(super) elements: String,
    pub(super) height: f64,
}

impl Canvas {
    /// Begins with the title, where the page does not say it.
    pub(super) fn new(place: Place, title: &str) -> Self {
        let mut canvas = Self { place, elements: String::new(), height: 4.0 };
        if place == Place::File {
            canvas.height += 8.0;
            for line in lines(title, TITLE_SIZE, WIDTH - 2.0 * MARGIN) {
                canvas.height += 1.3 * TITLE_SIZE;
                let _ = write!(
                    canvas.elements,
                    "<text x=\"{MARGIN}\" y=\"{:.1}\" font-size=\"{TITLE_SIZE}\">{}</text>",
                    canvas.height - 0.3 * TITLE_SIZE,
                    escape(&line),
                );
            }
            canvas.height += 4.0;
        }
        canvas
    }

    /// A picture that has nothing to show says so.
    fn nothing(mut self, description: &str) -> String {
        self.height += 60.0;
        let _ = write!(
            self.elements,
            "<text x=\"{MARGIN}\" y=\"{:.1}\" font-size=\"{TEXT_SIZE}\">There is no value that this chart could \
             show.</text>",
            self.height - 30.0,
        );
        self.finish(description)
    }

    /// The picture, described for readers who cannot see it.
    pub(super) fn finish(self, description: &str) -> String {
        let ink = ink(self.place);
        let (size, ground) = match self.place {
            Place::Page => (String::new(), String::new()),
            Place::File => (
                format!("width=\"{WIDTH}\" height=\"{:.0}\" ", self.height),
                format!("<rect width=\"{WIDTH}\" height=\"{:.0}\" fill=\"{}\"/>", self.height, ink.paper),
            ),
        };
        format!(
            "<svg {SVG_NAMESPACE} {size}viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\" aria-label=\"{}\" color=\"{}\" \
             fill=\"currentColor\" font-family=\"{}\">{ground}{}</svg>",
            self.height,
            escape(description),
            ink.text,
            ink.font,
            self.elements,
        )
    }
}

/// Colours of a picture at this place.
pub(super) fn ink(place: Place) -> Ink {
    match place {
        Place::Page => Ink::PAGE,
        Place::File => Ink::FILE,
    }
}

/// The series in units of the axes, without markers. Points that have no place are left out.
fn line<'a>(series: &'a Series, position: usize, chart: &Chart) -> Line<'a> {
    let to_axes = |x: f64, y: f64| (to_axis(x, chart.x.scale), to_axis(y, chart.y.scale));
    let points = series.points.iter().map(|point| to_axes(point.x, point.y));
    let points = points.filter(|(x, y)| x.is_finite() && y.is_finite()).collect();
    let style = &STYLES[position % STYLES.len()];
    Line { name: &series.name, style, points, marked: Vec::new(), joined: series.joined }
}

/// A marker on every point where they are few or nothing joins them; else about ten, at places of its own for each
/// line, so that lines which coincide can still be told apart.
fn with_markers(mut line: Line<'_>, position: usize, x: Axis) -> Line<'_> {
    if !line.joined || line.points.len() <= FEW_POINTS {
        line.marked.clone_from(&line.points);
        return line;
    }
    let spacing = (x.high - x.low) / 10.0;
    let mut last = line.points.first().map_or(0.0, |&(x, _)| x);
    let mut wanted = spacing * (position % STYLES.len()) as f64 / STYLES.len() as f64;
    for &(x, y) in &line.points {
        if (x - last).abs() >= wanted {
            line.marked.push((x, y));
            (last, wanted) = (x, spacing);
        }
    }
    line
}

/// A value in units of its axis; not finite where it has no place there.
fn to_axis(value: f64, scale: AxisScale) -> f64 {
    match scale {
        AxisScale::Linear => value,
        AxisScale::Log => value.log10(),
        AxisScale::Percent => 100.0 * value,
    }
}

fn marks(chart: &Chart) -> Vec<f64> {
    chart.marks.iter().map(|mark| to_axis(mark.x, chart.x.scale)).collect()
}

/// The axis around the values of all lines and these others.
fn ruler(scale: AxisScale, lines: &[Line], others: &[f64], is_horizontal: bool) -> Ruler {
    let points = || lines.iter().flat_map(|line| line.points.iter());
    let values = points().map(|&(x, y)| if is_horizontal { x } else { y });
    let values: Vec<f64> = values.chain(others.iter().copied().filter(|x| x.is_finite())).collect();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    match scale {
        AxisScale::Log => Ruler::new(decades(low, high), power_of_ten),
        AxisScale::Percent if !is_horizontal => Ruler::new(percents(low, high), |y| format!("{y:.0} %")),
        AxisScale::Percent => {
            let axis = evenly(low, high, N_TICKS);
            Ruler::new(axis, move |x| format!("{} %", plain(x, axis.step)))
        }
        AxisScale::Linear => {
            // Long numbers beside each other need more room than above each other.
            let widest = |axis: &Axis| text::width(&plain(axis.high, axis.step), f64::from(TEXT_SIZE)) + 24.0;
            let fits = |axis: &Axis| !is_horizontal || widest(axis) * (axis.high - axis.low) / axis.step < 0.85 * WIDTH;
            let axis =
                Some(evenly(low, high, N_TICKS)).filter(fits).unwrap_or_else(|| evenly(low, high, 0.5 * N_TICKS));
            Ruler::new(axis, move |x| plain(x, axis.step))
        }
    }
}

fn axis_title(label: &str, scale: AxisScale) -> String {
    if scale == AxisScale::Log { format!("{label} (log scale)") } else { label.to_owned() }
}

/// Short ticks at 2, 3, … 9 between powers of ten, where there is room for them; on a short axis some have a text.
fn minor_ticks(drawn: &Drawn, axis: Axis, scale: AxisScale, is_horizontal: bool) -> String {
    let n_decades = axis.high - axis.low;
    if scale != AxisScale::Log || axis.step > 1.0 || n_decades > 8.0 {
        return String::new();
    }
    let [left, _, _, bottom] = drawn.inside();
    let (mut path, mut texts) = (String::new(), String::new());
    for decade in axis.low as i32..axis.high as i32 {
        for digit in 2..10 {
            let at = f64::from(decade) + f64::from(digit).log10();
            let (x, y) = drawn.place((at, at));
            let _ = if is_horizontal {
                write!(path, "M{x:.1} {bottom:.1}v4")
            } else {
                write!(path, "M{left:.1} {y:.1}h-4")
            };
            if n_decades <= 2.0 && matches!(digit, 2 | 5) {
                let unit = 10_f64.powi(decade);
                let (x, y, anchor) = if is_horizontal {
                    (x, bottom + TICK_LENGTH + 15.0, "middle")
                } else {
                    (left - TICK_LENGTH - 3.0, y + 5.0, "end")
                };
                let _ = write!(
                    texts,
                    "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{}\" text-anchor=\"{anchor}\">{}</text>",
                    TEXT_SIZE - 2,
                    plain(f64::from(digit) * unit, unit),
                );
            }
        }
    }
    format!("<path d=\"{path}\" stroke=\"currentColor\" stroke-width=\"0.8\" fill=\"none\"/>{texts}")
}

/// Words beside the points that have some.
fn point_labels(chart: &Chart, lines: &[Line], drawn: &Drawn, ink: Ink) -> String {
    let mut wanted = Vec::new();
    for (series, line) in chart.series.iter().zip(lines) {
        for point in &series.points {
            let at = (to_axis(point.x, chart.x.scale), to_axis(point.y, chart.y.scale));
            if let Some(label) = point.label.as_deref().filter(|_| at.0.is_finite() && at.1.is_finite()) {
                wanted.push(Wanted { at: drawn.place(at), text: label, color: line.style.color });
            }
        }
    }
    if wanted.is_empty() {
        return String::new();
    }
    let mut obstacles = Obstacles::within(drawn.inside());
    for line in lines {
        line.marked.iter().for_each(|&point| obstacles.marker(drawn.place(point)));
        if line.joined {
            line.points.windows(2).for_each(|ends| obstacles.segment(drawn.place(ends[0]), drawn.place(ends[1])));
        }
    }
    words(&wanted, &obstacles, ink)
}

/// Width of a picture in its own units.
pub(super) const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 540.0;
/// Free room at the left of titles.
pub(super) const MARGIN: f64 = 16.0;
/// Size of ticks, legends and words.
pub(super) const TEXT_SIZE: u32 = 17;
/// About how many ticks an even axis has.
const N_TICKS: f64 = 8.0;
const TICK_LENGTH: f64 = 8.0;
const TITLE_SIZE: f64 = 22.0;
/// A line of so few points has a marker on each.
const FEW_POINTS: usize = 24;
