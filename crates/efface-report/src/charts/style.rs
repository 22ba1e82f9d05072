//! How series look. Each has its own colour (the palette of Okabe and Ito), dash pattern and marker: each of the three
//! suffices to tell the lines apart.

use super::Place;

/// How a series looks.
pub(super) struct Style {
    /// A fixed colour, or `currentColor` for that of the text.
    pub(super) color: &'static str,
    dashes: &'static str,
    width: f64,
    /// The marker as a path around the middle of a sample of 44 × 16.
    glyph: &'static str,
}

impl Style {
    /// A line along this path.
    pub(super) fn line(&self, path: &str) -> String {
        let Self { color, dashes, width, .. } = self;
        format!(
            "<path d=\"{path}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"{width}\" stroke-dasharray=\"{dashes}\" \
             stroke-linejoin=\"round\"/>"
        )
    }

    /// A marker at this place.
    pub(super) fn marker(&self, (x, y): (f64, f64)) -> String {
        let Self { color, glyph, .. } = self;
        let (left, top) = (x - 22.0, y - 8.0);
        format!(
            "<path class=\"marker\" transform=\"translate({left:.1} {top:.1})\" d=\"{glyph}\" fill=\"{color}\" \
             stroke=\"{color}\" stroke-width=\"1.5\"/>"
        )
    }

    /// A sample of 44 × 16 for a legend: the marker, on the line where there is one.
    pub(super) fn sample(&self, joined: bool) -> String {
        let line = if joined { self.line("M0 8H44") } else { String::new() };
        line + &self.marker((22.0, 8.0))
    }
}

const fn style(color: &'static str, dashes: &'static str, width: f64, glyph: &'static str) -> Style {
    Style { color, dashes, width, glyph }
}

/// The reference first, then the palette of Okabe and Ito without its yellow, which is too pale for white paper.
pub(super) const STYLES: [Style; 8] = [
    style("currentColor", "none", 4.0, "M27 8a5 5 0 1 1-10 0a5 5 0 1 1 10 0z"),
    style("#D55E00", "12 4", 2.5, "M17 3h10v10h-10z"),
    style("#0072B2", "none", 2.5, "M22 2l6 11h-12z"),
    style("#E69F00", "2 4", 2.5, "M22 1l6 7l-6 7l-6-7z"),
    style("#009E73", "12 4 2 4", 2.5, "M22 14l6-11h-12z"),
    style("#CC79A7", "6 3", 2.5, STAR),
    style("#56B4E9", "12 4 2 4 2 4", 2.5, "M17 3l10 10M27 3l-10 10"),
    style("#7A7A7A", "3 3", 3.5, "M27 8a5 5 0 1 1-10 0a5 5 0 1 1 10 0z"),
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
    /// A page's picture follows the page around it: light mode, dark mode and paper. A file is dark on white; the second
    /// font has the widths of the first.
    pub(super) fn at(place: Place) -> Self {
        match place {
            Place::Page | Place::Column => {
                Self { text: "currentColor", rule: "var(--rule)", paper: "var(--paper)", font: "inherit" }
            }
            Place::File => {
                Self { text: "#1b1f24", rule: "#dde1e6", paper: "#ffffff", font: "DejaVu Sans, Verdana, sans-serif" }
            }
        }
    }
}

const STAR: &str = "M22.0 0.6L23.9 6.0L29.6 6.1L25.0 9.6L26.7 15.1L22.0 11.8L17.3 15.1L19.0 9.6L14.4 6.1L20.1 6.0z";
