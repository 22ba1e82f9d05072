//! Numbers as people write them: percents, money, thousands, decimal commas, dates. What a text means depends on that text
//! alone.

/// The number that a text stands for, other than in its plain spelling; `None`: it is a text.
///
/// | written | is |
/// |---|---|
/// | `12.5 %`, `$1,234.50`, `-€ 3`, `(42)` | 12.5, 1234.5, −3, −42 |
/// | `1,234,567`, `1.234.567,8`, `1'234.5`, `1 234,5` | 1234567, 1234567.8, 1234.5, 1234.5 |
/// | `3,25`, `0,125` | 3.25, 0.125 (`1,234` is 1234) |
/// | `2024-05-31`, `2024/05/31`, `31.05.2024`, `2024-05-31T18:00:00Z` | days since 1970, and the part of the day |
pub(crate) fn number_as_written(text: &str) -> Option<f64> {
    let text = text.trim();
    if !text.bytes().any(|byte| byte.is_ascii_digit()) || text.len() > LONGEST {
        return None;
    }
    date(text).or_else(|| amount(text)).filter(|number| number.is_finite())
}

/// Nothing that long is a number that somebody wrote.
const LONGEST: usize = 64;

/// A number with a sign, a currency, a percent sign, separators.
fn amount(text: &str) -> Option<f64> {
    if let Some(inside) = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) {
        return amount(inside).filter(|number| *number >= 0.0).map(|number| -number);
    }
    let (text, mut sign) = signed(text);
    let text = text.trim_start_matches(CURRENCIES).trim_start();
    let text = text.strip_suffix('%').unwrap_or(text).trim_end_matches(CURRENCIES).trim_end();
    let (text, inner) = if sign > 0.0 { signed(text) } else { (text, 1.0) };
    sign *= inner;
    let plain = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b == b'.').then(|| text.parse::<f64>().ok())?;
    plain(text).or_else(|| separated(text)).map(|number| sign * number)
}

fn signed(text: &str) -> (&str, f64) {
    match text.strip_prefix(['-', '\u{2212}']) {
        Some(rest) => (rest.trim_start(), -1.0),
        None => (text.strip_prefix('+').unwrap_or(text), 1.0),
    }
}

const CURRENCIES: [char; 5] = ['$', '€', '£', '¥', '₹'];

/// Digits with a separator of thousands, a decimal comma, or both.
fn separated(text: &str) -> Option<f64> {
    for (thousands, point) in [(",", '.'), (".", ','), ("'", '.'), ("'", ','), (" ", ','), (" ", '.'), ("\u{a0}", ',')]
    {
        let (whole, fraction) = match text.split_once(point) {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (text, None),
        };
        let groups: Vec<&str> = whole.split(thousands).collect();
        let is_grouped = groups.len() > 1
            && (1..=3).contains(&groups[0].len())
            && !groups[0].starts_with('0')
            && groups[1..].iter().all(|group| group.len() == 3)
            // One dot alone is a decimal point, and was read as one.
            && (thousands != "." || groups.len() > 2 || fraction.is_some());
        let is_decimal = groups.len() == 1 && point == ',' && fraction.is_some();
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if (is_grouped || is_decimal) && groups.iter().all(|group| digits(group)) && fraction.is_none_or(digits) {
            return format!("{}.{}", groups.concat(), fraction.unwrap_or("0")).parse().ok();
        }
    }
    None
}

/// Days since 1970 of a date that can be read in one way only, with the part of the day that a time is.
fn date(text: &str) -> Option<f64> {
    let (day, time) = match text.find(['T', ' ']) {
        Some(at) => (&text[..at], Some(text[at + 1..].trim())),
        None => (text, None),
    };
    let separator = ['-', '/', '.'].into_iter().find(|separator| day.matches(*separator).count() == 2)?;
    let parts: Vec<&str> = day.split(separator).collect();
    let (year, month, day) = match (separator, parts[0].len(), parts[2].len()) {
        ('-' | '/' | '.', 4, 1..=2) => (parts[0], parts[1], parts[2]),
        // Day and month in another order are told by no other separator.
        ('.', 1..=2, 4) => (parts[2], parts[1], parts[0]),
        _ => return None,
    };
    let (year, month, day) = (whole(year)?, whole(month)?, whole(day)?);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = [31, if is_leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = *lengths.get(usize::try_from(month).ok()?.checked_sub(1)?)?;
    if !(1..=length).contains(&day) {
        return None;
    }
    Some(days_from_civil(year, month, day) as f64 + time.map_or(Some(0.0), part_of_day)?)
}

fn whole(text: &str) -> Option<i64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Days between 1970-01-01 and a date of the Gregorian calendar.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that the day of a leap year is the last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// `18:00`, `18:00:30`, `18:00:30.25`, with `Z` or an offset such as `+02:00`.
fn part_of_day(text: &str) -> Option<f64> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (time, offset) = match text.find(['+', '-']) {
        Some(at) => {
            let minutes = minutes(&text[at + 1..])?;
            (&text[..at], if text[at..].starts_with('-') { -minutes } else { minutes })
        }
        None => (text, 0.0),
    };
    let (time, seconds) = match time.match_indices(':').nth(1) {
        Some((at, _)) => (&time[..at], time[at + 1..].parse::<f64>().ok().filter(|s| (0.0..61.0).contains(s))?),
        None => (time, 0.0),
    };
    Some((60.0 * (minutes(time)? - offset) + seconds) / 86_400.0)
}

fn minutes(text: &str) -> Option<f64> {
    let (hours, minutes) = text.split_once(':')?;
    let (hours, minutes) = (whole(hours)?, whole(minutes)?);
    (hours < 24 && minutes < 60).then_some((60 * hours + minutes) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_people_write_them() {
        for (text, expected) in [
            ("12.5 %", 12.5),
            ("7%", 7.0),
            ("$1,234.50", 1234.5),
            ("-$3", -3.0),
            ("€ -3,5", -3.5),
            ("1.234,56 €", 1234.56),
            ("(1,000)", -1000.0),
            ("1,234,567", 1_234_567.0),
            ("1,234", 1234.0),
            ("3,25", 3.25),
            ("0,125", 0.125),
            ("12345,6", 12345.6),
            ("1.234.567", 1_234_567.0),
            ("1'234.5", 1234.5),
            ("1 234,5", 1234.5),
            ("+4 %", 4.0),
        ] {
            assert_eq!(number_as_written(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn texts_stay_texts() {
        for text in [
            "",
            "%",
            "$",
            "basic",
            "A1",
            "1a",
            "1,23,456",
            "12,3456,789",
            "1-2",
            "3/4",
            "05/31/2024",
            "31/05/2024",
            "1:30",
            "v1.2.3",
            "2024-13-01",
            "2023-02-29",
            "2024-05",
            "10.0.0.1",
            "1..2",
            "--3",
            "1e5,3",
            "555-0199",
            "31.04.2024",
        ] {
            assert_eq!(number_as_written(text), None, "{text}");
        }
    }

    #[test]
    fn dates_are_days_since_1970() {
        for (text, days) in [
            ("1970-01-01", 0.0),
            ("1969-12-31", -1.0),
            ("2024-05-31", 19_874.0),
            ("2024/05/31", 19_874.0),
            ("31.05.2024", 19_874.0),
            ("2024-02-29", 19_782.0),
            ("2024-05-31T18:00:00Z", 19_874.75),
            ("2024-05-31 06:00", 19_874.25),
            ("2024-05-31T02:00:00+02:00", 19_874.0),
            ("1600-03-01", -135_080.0),
        ] {
            assert_eq!(number_as_written(text), Some(days), "{text}");
        }
    }
}
