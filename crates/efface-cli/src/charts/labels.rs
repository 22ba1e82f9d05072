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
    /// Colour of the line to the point.
    pub(super) color: &'a str,
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
        self.markers.push(Area::around(at, 8.0));
    }

    pub(super) fn segment(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.lines.extend(along(from, to, 3.0));
    }
}

/// All words as SVG elements, each with a halo in the colour of the paper.
pub(super) fn words(wanted: &[Wanted], obstacles: &Obstacles, ink: Ink) -> String {
    let (mut leaders, mut texts) = (String::new(), String::new());
    for (words, area) in wanted.iter().zip(arrange(wanted, obstacles)) {
        if let Some(((x, y), (near_x, near_y))) = leader(words.at, area) {
            let _ = write!(
                leaders,
                "<path d=\"M{x:.1} {y:.1}L{near_x:.1} {near_y:.1}\" stroke=\"{}\" stroke-width=\"1.2\" fill=\"none\"/>",
                words.color,
            );
        }
        let _ = write!(
            texts,
            "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"{SIZE}\" stroke=\"{}\" stroke-width=\"3\" \
             stroke-linejoin=\"round\" paint-order=\"stroke\">{}</text>",
            area.left,
            area.bottom - 0.28 * SIZE,
            ink.paper,
            escape(words.text),
        );
    }
    leaders + &texts
}

/// The line from a point to the nearest place of its words, where that is not right beside it.
fn leader((x, y): (f64, f64), area: Area) -> Option<((f64, f64), (f64, f64))> {
    let near = (x.clamp(area.left, area.right), y.clamp(area.top, area.bottom));
    ((near.0 - x).hypot(near.1 - y) > DISTANCES[0] + 1.0).then_some(((x, y), near))
}

/// An area for each of the words: the cheapest arrangement of those that come of different orders.
fn arrange(wanted: &[Wanted], obstacles: &Obstacles) -> Vec<Area> {
    let sorted = |key: &dyn Fn((f64, f64)) -> f64| {
        let mut order: Vec<usize> = (0..wanted.len()).collect();
        order.sort_by(|&a, &b| key(wanted[a].at).total_cmp(&key(wanted[b].at)));
        order
    };
    let keys: [&dyn Fn((f64, f64)) -> f64; 6] =
        [&|_| 0.0, &|(x, _)| x, &|(x, _)| -x, &|(_, y)| y, &|(_, y)| -y, &|(x, y)| x + 10.0 * y];
    let arrangements = keys.iter().map(|key| arrange_in(&sorted(key), wanted, obstacles));
    arrangements.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, areas)| areas).unwrap_or_default()
}

/// Words take the cheapest place in this order, several times; what all cost together, and their areas.
fn arrange_in(order: &[usize], wanted: &[Wanted], obstacles: &Obstacles) -> (f64, Vec<Area>) {
    let mut taken: Vec<Option<Area>> = vec![None; wanted.len()];
    let mut total = 0.0;
    for _ in 0..N_ROUNDS {
        total = 0.0;
        for &i in order {
            taken[i] = None;
            let cost = cost(&wanted[i], wanted, &taken, obstacles);
            let priced = candidates(&wanted[i]).map(|(price, area)| (price + cost(area), area));
            if let Some((price, area)) = priced.min_by(|a, b| a.0.total_cmp(&b.0)) {
                taken[i] = Some(area);
                total += price;
            }
        }
    }
    (total, taken.into_iter().flatten().collect())
}

/// What an area costs these words, given where the others are.
fn cost<'a>(
    words: &'a Wanted,
    wanted: &[Wanted],
    taken: &[Option<Area>],
    obstacles: &'a Obstacles,
) -> impl Fn(Area) -> f64 + 'a {
    let others: Vec<Area> = taken.iter().flatten().map(|other| other.grown(2.0)).collect();
    let ends = wanted.iter().zip(taken).filter_map(|(other, area)| leader(other.at, (*area)?));
    let leaders: Vec<Area> = ends.flat_map(|(from, to)| along(from, to, 2.0)).collect();
    move |area| {
        let on = |areas: &[Area], part: Area| areas.iter().map(|other| part.shared(*other)).sum::<f64>();
        let own = leader(words.at, area).into_iter().flat_map(|(from, to)| along(from, to, 2.0));
        // The first steps of the line leave the point's own marker.
        let crossed: f64 = own.skip(2).map(|step| on(&others, step) + on(&obstacles.markers, step)).sum();
        20.0 * (on(&others, area) + on(&obstacles.markers, area))
            + on(&obstacles.lines, area)
            + 20.0 * (on(&leaders, area) + crossed)
            + 50.0 * area.outside_of(obstacles.inside)
    }
}

/// Small areas along a line.
fn along(from: (f64, f64), to: (f64, f64), radius: f64) -> impl Iterator<Item = Area> {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let n = (dx.hypot(dy) / 6.0).ceil().clamp(1.0, 400.0);
    (0..n as usize).map(move |i| Area::around((from.0 + i as f64 / n * dx, from.1 + i as f64 / n * dy), radius))
}

/// Places around a point, and what they cost: first near and then farther off, best at the right.
fn candidates(words: &Wanted) -> impl Iterator<Item = (f64, Area)> {
    const DIRECTIONS: [(f64, f64); 12] = [
        (1.0, 0.0),
        (0.8, -0.8),
        (0.8, 0.8),
        (-1.0, 0.0),
        (0.0, -1.0),
        (0.0, 1.0),
        (-0.8, -0.8),
        (-0.8, 0.8),
        (1.0, -0.4),
        (1.0, 0.4),
        (-1.0, -0.4),
        (-1.0, 0.4),
    ];
    let (half_width, half_height) = (0.5 * width(words.text, SIZE), 0.5 * 1.15 * SIZE);
    let (x, y) = words.at;
    DISTANCES.into_iter().flat_map(move |distance| {
        DIRECTIONS.into_iter().enumerate().map(move |(rank, (right, down))| {
            let middle_x = x + right * distance + half_width * sign(right);
            let middle_y = y + down * distance + half_height * sign(down);
            let area = Area {
                left: middle_x - half_width,
                top: middle_y - half_height,
                right: middle_x + half_width,
                bottom: middle_y + half_height,
            };
            (3.0 * distance + 2.0 * rank as f64, area)
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
const DISTANCES: [f64; 6] = [9.0, 16.0, 25.0, 37.0, 52.0, 70.0];
/// How often all words may move.
const N_ROUNDS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_cover_neither_each_other_nor_markers_where_there_is_room() {
        let texts: Vec<String> = (0..20).map(|i| format!("λ = 10⁻{}, σ = {i}", i % 5)).collect();
        let points: Vec<(f64, f64)> =
            (0..20).map(|i| (150.0 + 160.0 * f64::from(i % 4), 60.0 + 22.0 * f64::from(i))).collect();
        let wanted: Vec<Wanted> =
            points.iter().zip(&texts).map(|(&at, text)| Wanted { at, text, color: "#000" }).collect();
        let mut obstacles = Obstacles::within([80.0, 10.0, 900.0, 540.0]);
        for &at in &points {
            obstacles.marker(at);
        }
        let areas = arrange(&wanted, &obstacles);
        for (i, area) in areas.iter().enumerate() {
            assert!(areas[..i].iter().all(|other| area.shared(*other) == 0.0), "{i}: {area:?}");
            assert!(area.outside_of(obstacles.inside) < 1e-9, "{i}: {area:?}");
            assert!(obstacles.markers.iter().all(|marker| area.shared(*marker) < 30.0), "{i}: {area:?}");
        }
    }

    #[test]
    fn words_at_the_same_point_are_told_apart() {
        let wanted = ["one", "two", "three"].map(|text| Wanted { at: (400.0, 200.0), text, color: "#000" });
        let areas = arrange(&wanted, &Obstacles::within([0.0, 0.0, 960.0, 540.0]));
        assert!(areas[0].shared(areas[1]) == 0.0 && areas[1].shared(areas[2]) == 0.0);
    }
}
