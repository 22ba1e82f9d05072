//! Dates, times and decimals, as the numbers and texts that stand for them in a CSV: the same table is the same features in
//! either format.
//!
//! | Parquet | is |
//! |---|---|
//! | date, timestamp | days since 1970 in UTC, and the part of the day |
//! | time of day | the text `18:00:00`, `18:00:00.25` |
//! | decimal | the number; the text of an integer where it is an id |

use std::fmt::Display;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal128Type, Decimal256Type, Float64Type, Int64Type,
    Time32MillisecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType,
};
use arrow_array::{ArrayRef, Float64Array, Int64Array, PrimitiveArray, StringArray};
use arrow_schema::{DataType, TimeUnit};

use super::cells::CellError;

/// Whether values of a type are read as something else.
pub(super) fn is_converted(data_type: &DataType) -> bool {
    is_date_or_time(data_type) || is_decimal(data_type)
}

/// Dates and times: numbers to whoever keeps cells as they are, and texts in a CSV.
pub(super) fn is_date_or_time(data_type: &DataType) -> bool {
    use DataType as Type;
    matches!(data_type, Type::Date32 | Type::Date64 | Type::Timestamp(..) | Type::Time32(_) | Type::Time64(_))
}

pub(super) fn is_decimal(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Decimal128(..) | DataType::Decimal256(..))
}

/// Whether the decimals of a type are integers.
pub(super) fn is_integer(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Decimal128(_, 0) | DataType::Decimal256(_, 0))
}

/// A column of the declared type as numbers or texts; ids are texts.
pub(super) fn converted(array: &ArrayRef, declared: &DataType, is_id: bool) -> Result<ArrayRef, CellError> {
    Ok(match declared {
        DataType::Date32 => Arc::new(typed::<Date32Type>(array)?.unary::<_, Float64Type>(f64::from)),
        DataType::Date64 => instants(array, 1_000)?,
        DataType::Timestamp(unit, _) => instants(array, per_second(*unit))?,
        DataType::Time32(unit) | DataType::Time64(unit) => {
            texts(&ticks(array)?, |ticks| time_of_day(ticks, per_second(*unit)))
        }
        DataType::Decimal128(..) if is_id => texts(typed::<Decimal128Type>(array)?, |id| id.to_string()),
        DataType::Decimal256(..) if is_id => texts(typed::<Decimal256Type>(array)?, |id| id.to_string()),
        DataType::Decimal128(_, scale) => {
            numbers(typed::<Decimal128Type>(array)?, |digits| decimal(i64::try_from(digits).ok(), &digits, *scale))
        }
        DataType::Decimal256(_, scale) => numbers(typed::<Decimal256Type>(array)?, |digits| {
            let small = digits.to_i128().and_then(|digits| i64::try_from(digits).ok());
            decimal(small, &digits, *scale)
        }),
        _ => Arc::clone(array),
    })
}

fn typed<T: ArrowPrimitiveType>(array: &ArrayRef) -> Result<&PrimitiveArray<T>, CellError> {
    array.as_primitive_opt::<T>().ok_or(CellError::Type)
}

fn numbers<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, number: impl Fn(T::Native) -> f64) -> ArrayRef {
    Arc::new(array.iter().map(|value| value.map(&number)).collect::<Float64Array>())
}

fn texts<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, text: impl Fn(T::Native) -> String) -> ArrayRef {
    Arc::new(array.iter().map(|value| value.map(&text)).collect::<StringArray>())
}

/// The integers behind times, whatever their unit.
fn ticks(array: &ArrayRef) -> Result<Int64Array, CellError> {
    let array = array.as_ref();
    Ok(match array.data_type() {
        // What a writer's note alone calls a time.
        DataType::Int64 => array.as_primitive::<Int64Type>().clone(),
        DataType::Date64 => array.as_primitive::<Date64Type>().reinterpret_cast(),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            array.as_primitive::<TimestampMillisecondType>().reinterpret_cast()
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            array.as_primitive::<TimestampMicrosecondType>().reinterpret_cast()
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            array.as_primitive::<TimestampNanosecondType>().reinterpret_cast()
        }
        DataType::Time32(TimeUnit::Millisecond) => array.as_primitive::<Time32MillisecondType>().unary(i64::from),
        DataType::Time64(TimeUnit::Microsecond) => array.as_primitive::<Time64MicrosecondType>().reinterpret_cast(),
        DataType::Time64(TimeUnit::Nanosecond) => array.as_primitive::<Time64NanosecondType>().reinterpret_cast(),
        _ => return Err(CellError::Type),
    })
}

fn instants(array: &ArrayRef, per_second: i64) -> Result<ArrayRef, CellError> {
    Ok(Arc::new(ticks(array)?.unary::<_, Float64Type>(|ticks| days(ticks, per_second))))
}

const fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// Days since 1970 and the part of the day, rounded where the number of a text such as `2024-05-31T18:00:00Z` is.
fn days(ticks: i64, per_second: i64) -> f64 {
    let (day, of_day) = (ticks.div_euclid(86_400 * per_second), ticks.rem_euclid(86_400 * per_second));
    let (minutes, of_minute) = (of_day / (60 * per_second), of_day % (60 * per_second));
    let seconds = of_minute as f64 / per_second as f64;
    day as f64 + (60.0 * minutes as f64 + seconds) / 86_400.0
}

fn time_of_day(ticks: i64, per_second: i64) -> String {
    let (seconds, rest) = (ticks.div_euclid(per_second), ticks.rem_euclid(per_second));
    let text = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if rest == 0 {
        return text;
    }
    let digits = per_second.ilog10() as usize;
    format!("{text}.{rest:0digits$}").trim_end_matches('0').to_owned()
}

/// `digits` · 10^−`scale`, the nearest double, as the same decimal in a text is.
fn decimal(small: Option<i64>, digits: &dyn Display, scale: i8) -> f64 {
    match (small, usize::try_from(scale).ok().and_then(|scale| POWERS.get(scale))) {
        // Both are exact, so that their quotient is rounded once.
        (Some(small), Some(power)) if small.unsigned_abs() <= 1 << 53 => small as f64 / power,
        _ => format!("{digits}e{}", -i32::from(scale)).parse().unwrap_or(f64::NAN),
    }
}

/// Powers of ten that are doubles.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// What people call a type.
pub(super) fn in_words(data_type: &DataType) -> String {
    use DataType as Type;
    let noun = match data_type {
        Type::Utf8 => "text",
        Type::Boolean => "boolean",
        plain if plain.is_integer() => "integer",
        plain if plain.is_floating() => "float",
        decimal if is_decimal(decimal) => "decimal",
        Type::Date32 | Type::Date64 => "date",
        Type::Timestamp(..) => "timestamp",
        Type::Time32(_) | Type::Time64(_) => "time",
        Type::Binary | Type::FixedSizeBinary(_) => "binary",
        Type::Struct(_) => "struct",
        Type::Map(..) => "map",
        Type::List(inner) => {
            let inner = in_words(inner.data_type());
            let is_countable = inner != "binary" && !inner.starts_with("list");
            return if is_countable { format!("list of {inner}s") } else { "list".into() };
        }
        other => return other.to_string(),
    };
    noun.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_days_and_their_part() {
        assert_eq!(days(19_874 * 86_400 + 64_800, 1), 19_874.75);
        assert_eq!(days(-1, 1_000), -1.0 + 86_399.999 / 86_400.0);
        assert_eq!(days(i64::MIN, 1_000_000_000), -106_752.0 + (60.0 * 12.0 + 43.145_224_192) / 86_400.0);
        assert!(days(i64::MAX, 1).is_finite());
    }

    #[test]
    fn decimals_are_the_doubles_of_their_texts() {
        for (digits, scale, text) in [
            (12_345_i128, 2, "123.45"),
            (-1, 18, "-0.000000000000000001"),
            (9_007_199_254_740_993, 3, "9007199254740.993"),
            (12_345_678_901_234_567_890_123_456_789, 9, "12345678901234567890.123456789"),
            (17, -3, "17000"),
            (1, 30, "1e-30"),
        ] {
            let found = decimal(i64::try_from(digits).ok(), &digits, scale);
            assert_eq!(found, text.parse::<f64>().expect("a number"), "{text}");
        }
    }

    #[test]
    fn times_of_day_are_texts() {
        assert_eq!(time_of_day(64_800_000, 1_000), "18:00:00");
        assert_eq!(time_of_day(3_723_250_000, 1_000_000), "01:02:03.25");
        assert_eq!(time_of_day(1, 1_000_000_000), "00:00:00.000000001");
    }
}
