//! Vertical marks: a line through the plot, and its name above the plot, where no curve crosses it.

use std::fmt::Write as _;

use super::picture::TEXT_SIZE;
use super::style::Ink;
use super::text::{escape, width};

/// Marks as SVG elements.
pub(super) struct MarkRows {
    /// Elements, in the coordinates of the frame; names lie above it, at negative heights.
    pub(super) elements: String,
    /// Room that the names need above the frame.
    pub(super) height: f64,
}

/// Marks at places of the frame with their names. Names that would overlap go to another row.
pub(super) fn mark_rows(marks: &[(f64, &str)], [left, top, right, bottom]: [f64; 4], most: f64, ink: Ink) -> MarkRows {
    let mut sorted: Vec<&(f64, &str)> = marks.iter().filter(|(x, _)| (left - 1.0..=right + 1.0).contains(x)).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Where the last name of each row ends; the first row is next to the plot.
    let mut row_ends: Vec<f64> = Vec::new();
    let (mut lines, mut names) = (String::new(), String::new());
    for &&(x, name) in &sorted {
        let half = 0.5 * width(name, SIZE);
        // Not over the numbers of the vertical axis.
        let middle = x.min(most - half - 4.0).max(left + half + 6.0);
        let row = row_ends.iter().position(|&end| end + 12.0 <= middle - half).unwrap_or(row_ends.len());
        if row == row_ends.len() {
            row_ends.push(0.0);
        }
        row_ends[row] = middle + half;
        let baseline = top - 14.0 - row as f64 * LINE;
        let _ = write!(
            lines,
            "<path d=\"M{x:.1} {bottom:.1}V{:.1}\" stroke=\"currentColor\" stroke-width=\"1.4\" \
             stroke-dasharray=\"5 4\" fill=\"none\"/>",
            baseline + 4.0,
        );
        let _ = write!(
            names,
            "<text x=\"{middle:.1}\" y=\"{baseline:.1}\" font-size=\"{SIZE}\" text-anchor=\"middle\" \
             stroke=\"{}\" stroke-width=\"6\" stroke-linejoin=\"round\" paint-order=\"stroke\">{}</text>",
            ink.paper,
            escape(name),
        );
    }
    let needed = row_ends.len() as f64 * LINE + 12.0;
    let height = if row_ends.is_empty() { 0.0 } else { (needed - top).max(0.0) + 4.0 };
    MarkRows { elements: lines + &names, height }
}

const SIZE: f64 = TEXT_SIZE as f64 - 1.0;
const LINE: f64 = 22.0;

#[cfg(test)]
mod tests {
    use super::*;

    const INSIDE: [f64; 4] = [80.0, 10.0, 900.0, 400.0];

    #[test]
    fn names_that_would_overlap_go_to_another_row() {
        let far = mark_rows(&[(200.0, "one"), (700.0, "two")], INSIDE, 960.0, Ink::FILE);
        let near = mark_rows(&[(200.0, "one"), (210.0, "two")], INSIDE, 960.0, Ink::FILE);
        assert!((near.height - far.height - LINE).abs() < 1e-9);
        assert_eq!((far.elements.matches("y=\"-4.0\"").count(), near.elements.matches("y=\"-4.0\"").count()), (2, 1));
    }

    #[test]
    fn marks_outside_of_the_axes_are_left_out_and_none_need_no_room() {
        let none = mark_rows(&[(20.0, "far out")], INSIDE, 960.0, Ink::FILE);
        assert!(none.elements.is_empty() && none.height == 0.0);
    }
}
