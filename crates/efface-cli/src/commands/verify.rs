//! `efface verify`

use std::path::Path;

use anyhow::Context;
use efface_engine::{ModelDirectory, Status, public_key_of};
use efface_ledger::verify::{Check, CheckName, CheckOutcome, Evidence, Verdict, Verification, verify};

use crate::args::VerifyArgs;
use crate::hints;
use crate::output::{Answer, Output, duration};

pub(crate) fn run(args: &VerifyArgs, output: &Output) -> anyhow::Result<Answer> {
    if args.subject.is_dir() { directory(args, output) } else { certificate(args, output) }
}

fn certificate(args: &VerifyArgs, output: &Output) -> anyhow::Result<Answer> {
    if args.replay {
        anyhow::bail!("--replay measures a model directory, and {} is a file", args.subject.display());
    }
    let text = read(&args.subject)?;
    if serde_json::from_slice::<PublishedFormat>(&text).is_ok_and(|file| file.format.starts_with("efface-model")) {
        let path = args.subject.display();
        anyhow::bail!("{path} is a published model, not a certificate: that is {path}.certificate.json, or beside it");
    }
    let key = args.key.as_deref().map(public_key_of).transpose()?;
    let model = args.model.as_deref().map(read).transpose()?;
    let checkpoint = args.checkpoint.as_deref().map(read).transpose()?;
    let consistency = args.consistency.as_deref().map(read).transpose()?;
    let revocation = args.revocation.as_deref().map(read).transpose()?;
    let previous = args.previous.iter().map(|path| read(path)).collect::<anyhow::Result<Vec<_>>>()?;
    let previous: Vec<&[u8]> = previous.iter().map(Vec::as_slice).collect();
    // What is not text is not a checkpoint: as such it is refused.
    let checkpoint = checkpoint.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let evidence = Evidence {
        key: key.as_ref(),
        model: model.as_deref(),
        checkpoint: checkpoint.as_deref(),
        consistency: consistency.as_deref(),
        revocation: revocation.as_deref(),
        previous: &previous,
    };
    show(args, &verify(&text, &evidence), output)
}

fn show(args: &VerifyArgs, found: &Verification, output: &Output) -> anyhow::Result<Answer> {
    let sentence = format!("{}: {}", args.subject.display(), in_words(found.verdict, &found.checks));
    output.show(found, &sentence, &lines(&found.checks))?;
    Ok(answer(found.verdict))
}

/// What a published model says it is.
#[derive(serde::Deserialize)]
struct PublishedFormat {
    format: String,
}

fn directory(args: &VerifyArgs, output: &Output) -> anyhow::Result<Answer> {
    let for_files = [
        ("--key", args.key.is_some()),
        ("--model", args.model.is_some()),
        ("--checkpoint", args.checkpoint.is_some()),
        ("--revocation", args.revocation.is_some()),
        ("--previous", !args.previous.is_empty()),
    ];
    if let Some((flag, _)) = for_files.into_iter().find(|(_, given)| *given) {
        anyhow::bail!("{flag} belongs to a certificate, and {} is a model directory", args.subject.display());
    }
    // A check says what there is, and repairs nothing.
    let out_of_step = Status::read(&args.subject)?.out_of_step;
    if !out_of_step.is_empty() {
        let found = out_of_step.iter().map(|found| Check::failed(CheckName::Directory, found.clone()));
        return show(args, &Verification::of(found.collect()), output);
    }
    let model = ModelDirectory::open_to_read(&args.subject, &args.store.options())?;
    let report = output.working("verifying", || model.verify(args.replay))?;
    let words = in_words(report.verdict, &report.checks);
    let sentence = format!("{}: {words} ({})", args.subject.display(), duration(report.seconds));
    output.show(&report, &sentence, &lines(&report.checks))?;
    Ok(answer(report.verdict))
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    // Not from a device that never ends.
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        anyhow::bail!("{} is not a file", path.display());
    }
    std::fs::read(path).with_context(|| path.display().to_string())
}

/// Where no check failed and only a file was missing, the answer is not a negative one: `--model` and `--previous` may be
/// left out, and the words say what that leaves open. A withdrawal is one: the release must not be used.
fn answer(verdict: Verdict) -> Answer {
    match verdict {
        Verdict::Valid | Verdict::PartlyVerified => Answer::Done,
        Verdict::Withdrawn | Verdict::Invalid | Verdict::Unsupported | Verdict::NotVerified => Answer::Negative,
    }
}

fn in_words(verdict: Verdict, checks: &[Check]) -> String {
    let messages = |which: &dyn Fn(&&Check) -> bool| {
        let chosen: Vec<String> = checks.iter().filter(which).map(with_hint).collect();
        chosen.join("; ")
    };
    match verdict {
        Verdict::Valid => "valid".into(),
        Verdict::PartlyVerified => {
            format!("partly verified: signature and numbers hold, but {}", messages(&|check| check.leaves_a_part()))
        }
        Verdict::Withdrawn => "WITHDRAWN: a genuine revocation; the release must not be used".into(),
        Verdict::Invalid => "NOT VALID".into(),
        Verdict::Unsupported => "unsupported: this version cannot judge it, and does not call it valid".into(),
        Verdict::NotVerified => {
            let is_needed = |check: &&Check| matches!(check.check, CheckName::Signature | CheckName::Checkpoint);
            let missing = |check: &&Check| check.outcome == CheckOutcome::NotChecked && is_needed(check);
            format!("not verified: no check failed, but {}", messages(&missing))
        }
    }
}

fn with_hint(check: &Check) -> String {
    let message = &check.message;
    hints::for_check(check).map_or_else(|| message.clone(), |hint| format!("{message} ({hint})"))
}

fn lines(checks: &[Check]) -> Vec<(&str, String)> {
    let line = |check: &Check| {
        let outcome = match check.outcome {
            CheckOutcome::Passed => "ok",
            CheckOutcome::Failed => "FAILED",
            CheckOutcome::Unsupported => "unsupported",
            CheckOutcome::NotChecked => "not checked",
        };
        format!("{outcome}: {}", with_hint(check))
    };
    checks.iter().map(|check| (check.check.tag(), line(check))).collect()
}
