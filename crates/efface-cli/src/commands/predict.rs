//! `efface predict`, `efface evaluate`

use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Context;
use efface_engine::{Prediction, PublishedModel, Status};
use serde_json::json;

use super::labelled;
use crate::args::{EvaluateArgs, PredictArgs};
use crate::output::{Answer, Output, number, quoted, write_whole};

pub(crate) fn predict(args: &PredictArgs, output: &Output) -> anyhow::Result<Answer> {
    if let Some(out) = &args.out {
        let is_out = |input: &Path| {
            std::fs::canonicalize(out).is_ok_and(|out| std::fs::canonicalize(input).is_ok_and(|input| input == out))
        };
        let place = out.display();
        anyhow::ensure!(!is_out(&args.data), "{place}: these are the rows to predict; predictions go to another file");
        anyhow::ensure!(!is_out(&args.model), "{place}: this is the model; predictions go to another file");
    }
    let model = open(&args.model, output)?;
    let predict = || model.predict(model.read(&args.data, None, args.id.clone())?);
    let predictions = output.working("predicting", predict)?;
    let n_rows = predictions.len();
    if let Some(out) = &args.out {
        let mut csv = Vec::new();
        write_csv(&predictions, &mut csv)?;
        write_whole(out, &csv)?;
        let answer = json!({"n_rows": n_rows, "out": out.display().to_string()});
        output.show(&answer, &format!("wrote {n_rows} predictions to {}", out.display()), &[])?;
    } else if output.is_text() {
        let mut stdout = BufWriter::new(std::io::stdout().lock());
        write_csv(&predictions, &mut stdout).and_then(|()| stdout.flush()).context("stdout")?;
    } else {
        output.show(&json!({"n_rows": n_rows, "predictions": predictions}), "", &[])?;
    }
    Ok(Answer::Done)
}

pub(crate) fn evaluate(args: EvaluateArgs, output: &Output) -> anyhow::Result<Answer> {
    let model = open(&args.model, output)?;
    let columns = model.columns(args.label.or_else(|| model.usual_label()), None);
    let table = labelled(&args.data, &columns, model.schema.as_ref())?;
    let evaluation = output.working("evaluating", || model.evaluate(table))?;
    let (name, value) = match (evaluation.accuracy, evaluation.rmse) {
        (Some(accuracy), _) => ("accuracy", format!("{:.2} %", 100.0 * accuracy)),
        (None, rmse) => ("root mean squared error", number(rmse.unwrap_or(f64::NAN))),
    };
    output.show(&evaluation, &format!("evaluated on {} rows", evaluation.n_rows), &[(name, value)])?;
    Ok(Answer::Done)
}

/// Opens a published model; for a model directory, with a warning when rows have left since its latest release.
fn open(path: &Path, output: &Output) -> anyhow::Result<PublishedModel> {
    let model = PublishedModel::open(path)?;
    let Ok(status) = Status::read(path) else { return Ok(model) };
    let (release, directory) = (model.release, quoted(path));
    for found in &status.out_of_step {
        output.warn(&format!(
            "{found}: release {release} may know rows that have been removed; see efface status {directory}"
        ));
    }
    if status.n_removed_since_release > 0 {
        output.warn(&format!(
            "release {release} still knows rows that have been removed since; next: efface release {directory}"
        ));
    }
    Ok(model)
}

fn write_csv(predictions: &[Prediction], out: &mut impl Write) -> std::io::Result<()> {
    let with_probability = predictions.first().is_some_and(|first| first.probability.is_some());
    writeln!(out, "{}", if with_probability { "id,prediction,probability" } else { "id,prediction" })?;
    for Prediction { id, prediction, probability } in predictions {
        write!(out, "{},{}", csv_field(&id.to_string()), csv_field(prediction))?;
        match probability {
            Some(probability) => writeln!(out, ",{probability}")?,
            None => writeln!(out)?,
        }
    }
    Ok(())
}

/// A CSV field, quoted where it must be.
fn csv_field(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field.into() }
}
