//! Rows from Arrow: a column of fixed-size lists is used where it is, plain columns are interleaved once.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, ArrowTimestampType, Date32Type, Date64Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, FixedSizeListArray};
use arrow_schema::{DataType, Field, TimeUnit};
use efface_data::FeatureValues;
use pyo3::prelude::*;
use pyo3_arrow::input::AnyArray;

use crate::cells::Cells;
use crate::errors::named;
use crate::rows::{Held, Matrix};

/// Reads an array, a chunked array, a record batch or a table.
pub(crate) fn rows(rows: &Bound<'_, PyAny>, cells: Cells) -> PyResult<Matrix> {
    let (chunks, field) = rows.extract::<AnyArray>()?.into_chunked_array()?.into_inner();
    of_chunks(&chunks, &field, cells).map_err(|message| named(rows.py(), "RowError", &message))
}

fn of_chunks(chunks: &[ArrayRef], field: &Field, mut cells: Cells) -> Result<Matrix, String> {
    let columns: Vec<Vec<ArrayRef>> = chunks.iter().map(columns_of).collect::<Result<_, _>>()?;
    let names: Vec<&str> = match field.data_type() {
        DataType::Struct(fields) => fields.iter().map(|field| field.name().as_str()).collect(),
        _ => vec![field.name()],
    };
    let n_rows = chunks.iter().map(Array::len).sum();
    if let [only] = &columns[..]
        && let [column] = &only[..]
        && let Some(list) = column.as_fixed_size_list_opt()
    {
        return of_list(names[0], list, cells);
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
        for (column, name) in columns.iter().zip(&names) {
            Column { name, values: column }.interleave(part, n_features, first, &mut cells)?;
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
    Ok(Matrix { n_rows, n_features, held: Held::Own(values.into()), texts: cells.into_texts() })
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
fn of_list(name: &str, list: &FixedSizeListArray, mut cells: Cells) -> Result<Matrix, String> {
    refuse_null_lists(list)?;
    let n_features = list.value_length() as usize;
    if n_features == 0 {
        return Err("rows must have at least one feature, got lists of none".into());
    }
    let values = values_of(list);
    let is_whole = values.null_count() == 0;
    let held = match values.data_type() {
        DataType::Float32 if is_whole => Held::Arrow32(values.as_primitive::<Float32Type>().clone()),
        DataType::Float64 if is_whole => Held::Arrow64(values.as_primitive::<Float64Type>().clone()),
        DataType::FixedSizeList(..) => {
            return Err(format!("rows of type {} are none: lists must be of numbers", list.data_type()));
        }
        _ => {
            let mut wide = vec![0.0; values.len()];
            Column { name, values: &values }.interleave(&mut wide, 1, 0, &mut cells)?;
            Held::Own(FeatureValues::F64(wide).into())
        }
    };
    Ok(Matrix { n_rows: list.len(), n_features, held, texts: cells.into_texts() })
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

/// One column of a table.
#[derive(Clone, Copy)]
struct Column<'a> {
    name: &'a str,
    values: &'a ArrayRef,
}

impl Column<'_> {
    /// Writes a column to the places `first`, `first + stride`, … (a list to as many places side by side).
    fn interleave(self, into: &mut [f64], stride: usize, first: usize, cells: &mut Cells) -> Result<(), String> {
        if let Some(list) = self.values.as_fixed_size_list_opt() {
            return self.interleave_list(list, into, stride, first, cells);
        }
        if self.values.null_count() > 0 {
            for index in (0..self.values.len()).filter(|index| self.values.is_null(*index)) {
                into[index * stride + first] = cells.gap(self.name)?;
            }
        }
        let rows = into.chunks_exact_mut(stride).map(|row| &mut row[first]);
        macro_rules! texts {
            ($array:expr) => {
                for (text, cell) in $array.iter().zip(rows) {
                    if let Some(text) = text {
                        *cell = cells.text(self.name, text)?;
                    }
                }
            };
        }
        match self.values.data_type() {
            DataType::Utf8 => texts!(self.values.as_string::<i32>()),
            DataType::LargeUtf8 => texts!(self.values.as_string::<i64>()),
            DataType::Utf8View => texts!(self.values.as_string_view()),
            DataType::Dictionary(..) => {
                let dictionary = self.values.as_any_dictionary();
                let mut known = vec![0.0; dictionary.values().len()];
                Column { values: dictionary.values(), ..self }.interleave(&mut known, 1, 0, cells)?;
                let keys = if known.is_empty() { Vec::new() } else { dictionary.normalized_keys() };
                for (index, (key, cell)) in keys.into_iter().zip(rows).enumerate() {
                    if !self.values.is_null(index) {
                        *cell = known[key];
                    }
                }
            }
            DataType::Boolean => {
                for (truth, cell) in self.values.as_boolean().iter().zip(rows) {
                    *cell = truth.map_or(*cell, |truth| f64::from(u8::from(truth)));
                }
            }
            DataType::Null => {
                for cell in rows {
                    *cell = cells.gap(self.name)?;
                }
            }
            _ => return self.interleave_numbers(rows, cells),
        }
        Ok(())
    }

    fn interleave_numbers<'a>(self, rows: impl Iterator<Item = &'a mut f64>, cells: &Cells) -> Result<(), String> {
        use DataType as Type;
        match self.values.data_type() {
            Type::Float64 => self.write::<Float64Type>(rows, cells, f64::from),
            Type::Float32 => self.write::<Float32Type>(rows, cells, f64::from),
            Type::Int8 => self.write::<Int8Type>(rows, cells, f64::from),
            Type::Int16 => self.write::<Int16Type>(rows, cells, f64::from),
            Type::Int32 => self.write::<Int32Type>(rows, cells, f64::from),
            Type::UInt8 => self.write::<UInt8Type>(rows, cells, f64::from),
            Type::UInt16 => self.write::<UInt16Type>(rows, cells, f64::from),
            Type::UInt32 => self.write::<UInt32Type>(rows, cells, f64::from),
            Type::Int64 => self.write::<Int64Type>(rows, cells, |value| value as f64),
            Type::UInt64 => self.write::<UInt64Type>(rows, cells, |value| value as f64),
            Type::Date32 => self.write::<Date32Type>(rows, cells, f64::from),
            Type::Date64 => self.write::<Date64Type>(rows, cells, |time| days(time, 1_000)),
            Type::Timestamp(unit, _) => match unit {
                TimeUnit::Second => self.write_times::<TimestampSecondType>(rows, cells, 1),
                TimeUnit::Millisecond => self.write_times::<TimestampMillisecondType>(rows, cells, 1_000),
                TimeUnit::Microsecond => self.write_times::<TimestampMicrosecondType>(rows, cells, 1_000_000),
                TimeUnit::Nanosecond => self.write_times::<TimestampNanosecondType>(rows, cells, 1_000_000_000),
            },
            other => Err(format!(
                "column `{}` is of type {other}, which is no feature: columns must be numbers, texts, booleans or dates",
                self.name
            )),
        }
    }

    fn write_times<'a, T: ArrowTimestampType>(
        self,
        rows: impl Iterator<Item = &'a mut f64>,
        cells: &Cells,
        per_second: i64,
    ) -> Result<(), String> {
        self.write::<T>(rows, cells, |time| days(time, per_second))
    }

    fn write<'a, T: ArrowPrimitiveType>(
        self,
        rows: impl Iterator<Item = &'a mut f64>,
        cells: &Cells,
        wide: impl Fn(T::Native) -> f64,
    ) -> Result<(), String> {
        let (values, nulls) = (self.values.as_primitive::<T>().values(), self.values.nulls());
        if nulls.is_none() && values.iter().fold(true, |finite, value| finite & wide(*value).is_finite()) {
            values.iter().zip(rows).for_each(|(value, cell)| *cell = wide(*value));
            return Ok(());
        }
        for (index, (value, cell)) in values.iter().zip(rows).enumerate() {
            // What stands where nothing does says nothing.
            if nulls.is_none_or(|nulls| nulls.is_valid(index)) {
                *cell = cells.number(self.name, wide(*value))?;
            }
        }
        Ok(())
    }

    fn interleave_list(
        self,
        list: &FixedSizeListArray,
        into: &mut [f64],
        stride: usize,
        first: usize,
        cells: &mut Cells,
    ) -> Result<(), String> {
        refuse_null_lists(list)?;
        let (width, values) = (list.value_length() as usize, values_of(list));
        if values.as_fixed_size_list_opt().is_some() {
            return Err(format!(
                "column `{}` is of type {}, which is no feature: lists must be of numbers",
                self.name,
                list.data_type()
            ));
        }
        let mut wide = vec![0.0; values.len()];
        Column { values: &values, ..self }.interleave(&mut wide, 1, 0, cells)?;
        for (row, values) in into.chunks_exact_mut(stride).zip(wide.chunks_exact(width.max(1))) {
            row[first..first + width].copy_from_slice(values);
        }
        Ok(())
    }
}

/// Days since 1970, and the part of the day: what a date in a file is read as.
fn days(time: i64, per_second: i64) -> f64 {
    let per_day = 86_400 * per_second;
    time.div_euclid(per_day) as f64 + time.rem_euclid(per_day) as f64 / per_second as f64 / 86_400.0
}

fn refuse_null_lists(list: &FixedSizeListArray) -> Result<(), String> {
    match list.null_count() {
        0 => Ok(()),
        n => Err(format!("{n} of {} lists are null: a list is a row, and needs numbers", list.len())),
    }
}
