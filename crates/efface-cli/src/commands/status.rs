//! `efface status`

use std::time::{SystemTime, UNIX_EPOCH};

use efface_core::model::{MechanismKind, Outcome};
use efface_engine::{FittedBeside, Status};

use super::certificate::feature_map;
use super::ledger::{few_left, in_words};
use super::{repaired, retraining_required};
use crate::args::StatusArgs;
use crate::output::{
    Answer, Output, bound, counted, features, first_of, number, parameter, promise, quoted, ridge, rung, shortened,
};

pub(crate) fn run(args: &StatusArgs, output: &Output) -> anyhow::Result<Answer> {
    let status = Status::read(&args.model)?;
    let mut lines = vec![
        ("loss", status.loss.clone()),
        ("ridge", ridge(status.ridge)),
        ("rows", format!("{} ({} removed so far)", status.n_rows, status.n_removed)),
        ("features", features(status.dim, status.intercept)),
        ("classes", if status.classes == 0 { "none (regression)".into() } else { status.class_names.join(", ") }),
        ("scale", status.scale.to_string()),
        ("promise (ε, δ) for all releases", promise(status.epsilon, status.delta, status.noise_std)),
        ("noise", parameter(status.noise_std)),
        ("gradient left, at most", bound(status.gradient_residual.get())),
        ("distance to the retrained weights, at most", bound(status.distance_bound.get())),
        ("how that is known", rung(status.rung).into()),
    ];
    lines.extend(status.feature_maps.iter().map(|map| ("features come from a map", feature_map(map))));
    let extractor = status.extractor.as_ref().map(|extractor| super::extractor_in_words(extractor, status.n_left));
    lines.extend(extractor.map(|words| ("private feature extractor", words)));
    if let (Some(budget), Some(spent)) = (status.budget, status.spent) {
        lines.push(("budget", format!("{} of {} spent", bound(spent.get()), number(budget))));
    }
    let mut line = |is_shown: bool, name: &'static str, value: String| lines.extend(is_shown.then_some((name, value)));
    let latest =
        [status.released.map(|time| format!("the latest {}", ago(time))), behind(status.n_removed_since_release)];
    let latest: Vec<String> = latest.into_iter().flatten().collect();
    let latest = if latest.is_empty() { String::new() } else { format!(" ({})", latest.join(", ")) };
    line(true, "releases", format!("{}{latest}", status.n_releases));
    let left = status.releases_left.map_or_else(String::new, |left| format!("{left} of {}", status.max_releases));
    line(status.releases_left.is_some(), "releases left", left);
    let revoked = first_of(status.revoked.iter().map(ToString::to_string), usize::MAX);
    line(!status.revoked.is_empty(), "revoked releases", revoked);
    line(true, "releases are made", in_words(status.policy));
    line(true, "entries of the log", status.log_size.to_string());
    let is_noisy = status.mechanism == MechanismKind::Release && status.noise_std > 0.0;
    let spent = format!("{} of {}", bound(status.mu_total.get()), number(status.mu_limit));
    line(is_noisy, "spent by releases (μ)", spent);
    let not_public = format!("schema entries not marked public: {}", shortened(&status.not_public));
    line(!status.not_public.is_empty(), "outside the guarantee", not_public);
    let beside = status.outside_scope.iter().map(FittedBeside::in_words).collect::<Vec<_>>().join("; ");
    line(!beside.is_empty(), "outside the guarantee", beside);
    line(status.n_suppressed > 0, "left out when offered again", counted(status.n_suppressed, "row"));
    line(status.n_unpurged > 0, "still to be overwritten on disk", counted(status.n_unpurged, "row"));
    lines.extend(status.witness.as_ref().map(|witness| ("witness", witness.display().to_string())));
    let repairs = status.repairs.iter().map(|repair| format!("{} ({})", repaired(repair), ago(repair.time)));
    lines.extend(repairs.map(|repair| ("repaired", repair)));
    lines.extend(status.out_of_step.iter().map(|found| ("OUT OF STEP", found.clone())));
    let damaged = first_of(status.damaged.iter().map(ToString::to_string), 5);
    lines.extend((!status.damaged.is_empty()).then(|| ("DAMAGED ROWS", format!("at position {damaged}"))));
    lines.extend(status.left_behind.iter().map(|left| ("LEFT BEHIND", left.display().to_string())));
    lines.extend((!status.certified).then(|| ("certified", "NO: a fixed seed was used".into())));
    let sentence = format!("{}: a model of mechanism {}", args.model.display(), status.mechanism);
    output.show(&status, &sentence, &lines)?;
    if !status.out_of_step.is_empty() {
        let model = quoted(&args.model);
        output.warn(&format!(
            "this directory is not as it was left; next: efface settle {model}, which repairs what can be repaired"
        ));
        return Ok(Answer::Negative);
    }
    if !status.damaged.is_empty() {
        let model = quoted(&args.model);
        output.warn(&format!("rows are damaged; next: efface verify {model}, which looks at all of them"));
        return Ok(Answer::Negative);
    }
    if let Some(first) = status.loose.first() {
        let more = match status.loose.len() - 1 {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        output.warn(&format!(
            "others than its owner may use {}{more}: secrets may have been read; the next change makes all of it private again",
            quoted(first)
        ));
    }
    if let Some(left) = status.left_behind.first() {
        output.warn(&format!("{} holds rows of a training that was killed; delete it", quoted(left)));
        return Ok(Answer::Negative);
    }
    if let Some(warning) = few_left(status.releases_left, status.max_releases, &args.model) {
        output.warn(&warning);
    }
    if status.outcome == Outcome::RetrainRequired {
        output.say(&retraining_required(&args.model, status.budget, status.spent));
        return Ok(Answer::Negative);
    }
    Ok(Answer::Done)
}

/// What the latest release still knows, if anything.
fn behind(n_removed: usize) -> Option<String> {
    (n_removed > 0).then(|| format!("which still knows {} that left", counted(n_removed, "row")))
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
