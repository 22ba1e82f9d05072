//! `efface settle`, `efface retrain`

use efface_core::model::Outcome;
use efface_engine::{ModelDirectory, SettleReport, Status};

use super::{noise, open, retraining_required};
use crate::args::{RetrainArgs, SettleArgs};
use crate::output::{Answer, Output, bound, duration};
use crate::progress::Progress;

pub(crate) fn settle(args: &SettleArgs, output: &Output) -> anyhow::Result<Answer> {
    let mut model = open(&args.model, output)?;
    let report = output.working("settling", || model.settle(args.tolerance))?;
    output.in_force();
    output.show(&report, &format!("settled in {}", duration(report.seconds)), &settle_lines(&report))?;
    stands(&model, output)
}

pub(crate) fn retrain(args: &RetrainArgs, output: &Output) -> anyhow::Result<Answer> {
    let mut model = open(&args.model, output)?;
    let mut noise = noise(&args.seed, output)?;
    let mut progress = Progress::new(output.is_text());
    let report = model.retrain(&mut noise, &mut |phase| progress.training(phase))?;
    output.in_force();
    drop(progress);
    let sentence = format!("trained again on {} rows in {}", report.n_rows, duration(report.seconds));
    let lines = [
        ("gradient left, at most", bound(report.gradient_residual)),
        ("distance to the exact weights, at most", bound(report.distance_bound)),
        ("passes over the rows", report.iterations.to_string()),
    ];
    output.show(&report, &sentence, &lines)?;
    stands(&model, output)
}

/// Whether the model can be released now: no training brings back rows that a private extractor saw.
fn stands(model: &ModelDirectory, output: &Output) -> anyhow::Result<Answer> {
    let Status { outcome, budget, spent, .. } = model.view().status()?;
    Ok(match outcome {
        Outcome::Done => Answer::Done,
        Outcome::RetrainRequired => {
            output.say(&retraining_required(model.path(), budget, spent));
            Answer::Negative
        }
    })
}

pub(super) fn settle_lines(report: &SettleReport) -> Vec<(&'static str, String)> {
    vec![
        ("passes over the rows", report.passes.to_string()),
        ("gradient left after settling, at most", bound(report.gradient_residual)),
        ("distance after settling, at most", bound(report.distance_bound)),
    ]
}
