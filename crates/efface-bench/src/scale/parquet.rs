//! A Parquet file of synthetic rows.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, FixedSizeListArray, Float32Array, Int8Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// Rows that are written at a time.
const BATCH: usize = 10_000;

/// The id of a row.
pub(crate) fn row_id(row: usize) -> i64 {
    i64::try_from(row).unwrap_or(i64::MAX)
}

/// The subject of a row: one row each, so that there are as many subjects as rows.
pub(crate) fn subject(row: usize) -> String {
    format!("person-{row:09}")
}

/// Writes correlated Gaussian rows with columns `id`, `subject`, `y` and the features: `x0`, `x1`, … or one list `x`.
pub(crate) fn write(path: &Path, n_rows: usize, dim: usize, list: bool) -> anyhow::Result<()> {
    let mut generator = ChaCha8Rng::seed_from_u64(7);
    let direction: Vec<f32> = (0..dim).map(|_| StandardNormal.sample(&mut generator)).collect();
    let mut writer: Option<ArrowWriter<File>> = None;
    for start in (0..n_rows).step_by(BATCH) {
        let n = BATCH.min(n_rows - start);
        let mut rows: Vec<f32> = Vec::with_capacity(n * dim);
        let mut labels: Vec<i8> = Vec::with_capacity(n);
        for _ in 0..n {
            let mut normal = || -> f32 { StandardNormal.sample(&mut generator) };
            let common = 0.5 * normal();
            let row: Vec<f32> = (0..dim).map(|_| normal() + common).collect();
            let margin: f32 = row.iter().zip(&direction).map(|(x, w)| x * w).sum();
            labels.push(i8::from(margin + 8.0 * normal() > 0.0));
            rows.extend(row);
        }
        let batch = batch(start, dim, &rows, labels, list)?;
        let writer = match &mut writer {
            Some(writer) => writer,
            none => none.insert(ArrowWriter::try_new(File::create(path)?, batch.schema(), None)?),
        };
        writer.write(&batch)?;
    }
    if let Some(writer) = writer {
        writer.close()?;
    }
    Ok(())
}

fn batch(start: usize, dim: usize, rows: &[f32], labels: Vec<i8>, list: bool) -> anyhow::Result<RecordBatch> {
    let n = labels.len();
    let mut fields = vec![
        Field::new("id", DataType::Int64, false),
        Field::new("subject", DataType::Utf8, false),
        Field::new("y", DataType::Int8, false),
    ];
    let ids = Int64Array::from_iter_values((start..start + n).map(row_id));
    let subjects = StringArray::from_iter_values((start..start + n).map(subject));
    let mut columns: Vec<ArrayRef> = vec![Arc::new(ids), Arc::new(subjects), Arc::new(Int8Array::from(labels))];
    if list {
        let item = Arc::new(Field::new("item", DataType::Float32, false));
        let width = i32::try_from(dim)?;
        let values = Arc::new(Float32Array::from(rows.to_vec()));
        fields.push(Field::new("x", DataType::FixedSizeList(item.clone(), width), false));
        columns.push(Arc::new(FixedSizeListArray::try_new(item, width, values, None)?));
    } else {
        for j in 0..dim {
            fields.push(Field::new(format!("x{j}"), DataType::Float32, false));
            let column = (0..n).map(|i| rows[i * dim + j]);
            columns.push(Arc::new(Float32Array::from_iter_values(column)));
        }
    }
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
}
