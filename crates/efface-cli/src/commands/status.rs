//! `efface status`

use std::time::{SystemTime, UNIX_EPOCH};

use efface_core::model::Outcome;
use efface_engine::Status;

use super::ledger::in_words;
use super::{over_budget, repaired, rows};
use crate::args::StatusArgs;
use crate::output::{Answer, Output, bound, features, number, parameter, promised, quoted, rung, shortened};

pub(crate) fn run(args: &StatusArgs, output: &Output) -> anyhow::Result<Answer> {
    let status = Status::read(&args.model)?;
    let pair = format!("({}, {})", promised(status.epsilon), promised(status.delta));
    let promise = match status.noise_std {
        0.0 => format!("{pair}, bit for bit what training without the removed rows gives"),
        _ => pair,
    };
    let mut lines = vec![
        ("loss", status.loss.clone()),
        ("l2", parameter(status.l2)),
        ("rows", format!("{} ({} removed so far)", status.n_rows, status.n_removed)),
        ("features", features(status.dim, status.intercept)),
        ("classes", if status.classes == 0 { "none (regression)".into() } else { status.class_names.join(", ") }),
        ("scale", status.scale.to_string()),
        ("promise (ε, δ)", promise),
        ("noise", parameter(status.noise_std)),
        ("gradient left, at most", bound(status.gradient_residual.get())),
        ("distance to the retrained weights, at most", bound(status.distance_bound.get())),
        ("how that is known", rung(&status.rung).into()),
    ];
    if let Some(extractor) = &status.extractor {
        lines.push(("private feature extractor", super::extractor_in_words(extractor, status.n_left)));
    }
    if let (Some(budget), Some(spent)) = (status.budget, status.spent) {
        lines.push(("budget", format!("{} of {} spent", bound(spent.get()), number(budget))));
    }
    let latest =
        [status.released.map(|time| format!("the latest {}", ago(time))), behind(status.n_removed_since_release)];
    let latest: Vec<String> = latest.into_iter().flatten().collect();
    let latest = if latest.is_empty() { String::new() } else { format!(" ({})", latest.join(", ")) };
    lines.push(("releases", format!("{}{latest}", status.n_releases)));
    if !status.revoked.is_empty() {
        let revoked: Vec<String> = status.revoked.iter().map(ToString::to_string).collect();
        lines.push(("revoked releases", revoked.join(", ")));
    }
    lines.push(("releases are made", in_words(status.policy)));
    lines.push(("entries of the log", status.log_size.to_string()));
    if status.mechanism == "release" && status.noise_std > 0.0 {
        lines.push((
            "spent by releases (μ)",
            format!("{} of {}", bound(status.mu_total.get()), number(status.mu_limit)),
        ));
    }
    if !status.not_public.is_empty() {
        lines.push((
            "outside the guarantee",
            format!("schema entries not marked public: {}", shortened(&status.not_public)),
        ));
    }
    if status.n_suppressed > 0 {
        lines.push(("left out when offered again", rows(status.n_suppressed)));
    }
    if status.n_unpurged > 0 {
        lines.push(("still to be overwritten on disk", rows(status.n_unpurged)));
    }
    if let Some(witness) = &status.witness {
        lines.push(("witness", witness.display().to_string()));
    }
    for repair in &status.repairs {
        lines.push(("repaired", format!("{} ({})", repaired(repair), ago(repair.time))));
    }
    for found in &status.out_of_step {
        lines.push(("OUT OF STEP", found.clone()));
    }
    if !status.certified {
        lines.push(("certified", "NO: a fixed seed was used".into()));
    }
    let sentence = format!("{}: a model of mechanism {}", args.model.display(), status.mechanism);
    output.show(&status, &sentence, &lines)?;
    if !status.out_of_step.is_empty() {
        let model = quoted(&args.model);
        output.warn(&format!(
            "this directory is not as it was left; next: efface settle {model}, which repairs what can be repaired"
        ));
        return Ok(Answer::Negative);
    }
    if status.outcome == Outcome::RetrainRequired {
        output.say(&over_budget(&args.model));
        return Ok(Answer::Negative);
    }
    Ok(Answer::Done)
}

/// What the latest release still knows, if anything.
fn behind(n_removed: usize) -> Option<String> {
    (n_removed > 0).then(|| format!("which still knows {} that left", rows(n_removed)))
}

/// How long ago a time in seconds since 1970 was, for people.
fn ago(time: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(time, |now| now.as_secs());
    let seconds = now.saturating_sub(time);
    let (n, unit) = match seconds {
        0..120 => (seconds, "seconds"),
        120..7200 => (seconds / 60, "minutes"),
        7200..172_800 => (seconds / 3600, "hours"),
        _ => (seconds / 86_400, "days"),
    };
    format!("{n} {unit} ago")
}
