//! The legend inside a picture: below the plot, in columns.

use std::fmt::Write as _;

use super::frame::Line;
use super::picture::TEXT_SIZE;
use super::text::{escape, lines, width};

/// A name beside a sample of its line and marker.
pub(super) struct Entry {
    sample: String,
    joined: bool,
    name: String,
}

impl Entry {
    /// A series of which nothing can be drawn stays in the legend and says so.
    pub(super) fn of(line: &Line) -> Self {
        let nothing = if line.points.is_empty() { " (no value on these axes)" } else { "" };
        Self { sample: line.style.sample(line.joined), joined: line.joined, name: format!("{}{nothing}", line.name) }
    }
}

/// Entries from `top` down and between `left` and `right`, in as many columns as fit; and the height of all.
pub(super) fn legend(entries: &[Entry], top: f64, left: f64, right: f64) -> (String, f64) {
    let room = right - left - GAP;
    // Without lines, only the marker in the middle of each sample shows.
    let cut = if entries.iter().any(|entry| entry.joined) { 0.0 } else { 14.0 };
    let sample = SAMPLE - 2.0 * cut;
    let widest = entries.iter().map(|entry| sample + width(&entry.name, SIZE) + GAP).fold(1.0, f64::max);
    let n_columns = ((room + GAP) / widest).floor().clamp(1.0, entries.len().max(1) as f64) as usize;
    let (mut elements, mut height) = (String::new(), 0.0);
    for row in entries.chunks(n_columns) {
        let mut n_lines = 1;
        for (column, entry) in row.iter().enumerate() {
            let (x, y) = (left + column as f64 * widest, top + height);
            let _ = write!(elements, "<g transform=\"translate({:.1} {:.1})\">{}</g>", x - cut, y + 4.0, entry.sample);
            let broken = lines(&entry.name, SIZE, room - sample);
            for (i, text) in broken.iter().enumerate() {
                let baseline = y + 18.0 + i as f64 * LINE;
                let _ = write!(
                    elements,
                    "<text x=\"{:.1}\" y=\"{baseline:.1}\" font-size=\"{SIZE}\">{}</text>",
                    x + sample,
                    escape(text),
                );
            }
            n_lines = n_lines.max(broken.len());
        }
        height += n_lines as f64 * LINE + 4.0;
    }
    (elements, height)
}

const SIZE: f64 = TEXT_SIZE as f64;
const LINE: f64 = 24.0;
/// Width of the sample with the room after it.
const SAMPLE: f64 = 56.0;
/// Room between columns.
const GAP: f64 = 28.0;
