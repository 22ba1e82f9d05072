//! `efface transform`

use std::io::Write;

use anyhow::Context;
use efface_data::{RowId, open_table};
use efface_engine::EngineError;
use serde::Serialize;

use super::predict;
use crate::args::TransformArgs;
use crate::output::{Answer, Output};
use crate::whole_file::WholeFile;

/// What machines are told.
#[derive(Serialize)]
struct Transformed<'a> {
    n_rows: usize,
    features: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<Vec<TransformedRow>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    out: Option<String>,
}

#[derive(Serialize)]
struct TransformedRow {
    id: RowId,
    values: Vec<f64>,
}

pub(crate) fn run(args: &TransformArgs, output: &Output) -> anyhow::Result<Answer> {
    let source = args.data.source().map_err(EngineError::from)?;
    if let Some(out) = &args.out {
        predict::refuse_to_overwrite(out, &args.model, &source)?;
    }
    let model = predict::open(&args.model, output)?;
    let predictor = model.predictor();
    let columns = model.columns(None, args.id.clone());
    let mut reader = open_table(source, &columns, model.schema.as_ref()).map_err(EngineError::from)?;
    let mut file = args.out.as_deref().map(WholeFile::create).transpose()?;
    let (mut n_rows, mut rows) = (0, Vec::new());
    while let Some(chunk) = reader.next_chunk(predictor.chunk_rows()).map_err(EngineError::from)? {
        let transformed = predictor.transform(chunk)?;
        let header = (n_rows == 0).then_some(&model.features);
        n_rows += transformed.len();
        match &mut file {
            Some(file) => file.write(&csv_of(&transformed, header)?)?,
            None if output.is_text() => {
                std::io::stdout().write_all(&csv_of(&transformed, header)?).context("stdout")?;
            }
            None => rows.extend(transformed.into_iter().map(|(id, values)| TransformedRow { id, values })),
        }
    }
    file.map(WholeFile::finish).transpose()?;
    let out = args.out.as_ref().map(|out| out.display().to_string());
    if let Some(out) = &out {
        let answer = Transformed { n_rows, features: &model.features, rows: None, out: Some(out.clone()) };
        output.show(&answer, &format!("wrote {n_rows} rows to {out}"), &[])?;
    } else if !output.is_text() {
        output.show(&Transformed { n_rows, features: &model.features, rows: Some(rows), out }, "", &[])?;
    }
    Ok(Answer::Done)
}

/// Lines of a table, the first of them under a header.
fn csv_of(rows: &[(RowId, Vec<f64>)], header: Option<&Vec<String>>) -> anyhow::Result<Vec<u8>> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    if let Some(features) = header {
        csv.write_record(std::iter::once("id").chain(features.iter().map(String::as_str)))?;
    }
    for (id, values) in rows {
        csv.write_record(std::iter::once(id.to_string()).chain(values.iter().map(f64::to_string)))?;
    }
    Ok(csv.into_inner()?)
}
