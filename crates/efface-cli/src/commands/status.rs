//! `efface status`

use efface_engine::{OutcomeTag, Status};

use super::over_budget;
use crate::args::StatusArgs;
use crate::output::{Answer, Output, bound, features, number, parameter, rung};

pub(crate) fn run(args: &StatusArgs, output: &Output) -> anyhow::Result<Answer> {
    let status = Status::read(&args.model)?;
    let promise = format!("({}, {})", parameter(status.epsilon), parameter(status.delta));
    let mut lines = vec![
        ("loss", status.loss.to_string()),
        ("l2", parameter(status.l2)),
        ("rows", format!("{} ({} removed so far)", status.n_rows, status.n_removed)),
        ("features", features(status.dim, status.intercept)),
        ("classes", if status.classes == 0 { "none (regression)".into() } else { status.class_names.join(", ") }),
        ("scale", status.scale.to_string()),
        ("promise (ε, δ)", promise),
        ("noise", parameter(status.noise_std)),
        ("gradient left, at most", bound(status.gradient_residual)),
        ("distance to the retrained weights, at most", bound(status.distance_bound)),
        ("how that is known", rung(status.rung).into()),
    ];
    if let (Some(budget), Some(spent)) = (status.budget, status.spent) {
        lines.push(("budget", format!("{} of {} spent", bound(spent), number(budget))));
    }
    let behind = match status.n_removed_since_release {
        0 => String::new(),
        1 => " (the latest still knows 1 removed row)".into(),
        n => format!(" (the latest still knows {n} removed rows)"),
    };
    lines.push(("releases", format!("{}{behind}", status.n_releases)));
    lines.push(("spent by releases (μ)", format!("{} of {}", bound(status.mu_total), number(status.mu_limit))));
    if !status.certified {
        lines.push(("certified", "NO: a fixed seed was used".into()));
    }
    let sentence = format!("{}: a model of mechanism {}", args.model.display(), status.mechanism);
    output.show(&status, &sentence, &lines)?;
    if status.outcome == OutcomeTag::RetrainRequired {
        output.say(&over_budget(&args.model));
        return Ok(Answer::Negative);
    }
    Ok(Answer::Done)
}
