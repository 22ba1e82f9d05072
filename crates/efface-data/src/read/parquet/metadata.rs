//! What the footer of a Parquet file says: which columns there are, where they lie, and whether it can be believed.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, TimeUnit};
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::arrow::parquet_to_arrow_schema;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::statistics::Statistics;

use super::columns::ColumnPlan;
use crate::error::ReadError;

/// The columns, with dates and times for which Parquet has no type of its own, where the writer has noted them: seconds,
/// and milliseconds of whole days.
pub(super) fn with_noted_times(metadata: &ArrowReaderMetadata) -> Fields {
    let fields = metadata.schema().fields();
    let file = metadata.metadata().file_metadata();
    let Ok(noted) = parquet_to_arrow_schema(file.schema_descr(), file.key_value_metadata()) else {
        return fields.clone();
    };
    let is_time = |noted: &DataType| matches!(noted, DataType::Date64 | DataType::Timestamp(TimeUnit::Second, _));
    let column = |(i, field): (usize, &Arc<Field>)| match noted.fields().get(i) {
        Some(noted) if *field.data_type() == DataType::Int64 && is_time(noted.data_type()) => {
            Arc::new(Field::new(field.name(), noted.data_type().clone(), field.is_nullable()))
        }
        _ => Arc::clone(field),
    };
    fields.iter().enumerate().map(column).collect()
}

/// Number of rows, and of values in the columns to read, all of which must lie within the file.
pub(super) fn check_metadata(
    path: &Path,
    metadata: &ParquetMetaData,
    roots: &[usize],
    file_bytes: u64,
) -> Result<(u64, u64), ReadError> {
    let schema = metadata.file_metadata().schema_descr();
    let (mut n_rows, mut n_values) = (0_u64, 0_u64);
    for (number, group) in metadata.row_groups().iter().enumerate() {
        let bad = |what: &str| damaged(path, format!("row group {number} {what}"));
        n_rows = u64::try_from(group.num_rows())
            .ok()
            .and_then(|rows| n_rows.checked_add(rows))
            .ok_or_else(|| bad("announces an impossible number of rows"))?;
        for (leaf, column) in group.columns().iter().enumerate() {
            if leaf >= schema.num_columns() || roots.binary_search(&schema.get_column_root_idx(leaf)).is_err() {
                continue;
            }
            let start = column.dictionary_page_offset().unwrap_or(i64::MAX).min(column.data_page_offset());
            let end = start.checked_add(column.compressed_size());
            let within = start >= 0 && column.compressed_size() >= 0 && column.data_page_offset() >= 0;
            if !within || end.and_then(|end| u64::try_from(end).ok()).is_none_or(|end| end > file_bytes) {
                return Err(bad("lies outside the file"));
            }
            n_values = n_values.saturating_add(u64::try_from(column.num_values()).unwrap_or(0));
        }
    }
    let announced = metadata.file_metadata().num_rows();
    if u64::try_from(announced).ok() != Some(n_rows) {
        return Err(damaged(path, format!("{n_rows} rows in its row groups, but {announced} are announced")));
    }
    Ok((n_rows, n_values))
}

/// Whether a value of a feature may be missing: some are, or the file does not say.
pub(super) fn may_have_gaps(metadata: &ParquetMetaData, plan: &ColumnPlan) -> bool {
    let schema = metadata.file_metadata().schema_descr();
    let roots: Vec<usize> = plan.features.iter().filter_map(|feature| plan.roots.get(feature.index).copied()).collect();
    metadata.row_groups().iter().flat_map(|group| group.columns().iter().enumerate()).any(|(leaf, column)| {
        leaf < schema.num_columns()
            && roots.contains(&schema.get_column_root_idx(leaf))
            && column.column_descr().max_def_level() > 0
            && column.statistics().and_then(Statistics::null_count_opt) != Some(0)
    })
}

/// Runs the decoder, which panics on some damaged files. After an error it is not run again.
pub(super) fn guarded<T, E: Display>(path: &Path, decode: impl FnOnce() -> Result<T, E>) -> Result<T, ReadError> {
    match catch_unwind(AssertUnwindSafe(decode)) {
        Ok(decoded) => decoded.map_err(|error| damaged(path, error.to_string())),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().copied();
            let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
            Err(damaged(path, format!("its decoder gave up: {}", text.unwrap_or("no reason given"))))
        }
    }
}

pub(super) fn damaged(path: &Path, reason: String) -> ReadError {
    ReadError::NotReadable { file: path.into(), format: ".parquet", reason }
}
