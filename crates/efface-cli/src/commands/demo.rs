//! `efface demo`: the whole story on hand-written digits, in one process and one report.

use std::io::Write;

use anyhow::Context;
use efface_reproduce::demo::{self, Pair};
use serde_json::json;

use crate::args::DemoArgs;
use crate::output::{Answer, Output, bound, duration};

pub(crate) fn run(args: &DemoArgs, output: &Output) -> anyhow::Result<Answer> {
    output.say("training ten one-vs-rest models on 1,438 hand-written digits, then removing one subject's ten rows …");
    let place = args.out.display().to_string();
    // Opened first: a place that cannot be written to is told before the work, not after it.
    let mut file = std::fs::File::create(&args.out).with_context(|| place.clone())?;
    let report = demo::run()?;
    file.write_all(report.page().html().as_bytes()).with_context(|| place.clone())?;
    let (seconds, settled) = (&report.seconds, &report.at_release);
    let n_removed = report.subject.rows.len();
    let (model, accuracy) = (&report.model, &report.accuracy);
    let answer = json!({
        "n_rows": model.n_rows,
        "dim": model.dim,
        "n_removed": n_removed,
        "distance_promised": settled.distance.promised,
        "distance_measured": settled.distance.measured,
        "epsilon": model.epsilon,
        "delta": model.delta,
        "epsilon_spent": settled.epsilon.promised,
        "accuracy_before": accuracy.before,
        "accuracy_released": accuracy.released,
        "accuracy_retrained": accuracy.retrained,
        "train_seconds": seconds.train,
        "remove_seconds": seconds.remove,
        "settle_seconds": seconds.settle,
        "retrain_seconds": seconds.retrain,
        "report": place,
    });
    let percent = |accuracy: f64| format!("{:.1} %", 100.0 * accuracy);
    output.show(
        &answer,
        &format!("removed subject {} ({n_removed} rows) in {}", report.subject.number, duration(seconds.remove)),
        &[
            ("settling it takes", duration(seconds.settle)),
            ("retraining from scratch takes", duration(seconds.retrain)),
            ("distance to the retrained model right after the removal", pair(&report.after_removal.distance)),
            ("distance to the retrained model after settling", pair(&settled.distance)),
            ("promised for all releases together (ε, δ)", format!("({}, {:e})", model.epsilon, model.delta)),
            ("proved by this release: ε at that δ", bound(settled.epsilon.promised)),
            ("accuracy before the removal", percent(accuracy.before)),
            ("accuracy of the release", percent(accuracy.released)),
            ("accuracy of the retrained model", percent(accuracy.retrained)),
            ("report", place),
        ],
    )?;
    let broken = report.broken_promises();
    for promise in &broken {
        output.warn(&format!("a promise was not kept: {promise}"));
    }
    Ok(if broken.is_empty() { Answer::Done } else { Answer::Negative })
}

/// A promise beside what was found.
fn pair(pair: &Pair) -> String {
    format!("promised {}, measured {:.2e}", bound(pair.promised), pair.measured)
}
