//! Pictures of reports: line charts, and small images of digits.
//!
//! Axes, grid, lines and markers are drawn by kuva. Three things are done here. Decades are computed before kuva sees
//! the values, because its own log axis stops at 1e-10 and a settled model lies below that. The legend is HTML, so that
//! it wraps on a narrow screen and shows a line together with its marker. All ink is `currentColor` or a variable of
//! the page, so that one picture serves light mode, dark mode and paper.
//!
//! Every series has its own colour (the palette of Okabe and Ito), dash pattern and marker: each of the three suffices
//! to tell the lines apart.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::sync::Arc;

use kuva::backend::svg::SvgBackend;
use kuva::plot::scatter::MarkerShape;
use kuva::plot::{LinePlot, LineStyle, ScatterPlot};
use kuva::render::layout::{Layout, TickFormat};
use kuva::render::plots::Plot;
use kuva::render::render::render_multiple;
use kuva::render::theme::Theme;

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
    /// The chart as HTML: an inline SVG without a fixed width, and a legend in the order of the lines at their ends.
    pub(crate) fn to_html(&self) -> String {
        let lines: Vec<Line> = self
            .series
            .iter()
            .zip(STYLES.iter().cycle())
            .filter_map(|(s, style)| Line::new(s, style, self.scale))
            .collect();
        if lines.is_empty() {
            return "<p class=\"nothing\">There is no value that this chart could show.</p>".to_owned();
        }
        format!("<div class=\"chart\">{}</div>{}", self.svg(&lines), legend(&lines))
    }

    fn svg(&self, lines: &[Line]) -> String {
        let points = || lines.iter().flat_map(|line| line.points.iter());
        let x_axis = match self.horizontal {
            Horizontal::Counts => {
                let high = points().fold(1.0, |max: f64, &(x, _)| max.max(x));
                Axis { low: 0.0, high, step: round_step(high / 8.0).max(1.0) }
            }
            Horizontal::Numbers { low, high, step } => Axis { low, high, step },
            // Room for half a name at each end; the ticks there have none.
            Horizontal::Names(names) => Axis { low: -1.0, high: names.len() as f64, step: 1.0 },
        };
        let x_format = match self.horizontal {
            Horizontal::Counts => TickFormat::Integer,
            Horizontal::Numbers { step, .. } => {
                let decimals = usize::from(step < 1.0);
                TickFormat::Custom(Arc::new(move |x| format!("{x:.decimals$}").replace('-', "−")))
            }
            Horizontal::Names(names) => {
                let names = names.to_vec();
                let name = move |x: f64| (x >= -0.5).then(|| names.get(x.round() as usize).cloned()).flatten();
                TickFormat::Custom(Arc::new(move |x| name(x).unwrap_or_default()))
            }
        };
        let low = points().fold(f64::INFINITY, |min, &(_, y)| min.min(y));
        let high = points().fold(f64::NEG_INFINITY, |max, &(_, y)| max.max(y));
        let (y_axis, tick_format) = match self.scale {
            Scale::Log10 => (decades(low, high), TickFormat::Custom(Arc::new(power_of_ten))),
            Scale::Percent => (percents(low, high), TickFormat::Custom(Arc::new(|y| format!("{y:.0} %")))),
            Scale::Unit => {
                // A little room above 1 for markers.
                let axis = Axis { low: 0.0, high: 1.04, step: 0.2 };
                (axis, TickFormat::Custom(Arc::new(|y| format!("{:.1}", y.abs()))))
            }
        };

        let plots: Vec<Plot> = lines.iter().enumerate().flat_map(|(i, line)| line.plots(i)).collect();
        let layout = Layout::auto_from_plots(&plots)
            .with_width(WIDTH)
            .with_height(HEIGHT)
            .with_theme(page_theme())
            .with_x_label(self.x_label)
            .with_y_label(self.y_label)
            .with_label_size(16)
            .with_tick_size(15)
            .with_x_axis_min(x_axis.low)
            .with_x_axis_max(x_axis.high)
            .with_x_tick_step(x_axis.step)
            .with_x_tick_format(x_format)
            .with_y_axis_min(y_axis.low)
            .with_y_axis_max(y_axis.high)
            .with_y_tick_step(y_axis.step)
            .with_y_tick_format(tick_format);
        let scene = render_multiple(plots, layout);
        let drawn = SvgBackend::new().render_scene(&scene);

        // The picture follows the width and the font of the page, so it gets an opening tag of its own.
        let body = drawn.split_once('>').map_or("", |(_, body)| body);
        format!(
            "<svg {SVG_NAMESPACE} viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\" fill=\"currentColor\">{body}",
            scene.width,
            scene.height,
            escape(self.description),
        )
    }
}

/// A grey image of a digit, 8 × 8 pixels of 0 (paper) to 16 (ink), as an inline SVG without a fixed size.
pub(crate) fn digit_svg(image: &[u8; 64]) -> String {
    let mut svg = format!(
        "<svg {SVG_NAMESPACE} class=\"digit\" viewBox=\"0 0 8 8\" shape-rendering=\"crispEdges\" aria-hidden=\"true\">\
         <rect width=\"8\" height=\"8\" fill=\"#fff\"/>"
    );
    for (i, &ink) in image.iter().enumerate().filter(|&(_, &ink)| ink > 0) {
        let grey = 255 - u32::from(ink.min(16)) * 255 / 16;
        let (x, y) = (i % 8, i / 8);
        let _ = write!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"1\" height=\"1\" fill=\"#{grey:02x}{grey:02x}{grey:02x}\"/>"
        );
    }
    svg + "</svg>"
}

/// A series that is ready to be drawn: its style, and its points in units of the axis.
struct Line<'a> {
    name: &'a str,
    style: &'a Style,
    points: Vec<(f64, f64)>,
}

impl<'a> Line<'a> {
    /// `None` when no point of the series can be drawn.
    fn new(series: &'a Series, style: &'a Style, scale: Scale) -> Option<Self> {
        let to_axis = |&(x, y): &(f64, f64)| match scale {
            Scale::Log10 => (x, y.log10()),
            Scale::Percent => (x, 100.0 * y),
            Scale::Unit => (x, y),
        };
        let points: Vec<_> =
            series.points.iter().map(to_axis).filter(|(x, y)| x.is_finite() && y.is_finite()).collect();
        (!points.is_empty()).then_some(Self { name: &series.name, style, points })
    }

    /// The line and about eight markers on it. Markers of different lines sit at different places, so that lines which
    /// coincide can still be told apart.
    fn plots(&self, position: usize) -> [Plot; 2] {
        let stride = self.points.len().div_ceil(8);
        let offset = position * stride / STYLES.len();
        let marked: Vec<_> = self.points.iter().copied().skip(offset).step_by(stride).collect();
        let line = LinePlot::new()
            .with_data(self.points.iter().copied())
            .with_color(self.style.color)
            .with_stroke_width(self.style.width)
            .with_line_style(LineStyle::Custom(self.style.dashes.to_owned()));
        let markers = ScatterPlot::new()
            .with_data(marked)
            .with_color(self.style.color)
            .with_marker(self.style.marker)
            .with_size(self.style.marker_radius());
        [Plot::Line(line), Plot::Scatter(markers)]
    }

    fn last_value(&self) -> f64 {
        self.points.last().map_or(f64::NEG_INFINITY, |&(_, y)| y)
    }
}

/// The legend, highest line first.
fn legend(lines: &[Line]) -> String {
    let mut ordered: Vec<&Line> = lines.iter().collect();
    ordered.sort_by(|a, b| b.last_value().total_cmp(&a.last_value()));
    let mut html = String::from("<ul class=\"legend\">");
    for line in ordered {
        let Style { color, dashes, width, glyph, .. } = line.style;
        let _ = write!(
            html,
            "<li><svg {SVG_NAMESPACE} viewBox=\"0 0 44 16\" aria-hidden=\"true\" fill=\"{color}\" stroke=\"{color}\">\
             <path d=\"M0 8H44\" stroke-width=\"{width}\" stroke-dasharray=\"{dashes}\"/>\
             <path d=\"{glyph}\" stroke-width=\"1.5\"/></svg>{}</li>",
            escape(line.name),
        );
    }
    html + "</ul>"
}

/// Ends of an axis and the distance of its ticks.
struct Axis {
    low: f64,
    high: f64,
    step: f64,
}

/// Whole decades around the values, at most ten ticks. Ends are multiples of the step, where kuva puts its ticks.
fn decades(low: f64, high: f64) -> Axis {
    let step = ((high.ceil() - low.floor()) / 9.0).ceil().max(1.0);
    let low = (low / step).floor() * step;
    Axis { low, high: ((high / step).ceil() * step).max(low + step), step }
}

/// Percents around the values. At least four points high, so that a difference of one row does not look like a fall.
fn percents(low: f64, high: f64) -> Axis {
    let step = if high - low > 20.0 { 10.0 } else { 1.0 };
    let high = ((high / step).ceil() * step).clamp(4.0, 100.0);
    let low = ((low / step).floor() * step).min(high - 4.0).max(0.0);
    Axis { low, high, step }
}

/// The smallest of 1, 2, 5, 10, 20, 50, … that is not below `at_least`.
fn round_step(at_least: f64) -> f64 {
    let magnitude = 10_f64.powf(at_least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|m| m * magnitude).into_iter().find(|&step| step >= at_least).unwrap_or(at_least)
}

/// A tick of the decade axis: 10⁻³.
fn power_of_ten(exponent: f64) -> String {
    const SUPERSCRIPTS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let digits = format!("{exponent:.0}");
    let superscript = |c: char| c.to_digit(10).map_or('⁻', |digit| SUPERSCRIPTS[digit as usize]);
    if digits == "0" || digits == "-0" {
        "1".to_owned()
    } else {
        "10".chars().chain(digits.chars().map(superscript)).collect()
    }
}

/// Colours that follow the page instead of a fixed theme.
fn page_theme() -> Theme {
    let mut theme = Theme::light();
    "none".clone_into(&mut theme.background);
    for color in [&mut theme.axis_color, &mut theme.tick_color, &mut theme.text_color] {
        "currentColor".clone_into(color);
    }
    "var(--rule)".clone_into(&mut theme.grid_color);
    theme.font_family = Some("inherit".to_owned());
    theme
}

/// Text made safe for HTML and SVG, in elements and in quoted attributes.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

/// How a series looks.
struct Style {
    color: &'static str,
    dashes: &'static str,
    width: f64,
    marker: MarkerShape,
    /// The marker as a path around the middle of the legend's 44 × 16 sample.
    glyph: &'static str,
}

impl Style {
    /// Shapes with little ink are drawn larger.
    fn marker_radius(&self) -> f64 {
        if matches!(self.marker, MarkerShape::Star | MarkerShape::Cross) { 7.0 } else { 5.0 }
    }
}

const fn style(
    color: &'static str,
    dashes: &'static str,
    width: f64,
    marker: MarkerShape,
    glyph: &'static str,
) -> Style {
    Style { color, dashes, width, marker, glyph }
}

/// The reference first, then the palette of Okabe and Ito without its yellow, which is too pale for white paper.
const STYLES: [Style; 8] = [
    style("currentColor", "none", 4.0, MarkerShape::Circle, "M27 8a5 5 0 1 1-10 0a5 5 0 1 1 10 0z"),
    style("#D55E00", "12 4", 2.5, MarkerShape::Square, "M17 3h10v10h-10z"),
    style("#0072B2", "none", 2.5, MarkerShape::Triangle, "M22 2l6 11h-12z"),
    style("#E69F00", "2 4", 2.5, MarkerShape::Diamond, "M22 1l6 7l-6 7l-6-7z"),
    style("#009E73", "12 4 2 4", 2.5, MarkerShape::TriangleDown, "M22 14l6-11h-12z"),
    style("#CC79A7", "6 3", 2.5, MarkerShape::Star, STAR),
    style("#56B4E9", "12 4 2 4 2 4", 2.5, MarkerShape::Cross, "M17 3l10 10M27 3l-10 10"),
    style("#7A7A7A", "3 3", 3.5, MarkerShape::Circle, "M27 8a5 5 0 1 1-10 0a5 5 0 1 1 10 0z"),
];

/// Width of a chart in its own units; the page scales it.
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 480.0;
const STAR: &str = "M22.0 0.6L23.9 6.0L29.6 6.1L25.0 9.6L26.7 15.1L22.0 11.8L17.3 15.1L19.0 9.6L14.4 6.1L20.1 6.0z";
const SVG_NAMESPACE: &str = "xmlns=\"http://www.w3.org/2000/svg\"";
