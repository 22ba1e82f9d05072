//! Words beside points, placed so that they cover neither each other nor the data where that can be avoided.
//!
//! Each point has a handful of candidate places around it. Words take the cheapest one in turn, and again once the
//! others have theirs. A place at a distance comes with a thin line to its point.

use std::fmt::Write as _;

use super::picture::TEXT_SIZE;
use super::style::Ink;
use super::text::{escape, width};

/// Words wanted beside a point.
pub(super) struct Wanted<'a> {
    pub(super) at: (f64, f64),
    pub(super) text: &'a str,
}

/// What words should not cover.
pub(super) struct Obstacles {
    inside: Area,
    markers: Vec<Area>,
    lines: Vec<Area>,
}

impl Obstacles {
    /// None yet; words should stay inside left, top, right and bottom.
    pub(super) fn within([left, top, right, bottom]: [f64; 4]) -> Self {
        Self { inside: Area { left, top, right, bottom }, markers: Vec::new(), lines: Vec::new() }
    }

    pub(super) fn marker(&mut self, at: (f64, f64)) {
        self.markers.push(Area::around(at, 7.0));
    }

    pub(super) fn segment(&mut self, from: (f64, f64), to: (f64, f64)) {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let n = (dx.hypot(dy) / 6.0).ceil().clamp(1.0, 400.0);
        for i in 0..n as usize {
            let share = i as f64 / n;
            self.lines.push(Area::around((from.0 + share * dx, from.1 + share * dy), 3.0));
        }
    }
}

/// All words as SVG elements, each with a halo in the colour of the paper.
pub(super) fn words(wanted: &[Wanted], obstacles: &Obstacles, ink: Ink) -> String {
    let mut elements = String::new();
    for (words, area) in wanted.iter().zip(arrange(wanted, obstacles)) {
        let (x, y) = words.at;
        // From the point to the nearest place of the words, where that is not right beside it.
        let (near_x, near_y) = (x.clamp(area.left, area.right), y.clamp(area.top, area.bottom));
        if (near_x - x).hypot(near_y - y) > DISTANCES[1] {
            let _ = write!(
                elements,
                "<path d=\"M{x:.1} {y:.1}L{near_x:.1} {near_y:.1}\" stroke=\"currentColor\" stroke-width=\"0.8\" \
                 stroke-opacity=\"0.6\" fill=\"none\"/>"
            );
        }
        let _ = write!(
            elements,
            "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"{SIZE}\" stroke=\"{}\" stroke-width=\"4\" \
             stroke-linejoin=\"round\" paint-order=\"stroke\">{}</text>",
            area.left,
            area.bottom - 0.28 * SIZE,
            ink.paper,
            escape(words.text),
        );
    }
    elements
}

/// An area for each of the words.
fn arrange(wanted: &[Wanted], obstacles: &Obstacles) -> Vec<Area> {
    let mut taken: Vec<Option<Area>> = vec![None; wanted.len()];
    for _ in 0..4 {
        for (i, words) in wanted.iter().enumerate() {
            taken[i] = None;
            let cost = |area: &Area| {
                let others: f64 = taken.iter().flatten().map(|other| area.shared(other.grown(2.0))).sum();
                let markers: f64 = obstacles.markers.iter().map(|marker| area.shared(*marker)).sum();
                let lines: f64 = obstacles.lines.iter().map(|line| area.shared(*line)).sum();
                20.0 * others + 8.0 * markers + lines + 50.0 * area.outside_of(obstacles.inside)
            };
            // Of places that cost the same the first wins; every further one has a small price.
            let priced = candidates(words).enumerate().map(|(rank, area)| (4.0 * rank as f64 + cost(&area), area));
            taken[i] = priced.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, area)| area);
        }
    }
    taken.into_iter().flatten().collect()
}

/// Places around a point: right, left, above, below and the corners, first near and then farther off.
fn candidates(words: &Wanted) -> impl Iterator<Item = Area> {
    const DIRECTIONS: [(f64, f64); 8] =
        [(1.0, 0.0), (-1.0, 0.0), (0.0, -1.0), (0.0, 1.0), (0.8, -0.8), (0.8, 0.8), (-0.8, -0.8), (-0.8, 0.8)];
    let (half_width, half_height) = (0.5 * width(words.text, SIZE), 0.5 * 1.15 * SIZE);
    let (x, y) = words.at;
    DISTANCES.into_iter().flat_map(move |distance| {
        DIRECTIONS.into_iter().map(move |(right, down)| {
            let middle_x = x + right * distance + half_width * sign(right);
            let middle_y = y + down * distance + half_height * sign(down);
            Area {
                left: middle_x - half_width,
                top: middle_y - half_height,
                right: middle_x + half_width,
                bottom: middle_y + half_height,
            }
        })
    })
}

fn sign(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x.signum() }
}

/// A rectangle.
#[derive(Clone, Copy, Debug)]
struct Area {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Area {
    fn around((x, y): (f64, f64), radius: f64) -> Self {
        Self { left: x, top: y, right: x, bottom: y }.grown(radius)
    }

    fn grown(self, by: f64) -> Self {
        Self { left: self.left - by, top: self.top - by, right: self.right + by, bottom: self.bottom + by }
    }

    fn size(self) -> f64 {
        (self.right - self.left).max(0.0) * (self.bottom - self.top).max(0.0)
    }

    /// Size of what both cover.
    fn shared(self, other: Self) -> f64 {
        let left = self.left.max(other.left);
        let top = self.top.max(other.top);
        Self { left, top, right: self.right.min(other.right), bottom: self.bottom.min(other.bottom) }.size()
    }

    fn outside_of(self, other: Self) -> f64 {
        self.size() - self.shared(other)
    }
}

const SIZE: f64 = TEXT_SIZE as f64 - 3.0;
/// How far words may be from their point.
const DISTANCES: [f64; 4] = [9.0, 20.0, 36.0, 56.0];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_cover_neither_each_other_nor_markers_where_there_is_room() {
        let texts: Vec<String> = (0..20).map(|i| format!("λ = 10⁻{}, σ = {i}", i % 5)).collect();
        let points: Vec<(f64, f64)> =
            (0..20).map(|i| (150.0 + 160.0 * f64::from(i % 4), 60.0 + 22.0 * f64::from(i))).collect();
        let wanted: Vec<Wanted> = points.iter().zip(&texts).map(|(&at, text)| Wanted { at, text }).collect();
        let mut obstacles = Obstacles::within([80.0, 10.0, 900.0, 540.0]);
        points.iter().for_each(|&at| obstacles.marker(at));
        let areas = arrange(&wanted, &obstacles);
        for (i, area) in areas.iter().enumerate() {
            assert!(areas[..i].iter().all(|other| area.shared(*other) == 0.0), "{i}: {area:?}");
            assert!(area.outside_of(obstacles.inside) < 1e-9, "{i}: {area:?}");
            assert!(obstacles.markers.iter().all(|marker| area.shared(*marker) < 30.0), "{i}: {area:?}");
        }
    }

    #[test]
    fn words_at_the_same_point_are_told_apart() {
        let wanted = ["one", "two", "three"].map(|text| Wanted { at: (400.0, 200.0), text });
        let areas = arrange(&wanted, &Obstacles::within([0.0, 0.0, 960.0, 540.0]));
        assert!(areas[0].shared(areas[1]) == 0.0 && areas[1].shared(areas[2]) == 0.0);
    }
}
