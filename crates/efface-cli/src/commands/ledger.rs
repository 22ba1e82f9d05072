//! `efface ledger`, `efface policy`, `efface renew`, `efface revoke`

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use efface_engine::{ModelDirectory, ReleasePolicy, Status, near_the_end};
use efface_ledger::envelope::Envelope;
use serde_json::json;

use super::{open, open_to_sign};
use crate::args::{LedgerArgs, LedgerCommand, ModelArgs, PolicyCommandArgs, RenewArgs, RevokeArgs};
use crate::output::{Answer, Output, counted, promise, quoted, write_new};

pub(crate) fn run(args: &LedgerArgs, output: &Output) -> anyhow::Result<Answer> {
    let (model, text, out, what) = match &args.command {
        LedgerCommand::Checkpoint(args) => {
            let model = open_to_sign(&args.model, output)?;
            let text = model.ledger_checkpoint()?;
            (model, text, args.out.as_deref(), "checkpoint")
        }
        LedgerCommand::Consistency(args) => {
            let earlier = checkpoint(&args.since)?;
            let later = args.until.as_deref().map(checkpoint).transpose()?;
            let model = open_to_sign(&args.model, output)?;
            let text = model.ledger_consistency(&earlier, later.as_deref())?;
            (model, text, args.out.as_deref(), "proof of consistency")
        }
        LedgerCommand::List(model) => return list(model, output),
    };
    finish(model, &text, out, what, output)?;
    Ok(Answer::Done)
}

/// The text of a checkpoint: of a file of its own, or of the one in a certificate.
fn checkpoint(path: &Path) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let embedded = Envelope::parse(text.as_bytes()).ok().and_then(|file| Some(file.log()?.checkpoint.clone()));
    Ok(embedded.unwrap_or(text))
}

/// The entries go to stdout: one line of JSON each, or all in one object.
fn list(model: &ModelArgs, output: &Output) -> anyhow::Result<Answer> {
    let model = open(model, output)?;
    let mut lines = Vec::new();
    model.visit_log(|position, leaf| lines.push(format!("{{\"position\":{position},\"leaf\":{leaf}}}")))?;
    model.close()?;
    let mut stdout = std::io::stdout().lock();
    if output.is_text() {
        lines.iter().try_for_each(|line| writeln!(stdout, "{line}"))?;
    } else {
        writeln!(stdout, "{{\"entries\":[{}]}}", lines.join(","))?;
    }
    Ok(Answer::Done)
}

/// Writes a text to a file, or to stdout.
fn finish(model: ModelDirectory, text: &str, out: Option<&Path>, what: &str, output: &Output) -> anyhow::Result<()> {
    model.close()?;
    let Some(path) = out else {
        if output.is_text() {
            write!(std::io::stdout().lock(), "{text}")?;
            return Ok(());
        }
        return output.show(&json!({"text": text}), "", &[]);
    };
    write_new(path, text, "--out")?;
    output.show(&json!({"out": path.display().to_string()}), &format!("wrote the {what} to {}", path.display()), &[])
}

pub(crate) fn policy(args: &PolicyCommandArgs, output: &Output) -> anyhow::Result<Answer> {
    let path = &args.model.path;
    let mut policy = args.policy.policy();
    if !args.none && policy == ReleasePolicy::default() {
        policy = Status::read(path)?.policy;
    } else {
        let mut model = open(&args.model, output)?;
        model.set_policy(policy)?;
        model.close()?;
        output.in_force();
    }
    output.show(&policy, &format!("releases of {} are made {}", path.display(), in_words(policy)), &[])?;
    Ok(Answer::Done)
}

pub(crate) fn renew(args: &RenewArgs, output: &Output) -> anyhow::Result<Answer> {
    let mut model = open(&args.model, output)?;
    let report = model.renew()?;
    model.close()?;
    output.in_force();
    output.show(
        &report,
        &format!("{} has a further promise", args.model.path.display()),
        &[
            ("promises so far", report.lives.to_string()),
            ("promised for all releases together (ε, δ)", promise(report.epsilon, report.delta, 1.0)),
            ("releases left", report.releases_left.to_string()),
        ],
    )?;
    output.say(&format!("next: efface release {}", quoted(&args.model.path)));
    Ok(Answer::Done)
}

/// A warning long before the last release.
pub(super) fn few_left(left: Option<u64>, max_releases: u64, model: &Path) -> Option<String> {
    let left = left.filter(|left| *left <= near_the_end(max_releases))?;
    Some(format!(
        "{left} of {max_releases} releases left; next: efface renew {}, which adds a promise, or train a new model",
        quoted(model)
    ))
}

/// When releases are made, for people.
pub(super) fn in_words(policy: ReleasePolicy) -> String {
    let people = policy.min_removals.map(|least| format!("after {}", counted(least, "removal")));
    let time = policy.every_seconds.map(|every| format!("{} after the one before", interval(every)));
    match (people, time) {
        (None, None) => "whenever one is asked for".into(),
        (Some(one), None) | (None, Some(one)) => one,
        (Some(people), Some(time)) => format!("{people} or {time}, whichever comes first"),
    }
}

/// A time for people: whole days or hours where it is that.
fn interval(seconds: u64) -> String {
    let (n, unit) = match seconds {
        n if n % 86_400 == 0 => (n / 86_400, "day"),
        n if n % 3_600 == 0 => (n / 3_600, "hour"),
        n => (n, "second"),
    };
    counted(n as usize, unit)
}

pub(crate) fn revoke(args: &RevokeArgs, output: &Output) -> anyhow::Result<Answer> {
    let mut model = open_to_sign(&args.model, output)?;
    let report = model.revoke(args.release, args.reason.clone())?;
    model.close()?;
    output.in_force();
    let lines = [("signed withdrawal, for whoever uses the model", report.revocation.display().to_string())];
    output.show(&report, &format!("release {} is revoked", report.release), &lines)?;
    output.say(&format!("next: efface release {}, and hand the withdrawal out", quoted(&args.model.directory.path)));
    Ok(Answer::Done)
}
