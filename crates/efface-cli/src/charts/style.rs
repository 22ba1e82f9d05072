//! How series look. Each has its own colour (the palette of Okabe and Ito), dash pattern and marker: each of the three
//! suffices to tell the lines apart.

use std::fmt::Write as _;

use kuva::plot::scatter::MarkerShape;
use kuva::render::theme::Theme;

use super::text::SVG_NAMESPACE;

/// How a series looks.
pub(super) struct Style {
    /// A fixed colour, or `currentColor` for that of the text.
    pub(super) color: &'static str,
    pub(super) dashes: &'static str,
    pub(super) width: f64,
    pub(super) marker: MarkerShape,
    /// The marker as a path around the middle of the legend's 44 × 16 sample.
    glyph: &'static str,
}

impl Style {
    /// Shapes with little ink are drawn larger.
    pub(super) fn marker_radius(&self) -> f64 {
        if matches!(self.marker, MarkerShape::Star | MarkerShape::Cross) { 7.0 } else { 5.0 }
    }

    /// A sample of 44 × 16 for a legend: the marker, on the line where there is one.
    pub(super) fn sample(&self, joined: bool) -> String {
        let Self { color, dashes, width, glyph, .. } = self;
        let mut sample = format!("<g fill=\"{color}\" stroke=\"{color}\">");
        if joined {
            let _ = write!(sample, "<path d=\"M0 8H44\" stroke-width=\"{width}\" stroke-dasharray=\"{dashes}\"/>");
        }
        let _ = write!(sample, "<path d=\"{glyph}\" stroke-width=\"1.5\"/></g>");
        sample
    }

    /// The sample as a picture of its own.
    pub(super) fn sample_svg(&self) -> String {
        format!("<svg {SVG_NAMESPACE} viewBox=\"0 0 44 16\" aria-hidden=\"true\">{}</svg>", self.sample(true))
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
pub(super) const STYLES: [Style; 8] = [
    style("currentColor", "none", 4.0, MarkerShape::Circle, "M27 8a5 5 0 1 1-10 0a5 5 0 1 1 10 0z"),
    style("#D55E00", "12 4", 2.5, MarkerShape::Square, "M17 3h10v10h-10z"),
    style("#0072B2", "none", 2.5, MarkerShape::Triangle, "M22 2l6 11h-12z"),
    style("#E69F00", "2 4", 2.5, MarkerShape::Diamond, "M22 1l6 7l-6 7l-6-7z"),
    style("#009E73", "12 4 2 4", 2.5, MarkerShape::TriangleDown, "M22 14l6-11h-12z"),
    style("#CC79A7", "6 3", 2.5, MarkerShape::Star, STAR),
    style("#56B4E9", "12 4 2 4 2 4", 2.5, MarkerShape::Cross, "M17 3l10 10M27 3l-10 10"),
    style("#7A7A7A", "3 3", 3.5, MarkerShape::Circle, "M27 8a5 5 0 1 1-10 0a5 5 0 1 1 10 0z"),
];

/// Colours of everything that is not a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ink {
    /// Text and axes.
    pub(super) text: &'static str,
    /// Grid.
    pub(super) rule: &'static str,
    /// What lies behind.
    pub(super) paper: &'static str,
    /// Fonts, as in CSS.
    pub(super) font: &'static str,
}

impl Ink {
    /// Follows the page around it: light mode, dark mode and paper.
    pub(super) const PAGE: Self =
        Self { text: "currentColor", rule: "var(--rule)", paper: "var(--paper)", font: "inherit" };
    /// Dark on white, for a file that stands alone. The font is the one that PNG files are drawn with; the second has
    /// the same widths.
    pub(super) const FILE: Self =
        Self { text: "#1b1f24", rule: "#dde1e6", paper: "#ffffff", font: "DejaVu Sans, Verdana, sans-serif" };

    pub(super) fn theme(self) -> Theme {
        let mut theme = Theme::light();
        "none".clone_into(&mut theme.background);
        for color in [&mut theme.axis_color, &mut theme.tick_color, &mut theme.text_color] {
            "currentColor".clone_into(color);
        }
        self.rule.clone_into(&mut theme.grid_color);
        theme.font_family = Some("inherit".to_owned());
        theme
    }
}

const STAR: &str = "M22.0 0.6L23.9 6.0L29.6 6.1L25.0 9.6L26.7 15.1L22.0 11.8L17.3 15.1L19.0 9.6L14.4 6.1L20.1 6.0z";
