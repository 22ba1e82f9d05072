//! The legend of a chart: below the plot, in columns.

use std::fmt::Write as _;

use super::canvas::{Canvas, TEXT_SIZE, text};
use super::frame::Line;
use super::letters::{lines, width};

/// A name beside a sample of what it names.
pub(super) struct Entry {
    sample: String,
    sample_width: f64,
    name: String,
}

impl Entry {
    /// A series. One of which nothing can be drawn stays in the legend and says so.
    pub(super) fn of(line: &Line) -> Self {
        let nothing = if line.points.is_empty() { " (no value on these axes)" } else { "" };
        // Without a line, only the marker in the middle of the sample shows.
        let (cut, sample_width) = if line.joined { (0.0, 56.0) } else { (14.0, 28.0) };
        let sample = format!("<g transform=\"translate(-{cut} 4)\">{}</g>", line.style.sample(line.joined));
        Self { sample, sample_width, name: format!("{}{nothing}", line.name) }
    }

    /// The number beside some points, and what is special about them.
    pub(super) fn numbered(number: usize, name: &str) -> Self {
        let number = text((0.0, 18.0), "start", TEXT_SIZE - 2.0, &format!("{number}:"));
        Self { sample: number, sample_width: 22.0, name: name.to_owned() }
    }
}

/// Puts entries below what is drawn so far, from `left` on, in as many columns as fit.
pub(super) fn push(canvas: &mut Canvas, entries: &[Entry], left: f64) {
    let room = canvas.width - left - GAP;
    let widest =
        entries.iter().map(|entry| entry.sample_width + width(&entry.name, TEXT_SIZE) + GAP).fold(1.0, f64::max);
    let n_columns = ((room + GAP) / widest).floor().clamp(1.0, entries.len().max(1) as f64) as usize;
    for row in entries.chunks(n_columns) {
        let mut n_lines = 1;
        for (column, entry) in row.iter().enumerate() {
            let (x, y) = (left + column as f64 * widest, canvas.height);
            let _ = write!(canvas.elements, "<g transform=\"translate({x:.1} {y:.1})\">{}</g>", entry.sample);
            let broken = lines(&entry.name, TEXT_SIZE, room - entry.sample_width);
            for (i, words) in broken.iter().enumerate() {
                canvas.text((x + entry.sample_width, y + 18.0 + i as f64 * LINE), "start", TEXT_SIZE, words);
            }
            n_lines = n_lines.max(broken.len());
        }
        canvas.height += n_lines as f64 * LINE + 4.0;
    }
}

const LINE: f64 = 24.0;
/// Room between columns.
const GAP: f64 = 28.0;
