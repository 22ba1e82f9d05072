//! Vertical marks: a line through the plot, and its name above the plot, where no curve crosses it.

use std::fmt::Write as _;

use super::canvas::{TEXT_SIZE, text_with_halo};
use super::frame::Frame;
use super::letters::width;
use super::style::Ink;

/// Marks at places of the frame with their names: SVG elements in the coordinates of the frame, and the room that the
/// names need above it. Names lie at negative heights; those that would overlap go to another row.
pub(super) fn mark_rows(marks: &[(f64, &str)], frame: &Frame, most: f64, ink: Ink) -> (String, f64) {
    let Frame { left, top, right, bottom, .. } = *frame;
    let mut sorted: Vec<&(f64, &str)> = marks.iter().filter(|(x, _)| (left - 1.0..=right + 1.0).contains(x)).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Where the last name of each row ends; the first row is next to the plot.
    let mut row_ends: Vec<f64> = Vec::new();
    let (mut path, mut names) = (String::new(), String::new());
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
        let _ = write!(path, "M{x:.1} {bottom:.1}V{:.1}", baseline + 4.0);
        names += &text_with_halo((middle, baseline), "middle", SIZE, name, ink);
    }
    if row_ends.is_empty() {
        return (String::new(), 0.0);
    }
    let lines = format!(
        "<path d=\"{path}\" stroke=\"currentColor\" stroke-width=\"1.4\" stroke-dasharray=\"5 4\" fill=\"none\"/>"
    );
    let needed = row_ends.len() as f64 * LINE + 12.0;
    (lines + &names, (needed - top).max(0.0) + 4.0)
}

const SIZE: f64 = TEXT_SIZE - 1.0;
const LINE: f64 = 22.0;

#[cfg(test)]
mod tests {
    use super::super::Place;
    use super::super::axis::Axis;
    use super::*;
    use crate::AxisScale;

    fn rows(marks: &[(f64, &str)]) -> (String, f64) {
        let axis = Axis { scale: AxisScale::Linear, low: 0.0, high: 1.0, step: 0.5 };
        mark_rows(marks, &Frame::new(axis, axis, (960.0, 540.0)), 960.0, Ink::at(Place::File))
    }

    #[test]
    fn names_that_would_overlap_go_to_another_row() {
        let (far, near) = (rows(&[(200.0, "one"), (700.0, "two")]), rows(&[(200.0, "one"), (210.0, "two")]));
        assert!((near.1 - far.1 - LINE).abs() < 1e-9);
        assert_eq!((far.0.matches("y=\"-2.0\"").count(), near.0.matches("y=\"-2.0\"").count()), (2, 1));
    }

    #[test]
    fn marks_outside_of_the_axes_are_left_out_and_none_need_no_room() {
        let none = rows(&[(20.0, "far out")]);
        assert!(none.0.is_empty() && none.1 == 0.0);
    }
}
