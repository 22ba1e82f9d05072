//! The axes of a chart with grid and ticks, and the lines and markers inside.

use std::fmt::Write as _;

use super::axis::Axis;
use super::canvas::{TEXT_SIZE, text};
use super::letters::{escape, width};
use super::style::{Ink, Style};

/// A series that is ready to be drawn: its style, and its points in units of the axes.
pub(super) struct Line<'a> {
    pub(super) name: &'a str,
    pub(super) style: &'a Style,
    pub(super) points: Vec<(f64, f64)>,
    /// Whether a line joins the points.
    pub(super) joined: bool,
}

/// The area between the axes.
pub(super) struct Frame {
    x: Axis,
    y: Axis,
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
    /// What the axes and their titles take, from the top of the picture.
    pub(super) height: f64,
}

impl Frame {
    /// A frame in a picture of this size, with room for what the ticks say.
    pub(super) fn new(x: Axis, y: Axis, (picture_width, height): (f64, f64)) -> Self {
        let widest = y.ticks().map(|tick| width(&y.tick(tick), TEXT_SIZE)).fold(0.0, f64::max);
        let half_of_last = 0.5 * width(&x.tick(x.high), TEXT_SIZE);
        let left = 1.6 * TEXT_SIZE + widest + TICK + 6.0;
        let bottom = height - 3.2 * TEXT_SIZE - TICK;
        Self { x, y, left, top: 12.0, right: picture_width - half_of_last.max(12.0), bottom, height }
    }

    /// Where a point lies.
    pub(super) fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let share = |value: f64, axis: Axis| (value - axis.low) / (axis.high - axis.low);
        (
            self.left + share(x, self.x) * (self.right - self.left),
            self.bottom - share(y, self.y) * (self.bottom - self.top),
        )
    }

    /// Axes, grid, ticks and titles.
    pub(super) fn axes(&self, x_title: &str, y_title: &str, ink: Ink) -> String {
        let Self { left, top, right, bottom, .. } = *self;
        let (mut grid, mut ticks, mut words) = (String::new(), String::new(), String::new());
        let below = bottom + TICK + 1.05 * TEXT_SIZE;
        for at in self.x.ticks() {
            let (x, _) = self.place((at, 0.0));
            let _ = write!(grid, "M{x:.1} {top}V{bottom}");
            let _ = write!(ticks, "M{x:.1} {bottom}v{TICK}");
            words += &text((x, below), "middle", TEXT_SIZE, &self.x.tick(at));
        }
        for at in self.y.ticks() {
            let (_, y) = self.place((0.0, at));
            let _ = write!(grid, "M{left} {y:.1}H{right:.1}");
            let _ = write!(ticks, "M{left} {y:.1}h-{TICK}");
            words += &text((left - TICK - 4.0, y + 0.35 * TEXT_SIZE), "end", TEXT_SIZE, &self.y.tick(at));
        }
        for (at, name) in self.x.minor_ticks() {
            let (x, _) = self.place((at, 0.0));
            let _ = write!(ticks, "M{x:.1} {bottom}v4");
            words += &name.map_or_else(String::new, |name| text((x, below), "middle", TEXT_SIZE - 2.0, &name));
        }
        for (at, name) in self.y.minor_ticks() {
            let (_, y) = self.place((0.0, at));
            let _ = write!(ticks, "M{left} {y:.1}h-4");
            let place = (left - TICK - 4.0, y + 5.0);
            words += &name.map_or_else(String::new, |name| text(place, "end", TEXT_SIZE - 2.0, &name));
        }
        words += &text((f64::midpoint(left, right), self.height - 10.0), "middle", TEXT_SIZE + 1.0, x_title);
        let (x, y) = (TEXT_SIZE, f64::midpoint(top, bottom));
        format!(
            "<path d=\"{grid}\" stroke=\"{}\" stroke-width=\"1\"/><path d=\"{ticks}M{left} {top}V{bottom}H{right:.1}\" \
             fill=\"none\" stroke=\"currentColor\" stroke-width=\"1\"/>{words}<text transform=\"translate({x:.1} {y:.1}) \
             rotate(-90)\" font-size=\"{}\" text-anchor=\"middle\">{}</text>",
            ink.rule,
            TEXT_SIZE + 1.0,
            escape(y_title),
        )
    }

    /// A line and its markers, at these of its points.
    pub(super) fn line(&self, line: &Line, marked: &[(f64, f64)]) -> String {
        let places = line.points.iter().enumerate().map(|(i, &point)| {
            let (x, y) = self.place(point);
            format!("{}{x:.1} {y:.1}", if i == 0 { 'M' } else { 'L' })
        });
        let path = if line.joined { line.style.line(&places.collect::<String>()) } else { String::new() };
        path + &marked.iter().map(|&point| line.style.marker(self.place(point))).collect::<String>()
    }
}

/// Length of ticks; they keep the texts of the two axes apart where they meet.
const TICK: f64 = 8.0;
