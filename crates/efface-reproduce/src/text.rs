//! Numbers as texts of figures and tables.

/// Three digits, as a power of ten beyond 0.001 … 99,999.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() || value == 0.0 {
        return format!("{value}");
    }
    if !(1e-3..1e5).contains(&size) {
        let exponent = size.log10().floor() as i32;
        let mantissa = value / 10f64.powi(exponent);
        // 9.99…e3 may round to 10.0e3: one digit less then.
        return if format!("{:.1}", mantissa.abs()) == "10.0" {
            format!("{}·10{}", if value < 0.0 { "−1" } else { "1" }, superscript(exponent + 1))
        } else {
            format!("{mantissa:.1}·10{}", superscript(exponent))
        };
    }
    let decimals = (2 - size.log10().floor() as i32).max(0) as usize;
    thousands(&format!("{value:.decimals$}"))
}

/// A power of ten as such (10⁻³), anything else as [`number`].
pub(crate) fn strength(value: f64) -> String {
    let exponent = value.log10();
    if (exponent - exponent.round()).abs() < 1e-9 && !(-1.5..=2.5).contains(&exponent) {
        format!("10{}", superscript(exponent.round() as i32))
    } else {
        let text = number(value);
        if text.contains('.') && !text.contains('·') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text
        }
    }
}

/// A fraction as percent with two decimals.
pub(crate) fn percent(fraction: f64) -> String {
    format!("{:.2} %", 100.0 * fraction)
}

/// Bytes in gigabytes.
pub(crate) fn gigabytes(bytes: u64) -> String {
    format!("{:.2} GB", bytes as f64 / 1e9)
}

/// A time with its unit.
pub(crate) fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{} µs", number(1e6 * s)),
        s if s < 1.0 => format!("{} ms", number(1e3 * s)),
        s => format!("{} s", number(s)),
    }
}

/// A count with its thousands apart.
pub(crate) fn count(value: usize) -> String {
    thousands(&value.to_string())
}

fn thousands(text: &str) -> String {
    let (whole, rest) = text.find('.').map_or((text, ""), |at| text.split_at(at));
    let digits = whole.trim_start_matches('-').len();
    if digits < 4 {
        return text.to_owned();
    }
    let mut out = String::new();
    for (i, digit) in whole.chars().enumerate() {
        let left = whole.len() - i;
        if i > 0 && left.is_multiple_of(3) && !out.ends_with('-') {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
}

fn superscript(exponent: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    exponent.to_string().chars().map(|c| c.to_digit(10).map_or('⁻', |digit| DIGITS[digit as usize])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_or_a_power_of_ten() {
        let cases = [
            (0.0, "0"),
            (0.228, "0.228"),
            (34.567, "34.6"),
            (3_712.4, "3,712"),
            (12_345.0, "12,345"),
            (123_456.0, "1.2·10⁵"),
            (9.99e-5, "1·10⁻⁴"),
            (4.2e-11, "4.2·10⁻¹¹"),
            (-0.5, "-0.500"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn strengths_are_short() {
        for (value, text) in [(1e-4, "10⁻⁴"), (1e-3, "10⁻³"), (0.1, "0.1"), (1.0, "1"), (10.0, "10"), (1e3, "10³")]
        {
            assert_eq!(strength(value), text);
        }
    }

    #[test]
    fn times_have_units() {
        assert_eq!(seconds(0.000_86), "860 µs");
        assert_eq!(seconds(0.0123), "12.3 ms");
        assert_eq!(seconds(15.6), "15.6 s");
    }

    #[test]
    fn counts_shares_and_sizes_are_written_for_readers() {
        assert_eq!((gigabytes(8_200_000_000), percent(0.9512)), ("8.20 GB".to_owned(), "95.12 %".to_owned()));
        assert_eq!(count(999), "999");
        assert_eq!(count(1_000_000), "1,000,000");
    }
}
