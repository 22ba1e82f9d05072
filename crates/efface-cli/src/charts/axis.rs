//! Where an axis begins and ends, where its ticks lie, and what they say.
//!
//! Positions are in units of the axis: exponents on an axis of powers of ten, percents on one of percents. kuva puts
//! ticks at the multiples of the step, so every axis ends on such a multiple.

use std::sync::Arc;

use kuva::render::layout::TickFormat;

use crate::numbers::count;

/// Ends of an axis and the distance of its ticks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) step: f64,
}

/// An axis and what its ticks say.
pub(super) struct Ruler {
    pub(super) axis: Axis,
    pub(super) format: TickFormat,
}

impl Ruler {
    pub(super) fn new(axis: Axis, format: impl Fn(f64) -> String + Send + Sync + 'static) -> Self {
        Self { axis, format: TickFormat::Custom(Arc::new(format)) }
    }
}

/// Whole decades around the values, at most ten ticks.
pub(super) fn decades(low: f64, high: f64) -> Axis {
    let step = ((high.ceil() - low.floor()) / 9.0).ceil().max(1.0);
    let low = (low / step).floor() * step;
    Axis { low, high: ((high / step).ceil() * step).max(low + step), step }
}

/// Percents around the values. At least four points high, so that a difference of one row does not look like a fall.
pub(super) fn percents(low: f64, high: f64) -> Axis {
    let step = round_step((high - low) / 10.0).max(1.0);
    let high = ((high / step).ceil() * step).clamp(4.0, 100.0);
    let low = ((low / step).floor() * step).min(high - 4.0).max(0.0);
    Axis { low, high, step }
}

/// Round numbers around the values, about `n_ticks` of them. A single value gets room on both sides.
pub(super) fn evenly(low: f64, high: f64, n_ticks: f64) -> Axis {
    let room = if high > low {
        0.0
    } else if low == 0.0 {
        1.0
    } else {
        0.5 * low.abs()
    };
    let (low, high) = (low - room, high + room);
    let step = round_step((high - low) / n_ticks);
    // The hair is for ends that are multiples but for rounding.
    Axis { low: (low / step + 1e-9).floor() * step, high: (high / step - 1e-9).ceil() * step, step }
}

/// The smallest of 1, 2, 5, 10, 20, 50, … (or 0.5, 0.2, 0.1, …) that is not below `at_least`.
pub(super) fn round_step(at_least: f64) -> f64 {
    let magnitude = 10_f64.powf(at_least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|m| m * magnitude).into_iter().find(|&step| step >= at_least).unwrap_or(at_least)
}

/// A tick of the decade axis: 10⁻³.
pub(super) fn power_of_ten(exponent: f64) -> String {
    let digits = format!("{exponent:.0}");
    if digits == "0" || digits == "-0" { "1".to_owned() } else { format!("10{}", superscript(&digits)) }
}

/// A tick of an even axis whose ticks are `step` apart: as many decimals as tell them apart, separators in large
/// numbers, powers of ten where zeros would have to be counted.
pub(super) fn plain(value: f64, step: f64) -> String {
    let value = if value.abs() < 1e-6 * step { 0.0 } else { value };
    let exponent = (step * (1.0 + 1e-9)).log10().floor();
    if value != 0.0 && !(-4.0..7.0).contains(&exponent) {
        let mantissa = format!("{:.10}", value / 10_f64.powf(exponent));
        let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.').replace('-', "−");
        return format!("{mantissa}·10{}", superscript(&format!("{exponent:.0}")));
    }
    let decimals = (-exponent).max(0.0) as usize;
    let digits = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), count);
    format!("{}{whole}{fraction}", if value < 0.0 { "−" } else { "" })
}

fn superscript(digits: &str) -> String {
    const SUPERSCRIPTS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    digits.chars().map(|c| c.to_digit(10).map_or('⁻', |digit| SUPERSCRIPTS[digit as usize])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_on_ticks_and_enclose_the_values() {
        for (low, high) in [(-15.3, -2.1), (-0.2, 0.3), (2.0, 2.0), (-16.0, 7.5)] {
            let axis = decades(low, high);
            assert!(axis.low <= low && high <= axis.high && axis.low < axis.high);
            assert!(axis.low % axis.step == 0.0 && axis.high % axis.step == 0.0);
            assert!((axis.high - axis.low) / axis.step <= 10.0);
        }
        for (low, high) in [(92.1, 93.4), (0.0, 0.0), (100.0, 100.0), (12.0, 99.0), (0.0, 15.0)] {
            let axis = percents(low, high);
            assert!(axis.low <= low && high <= axis.high && axis.high - axis.low >= 4.0);
            assert!((axis.high - axis.low) / axis.step <= 12.0, "{axis:?}");
        }
        for (low, high) in [(0.0, 6000.0), (0.1, 0.3), (-3.0, 3.0), (5.0, 5.0), (0.0, 0.0), (1e-9, 7e-9), (1e6, 2e7)] {
            let axis = evenly(low, high, 8.0);
            let hair = 1e-6 * axis.step;
            assert!(axis.low <= low + hair && high - hair <= axis.high && axis.low < axis.high, "{axis:?}");
            assert!((axis.high - axis.low) / axis.step <= 10.5, "{axis:?}");
        }
    }

    #[test]
    fn ticks_say_what_is_needed_to_tell_them_apart() {
        for (value, step, text) in [
            (0.3, 0.1, "0.3"),
            (-0.25, 0.05, "−0.25"),
            (12000.0, 2000.0, "12,000"),
            (-1500.0, 500.0, "−1,500"),
            (1e-17, 0.1, "0.0"),
            (4e-9, 1e-9, "4·10⁻⁹"),
            (3e9, 1e9, "3·10⁹"),
            (0.0, 1e9, "0"),
        ] {
            assert_eq!(plain(value, step), text);
        }
        assert_eq!([-16.0, 0.0, 1.0, 12.0].map(power_of_ten), ["10⁻¹⁶", "1", "10¹", "10¹²"]);
    }
}
