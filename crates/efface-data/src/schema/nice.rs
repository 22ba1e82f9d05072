//! Round numbers around a range that was seen, so that a proposal does not repeat somebody's exact value.

use super::column::ValueRange;

/// A range of round numbers that contains `min` and `max`, finite and in order.
///
/// From 0 where the values reach that far down; otherwise outward to multiples of a round step.
pub(super) fn nice_range(min: f64, max: f64) -> Option<ValueRange> {
    let is_point = min == max;
    let (low, high) = if min == 0.0 && is_point {
        (0.0, 1.0)
    } else if min >= 0.0 && (is_point || min <= 0.5 * max) {
        (0.0, round_up(max))
    } else if max <= 0.0 && (is_point || max >= 0.5 * min) {
        (-round_up(-min), 0.0)
    } else if min < 0.0 && max > 0.0 {
        (-round_up(-min), round_up(max))
    } else {
        let step = round_up(max - min) / 5.0;
        ((min / step).floor() * step, (max / step).ceil() * step)
    };
    ValueRange::new(low, high).filter(|range| range.low() <= min && max <= range.high())
}

/// The least 1, 2 or 5 times a power of ten that is not below a positive number.
fn round_up(x: f64) -> f64 {
    // Parsed from text: exact powers of ten, which `powi` does not give.
    let exponent = x.log10().floor() as i32;
    let candidates = [(1, 0), (2, 0), (5, 0), (1, 1), (2, 1)];
    let value = |(digit, up): (i32, i32)| format!("{digit}e{}", exponent + up).parse().unwrap_or(f64::INFINITY);
    candidates.into_iter().map(value).find(|candidate: &f64| *candidate >= x).unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_round_and_contain_what_was_seen() {
        for (min, max, low, high) in [
            (17.0, 90.0, 0.0, 100.0),
            (0.0, 99_999.0, 0.0, 100_000.0),
            (1.0, 16.0, 0.0, 20.0),
            (1990.0, 2020.0, 1990.0, 2020.0),
            (1991.0, 2019.0, 1990.0, 2020.0),
            (-165_580.0, 964_511.0, -200_000.0, 1_000_000.0),
            (-3.0, -0.5, -5.0, 0.0),
            (0.0, 1.0, 0.0, 1.0),
            (0.0, 0.0, 0.0, 1.0),
            (7.0, 7.0, 0.0, 10.0),
            (-7.0, -7.0, -10.0, 0.0),
            (0.001, 0.3, 0.0, 0.5),
        ] {
            assert_eq!(nice_range(min, max), ValueRange::new(low, high), "{min} to {max}");
        }
    }

    #[test]
    fn extreme_values_get_a_range_or_none_but_never_a_wrong_one() {
        for x in [f64::MAX, f64::MIN_POSITIVE, 5e-324, 1e300, 1.0 + f64::EPSILON] {
            for (min, max) in [(0.0, x), (-x, x), (-x, 0.0), (x, x)] {
                if let Some(range) = nice_range(min, max) {
                    assert!(range.low() <= min && max <= range.high(), "{min} to {max}: {range:?}");
                }
            }
        }
    }
}
