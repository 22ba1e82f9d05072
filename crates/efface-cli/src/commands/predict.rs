//! `efface predict`, `efface evaluate`

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use efface_engine::{Prediction, PublishedModel, Status};
use serde_json::json;

use super::labelled;
use crate::args::{EvaluateArgs, PredictArgs};
use crate::output::{Answer, Output, number, quoted};
use crate::whole_file::write_whole;

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
        write_whole(out, &csv_of(&predictions)?)?;
        let answer = json!({"n_rows": n_rows, "out": out.display().to_string()});
        output.show(&answer, &format!("wrote {n_rows} predictions to {}", out.display()), &[])?;
    } else if output.is_text() {
        std::io::stdout().write_all(&csv_of(&predictions)?).context("stdout")?;
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

fn csv_of(predictions: &[Prediction]) -> anyhow::Result<Vec<u8>> {
    let with_probability = predictions.first().is_some_and(|first| first.probability.is_some());
    let header = if with_probability { &["id", "prediction", "probability"][..] } else { &["id", "prediction"] };
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(header)?;
    for Prediction { id, prediction, probability } in predictions {
        let (id, probability) = (id.to_string(), probability.map(|probability| probability.to_string()));
        csv.write_record([&id, prediction].into_iter().chain(&probability))?;
    }
    Ok(csv.into_inner()?)
}
