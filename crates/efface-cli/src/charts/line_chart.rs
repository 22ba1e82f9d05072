//! Line charts of a page: an inline SVG without a fixed width, and a legend in HTML, so that it wraps on a narrow screen.

use std::fmt::Write as _;

use super::axis::{Axis, Ruler, decades, percents, power_of_ten, round_step};
use super::frame::{Frame, Line};
use super::style::{Ink, STYLES, Style};
use super::text::{SVG_NAMESPACE, escape};

/// One named line of a chart.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    /// What the line shows, as the legend prints it (plain text).
    pub(crate) name: String,
    /// Points `(place on the horizontal axis, value)`, in order of the first.
    pub(crate) points: Vec<(f64, f64)>,
}

/// How the vertical axis counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Powers of ten. Values that are zero, negative or not finite have no place on it and are left out.
    Log10,
    /// Fractions between 0 and 1, printed as percent. Values that are not finite are left out.
    Percent,
    /// Numbers between 0 and 1, all of that range shown.
    Unit,
}

/// What the horizontal axis shows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Horizontal<'a> {
    /// Whole numbers from 0.
    Counts,
    /// Numbers between two ends, with a tick at each multiple of the step.
    Numbers {
        /// Left end.
        low: f64,
        /// Right end.
        high: f64,
        /// Distance of ticks.
        step: f64,
    },
    /// Named places 0, 1, 2, …
    Names(&'a [String]),
}

/// A line chart. The first series is the reference: a broad solid line in the colour of the text.
#[derive(Clone, Debug)]
pub(crate) struct LineChart<'a> {
    /// What the picture shows, for readers who cannot see it (plain text).
    pub(crate) description: &'a str,
    /// Title of the horizontal axis, with its unit.
    pub(crate) x_label: &'a str,
    /// Title of the vertical axis, with its unit.
    pub(crate) y_label: &'a str,
    /// What the horizontal axis shows.
    pub(crate) horizontal: Horizontal<'a>,
    /// How the vertical axis counts.
    pub(crate) scale: Scale,
    /// The lines; at most seven can be told apart.
    pub(crate) series: &'a [Series],
}

impl LineChart<'_> {
    /// The chart as HTML, with a legend in the order of the lines at their ends.
    pub(crate) fn to_html(&self) -> String {
        let styled = self.series.iter().zip(STYLES.iter().cycle()).enumerate();
        let lines: Vec<Line> = styled.filter_map(|(i, (series, style))| line(series, style, i, self.scale)).collect();
        if lines.is_empty() {
            return "<p class=\"nothing\">There is no value that this chart could show.</p>".to_owned();
        }
        format!("<div class=\"chart\">{}</div>{}", self.svg(&lines), legend(&lines))
    }

    fn svg(&self, lines: &[Line]) -> String {
        let drawn = Frame {
            x_label: self.x_label,
            y_label: self.y_label,
            x: self.horizontal_ruler(lines),
            y: self.vertical_ruler(lines),
            lines,
            width: WIDTH,
            height: HEIGHT,
            text_size: 15,
            tick_length: 5.0,
            ink: Ink::PAGE,
        }
        .draw();
        // The picture follows the width and the font of the page.
        format!(
            "<svg {SVG_NAMESPACE} viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\" fill=\"currentColor\">{}</svg>",
            drawn.width,
            drawn.height,
            escape(self.description),
            drawn.elements,
        )
    }

    fn horizontal_ruler(&self, lines: &[Line]) -> Ruler {
        match self.horizontal {
            Horizontal::Counts => {
                let points = lines.iter().flat_map(|line| line.points.iter());
                let high = points.fold(1.0, |max: f64, &(x, _)| max.max(x));
                let step = round_step(high / 8.0).max(1.0);
                Ruler::new(Axis { low: 0.0, high, step }, |x| format!("{x:.0}"))
            }
            Horizontal::Numbers { low, high, step } => {
                let decimals = usize::from(step < 1.0);
                Ruler::new(Axis { low, high, step }, move |x| format!("{x:.decimals$}").replace('-', "−"))
            }
            Horizontal::Names(names) => {
                let names = names.to_vec();
                // Room for half a name at each end; the ticks there have none.
                let axis = Axis { low: -1.0, high: names.len() as f64, step: 1.0 };
                let name = move |x: f64| (x >= -0.5).then(|| names.get(x.round() as usize).cloned()).flatten();
                Ruler::new(axis, move |x| name(x).unwrap_or_default())
            }
        }
    }

    fn vertical_ruler(&self, lines: &[Line]) -> Ruler {
        let values = || lines.iter().flat_map(|line| line.points.iter().map(|&(_, y)| y));
        let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
        match self.scale {
            Scale::Log10 => Ruler::new(decades(low, high), power_of_ten),
            Scale::Percent => Ruler::new(percents(low, high), |y| format!("{y:.0} %")),
            // A little room above 1 for markers.
            Scale::Unit => Ruler::new(Axis { low: 0.0, high: 1.04, step: 0.2 }, |y| format!("{:.1}", y.abs())),
        }
    }
}

/// The series in units of the axes with about eight markers; `None` when none of its points can be drawn. Markers of
/// different lines sit at different places, so that lines which coincide can still be told apart.
fn line<'a>(series: &'a Series, style: &'a Style, position: usize, scale: Scale) -> Option<Line<'a>> {
    let to_axis = |&(x, y): &(f64, f64)| match scale {
        Scale::Log10 => (x, y.log10()),
        Scale::Percent => (x, 100.0 * y),
        Scale::Unit => (x, y),
    };
    let points: Vec<_> = series.points.iter().map(to_axis).filter(|(x, y)| x.is_finite() && y.is_finite()).collect();
    let stride = points.len().div_ceil(8).max(1);
    let offset = position * stride / STYLES.len();
    let marked = points.iter().copied().skip(offset).step_by(stride).collect();
    (!points.is_empty()).then_some(Line { name: &series.name, style, points, marked, joined: true })
}

/// The legend, highest line first.
fn legend(lines: &[Line]) -> String {
    let last_value = |line: &Line| line.points.last().map_or(f64::NEG_INFINITY, |&(_, y)| y);
    let mut ordered: Vec<&Line> = lines.iter().collect();
    ordered.sort_by(|a, b| last_value(b).total_cmp(&last_value(a)));
    let mut html = String::from("<ul class=\"legend\">");
    for line in ordered {
        let _ = write!(html, "<li>{}{}</li>", line.style.sample_svg(), escape(line.name));
    }
    html + "</ul>"
}

/// Width of a chart in its own units; the page scales it.
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 480.0;
