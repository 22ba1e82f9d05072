//! Where an axis begins and ends, where its ticks lie, and what they say.
//!
//! Positions are in units of the axis: exponents on an axis of powers of ten, percents on one of percents. Every axis
//! begins and ends on a tick.

use super::canvas::TEXT_SIZE;
use super::letters::width;
use crate::AxisScale;
use crate::numbers::{power_of_ten, set};

/// An axis: its ends, and the distance of its ticks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    pub(super) scale: AxisScale,
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) step: f64,
}

impl Axis {
    /// The axis around these values, which are in its units. A horizontal one has a length.
    pub(super) fn around(values: impl Iterator<Item = f64>, scale: AxisScale, length: Option<f64>) -> Self {
        let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        let (low, high) = (
            values.iter().copied().fold(f64::INFINITY, f64::min),
            values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        );
        match scale {
            AxisScale::Log => decades(low, high),
            AxisScale::Unit => Self { scale, low: 0.0, high: 1.0, step: 0.2 },
            AxisScale::Percent if length.is_none() => percents(low, high),
            AxisScale::Percent | AxisScale::Linear => {
                // There is nothing between whole numbers.
                let most = if values.iter().all(|value| value.fract() == 0.0) { high - low } else { f64::INFINITY };
                // Long numbers beside each other need more room than above each other.
                let fits = |axis: &Self| {
                    let widest = width(&axis.tick(axis.high), TEXT_SIZE) + 24.0;
                    length.is_none_or(|length| widest * (axis.high - axis.low) / axis.step < length)
                };
                let axis = |n_ticks: f64| evenly(scale, low, high, n_ticks.min(most.max(1.0)));
                Some(axis(N_TICKS)).filter(fits).unwrap_or_else(|| axis(0.5 * N_TICKS))
            }
        }
    }

    /// A value in units of the axis; not finite where it has no place there.
    pub(super) fn position(value: f64, scale: AxisScale) -> f64 {
        match scale {
            AxisScale::Linear | AxisScale::Unit => value,
            AxisScale::Log => value.log10(),
            AxisScale::Percent => 100.0 * value,
        }
    }

    /// Where ticks lie.
    pub(super) fn ticks(self) -> impl Iterator<Item = f64> {
        let n = ((self.high - self.low) / self.step).round() as usize;
        (0..=n).map(move |i| self.low + i as f64 * self.step)
    }

    /// What a tick says.
    pub(super) fn tick(self, value: f64) -> String {
        match self.scale {
            AxisScale::Log => power_of_ten(value.round() as i32),
            AxisScale::Percent => format!("{} %", plain(value, self.step)),
            AxisScale::Linear | AxisScale::Unit => plain(value, self.step),
        }
    }

    /// On an axis of few powers of ten: places of 2, 3, … 9 between them, and what some of them say where there is room.
    pub(super) fn minor_ticks(self) -> Vec<(f64, Option<String>)> {
        let n_decades = self.high - self.low;
        if self.scale != AxisScale::Log || self.step > 1.0 || n_decades > 8.0 {
            return Vec::new();
        }
        let digits = (self.low as i32..self.high as i32).flat_map(|decade| (2..10).map(move |digit| (decade, digit)));
        let tick = |(decade, digit): (i32, i32)| {
            let unit = 10_f64.powi(decade);
            let is_named = n_decades <= 2.0 && matches!(digit, 2 | 5);
            let name = is_named.then(|| plain(f64::from(digit) * unit, unit));
            (f64::from(decade) + f64::from(digit).log10(), name)
        };
        digits.map(tick).collect()
    }
}

/// Whole decades around the values, at most ten ticks.
fn decades(low: f64, high: f64) -> Axis {
    let step = ((high.ceil() - low.floor()) / 9.0).ceil().max(1.0);
    let low = (low / step).floor() * step;
    Axis { scale: AxisScale::Log, low, high: ((high / step).ceil() * step).max(low + step), step }
}

/// Percents around the values. At least four points high, so that a difference of one row does not look like a fall.
fn percents(low: f64, high: f64) -> Axis {
    let step = round_step((high - low) / 10.0).max(1.0);
    let high = ((high / step).ceil() * step).clamp(4.0, 100.0);
    let low = ((low / step).floor() * step).min(high - 4.0).max(0.0);
    Axis { scale: AxisScale::Percent, low, high, step }
}

/// Round numbers around the values, about `n_ticks` of them. A single value gets room on both sides.
fn evenly(scale: AxisScale, low: f64, high: f64, n_ticks: f64) -> Axis {
    let room = match low {
        _ if high > low => 0.0,
        0.0 => 1.0,
        low => 0.5 * low.abs(),
    };
    let (low, high) = (low - room, high + room);
    let step = round_step((high - low) / n_ticks);
    // The hair is for ends that are multiples but for rounding.
    Axis { scale, low: (low / step + 1e-9).floor() * step, high: (high / step - 1e-9).ceil() * step, step }
}

/// The smallest of 1, 2, 5, 10, 20, 50, … (or 0.5, 0.2, 0.1, …) that is not below `at_least`.
fn round_step(at_least: f64) -> f64 {
    let magnitude = 10_f64.powf(at_least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|m| m * magnitude).into_iter().find(|&step| step >= at_least).unwrap_or(at_least)
}

/// A tick of an even axis whose ticks are `step` apart: as many decimals as tell them apart, separators in large
/// numbers, powers of ten where zeros would have to be counted.
fn plain(value: f64, step: f64) -> String {
    let value = if value.abs() < 1e-6 * step { 0.0 } else { value };
    let exponent = (step * (1.0 + 1e-9)).log10().floor();
    if value != 0.0 && !(-4.0..7.0).contains(&exponent) {
        let mantissa = format!("{:.10}", value / 10_f64.powf(exponent));
        return set(&format!("{}e{exponent}", mantissa.trim_end_matches('0').trim_end_matches('.')));
    }
    set(&format!("{value:.*}", (-exponent).max(0.0) as usize))
}

/// About how many ticks an even axis has.
const N_TICKS: f64 = 8.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_on_ticks_and_enclose_the_values() {
        for (low, high) in [(-15.3, -2.1), (-0.2, 0.3), (2.0, 2.0), (-16.0, 7.5)] {
            let axis = decades(low, high);
            assert!(axis.low <= low && high <= axis.high && axis.low < axis.high);
            assert!(axis.low % axis.step == 0.0 && axis.high % axis.step == 0.0);
            assert!(axis.ticks().count() <= 11);
        }
        for (low, high) in [(92.1, 93.4), (0.0, 0.0), (100.0, 100.0), (12.0, 99.0), (0.0, 15.0)] {
            let axis = percents(low, high);
            assert!(axis.low <= low && high <= axis.high && axis.high - axis.low >= 4.0);
            assert!(axis.ticks().count() <= 13, "{axis:?}");
        }
        for (low, high) in [(0.0, 6000.0), (0.1, 0.3), (-3.0, 3.0), (5.0, 5.0), (0.0, 0.0), (1e-9, 7e-9), (1e6, 2e7)] {
            let axis = evenly(AxisScale::Linear, low, high, 8.0);
            let hair = 1e-6 * axis.step;
            assert!(axis.low <= low + hair && high - hair <= axis.high && axis.low < axis.high, "{axis:?}");
            assert!((axis.high - axis.low) / axis.step <= 10.5, "{axis:?}");
        }
    }

    #[test]
    fn whole_numbers_have_whole_ticks() {
        let ticks = |high: f64| Axis::around([1.0, high].into_iter(), AxisScale::Linear, Some(800.0)).ticks().collect();
        let few: Vec<f64> = ticks(4.0);
        assert_eq!(few, [1.0, 2.0, 3.0, 4.0]);
        let many: Vec<f64> = ticks(30.0);
        assert_eq!(many, [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0]);
    }

    #[test]
    fn ticks_say_what_is_needed_to_tell_them_apart() {
        for (value, step, text) in [
            (0.3, 0.1, "0.3"),
            (-0.25, 0.05, "−0.25"),
            (12000.0, 2000.0, "12,000"),
            (-1500.0, 500.0, "−1,500"),
            (1e-17, 0.1, "0.0"),
            (4e-9, 1e-9, "4\u{a0}×\u{a0}10⁻⁹"),
            (3e9, 1e9, "3\u{a0}×\u{a0}10⁹"),
            (0.0, 1e9, "0"),
        ] {
            assert_eq!(plain(value, step), text);
        }
    }
}
