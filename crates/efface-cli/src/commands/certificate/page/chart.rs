//! The trade-off of ε and δ as a small picture: what the releases so far prove, and what the promise allows.
//!
//! Both axes count in powers of ten. The two lines differ in their dashes, not in their colour, and are named beside
//! them: the picture serves paper without colour.

use std::fmt::Write as _;

use efface_core::accounting::gaussian;
use efface_core::rounding::UpperBound;
use efface_ledger::certificate::ReleaseCertificate;

/// The chart of a certificate under the Gaussian law; nothing where there is no curve.
pub(super) fn curve(c: &ReleaseCertificate) -> Option<String> {
    let (epsilon, delta) = (c.promise.epsilon, c.promise.delta);
    let drawable = c.law == "gaussian" && (1e-9..1e9).contains(&epsilon) && (1e-200..1.0).contains(&delta);
    if !drawable || c.noise_std == 0.0 {
        return None;
    }
    let axes = Axes::around(epsilon, delta);
    let (so_far, limit) = (axes.line(c.mu_total)?, axes.line(c.mu_limit)?);
    let (x, y) = (axes.x(epsilon), axes.y(delta));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"δ over ε, \
         as proved so far and as promised\" font-size=\"9\" fill=\"#1b1f24\">\n"
    );
    svg += &axes.grid();
    let _ = writeln!(
        svg,
        "<g fill=\"none\" stroke=\"#1b1f24\"><path d=\"{}\" stroke-width=\"2\"/>\
         <path d=\"{}\" stroke-width=\"1.3\" stroke-dasharray=\"5 3\"/></g>",
        so_far.path, limit.path
    );
    // Beside its own line, on the side where the other one is not.
    let (place, anchor) =
        if so_far.end + 80.0 < limit.end { (so_far.end + 5.0, "start") } else { (so_far.end - 12.0, "end") };
    let _ = writeln!(
        svg,
        "<text x=\"{place:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" font-weight=\"bold\">proved so far</text>\
         <text x=\"{:.1}\" y=\"{:.1}\">allowed for the model’s life</text>",
        HEIGHT - BOTTOM - 7.0,
        LEFT + 5.0,
        limit.start - 4.0
    );
    let _ = writeln!(
        svg,
        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.2\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">promise</text>",
        x - 6.0,
        y + 9.0
    );
    Some(svg + "</svg>\n")
}

/// A line, the height at which it starts, and how far to the right it ends.
struct Line {
    path: String,
    start: f64,
    end: f64,
}

/// Ends of the axes, as exponents of ten.
struct Axes {
    left: f64,
    right: f64,
    bottom: f64,
}

impl Axes {
    /// Three powers of ten to the left of the promise and four below it.
    fn around(epsilon: f64, delta: f64) -> Self {
        Self { left: epsilon.log10() - 3.0, right: epsilon.log10() + 0.4, bottom: delta.log10().floor() - 4.0 }
    }

    fn x(&self, epsilon: f64) -> f64 {
        LEFT + (epsilon.log10() - self.left) / (self.right - self.left) * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, delta: f64) -> f64 {
        TOP + (delta.log10() / self.bottom).clamp(0.0, 1.0) * (HEIGHT - TOP - BOTTOM)
    }

    /// δ(ε) at μ, down to the end of the axis; nothing where it is below that throughout.
    fn line(&self, mu: f64) -> Option<Line> {
        const STEPS: u32 = 240;
        let floor = 10f64.powf(self.bottom);
        let delta = |epsilon: f64| gaussian::delta(epsilon, UpperBound::new(mu)).get();
        let (mut path, mut start, mut end) = (String::new(), None, LEFT);
        for step in 0..=STEPS {
            let exponent = self.left + (self.right - self.left) * f64::from(step) / f64::from(STEPS);
            let epsilon = 10f64.powf(exponent);
            let (x, value) = (self.x(epsilon), delta(epsilon));
            let y = self.y(value.max(floor));
            let command = if start.is_none() { 'M' } else { 'L' };
            (start, end) = (start.or(Some(y)), x);
            let _ = write!(path, "{command}{x:.1} {y:.1}");
            if value <= floor {
                break;
            }
        }
        let start = start?;
        (start < self.y(floor)).then_some(Line { path, start, end })
    }

    fn grid(&self) -> String {
        let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
        let mut svg = String::from("<g stroke=\"#d5dae0\" stroke-width=\"0.7\">");
        let (columns, rows) = (decades(self.left, self.right), decades(self.bottom, 0.0));
        for exponent in &columns {
            let x = self.x(10f64.powi(*exponent));
            let _ = write!(svg, "<path d=\"M{x:.1} {TOP}V{bottom}\"/>");
        }
        for exponent in &rows {
            let y = self.y(10f64.powi(*exponent));
            let _ = write!(svg, "<path d=\"M{LEFT} {y:.1}H{right}\"/>");
        }
        svg += "</g>\n";
        for exponent in columns {
            let (x, y) = (self.x(10f64.powi(exponent)), bottom + 11.0);
            let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{}</text>", power(exponent));
        }
        let stride = rows.len().div_ceil(6);
        for exponent in rows.into_iter().rev().step_by(stride) {
            let (x, y) = (LEFT - 4.0, self.y(10f64.powi(exponent)) + 3.0);
            let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\">{}</text>", power(exponent));
        }
        let _ = writeln!(
            svg,
            "<path d=\"M{LEFT} {TOP}V{bottom}H{right}\" fill=\"none\" stroke=\"#57606a\"/>\
             <text x=\"{right}\" y=\"{:.1}\" text-anchor=\"end\">ε</text><text x=\"4\" y=\"{TOP}\">δ</text>",
            bottom + 11.0
        );
        svg
    }
}

/// Whole exponents between two.
fn decades(low: f64, high: f64) -> Vec<i32> {
    (low.ceil() as i32..=high.floor() as i32).collect()
}

/// 0.01, 1, 100; 10⁻⁸ beyond a thousand or a thousandth.
fn power(exponent: i32) -> String {
    const SUPERSCRIPTS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    if (-3..=3).contains(&exponent) {
        return format!("{}", 10f64.powi(exponent));
    }
    let superscript = |c: char| c.to_digit(10).map_or('⁻', |digit| SUPERSCRIPTS[digit as usize]);
    "10".chars().chain(exponent.to_string().chars().map(superscript)).collect()
}

const WIDTH: f64 = 340.0;
const HEIGHT: f64 = 136.0;
const LEFT: f64 = 34.0;
const RIGHT: f64 = 10.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 16.0;
