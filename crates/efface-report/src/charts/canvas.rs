//! The sheet that a picture is put together on, from the top down.

use super::Place;
use super::letters::{escape, lines};
use super::style::Ink;

/// A picture that is being put together.
pub(super) struct Canvas {
    place: Place,
    pub(super) width: f64,
    pub(super) elements: String,
    pub(super) height: f64,
}

impl Canvas {
    /// Begins with the title, where the page does not say it.
    pub(super) fn new(place: Place, title: &str) -> Self {
        let width = if place == Place::Column { 560.0 } else { 960.0 };
        let mut canvas = Self { place, width, elements: String::new(), height: 4.0 };
        if place == Place::File {
            canvas.height += 8.0;
            for line in lines(title, TITLE_SIZE, canvas.inner_width()) {
                canvas.height += 1.3 * TITLE_SIZE;
                canvas.text((MARGIN, canvas.height - 0.3 * TITLE_SIZE), "start", TITLE_SIZE, &line);
            }
            canvas.height += 4.0;
        }
        canvas
    }

    /// Width between the margins.
    pub(super) fn inner_width(&self) -> f64 {
        self.width - 2.0 * MARGIN
    }

    /// A line of text.
    pub(super) fn text(&mut self, at: (f64, f64), anchor: &str, size: f64, words: &str) {
        self.elements += &text(at, anchor, size, words);
    }

    /// A picture that has nothing to show says so.
    pub(super) fn nothing(mut self, description: &str) -> String {
        self.height += 60.0;
        self.text((MARGIN, self.height - 30.0), "start", TEXT_SIZE, "There is no value that this chart could show.");
        self.finish(description)
    }

    /// The picture, described for readers who cannot see it.
    pub(super) fn finish(self, description: &str) -> String {
        let Ink { text, paper, font, .. } = Ink::at(self.place);
        let (width, height) = (self.width, self.height.round());
        let (size, ground) = match self.place {
            Place::Page | Place::Column => Default::default(),
            Place::File => (
                format!("width=\"{width}\" height=\"{height}\" "),
                format!("<rect width=\"{width}\" height=\"{height}\" fill=\"{paper}\"/>"),
            ),
        };
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" {size}viewBox=\"0 0 {width} {height}\" role=\"img\" \
             aria-label=\"{}\" color=\"{text}\" fill=\"currentColor\" font-family=\"{font}\">{ground}{}</svg>",
            escape(description),
            self.elements,
        )
    }
}

/// A line of text, anchored at its start, middle or end.
pub(super) fn text((x, y): (f64, f64), anchor: &str, size: f64, words: &str) -> String {
    let anchor = if anchor == "start" { String::new() } else { format!(" text-anchor=\"{anchor}\"") };
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\"{anchor}>{}</text>", escape(words))
}

/// A line of text that stays readable over lines: with a halo in the colour of the paper.
pub(super) fn text_with_halo((x, y): (f64, f64), anchor: &str, size: f64, words: &str, ink: Ink) -> String {
    let (paper, words) = (ink.paper, escape(words));
    format!(
        "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" text-anchor=\"{anchor}\" stroke=\"{paper}\" \
         stroke-width=\"5\" stroke-linejoin=\"round\" paint-order=\"stroke\">{words}</text>"
    )
}

/// Free room at the left of titles.
pub(super) const MARGIN: f64 = 16.0;
/// Size of ticks, legends and words.
pub(super) const TEXT_SIZE: f64 = 17.0;
const TITLE_SIZE: f64 = 22.0;
