//! What all charts have in common: lines with markers inside a frame of axes, drawn by kuva.

use kuva::backend::svg::SvgBackend;
use kuva::plot::{LinePlot, LineStyle, ScatterPlot};
use kuva::render::layout::{ComputedLayout, Layout};
use kuva::render::plots::Plot;
use kuva::render::render::render_multiple;

use super::axis::Ruler;
use super::style::{Ink, Style};

/// A series that is ready to be drawn: its style, and its points in units of the axes.
pub(super) struct Line<'a> {
    pub(super) name: &'a str,
    pub(super) style: &'a Style,
    pub(super) points: Vec<(f64, f64)>,
    /// Points that get a marker.
    pub(super) marked: Vec<(f64, f64)>,
    /// Whether a line joins the points.
    pub(super) joined: bool,
}

impl Line<'_> {
    fn plots(&self) -> impl Iterator<Item = Plot> {
        let line = LinePlot::new()
            .with_data(self.points.iter().copied())
            .with_color(self.style.color)
            .with_stroke_width(self.style.width)
            .with_line_style(LineStyle::Custom(self.style.dashes.to_owned()));
        let markers = ScatterPlot::new()
            .with_data(self.marked.iter().copied())
            .with_color(self.style.color)
            .with_marker(self.style.marker)
            .with_size(self.style.marker_radius());
        self.joined.then_some(Plot::Line(line)).into_iter().chain([Plot::Scatter(markers)])
    }
}

/// A chart without anything around it.
pub(super) struct Frame<'a> {
    pub(super) x_label: &'a str,
    pub(super) y_label: &'a str,
    pub(super) x: Ruler,
    pub(super) y: Ruler,
    pub(super) lines: &'a [Line<'a>],
    pub(super) width: f64,
    pub(super) height: f64,
    /// Size of the ticks' text; titles of axes are a little larger.
    pub(super) text_size: u32,
    /// Length of ticks; longer ones keep the texts of the two axes apart where they meet.
    pub(super) tick_length: f64,
    pub(super) ink: Ink,
}

/// A frame as SVG elements, and where in it values lie.
pub(super) struct Drawn {
    /// Elements, without the `<svg>` around them.
    pub(super) elements: String,
    pub(super) width: f64,
    pub(super) height: f64,
    layout: ComputedLayout,
}

impl Frame<'_> {
    pub(super) fn draw(self) -> Drawn {
        let plots: Vec<Plot> = self.lines.iter().flat_map(Line::plots).collect();
        let (x, y) = (self.x.axis, self.y.axis);
        let layout = Layout::auto_from_plots(&plots)
            .with_width(self.width)
            .with_height(self.height)
            .with_theme(self.ink.theme())
            .with_x_label(self.x_label)
            .with_y_label(self.y_label)
            .with_label_size(self.text_size + 1)
            .with_tick_size(self.text_size)
            .with_tick_length(self.tick_length)
            .with_x_axis_min(x.low)
            .with_x_axis_max(x.high)
            .with_x_tick_step(x.step)
            .with_x_tick_format(self.x.format)
            .with_y_axis_min(y.low)
            .with_y_axis_max(y.high)
            .with_y_tick_step(y.step)
            .with_y_tick_format(self.y.format);
        let places = ComputedLayout::from_layout(&layout);
        let scene = render_multiple(plots, layout);
        let drawn = SvgBackend::new().render_scene(&scene);
        let inside = drawn.split_once('>').map_or("", |(_, inside)| inside);
        let elements = inside.trim_end().strip_suffix("</svg>").unwrap_or(inside).to_owned();
        Drawn { elements, width: scene.width, height: scene.height, layout: places }
    }
}

impl Drawn {
    /// The frame in two layers, so that something can lie between them: axes with the grid, and lines with markers.
    /// The second is not clipped, so that markers on an axis are whole: all points must lie inside.
    pub(super) fn layers(&self) -> (String, String) {
        let (axes, data) = self.elements.split_once("<g clip-path=").unwrap_or((&self.elements, ">"));
        let axes = match (axes.split_once("<defs>"), axes.split_once("</defs>")) {
            (Some((before, _)), Some((_, after))) => format!("{before}{after}"),
            _ => axes.to_owned(),
        };
        let data = data.split_once('>').map_or("", |(_, data)| data);
        (axes, data.replacen("</g>", "", 1))
    }

    /// Where a point lies.
    pub(super) fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (self.layout.map_x(x), self.layout.map_y(y))
    }

    /// Left, top, right and bottom of the area inside the axes.
    pub(super) fn inside(&self) -> [f64; 4] {
        let ComputedLayout { margin_left, margin_top, margin_right, margin_bottom, .. } = self.layout;
        [margin_left, margin_top, self.width - margin_right, self.height - margin_bottom]
    }
}
