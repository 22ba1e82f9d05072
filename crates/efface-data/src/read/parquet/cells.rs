//! From Arrow's columns to the values of rows: numbers, lists of numbers, labels and ids.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_schema::DataType;

use crate::id::RowId;
use crate::rows::{FeatureValues, Precision};
use crate::schema::cell::Cell;
use crate::table::RawLabels;

/// The precision that holds every value of a type (or, of 64-bit integers, the nearest); `None`: not a number.
pub(super) fn feature_precision(data_type: &DataType) -> Option<Precision> {
    use DataType as Type;
    match data_type {
        Type::Boolean | Type::Int8 | Type::Int16 | Type::UInt8 | Type::UInt16 | Type::Float16 | Type::Float32 => {
            Some(Precision::F32)
        }
        Type::Int32 | Type::Int64 | Type::UInt32 | Type::UInt64 | Type::Float64 => Some(Precision::F64),
        _ => None,
    }
}

pub(super) fn is_label(data_type: &DataType) -> bool {
    *data_type == DataType::Utf8 || feature_precision(data_type).is_some()
}

pub(super) fn is_id(data_type: &DataType) -> bool {
    *data_type == DataType::Utf8 || data_type.is_integer()
}

/// Why a column cannot be read; rows are counted within the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CellError {
    Null { row: usize },
    ListLength { row: usize, found: usize },
    Type,
}

/// Where a column's values go: `width` of them, from `offset` on, in each row of `dim`, beginning with row `first_row`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) first_row: usize,
    pub(super) dim: usize,
    pub(super) offset: usize,
    pub(super) width: usize,
}

/// Writes a column of numbers, or of lists of `slot.width` numbers, into rows that are there already.
pub(super) fn write_features(
    array: &dyn Array,
    is_list: bool,
    slot: Slot,
    into: &mut FeatureValues,
) -> Result<(), CellError> {
    refuse_null(array, 1)?;
    if !is_list {
        return write_numbers(array, slot, into);
    }
    let list = array.as_list_opt::<i32>().ok_or(CellError::Type)?;
    let lengths = list.offsets().lengths().enumerate();
    if let Some((row, found)) = lengths.into_iter().find(|(_, length)| *length != slot.width) {
        return Err(CellError::ListLength { row, found });
    }
    let start = list.value_offsets().first().map_or(0, |offset| *offset as usize);
    let elements = list.values().slice(start, list.len() * slot.width);
    refuse_null(&elements, slot.width)?;
    write_numbers(&elements, slot, into)
}

/// Length of the first list, or 1 for a number.
pub(super) fn width(array: &dyn Array, is_list: bool) -> Result<usize, CellError> {
    if !is_list {
        return Ok(1);
    }
    refuse_null(array, 1)?;
    let list = array.as_list_opt::<i32>().ok_or(CellError::Type)?;
    Ok(list.offsets().lengths().next().unwrap_or(0))
}

fn refuse_null(array: &dyn Array, per_row: usize) -> Result<(), CellError> {
    if array.null_count() == 0 {
        return Ok(());
    }
    match (0..array.len()).find(|index| array.is_null(*index)) {
        Some(index) => Err(CellError::Null { row: index / per_row.max(1) }),
        None => Ok(()),
    }
}

fn write_numbers(array: &dyn Array, slot: Slot, into: &mut FeatureValues) -> Result<(), CellError> {
    macro_rules! write {
        ($type:ty, $convert:expr) => {
            array.as_primitive_opt::<$type>().map(|array| scatter(array.values(), slot, into, $convert))
        };
    }
    let written = match array.data_type() {
        DataType::Boolean => array.as_boolean_opt().map(|array| {
            let bits: Vec<bool> = array.values().iter().collect();
            scatter(&bits, slot, into, |bit| f64::from(u8::from(bit)));
        }),
        DataType::Int8 => write!(Int8Type, f64::from),
        DataType::Int16 => write!(Int16Type, f64::from),
        DataType::Int32 => write!(Int32Type, f64::from),
        DataType::Int64 => write!(Int64Type, |x| x as f64),
        DataType::UInt8 => write!(UInt8Type, f64::from),
        DataType::UInt16 => write!(UInt16Type, f64::from),
        DataType::UInt32 => write!(UInt32Type, f64::from),
        DataType::UInt64 => write!(UInt64Type, |x| x as f64),
        DataType::Float16 => write!(Float16Type, f64::from),
        DataType::Float32 => match into {
            FeatureValues::F32(to) => {
                array.as_primitive_opt::<Float32Type>().map(|array| fill(array.values(), slot, to, |x| x))
            }
            FeatureValues::F64(_) => write!(Float32Type, f64::from),
        },
        DataType::Float64 => write!(Float64Type, |x| x),
        _ => None,
    };
    written.ok_or(CellError::Type)
}

fn scatter<T: Copy>(values: &[T], slot: Slot, into: &mut FeatureValues, convert: impl Fn(T) -> f64) {
    match into {
        FeatureValues::F32(to) => fill(values, slot, to, |value| convert(value) as f32),
        FeatureValues::F64(to) => fill(values, slot, to, convert),
    }
}

fn fill<T: Copy, U>(values: &[T], slot: Slot, to: &mut [U], convert: impl Fn(T) -> U) {
    let rows = to[slot.first_row * slot.dim..].chunks_exact_mut(slot.dim);
    for (row, values) in rows.zip(values.chunks_exact(slot.width.max(1))) {
        let cells = &mut row[slot.offset..slot.offset + slot.width];
        cells.iter_mut().zip(values).for_each(|(cell, value)| *cell = convert(*value));
    }
}

/// The cell of a row, as it stands.
pub(super) fn cell(array: &dyn Array, row: usize) -> Result<Cell<'_>, CellError> {
    if array.is_null(row) {
        return Ok(Cell::Missing);
    }
    macro_rules! cell {
        ($type:ty, $convert:expr) => {
            array.as_primitive_opt::<$type>().map(|array| $convert(array.value(row)))
        };
    }
    let cell = match array.data_type() {
        DataType::Utf8 => array.as_string_opt::<i32>().map(|array| Cell::Text(array.value(row))),
        DataType::Boolean => array.as_boolean_opt().map(|array| Cell::Boolean(array.value(row))),
        DataType::Int8 => cell!(Int8Type, |x| Cell::Integer(i128::from(x))),
        DataType::Int16 => cell!(Int16Type, |x| Cell::Integer(i128::from(x))),
        DataType::Int32 => cell!(Int32Type, |x| Cell::Integer(i128::from(x))),
        DataType::Int64 => cell!(Int64Type, |x| Cell::Integer(i128::from(x))),
        DataType::UInt8 => cell!(UInt8Type, |x| Cell::Integer(i128::from(x))),
        DataType::UInt16 => cell!(UInt16Type, |x| Cell::Integer(i128::from(x))),
        DataType::UInt32 => cell!(UInt32Type, |x| Cell::Integer(i128::from(x))),
        DataType::UInt64 => cell!(UInt64Type, |x| Cell::Integer(i128::from(x))),
        DataType::Float16 => cell!(Float16Type, |x| Cell::Single(f32::from(x))),
        DataType::Float32 => cell!(Float32Type, Cell::Single),
        DataType::Float64 => cell!(Float64Type, Cell::Number),
        DataType::List(_) => array.as_list_opt::<i32>().and_then(|list| Some(Cell::List(numbers(&list.value(row))?))),
        _ => None,
    };
    cell.ok_or(CellError::Type)
}

/// The numbers of a list, nulls as NaN.
fn numbers(array: &dyn Array) -> Option<Vec<f64>> {
    let mut values = FeatureValues::F64(vec![0.0; array.len()]);
    write_numbers(array, Slot { first_row: 0, dim: 1, offset: 0, width: 1 }, &mut values).ok()?;
    let FeatureValues::F64(mut values) = values else { return None };
    if array.null_count() > 0 {
        values.iter_mut().enumerate().filter(|(i, _)| array.is_null(*i)).for_each(|(_, value)| *value = f64::NAN);
    }
    Some(values)
}

/// No labels yet, of the kind that a column of this type has.
pub(super) fn no_labels(data_type: &DataType) -> RawLabels {
    match data_type {
        DataType::Utf8 | DataType::Boolean => RawLabels::Text(Vec::new()),
        _ => RawLabels::Numbers(Vec::new()),
    }
}

pub(super) fn append_labels(array: &dyn Array, labels: &mut RawLabels) -> Result<(), CellError> {
    refuse_null(array, 1)?;
    match labels {
        RawLabels::Text(texts) => {
            if let Some(array) = array.as_string_opt::<i32>() {
                texts.extend(array.iter().flatten().map(str::to_owned));
            } else {
                let array = array.as_boolean_opt().ok_or(CellError::Type)?;
                texts.extend(array.values().iter().map(|label| label.to_string()));
            }
        }
        RawLabels::Numbers(numbers) => {
            let mut values = FeatureValues::F64(vec![0.0; array.len()]);
            write_numbers(array, Slot { first_row: 0, dim: 1, offset: 0, width: 1 }, &mut values)?;
            if let FeatureValues::F64(values) = values {
                numbers.extend(values);
            }
        }
    }
    Ok(())
}

pub(super) fn append_ids(array: &dyn Array, ids: &mut Vec<RowId>) -> Result<(), CellError> {
    refuse_null(array, 1)?;
    macro_rules! extend {
        ($type:ty) => {
            array
                .as_primitive_opt::<$type>()
                .map(|array| ids.extend(array.values().iter().map(|id| RowId::Integer(i64::from(*id)))))
        };
    }
    let appended = match array.data_type() {
        DataType::Utf8 => {
            array.as_string_opt::<i32>().map(|array| ids.extend(array.iter().flatten().map(RowId::parse)))
        }
        DataType::Int8 => extend!(Int8Type),
        DataType::Int16 => extend!(Int16Type),
        DataType::Int32 => extend!(Int32Type),
        DataType::Int64 => extend!(Int64Type),
        DataType::UInt8 => extend!(UInt8Type),
        DataType::UInt16 => extend!(UInt16Type),
        DataType::UInt32 => extend!(UInt32Type),
        // Beyond `i64` the digits are a text, as they would be in a CSV cell.
        DataType::UInt64 => array.as_primitive_opt::<UInt64Type>().map(|array| {
            ids.extend(array.values().iter().map(|id| RowId::parse(&id.to_string())));
        }),
        _ => None,
    };
    appended.ok_or(CellError::Type)
}
