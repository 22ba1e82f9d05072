//! Numbers as people read them: three digits, a unit, and the safe side when the number is a promise.
//!
//! Every function returns HTML that is safe to insert. A value that is not a number is printed as words, so that a page
//! never shows a symbol that only programmers know.

/// A measured value: three significant digits, to the nearest.
pub(crate) fn number(value: f64) -> String {
    three_digits(value, false)
}

/// A promised value: three significant digits, never below the value.
pub(crate) fn number_up(value: f64) -> String {
    three_digits(value, true)
}

/// A value that someone chose, with the digits they wrote.
pub(crate) fn setting(value: f64) -> String {
    let scientific = format!("{value:e}");
    match scientific.split_once('e') {
        Some((mantissa, exponent)) if !(1e-3..1e4).contains(&value) && value != 0.0 => power(mantissa, exponent),
        Some(_) => value.to_string(),
        None => three_digits(value, false),
    }
}

/// A whole number with separators: 1,797.
pub(crate) fn count(value: usize) -> String {
    let digits = value.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A fraction as percent with two decimals.
pub(crate) fn percent(fraction: f64) -> String {
    if fraction.is_finite() { format!("{:.2}&nbsp;%", 100.0 * fraction) } else { UNKNOWN.to_owned() }
}

/// A duration in the unit that suits it.
pub(crate) fn seconds(value: f64) -> String {
    let (scaled, unit) = match value {
        v if v >= 1.0 => (v, "s"),
        v if v >= 1e-3 => (v * 1e3, "ms"),
        v => (v * 1e6, "µs"),
    };
    format!("{}&nbsp;{unit}", number(scaled))
}

/// A ratio of durations: "230 times as long".
pub(crate) fn times_as_long(ratio: f64) -> String {
    if ratio.is_finite() { format!("{} times as long", number(ratio)) } else { "too short to compare".to_owned() }
}

/// A difference of accuracies: "0.34 percentage points below what".
pub(crate) fn points_below(points: f64) -> String {
    match points {
        p if !p.is_finite() => "not compared with what".to_owned(),
        p if p.abs() < 0.005 => "the same as".to_owned(),
        p if p > 0.0 => format!("{p:.2} percentage points below what"),
        p => format!("{:.2} percentage points above what", -p),
    }
}

/// A probability as "1 in 10,000", for one that is small.
pub(crate) fn one_in(probability: f64) -> String {
    // The hair is for decimal fractions: 1 / 1e-5 falls just short of 100,000.
    let inverse = (1.0 / probability * (1.0 + 1e-12)).floor();
    if (1.0..1e15).contains(&inverse) { format!("1 in {}", count(inverse as usize)) } else { number_up(probability) }
}

fn three_digits(value: f64, round_up: bool) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if value.is_infinite() {
        return "no limit".to_owned();
    }
    // Scientific notation rounds to the nearest; one unit in its last place more is above the value.
    let nearest = format!("{value:.2e}");
    let Some((mantissa, exponent)) =
        nearest.split_once('e').and_then(|(m, e)| Some((m.parse().ok()?, e.parse().ok()?)))
    else {
        return UNKNOWN.to_owned();
    };
    let below = round_up && nearest.parse().is_ok_and(|rounded: f64| rounded < value);
    let (mantissa, exponent) = carry(if below { mantissa + 0.01 } else { mantissa }, exponent);
    if (-3..=3).contains(&exponent) {
        let plain = mantissa * 10_f64.powi(exponent);
        let decimals = usize::try_from(2 - exponent).unwrap_or(0);
        return if plain >= 1000.0 { count(plain.round() as usize) } else { minus(&format!("{plain:.decimals$}")) };
    }
    power(&format!("{mantissa:.2}"), &exponent.to_string())
}

/// A number in scientific notation: 1.23 × 10⁻⁴.
fn power(mantissa: &str, exponent: &str) -> String {
    let factor = if matches!(mantissa, "1" | "1.00") { String::new() } else { format!("{mantissa}&nbsp;×&nbsp;") };
    minus(&format!("{factor}10<sup>{exponent}</sup>"))
}

/// A mantissa that reached ten moves into the exponent.
fn carry(mantissa: f64, exponent: i32) -> (f64, i32) {
    if mantissa >= 9.995 { (mantissa / 10.0, exponent + 1) } else { (mantissa, exponent) }
}

/// Hyphens as minus signs.
fn minus(text: &str) -> String {
    text.replace('-', "−")
}

const UNKNOWN: &str = "not available";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        for (value, text) in [
            (0.0, "0"),
            (0.25, "0.250"),
            (12.345, "12.3"),
            (1234.6, "1,230"),
            (0.000_123_4, "1.23&nbsp;×&nbsp;10<sup>−4</sup>"),
            (1e-4, "10<sup>−4</sup>"),
            (9.999e-7, "10<sup>−6</sup>"),
            (6.244_7e6, "6.24&nbsp;×&nbsp;10<sup>6</sup>"),
            (-0.5, "−0.500"),
            (f64::INFINITY, "no limit"),
            (f64::NAN, "not available"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn promises_are_never_printed_below_their_value() {
        assert_eq!(number_up(1.001), "1.01");
        assert_eq!(number_up(1.0), "1.00");
        assert_eq!(number_up(9.991e-9), "10<sup>−8</sup>");
        assert_eq!(number_up(0.123_000_1), "0.124");
    }

    #[test]
    fn units_follow_the_size() {
        assert_eq!(seconds(2.5), "2.50&nbsp;s");
        assert_eq!(seconds(0.0123), "12.3&nbsp;ms");
        assert_eq!(seconds(4.2e-5), "42.0&nbsp;µs");
        assert_eq!(setting(0.01), "0.01");
        assert_eq!(setting(2.5e-4), "2.5&nbsp;×&nbsp;10<sup>−4</sup>");
        assert_eq!(setting(f64::NAN), "not available");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(one_in(1e-4), "1 in 10,000");
        assert_eq!(one_in(1e-5), "1 in 100,000");
    }
}
