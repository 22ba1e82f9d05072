//! `efface train`

use efface_engine::{ModelDirectory, TrainRequest};

use super::{labelled, noise};
use crate::args::TrainArgs;
use crate::output::{Answer, Output, bound, duration, features, quoted};
use crate::progress::TrainingProgress;

pub(crate) fn run(args: TrainArgs, output: &Output) -> anyhow::Result<Answer> {
    let columns = args.columns.columns();
    let table = labelled(&args.data, &columns)?;
    for remark in table.remarks() {
        output.warn(&remark.to_string());
    }
    let intercept = args.rows.intercept;
    let mut noise = noise(&args.seed, output)?;
    let request =
        TrainRequest { table, columns, transform: args.rows.transform(), config: args.config(), out: args.out };
    let mut progress = TrainingProgress::new(output.is_text());
    let report = ModelDirectory::train(request, &mut noise, &mut |phase| progress.update(phase))?;
    drop(progress);
    let sentence = format!(
        "trained on {} rows of {} in {}",
        report.n_rows,
        features(report.dim, intercept),
        duration(report.train_seconds)
    );
    let classes = if report.classes == 0 { "none (regression)".into() } else { report.classes.to_string() };
    output.show(
        &report,
        &sentence,
        &[
            ("classes", classes),
            ("gradient left, at most", bound(report.gradient_residual)),
            ("distance to the exact weights, at most", bound(report.distance_bound)),
            ("passes over the rows", report.iterations.to_string()),
            ("model", report.model.display().to_string()),
        ],
    )?;
    output.say(&format!("next: efface release {}", quoted(&report.model)));
    Ok(Answer::Done)
}
