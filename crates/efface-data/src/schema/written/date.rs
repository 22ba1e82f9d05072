//! Dates and times, as days since 1970.

use super::DateOrder;

/// Days since 1970 of a date, with the part of the day that a time is. Days and months that slashes separate are read in the
/// declared order; where none is, such a text is no date.
pub(super) fn date(text: &str, order: Option<DateOrder>) -> Option<f64> {
    let (day, time) = split_time(text);
    let (year, month, day) = numeric(day, order).or_else(|| spelt(day))?;
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = [31, if is_leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = *lengths.get(usize::try_from(month).ok()?.checked_sub(1)?)?;
    if !(1..=length).contains(&day) {
        return None;
    }
    Some(days_from_civil(year, month, day) as f64 + time.map_or(Some(0.0), part_of_day)?)
}

/// What comes before a time of day, and that time, which is the only thing in a date that has a colon.
fn split_time(text: &str) -> (&str, Option<&str>) {
    let Some(colon) = text.find(':') else {
        return (text.strip_suffix('T').unwrap_or(text), None);
    };
    match text[..colon].rfind(['T', ' ']) {
        Some(at) => (text[..at].trim_end(), Some(text[at + 1..].trim())),
        None => (text, None),
    }
}

/// Year, month and day in digits.
fn numeric(text: &str, order: Option<DateOrder>) -> Option<(i64, i64, i64)> {
    let separator = ['-', '/', '.'].into_iter().find(|separator| text.matches(*separator).count() == 2)?;
    let parts: Vec<&str> = text.split(separator).collect();
    let is_short = |part: &str| (1..=2).contains(&part.len());
    let last_is_year = matches!(parts[2].len(), 2 | 4) && is_short(parts[0]) && is_short(parts[1]);
    match (separator, order) {
        _ if parts[0].len() == 4 && is_short(parts[2]) => Some((whole(parts[0])?, whole(parts[1])?, whole(parts[2])?)),
        ('.', _) | ('/' | '-', Some(DateOrder::DayFirst)) if last_is_year => {
            Some((year(parts[2])?, whole(parts[1])?, whole(parts[0])?))
        }
        ('/' | '-', Some(DateOrder::MonthFirst)) if last_is_year => {
            Some((year(parts[2])?, whole(parts[0])?, whole(parts[1])?))
        }
        _ => None,
    }
}

/// Year, month and day with the month as an English word: `28-Jul-2024`, `28 July 2024`, `Jul 28, 2024`.
fn spelt(text: &str) -> Option<(i64, i64, i64)> {
    let mut parts = text.split(['-', ' ', ',']).filter(|part| !part.is_empty());
    let (first, second, last) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || last.len() != 4 {
        return None;
    }
    let (day, month) = match month(second) {
        Some(month) => (first, month),
        None => (second, month(first)?),
    };
    (day.len() <= 2).then_some((whole(last)?, month, whole(day)?))
}

fn month(word: &str) -> Option<i64> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let word = word.strip_suffix('.').unwrap_or(word).to_ascii_lowercase();
    let index = MONTHS.iter().position(|month| *month == word || word.len() == 3 && month.starts_with(&word))?;
    i64::try_from(index + 1).ok()
}

/// A year of four digits, or of two: 69 to 99 are in the last century.
fn year(text: &str) -> Option<i64> {
    let year = whole(text)?;
    Some(match text.len() {
        2 if year < 69 => 2000 + year,
        2 => 1900 + year,
        _ => year,
    })
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
    fn dates_are_days_since_1970() {
        for (text, days) in [
            ("1970-01-01", 0.0),
            ("1969-12-31", -1.0),
            ("2024-05-31", 19_874.0),
            ("2024/05/31", 19_874.0),
            ("31.05.2024", 19_874.0),
            ("31.05.24", 19_874.0),
            ("31-May-2024", 19_874.0),
            ("31 may 2024", 19_874.0),
            ("May 31, 2024", 19_874.0),
            ("1 January 1970", 0.0),
            ("2024-02-29", 19_782.0),
            ("2024-05-31T18:00:00Z", 19_874.75),
            ("2024-05-31 06:00", 19_874.25),
            ("31 May 2024 06:00", 19_874.25),
            ("2024-05-31T02:00:00+02:00", 19_874.0),
            ("1600-03-01", -135_080.0),
        ] {
            for order in [None, Some(DateOrder::DayFirst), Some(DateOrder::MonthFirst)] {
                assert_eq!(date(text, order), Some(days), "{text}");
            }
        }
    }

    #[test]
    fn the_order_of_day_and_month_is_declared() {
        let (day_first, month_first) = (Some(DateOrder::DayFirst), Some(DateOrder::MonthFirst));
        for (text, order, expected) in [
            ("05/06/2024", None, None),
            ("05/31/2024", None, None),
            ("05/06/2024", day_first, date("2024-06-05", None)),
            ("05/06/2024", month_first, date("2024-05-06", None)),
            ("5-6-24", month_first, date("2024-05-06", None)),
            ("05/31/2024 06:00", month_first, Some(19_874.25)),
            ("31/05/2024", month_first, None),
            ("05/31/2024", day_first, None),
        ] {
            assert_eq!(date(text, order), expected, "{text} {order:?}");
        }
    }

    #[test]
    fn what_is_no_day_is_no_date() {
        for text in [
            "2024-13-01",
            "2023-02-29",
            "2024-05",
            "31.04.2024",
            "1:30",
            "1-2",
            "may",
            "1 2 3",
            "10.0.0.1",
            "31 Mai 24",
        ] {
            assert_eq!(date(text, Some(DateOrder::DayFirst)), None, "{text}");
        }
    }
}
