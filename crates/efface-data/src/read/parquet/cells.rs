//! From Arrow's columns to the values of rows: numbers, lists of numbers, labels and ids.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, downcast_integer_array};
use arrow_schema::DataType;
use efface_core::rows::RowValue;

use super::plain::{is_decimal, is_integer};
use crate::id::RowId;
use crate::rows::{FeatureValues, Precision, each};
use crate::schema::cell::Cell;
use crate::table::RawLabels;

/// The precision that holds every value of a type (or, of 64-bit integers and decimals, the nearest); `None`: not a number.
pub(super) fn feature_precision(data_type: &DataType) -> Option<Precision> {
    use DataType as Type;
    match data_type {
        Type::Boolean | Type::Int8 | Type::Int16 | Type::UInt8 | Type::UInt16 | Type::Float16 | Type::Float32 => {
            Some(Precision::F32)
        }
        Type::Int32 | Type::Int64 | Type::UInt32 | Type::UInt64 | Type::Float64 => Some(Precision::F64),
        decimal if is_decimal(decimal) => Some(Precision::F64),
        _ => None,
    }
}

pub(super) fn is_label(data_type: &DataType) -> bool {
    *data_type == DataType::Utf8 || feature_precision(data_type).is_some()
}

pub(super) fn is_id(data_type: &DataType) -> bool {
    *data_type == DataType::Utf8 || data_type.is_integer() || is_integer(data_type)
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

#[expect(clippy::cast_lossless, reason = "the macro writes the same for every type of integers")]
fn write_numbers(array: &dyn Array, slot: Slot, into: &mut FeatureValues) -> Result<(), CellError> {
    downcast_integer_array!(
        array => scatter(array.values(), slot, into, |x| x as f64),
        DataType::Boolean => {
            let bits: Vec<bool> = array.as_boolean().values().iter().collect();
            scatter(&bits, slot, into, |bit| f64::from(u8::from(bit)));
        },
        DataType::Float16 => scatter(array.as_primitive::<Float16Type>().values(), slot, into, f64::from),
        DataType::Float32 => scatter(array.as_primitive::<Float32Type>().values(), slot, into, f64::from),
        DataType::Float64 => scatter(array.as_primitive::<Float64Type>().values(), slot, into, |x| x),
        _ => return Err(CellError::Type),
    );
    Ok(())
}

fn scatter<T: Copy>(values: &[T], slot: Slot, into: &mut FeatureValues, convert: impl Fn(T) -> f64) {
    each!(FeatureValues, into, to => {
        let rows = to[slot.first_row * slot.dim..].chunks_exact_mut(slot.dim);
        for (row, values) in rows.zip(values.chunks_exact(slot.width.max(1))) {
            let cells = &mut row[slot.offset..slot.offset + slot.width];
            cells.iter_mut().zip(values).for_each(|(cell, value)| *cell = RowValue::nearest(convert(*value)));
        }
    });
}

/// The cell of a row, as it stands.
pub(super) fn cell(array: &dyn Array, row: usize) -> Result<Cell<'_>, CellError> {
    if array.is_null(row) {
        return Ok(Cell::Missing);
    }
    Ok(downcast_integer_array!(
        array => Cell::Integer(i128::from(array.value(row))),
        DataType::Utf8 => Cell::Text(array.as_string::<i32>().value(row)),
        DataType::Binary => Cell::Bytes(array.as_binary::<i32>().value(row)),
        DataType::Boolean => Cell::Boolean(array.as_boolean().value(row)),
        DataType::Float16 => Cell::Single(f32::from(array.as_primitive::<Float16Type>().value(row))),
        DataType::Float32 => Cell::Single(array.as_primitive::<Float32Type>().value(row)),
        DataType::Float64 => Cell::Number(array.as_primitive::<Float64Type>().value(row)),
        DataType::List(_) => Cell::List(numbers(&array.as_list::<i32>().value(row))?),
        _ => return Err(CellError::Type),
    ))
}

/// The numbers of a column or of a list, nulls as NaN.
pub(super) fn numbers(array: &dyn Array) -> Result<Vec<f64>, CellError> {
    let mut values = FeatureValues::F64(vec![0.0; array.len()]);
    write_numbers(array, Slot { first_row: 0, dim: 1, offset: 0, width: 1 }, &mut values)?;
    let FeatureValues::F64(mut values) = values else { return Err(CellError::Type) };
    if array.null_count() > 0 {
        values.iter_mut().enumerate().filter(|(i, _)| array.is_null(*i)).for_each(|(_, value)| *value = f64::NAN);
    }
    Ok(values)
}

pub(super) fn append_labels(array: &dyn Array, labels: &mut Option<RawLabels>) -> Result<(), CellError> {
    refuse_null(array, 1)?;
    let new = match array.data_type() {
        DataType::Utf8 => RawLabels::Text(array.as_string::<i32>().iter().flatten().map(str::to_owned).collect()),
        DataType::Boolean => RawLabels::Text(array.as_boolean().values().iter().map(|x| x.to_string()).collect()),
        _ => RawLabels::Numbers(numbers(array)?),
    };
    match (labels, new) {
        (Some(RawLabels::Text(labels)), RawLabels::Text(new)) => labels.extend(new),
        (Some(RawLabels::Numbers(labels)), RawLabels::Numbers(new)) => labels.extend(new),
        (labels @ None, new) => *labels = Some(new),
        _ => return Err(CellError::Type),
    }
    Ok(())
}

pub(super) fn append_ids(array: &dyn Array, ids: &mut Vec<RowId>) -> Result<(), CellError> {
    refuse_null(array, 1)?;
    // Beyond `i64` the digits are a text, as they would be in a CSV cell.
    let of_integer = |id: i128| i64::try_from(id).map_or_else(|_| RowId::parse(&id.to_string()), RowId::Integer);
    downcast_integer_array!(
        array => ids.extend(array.values().iter().map(|id| of_integer(i128::from(*id)))),
        DataType::Utf8 => ids.extend(array.as_string::<i32>().iter().flatten().map(RowId::parse)),
        _ => return Err(CellError::Type),
    );
    Ok(())
}
