//! `efface verify`

use std::path::Path;

use anyhow::Context;
use efface_engine::public_key_of;
use efface_ledger::verify::{Check, CheckOutcome, Evidence, Verdict, verify};

use super::open;
use crate::args::VerifyArgs;
use crate::output::{Answer, Output, duration};
use crate::progress::Working;

pub(crate) fn run(args: &VerifyArgs, output: &Output) -> anyhow::Result<Answer> {
    if args.subject.is_dir() { directory(args, output) } else { certificate(args, output) }
}

fn certificate(args: &VerifyArgs, output: &Output) -> anyhow::Result<Answer> {
    if args.replay {
        anyhow::bail!("--replay measures a model directory, and {} is a file", args.subject.display());
    }
    let text = read(&args.subject)?;
    let key = args.key.as_deref().map(public_key_of).transpose()?;
    let model = args.model.as_deref().map(read).transpose()?;
    let checkpoint = args.checkpoint.as_deref().map(read).transpose()?;
    let consistency = args.consistency.as_deref().map(read).transpose()?;
    let revocation = args.revocation.as_deref().map(read).transpose()?;
    // What is not text is not a checkpoint: as such it is refused.
    let checkpoint = checkpoint.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let evidence = Evidence {
        key: key.as_ref(),
        model: model.as_deref(),
        checkpoint: checkpoint.as_deref(),
        consistency: consistency.as_deref(),
        revocation: revocation.as_deref(),
    };
    let verification = verify(&text, &evidence);
    let verdict = verification.verdict;
    let sentence = format!("{}: {}", args.subject.display(), in_words(verdict));
    output.show(&verification, &sentence, &lines(&verification.checks))?;
    Ok(answer(verdict))
}

fn directory(args: &VerifyArgs, output: &Output) -> anyhow::Result<Answer> {
    let for_files = [
        ("--key", &args.key),
        ("--model", &args.model),
        ("--checkpoint", &args.checkpoint),
        ("--revocation", &args.revocation),
    ];
    if let Some((flag, _)) = for_files.into_iter().find(|(_, given)| given.is_some()) {
        anyhow::bail!("{flag} belongs to a certificate, and {} is a model directory", args.subject.display());
    }
    let model = open(&args.subject, &args.store, output)?;
    let working = Working::new(output.is_text(), "verifying");
    let report = model.verify(args.replay)?;
    drop(working);
    model.close()?;
    let verdict = report.verdict;
    let sentence = format!("{}: {} ({})", args.subject.display(), in_words(verdict), duration(report.seconds));
    output.show(&report, &sentence, &lines(&report.checks))?;
    Ok(answer(verdict))
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(path).with_context(|| path.display().to_string())
}

fn answer(verdict: Verdict) -> Answer {
    if verdict == Verdict::Valid { Answer::Done } else { Answer::Negative }
}

fn in_words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Valid => "valid",
        Verdict::Invalid => "NOT VALID",
        Verdict::Unsupported => "unsupported: this version cannot judge it, and does not call it valid",
        Verdict::NotVerified => "NOT VERIFIED: whose it is was not checked (give the issuer's key with --key PUB)",
    }
}

fn lines(checks: &[Check]) -> Vec<(&str, String)> {
    let line = |check: &Check| {
        let outcome = match check.outcome {
            CheckOutcome::Passed => "ok",
            CheckOutcome::Failed => "FAILED",
            CheckOutcome::Unsupported => "unsupported",
            CheckOutcome::NotChecked => "not checked",
        };
        format!("{outcome}: {}", check.message)
    };
    checks.iter().map(|check| (check.check, line(check))).collect()
}
