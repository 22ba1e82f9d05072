//! `efface status`

use efface_engine::{OutcomeTag, Status};

use crate::args::StatusArgs;
use crate::output::{Answer, Output, bound, number, parameter};

pub(crate) fn run(args: &StatusArgs, output: &Output) -> anyhow::Result<Answer> {
    let status = Status::read(&args.model)?;
    let promise = format!("({}, {})", parameter(status.epsilon), parameter(status.delta));
    let mut lines = vec![
        ("loss", status.loss.to_string()),
        ("l2", parameter(status.l2)),
        ("rows", format!("{} ({} removed so far)", status.n_rows, status.n_removed)),
        ("features", status.dim.to_string()),
        ("classes", if status.classes == 0 { "none (regression)".into() } else { status.class_names.join(", ") }),
        ("scale", format!("{}{}", status.scale, if status.intercept { ", intercept" } else { "" })),
        ("promise (ε, δ)", promise),
        ("noise", parameter(status.noise_std)),
        ("gradient left, at most", bound(status.gradient_residual)),
        ("distance to the retrained weights, at most", bound(status.distance_bound)),
        ("certified by", format!("the {} bound", status.rung)),
    ];
    if let (Some(budget), Some(spent)) = (status.budget, status.spent) {
        lines.push(("budget", format!("{} of {} spent", bound(spent), number(budget))));
    }
    lines.push(("releases", status.n_releases.to_string()));
    lines.push(("spent by releases (μ)", format!("{} of {}", bound(status.mu_total), number(status.mu_limit))));
    if !status.certified {
        lines.push(("certified", "NO: a fixed seed was used".into()));
    }
    let sentence = format!("{}: a model of mechanism {}", args.model.display(), status.mechanism);
    output.show(&status, &sentence, &lines)?;
    if status.outcome == OutcomeTag::RetrainRequired {
        output.say(&format!("retraining required: efface retrain {}", args.model.display()));
        return Ok(Answer::Negative);
    }
    Ok(Answer::Done)
}
