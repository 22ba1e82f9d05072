//! Rows from Arrow: a column of fixed-size lists is used where it is, plain columns are interleaved once.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, FixedSizeListArray};
use arrow_schema::DataType;
use efface_data::FeatureValues;
use pyo3::prelude::*;
use pyo3_arrow::input::AnyArray;

use crate::errors::named;
use crate::rows::{Held, Matrix};

/// Reads an array, a chunked array, a record batch or a table.
pub(crate) fn rows(rows: &Bound<'_, PyAny>) -> PyResult<Matrix> {
    let (chunks, _) = rows.extract::<AnyArray>()?.into_chunked_array()?.into_inner();
    of_chunks(&chunks).map_err(|message| named(rows.py(), "RowError", &message))
}

fn of_chunks(chunks: &[ArrayRef]) -> Result<Matrix, String> {
    let columns: Vec<Vec<ArrayRef>> = chunks.iter().map(columns_of).collect::<Result<_, _>>()?;
    let n_rows = chunks.iter().map(Array::len).sum();
    if let [only] = &columns[..]
        && let [column] = &only[..]
        && let Some(list) = column.as_fixed_size_list_opt()
    {
        return of_list(list);
    }
    let n_features = columns.first().map_or(0, |columns| columns.iter().map(width).sum());
    if n_features == 0 {
        return Err("rows must have at least one feature, got none".into());
    }
    let is_narrow = columns.iter().flatten().all(|column| *value_type(column) == DataType::Float32);
    let mut values = vec![0.0; n_rows * n_features];
    let mut first_row = 0;
    for columns in &columns {
        let n_chunk = columns.first().map_or(0, Array::len);
        let part = &mut values[first_row * n_features..(first_row + n_chunk) * n_features];
        let mut first = 0;
        for column in columns {
            interleave(column, part, n_features, first)?;
            first += width(column);
        }
        first_row += n_chunk;
    }
    // Single precision survives the way through doubles.
    let values = if is_narrow {
        FeatureValues::F32(values.into_iter().map(|x| x as f32).collect())
    } else {
        FeatureValues::F64(values)
    };
    Ok(Matrix { n_rows, n_features, held: Held::Own(values) })
}

/// The columns of a struct, or the one column that it is.
fn columns_of(chunk: &ArrayRef) -> Result<Vec<ArrayRef>, String> {
    match chunk.as_struct_opt() {
        Some(table) if table.null_count() == 0 => Ok(table.columns().to_vec()),
        Some(table) => Err(format!("{} of {} rows are null", table.null_count(), table.len())),
        None => Ok(vec![chunk.clone()]),
    }
}

/// Lists of equal length lie one after the other: rows already.
fn of_list(list: &FixedSizeListArray) -> Result<Matrix, String> {
    check_nulls(list)?;
    let n_features = list.value_length() as usize;
    if n_features == 0 {
        return Err("rows must have at least one feature, got lists of none".into());
    }
    let values = values_of(list);
    check_nulls(&values)?;
    let held = match values.data_type() {
        DataType::Float32 => Held::Arrow32(values.as_primitive::<Float32Type>().clone()),
        DataType::Float64 => Held::Arrow64(values.as_primitive::<Float64Type>().clone()),
        DataType::FixedSizeList(..) => {
            return Err(format!("rows of type {} are none: lists must be of numbers", list.data_type()));
        }
        _ => {
            let mut wide = vec![0.0; values.len()];
            interleave(&values, &mut wide, 1, 0)?;
            Held::Own(FeatureValues::F64(wide))
        }
    };
    Ok(Matrix { n_rows: list.len(), n_features, held })
}

/// A list that was sliced shares the values of the whole.
fn values_of(list: &FixedSizeListArray) -> ArrayRef {
    list.values().slice(list.value_offset(0) as usize, list.len() * list.value_length() as usize)
}

fn width(column: &ArrayRef) -> usize {
    column.as_fixed_size_list_opt().map_or(1, |list| list.value_length() as usize)
}

fn value_type(column: &ArrayRef) -> &DataType {
    match column.data_type() {
        DataType::FixedSizeList(field, _) => field.data_type(),
        other => other,
    }
}

/// Writes a column to the places `first`, `first + stride`, … (a list to as many places side by side).
fn interleave(column: &ArrayRef, into: &mut [f64], stride: usize, first: usize) -> Result<(), String> {
    macro_rules! write {
        ($array_type:ty, $wide:expr) => {{
            let values = column.as_primitive::<$array_type>().values();
            for (row, value) in into.chunks_exact_mut(stride).zip(values) {
                row[first] = $wide(*value);
            }
        }};
    }
    check_nulls(column)?;
    if let Some(list) = column.as_fixed_size_list_opt() {
        let width = list.value_length() as usize;
        let values = values_of(list);
        if values.as_fixed_size_list_opt().is_some() {
            return Err(format!("a column of type {} is no feature: lists must be of numbers", column.data_type()));
        }
        let mut wide = vec![0.0; values.len()];
        interleave(&values, &mut wide, 1, 0)?;
        for (row, values) in into.chunks_exact_mut(stride).zip(wide.chunks_exact(width.max(1))) {
            row[first..first + width].copy_from_slice(values);
        }
        return Ok(());
    }
    match column.data_type() {
        DataType::Float64 => write!(Float64Type, f64::from),
        DataType::Float32 => write!(Float32Type, f64::from),
        DataType::Int8 => write!(Int8Type, f64::from),
        DataType::Int16 => write!(Int16Type, f64::from),
        DataType::Int32 => write!(Int32Type, f64::from),
        DataType::UInt8 => write!(UInt8Type, f64::from),
        DataType::UInt16 => write!(UInt16Type, f64::from),
        DataType::UInt32 => write!(UInt32Type, f64::from),
        DataType::Int64 => write!(Int64Type, |value: i64| value as f64),
        DataType::UInt64 => write!(UInt64Type, |value: u64| value as f64),
        DataType::Boolean => {
            for (row, value) in into.chunks_exact_mut(stride).zip(column.as_boolean().values()) {
                row[first] = f64::from(u8::from(value));
            }
        }
        other => return Err(format!("a column of type {other} is no feature: columns must be numbers")),
    }
    Ok(())
}

fn check_nulls(column: &dyn Array) -> Result<(), String> {
    match column.null_count() {
        0 => Ok(()),
        n => Err(format!("{n} of {} values of a column are null", column.len())),
    }
}
