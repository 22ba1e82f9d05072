//! `efface audit`: opens what is attacked, calls the attacks, and shows what they found. Numbers, verdicts and the page come
//! from `efface-audit`.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use efface_audit::{Audit, AuditError, Settings, Verdict};
use efface_core::noise::NoiseSource;
use efface_engine::{AuditMaterial, ModelDirectory};
use serde::Serialize;

use super::{noise, open_with};
use crate::args::AuditArgs;
use crate::output::{Answer, Output, duration, number};
use crate::progress::Progress;

/// What was found, for machines.
#[derive(Serialize)]
struct AuditAnswer<'a> {
    #[serde(flatten)]
    audit: &'a Audit,
    report: String,
    seconds: f64,
}

pub(crate) fn run(args: &AuditArgs, output: &Output) -> anyhow::Result<Answer> {
    let start = Instant::now();
    let place = args.out.display().to_string();
    // Opened first: a place that cannot be written to is told before the work, not after it.
    let is_new = !args.out.exists();
    let is_page = args.out.extension().is_some_and(|extension| extension == "html" || extension == "htm");
    anyhow::ensure!(is_new || is_page, "{place} exists already, and is no page of HTML: it is not written over");
    let mut file = create(&args.out, args.built_in).with_context(|| place.clone())?;
    let audited = noise(&args.seed, output).and_then(|mut noise| attack(args, &mut noise, output));
    let audit = match audited {
        Ok(audit) => audit,
        Err(error) => {
            if is_new {
                // Best effort: there is nothing to report.
                let _ = std::fs::remove_file(&args.out);
            }
            return Err(error);
        }
    };
    let seconds = start.elapsed().as_secs_f64();
    let page = audit.page(seconds).html();
    file.set_len(0).and_then(|()| file.write_all(page.as_bytes())).with_context(|| place.clone())?;
    let answer = AuditAnswer { audit: &audit, report: place.clone(), seconds };
    let mut lines = lines(&audit);
    lines.push(("report", place));
    output.show(&answer, &sentence(&audit, seconds), &lines)?;
    for note in &audit.notes {
        output.say(&format!("note: {note}"));
    }
    Ok(if audit.verdict == Verdict::Stands { Answer::Done } else { Answer::Negative })
}

/// The report on a model is for its owner only.
fn create(path: &Path, is_public: bool) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, if is_public { 0o666 } else { 0o600 });
    options.open(path)
}

fn attack(args: &AuditArgs, noise: &mut NoiseSource, output: &Output) -> anyhow::Result<Audit> {
    let mut settings = if args.quick { Settings::quick() } else { Settings::default() };
    if let Some(draws) = args.draws {
        settings.distribution.draws = draws as usize;
    }
    let model = args.model.as_ref().map(|model| open_with(model, &args.store.options(), output)).transpose()?;
    let mut progress = Progress::new(output.is_text());
    let report = &mut |stage: &str| progress.working(stage);
    let audited = match model.as_ref().map(ModelDirectory::audit_material) {
        Some(AuditMaterial { model, rows }) => efface_audit::of_model(model, rows, &settings, noise, report),
        None => efface_audit::built_in(&settings, noise, report),
    };
    // Its own message says all that its sources say.
    audited.map_err(|error: AuditError| anyhow::anyhow!(error.to_string()))
}

fn sentence(audit: &Audit, seconds: f64) -> String {
    let verdict = match audit.verdict {
        Verdict::Stands => "the claim stands: no attack broke it",
        Verdict::Broken => "THE CLAIM IS BROKEN",
        Verdict::Blind => "no verdict: a broken engine went unseen, too; raise --draws",
    };
    format!("{verdict} ({})", duration(seconds))
}

/// The figures to remember.
fn lines(audit: &Audit) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if let Some(closest) = audit.distribution.closest() {
        let found = format!("at least {}, claimed {}", number(closest.epsilon_lower), number(closest.epsilon_claimed));
        lines.push(("ε between removal and retraining", found));
    }
    let held = if audit.distribution.direct_checks_hold { "as claimed" } else { "NOT as claimed" };
    lines.push(("distance, noise and numbers, seen from inside", held.into()));
    if let Some(self_test) = &audit.self_test {
        lines.push(("broken engines caught", format!("{} of {}", self_test.n_caught(), self_test.engines.len())));
    }
    if let Some(membership) = &audit.membership {
        let auc = |auc: f64| format!("{auc:.3}");
        lines.push(("membership attack (AUC) before removal", auc(membership.before_removal.auc.value)));
        lines.push(("the same after removal", auc(membership.after_removal.auc.value)));
        lines.push(("the same after retraining", auc(membership.after_retraining.auc.value)));
    }
    if let Some(reconstruction) = &audit.reconstruction {
        let batches = reconstruction.batches.iter();
        let cosines: Vec<String> = batches
            .map(|batch| format!("{}: {:.2} ({:.2})", batch.k, batch.removal.value, batch.chance.value))
            .collect();
        lines.push(("removed row met by reconstruction (removals: cosine, by chance)", cosines.join(", ")));
    }
    lines
}
