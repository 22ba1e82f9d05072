//! Numbers as people read them: three digits, a unit, and the safe side when the number is a promise.
//!
//! Digits are decided once, in [`plain`], in the notation of terminals (`1.23e-4`: it can be typed and searched for). The
//! functions of this module set the same digits for pages and charts: `1.23 × 10⁻⁴`, `12,345`. Blanks inside do not break.
//! A value that is not a number is printed as words.

/// A measured value: three significant digits, to the nearest.
pub fn number(value: f64) -> String {
    set(&plain::number(value))
}

/// A promised value: three significant digits, never below the value.
pub fn bound(value: f64) -> String {
    set(&plain::bound(value))
}

/// A value that someone chose, with the digits they wrote.
pub fn setting(value: f64) -> String {
    set(&plain::parameter(value))
}

/// ε or δ of a promise, as it was typed; one that was computed as a bound.
pub fn promised(value: f64) -> String {
    set(&plain::promised(value))
}

/// A whole number with separators: 1,797.
pub fn count(value: usize) -> String {
    set(&value.to_string())
}

/// A whole number with its noun: `1 row`, `1,797 rows`.
pub fn counted(n: usize, one: &str, more: &str) -> String {
    format!("{}{BLANK}{}", count(n), if n == 1 { one } else { more })
}

/// A fraction as percent with two decimals.
pub fn percent(fraction: f64) -> String {
    if fraction.is_finite() { format!("{:.2}{BLANK}%", 100.0 * fraction) } else { plain::UNKNOWN.to_owned() }
}

/// A duration in the unit that suits it.
pub fn seconds(value: f64) -> String {
    plain::duration(value).replace(' ', BLANK)
}

/// A size in memory, in the unit that suits it.
pub fn bytes(n: u64) -> String {
    let megabytes = n as f64 / 1e6;
    let (scaled, unit) = if megabytes < 1000.0 { (megabytes, "MB") } else { (megabytes / 1000.0, "GB") };
    format!("{}{BLANK}{unit}", number(scaled))
}

/// A probability as "1 in 10,000", for one that is small.
pub fn one_in(probability: f64) -> String {
    // The hair is for decimal fractions: 1 / 1e-5 falls just short of 100,000.
    let inverse = (1.0 / probability * (1.0 + 1e-12)).floor();
    if (1.0..1e15).contains(&inverse) { format!("1 in {}", count(inverse as usize)) } else { bound(probability) }
}

/// A power of ten with the digits of its exponent raised: 10⁻³; 1 for the power 0.
pub fn power_of_ten(exponent: i32) -> String {
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    if exponent == 0 {
        return "1".to_owned();
    }
    let raised = |c: char| c.to_digit(10).map_or('⁻', |digit| RAISED[digit as usize]);
    "10".chars().chain(exponent.to_string().chars().map(raised)).collect()
}

/// What a terminal shows, as a page does: powers of ten, minus signs, and separators of thousands.
pub(crate) fn set(text: &str) -> String {
    let (digits, exponent) = text.split_once('e').unwrap_or((text, ""));
    if let Ok(exponent) = exponent.parse() {
        let power = power_of_ten(exponent);
        return if matches!(digits, "1" | "1.00") { power } else { format!("{}{BLANK}×{BLANK}{power}", set(digits)) };
    }
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("−", digits));
    let (whole, fraction) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    if !whole.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.to_owned();
    }
    let separated = whole.char_indices().flat_map(|(i, digit)| {
        let comma = (i > 0 && (whole.len() - i).is_multiple_of(3)).then_some(',');
        comma.into_iter().chain([digit])
    });
    sign.chars().chain(separated).chain(fraction.chars()).collect()
}

/// A blank at which no line is broken.
const BLANK: &str = "\u{a0}";

/// Numbers as a terminal shows them.
pub mod plain {
    /// A number for people: three digits, powers of ten where they help.
    pub fn number(x: f64) -> String {
        let size = x.abs();
        if x == 0.0 {
            "0".into()
        } else if x.is_nan() {
            UNKNOWN.into()
        } else if x.is_infinite() {
            "unbounded".into()
        } else if (1e-3..1e5).contains(&size) {
            let digits = (2 - size.log10().floor() as i32).clamp(0, 6) as usize;
            format!("{x:.digits$}")
        } else {
            format!("{x:.2e}")
        }
    }

    /// A parameter for people, as somebody would type it: of two that were added up, the last bit is not shown.
    pub fn parameter(x: f64) -> String {
        if x.is_nan() {
            return UNKNOWN.into();
        }
        let typed = format!("{x:.12e}").parse().ok().filter(|typed: &f64| (typed - x).abs() <= 1e-15 * x.abs());
        let x = typed.unwrap_or(x);
        if x == 0.0 || (1e-3..1e6).contains(&x.abs()) { x.to_string() } else { format!("{x:e}") }
    }

    /// ε or δ of a promise, as it was typed; one that was computed as a bound.
    pub fn promised(x: f64) -> String {
        let typed = parameter(x);
        if typed.len() <= 12 { typed } else { bound(x) }
    }

    /// A bound for people, never shown smaller than it is.
    pub fn bound(x: f64) -> String {
        // The least number of three digits that is not below x is at most a hundredth above it.
        let steps = (0..=40).map(|step| number(x * (1.0 + 0.000_25 * f64::from(step))));
        let is_above = |text: &String| text.parse::<f64>().map_or(true, |shown| shown >= x);
        steps.into_iter().find(is_above).unwrap_or_else(|| number(x * 1.01))
    }

    /// A duration in the unit that suits it.
    pub fn duration(seconds: f64) -> String {
        let (scaled, unit) = match seconds {
            s if s >= 600.0 => (s / 60.0, "min"),
            s if s >= 1.0 => (s, "s"),
            s if s >= 1e-3 => (s * 1e3, "ms"),
            s => (s * 1e6, "µs"),
        };
        format!("{} {unit}", number(scaled))
    }

    pub(super) const UNKNOWN: &str = "not available";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        for (value, terminal, page) in [
            (0.0, "0", "0"),
            (0.25, "0.250", "0.250"),
            (12.345, "12.3", "12.3"),
            (3_712.4, "3712", "3,712"),
            (123_456.0, "1.23e5", "1.23 × 10⁵"),
            (0.000_123_4, "1.23e-4", "1.23 × 10⁻⁴"),
            (1e-4, "1.00e-4", "10⁻⁴"),
            (9.999e-7, "1.00e-6", "10⁻⁶"),
            (-0.5, "-0.500", "−0.500"),
            (-2e-7, "-2.00e-7", "−2.00 × 10⁻⁷"),
            (f64::INFINITY, "unbounded", "unbounded"),
            (f64::NAN, "not available", "not available"),
        ] {
            assert_eq!((plain::number(value).as_str(), number(value)), (terminal, page.replace(' ', wide(page))));
        }
    }

    /// Words keep their blanks.
    fn wide(page: &str) -> &'static str {
        if page.contains('×') { BLANK } else { " " }
    }

    #[test]
    fn a_bound_is_never_shown_smaller_than_it_is_nor_much_larger() {
        for x in [
            9.2379e-9, 6.0159e-10, 0.61299, 0.613, 1.0, 1.001, 99.94, 99.96, 0.099_96, 123.4, 12_345.6, 9.999e7, 1e-300,
        ] {
            let shown: f64 = plain::bound(x).parse().expect("a number");
            assert!(shown >= x && shown <= x * 1.0101, "{x}: {shown}");
        }
        assert_eq!(
            (plain::bound(9.2379e-9).as_str(), bound(0.613), bound(1.0)),
            ("9.24e-9", number(0.613), number(1.0))
        );
        assert_eq!((bound(0.0), bound(f64::INFINITY)), ("0".into(), "unbounded".into()));
        assert_eq!((bound(1.001), bound(9.991e-9)), ("1.01".into(), "10⁻⁸".into()));
    }

    #[test]
    fn a_parameter_is_shown_as_somebody_would_type_it() {
        for (x, typed) in [(1.0 + 0.5f64.next_up(), "1.5"), (1e-4 + 1e-5, "1.1e-4"), (1.0 / 3.0, "0.3333333333333333")]
        {
            assert_eq!(plain::parameter(x), typed);
        }
        assert_eq!([0.0, 1e-4, 0.25, f64::INFINITY].map(plain::parameter), ["0", "1e-4", "0.25", "inf"]);
        assert_eq!([0.01, 1e-4, 2511.5].map(setting), ["0.01", "10⁻⁴", "2,511.5"]);
        assert_eq!((setting(2.5e-4), promised(1.0 / 3.0)), ("2.5\u{a0}×\u{a0}10⁻⁴".into(), "0.334".into()));
    }

    #[test]
    fn units_follow_the_size() {
        let times = [0.000_86, 0.0123, 2.5, 124.0, 5400.0].map(plain::duration);
        assert_eq!(times, ["860 µs", "12.3 ms", "2.50 s", "124 s", "90.0 min"]);
        assert_eq!(seconds(0.0123), "12.3\u{a0}ms");
        assert_eq!([345_000_000, 8_200_000_000].map(bytes), ["345\u{a0}MB", "8.20\u{a0}GB"]);
        assert_eq!((count(999), count(1_234_567)), ("999".into(), "1,234,567".into()));
        assert_eq!(
            (counted(1, "row", "rows"), counted(1797, "row", "rows")),
            ("1\u{a0}row".into(), "1,797\u{a0}rows".into())
        );
        assert_eq!((percent(0.9512), percent(f64::NAN)), ("95.12\u{a0}%".into(), "not available".into()));
        assert_eq!([1e-4, 1e-5].map(one_in), ["1 in 10,000", "1 in 100,000"]);
        assert_eq!([-16, 0, 1, 12].map(power_of_ten), ["10⁻¹⁶", "1", "10¹", "10¹²"]);
    }
}
