//! `efface export`

use efface_data::export::{Exported, ExportedInput, Holds};
use efface_engine::{EngineError, OnnxOptions};
use serde_json::json;

use super::rows;
use crate::args::ExportArgs;
use crate::interrupt;
use crate::output::{Answer, Output, counted, shortened};
use crate::whole_file::write_whole;

pub(crate) fn run(args: &ExportArgs, output: &Output) -> anyhow::Result<Answer> {
    let model = args.networks.of(rows::open_model(&args.model, output)?);
    rows::refuse_to_overwrite(&args.onnx, &args.model, &[])?;
    let made = output.working("exporting", || model.to_onnx(&OnnxOptions::default()));
    let Exported { onnx, inputs, outputs } = made.map_err(EngineError::from)?;
    interrupt::abandon_after(&args.onnx, output)?;
    write_whole(&args.onnx, &onnx)?;

    let out = args.onnx.display().to_string();
    let answer = json!({
        "release": model.release, "onnx": out, "bytes": onnx.len(), "inputs": inputs, "outputs": outputs,
    });
    let takes =
        inputs.iter().map(|input| ("takes", format!("{} {}: {}", input.tensor.name, input.tensor, said(input))));
    let gives = outputs.iter().map(|tensor| ("gives", format!("{} {tensor}", tensor.name)));
    let lines: Vec<_> = takes.chain(gives).collect();
    output.show(&answer, &format!("wrote release {} to {out}", model.release), &lines)?;
    Ok(Answer::Done)
}

/// What is given under the name of an input, for people.
fn said(input: &ExportedInput) -> String {
    let ExportedInput { columns, holds, .. } = input;
    match holds {
        Holds::Numbers if columns.len() == 1 => "a number; a gap is NaN".into(),
        Holds::Numbers => {
            format!("{}: {}; a gap is NaN", counted(columns.len(), "column"), shortened(columns))
        }
        Holds::Texts => "a text; a gap is an empty one".into(),
        Holds::Pixels => "pixels from 0 to 255, row by row, channels together".into(),
        Holds::Tokens { tokenizer, max_tokens } => {
            format!("from the tokenizer with SHA-256 {tokenizer}, at most {}", counted(*max_tokens, "token"))
        }
        Holds::Bucket { gap, .. } => format!("the bucket of a value (docs/export.md); a gap is {gap}"),
        Holds::Ngrams(_) => "hashed n-grams (docs/export.md)".into(),
    }
}
