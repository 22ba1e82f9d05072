//! Amounts: numbers with separators, signs, currencies and percent signs.

use super::{DecimalMark, Told};

/// A number with a sign, a currency, a percent sign, separators, and what it tells about the decimal mark.
pub(super) fn amount(text: &str, declared: Option<DecimalMark>) -> Option<(f64, Told)> {
    if let Some(inside) = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) {
        return amount(inside, declared).filter(|(x, _)| *x >= 0.0).map(|(x, told)| (-x, told));
    }
    let (text, before) = signed(text);
    let (text, has_currency) = without_currency(text);
    let text = text.strip_suffix('%').unwrap_or(text).trim_end();
    let (text, behind) = if before.is_none() { signed(text) } else { (text, None) };
    let sign = before.or(behind).unwrap_or(1.0);
    let read = |mark| digits(text, mark);
    let (x, told) = match (read(DecimalMark::Point), read(DecimalMark::Comma)) {
        (Some(x), Some(y)) if x == y => (x, Told::Nothing),
        (Some(with_point), Some(with_comma)) => {
            // Of three digits behind a separator, prices have fractions far more rarely than thousands.
            let thousands = if with_point > with_comma { DecimalMark::Point } else { DecimalMark::Comma };
            let usual = if has_currency { thousands } else { DecimalMark::Point };
            let mark = declared.unwrap_or(usual);
            let told = if declared.is_some() { Told::Nothing } else { Told::Assumed(mark) };
            (if mark == DecimalMark::Point { with_point } else { with_comma }, told)
        }
        (Some(x), None) => (x, Told::Shown(DecimalMark::Point)),
        (None, Some(x)) => (x, Told::Shown(DecimalMark::Comma)),
        (None, None) => return None,
    };
    Some((sign * x, told))
}

/// A text without its sign, before or behind it.
fn signed(text: &str) -> (&str, Option<f64>) {
    const MINUS: [char; 2] = ['-', '\u{2212}'];
    if let Some(rest) = text.strip_prefix(MINUS) {
        return (rest.trim_start(), Some(-1.0));
    }
    match (text.strip_prefix('+'), text.strip_suffix(MINUS)) {
        (Some(rest), _) => (rest, Some(1.0)),
        (None, Some(rest)) => (rest.trim_end(), Some(-1.0)),
        (None, None) => (text, None),
    }
}

/// A text without the currency before or behind it, and whether there was one.
fn without_currency(text: &str) -> (&str, bool) {
    const CURRENCIES: [&str; 11] = ["$", "€", "£", "¥", "₹", "EUR", "USD", "GBP", "CHF", "JPY", "kr"];
    let before = CURRENCIES.iter().find_map(|currency| text.strip_prefix(currency));
    let behind = CURRENCIES.iter().find_map(|currency| text.strip_suffix(currency));
    match before.map(str::trim_start).or(behind.map(str::trim_end)) {
        Some(rest) => (rest, true),
        None => (text, false),
    }
}

/// Digits with this decimal mark, or without one; thousands may be separated by anything else.
fn digits(text: &str, mark: DecimalMark) -> Option<f64> {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = match text.split_once(mark.symbol()) {
        Some((whole, fraction)) if is_digits(fraction) => (whole, fraction),
        Some(_) => return None,
        None => (text, "0"),
    };
    let thousands = whole.chars().find(|c| !c.is_ascii_digit());
    let Some(thousands) = thousands else {
        return is_digits(whole).then(|| format!("{whole}.{fraction}").parse().ok())?;
    };
    let groups: Vec<&str> = whole.split(thousands).collect();
    let is_grouped = SEPARATORS.contains(&thousands)
        && (1..=3).contains(&groups[0].len())
        && !groups[0].starts_with('0')
        && groups[1..].iter().all(|group| group.len() == 3)
        && groups.iter().all(|group| is_digits(group));
    is_grouped.then(|| format!("{}.{fraction}", groups.concat()).parse().ok())?
}

/// What separates thousands.
const SEPARATORS: [char; 7] = [',', '.', '\'', '\u{2019}', ' ', '\u{a0}', '\u{202f}'];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_people_write_them() {
        use DecimalMark::{Comma, Point};
        for (text, expected, told) in [
            ("12.5 %", 12.5, Told::Shown(Point)),
            ("7%", 7.0, Told::Nothing),
            ("$1,234.50", 1234.5, Told::Shown(Point)),
            ("-$3", -3.0, Told::Nothing),
            ("€ -3,5", -3.5, Told::Shown(Comma)),
            ("1.234,56 €", 1234.56, Told::Shown(Comma)),
            ("(1,000)", -1000.0, Told::Assumed(Point)),
            ("1,234,567", 1_234_567.0, Told::Shown(Point)),
            ("1,234", 1234.0, Told::Assumed(Point)),
            ("1.234 €", 1234.0, Told::Assumed(Comma)),
            ("$1,234", 1234.0, Told::Assumed(Point)),
            ("3,25", 3.25, Told::Shown(Comma)),
            ("0,125", 0.125, Told::Shown(Comma)),
            ("12345,6", 12345.6, Told::Shown(Comma)),
            ("1.234.567", 1_234_567.0, Told::Shown(Comma)),
            ("1'234.5", 1234.5, Told::Shown(Point)),
            ("1 234,5", 1234.5, Told::Shown(Comma)),
            ("1\u{202f}234", 1234.0, Told::Nothing),
            ("2.494,00-", -2494.0, Told::Shown(Comma)),
            ("CHF 12.50", 12.5, Told::Shown(Point)),
            ("12,50 EUR", 12.5, Told::Shown(Comma)),
            ("+4 %", 4.0, Told::Nothing),
        ] {
            assert_eq!(amount(text, None), Some((expected, told)), "{text}");
        }
    }

    #[test]
    fn the_declared_mark_decides_where_there_are_two_readings() {
        use DecimalMark::{Comma, Point};
        for (text, mark, expected) in [
            ("1,234", Comma, 1.234),
            ("1,234", Point, 1234.0),
            ("1.234", Comma, 1234.0),
            ("1.234 €", Point, 1.234),
            ("3,25", Point, 3.25),
            ("1.234.567,5", Point, 1_234_567.5),
        ] {
            assert_eq!(amount(text, Some(mark)).map(|(x, _)| x), Some(expected), "{text}");
        }
    }

    #[test]
    fn texts_stay_texts() {
        for text in [
            "%",
            "$",
            "basic",
            "A1",
            "1a",
            "1,23,456",
            "12,3456,789",
            "1-2",
            "3/4",
            "1:30",
            "v1.2.3",
            "10.0.0.1",
            "1..2",
            "--3",
            "1e5,3",
            "555-0199",
            "-3-",
            "012.345,6",
            "5 kg",
        ] {
            assert_eq!(amount(text, None), None, "{text}");
        }
    }
}
