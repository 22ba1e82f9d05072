//! `efface transform`

use efface_data::RowId;
use efface_engine::EngineError;
use serde::Serialize;

use super::rows::{self, Sink};
use crate::args::TransformArgs;
use crate::output::{Answer, Output};

/// What machines are told.
#[derive(Serialize)]
struct Transformed<'a> {
    n_rows: usize,
    features: &'a [String],
    rows: Vec<TransformedRow>,
}

#[derive(Serialize)]
struct TransformedRow {
    id: RowId,
    values: Vec<f64>,
}

pub(crate) fn run(args: &TransformArgs, output: &Output) -> anyhow::Result<Answer> {
    let source = args.data.source().map_err(EngineError::from)?;
    if let Some(out) = &args.out {
        rows::refuse_to_overwrite(out, &args.model, source.files())?;
    }
    let model = args.networks.of(rows::open_model(&args.model, output)?);
    let predictor = model.predictor();
    let columns = model.columns(None, args.id.clone());
    let mut sink = Sink::new(args.out.as_deref(), output)?;
    let (progress, mut n_rows) = (sink.progress(output), 0);
    rows::read(&model, (source, &columns), predictor.chunk_rows(), progress, output, |chunk| {
        let transformed = predictor.transform(chunk)?;
        let header = (n_rows == 0).then_some(&model.features);
        n_rows += transformed.len();
        sink.put(transformed, |rows| csv_of(rows, header))
    })?;
    if let Some(chunks) = sink.finish(n_rows, "rows", output)? {
        let rows = chunks.into_iter().flatten().map(|(id, values)| TransformedRow { id, values }).collect();
        output.show(&Transformed { n_rows, features: &model.features, rows }, "", &[])?;
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
