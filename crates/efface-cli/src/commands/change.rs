//! `efface remove`, `efface add`, `efface correct`

use std::fs::{File, Metadata};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use anyhow::Context;
use efface_core::model::Outcome;
use efface_data::RowId;
use efface_engine::{ChangeError, ChangeReport, EngineError, Missing, OpenOptions, RowSource, Selection, SettleReport};
use serde::Serialize;

use super::settle::settle_lines;
use super::{open, open_with, retraining_required};
use crate::args::{AddArgs, RemoveArgs, WhichArgs};
use crate::output::{Answer, Output, bound, counted, duration, number, quoted, rung};

pub(crate) fn remove(args: &RemoveArgs, output: &Output) -> anyhow::Result<Answer> {
    let selection = selection(&args.which)?;
    let options = OpenOptions { salvage: args.which.damaged, ..args.model.store.options() };
    let mut model = open_with(&args.model.path, &options, output)?;
    let request_id = args.request_id.as_deref();
    let mut report = if args.skip_missing {
        model.live(|life| life.remove(&selection, request_id, Missing::Skip))?
    } else {
        model.remove(&selection, request_id)?
    };
    let mut settled = None;
    if args.settle {
        let not_settled = |error| EngineError::Change(ChangeError::NotSettled { source: Box::new(error) });
        settled = Some(output.working("settling", || model.settle(None)).map_err(not_settled)?);
        if !report.repeated {
            report = model.brought_up_to_date(&report);
        }
    }
    let published = model.n_releases() > 0;
    model.close()?;
    let change = Shown { model: &args.model.path, done: "removed", knows_old_rows: published };
    show(&change, &report, settled.as_ref(), output)
}

pub(crate) fn add(args: &AddArgs, output: &Output) -> anyhow::Result<Answer> {
    let source = source(args)?;
    let mut model = open(&args.model, output)?;
    let report = output.working("adding", || model.add(&source))?;
    model.close()?;
    show(&Shown { model: &args.model.path, done: "added", knows_old_rows: false }, &report, None, output)
}

pub(crate) fn correct(args: &AddArgs, output: &Output) -> anyhow::Result<Answer> {
    let source = source(args)?;
    let mut model = open(&args.model, output)?;
    let report = output.working("correcting", || model.correct(&source))?;
    let published = model.n_releases() > 0;
    model.close()?;
    show(&Shown { model: &args.model.path, done: "corrected", knows_old_rows: published }, &report, None, output)
}

fn source(args: &AddArgs) -> anyhow::Result<RowSource<'_>> {
    Ok(RowSource {
        data: args.data.source().map_err(EngineError::from)?,
        label: args.label.as_deref(),
        id: args.id.as_deref(),
        subject: args.subject.as_deref(),
        request_id: args.request_id.as_deref(),
        part_rows: None,
    })
}

fn selection(which: &WhichArgs) -> anyhow::Result<Selection> {
    let parse = |ids: &[String]| ids.iter().map(|id| RowId::parse(id)).collect();
    Ok(match (&which.ids, &which.subjects) {
        (Some(file), _) => Selection::Ids(listed_in(file, "row ids")?),
        (_, Some(file)) => Selection::Subjects(listed_in(file, "subjects")?),
        _ if which.damaged => Selection::Damaged,
        _ if which.subject.is_empty() => Selection::Ids(parse(&which.id)),
        _ => Selection::Subjects(parse(&which.subject)),
    })
}

/// The ids of a file or a pipe, one per line.
fn listed_in(file: &Path, what: &str) -> anyhow::Result<Vec<RowId>> {
    let name = file.display();
    let mut lines = BufReader::new(File::open(file).with_context(|| name.to_string())?);
    let kind = lines.get_ref().metadata().with_context(|| name.to_string())?;
    anyhow::ensure!(!is_device(&kind), "{name}: a device, not a file of {what}");
    let (mut ids, mut line) = (Vec::new(), Vec::new());
    for number in 1_u64.. {
        line.clear();
        let limited = lines.by_ref().take(MAX_LINE_BYTES + 1).read_until(b'\n', &mut line);
        if limited.with_context(|| name.to_string())? == 0 {
            break;
        }
        anyhow::ensure!(
            line.len() as u64 <= MAX_LINE_BYTES,
            "{name}, line {number}: longer than {MAX_LINE_BYTES} bytes; one of the {what} per line is expected"
        );
        let text = std::str::from_utf8(&line).with_context(|| format!("{name}, line {number}"))?;
        let text = if number == 1 { text.trim_start_matches('\u{feff}') } else { text };
        if !text.trim().is_empty() {
            ids.push(RowId::parse(text.trim()));
        }
    }
    anyhow::ensure!(!ids.is_empty(), "{name}: no {what}; one per line is expected");
    Ok(ids)
}

/// Whether something has no end, as devices have none.
fn is_device(file: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;

        file.file_type().is_char_device() || file.file_type().is_block_device()
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        false
    }
}

/// Ids are far shorter.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// A change and, where it was asked for, the settling after it. The claims are those after both.
#[derive(Serialize)]
struct ChangeAndSettle<'a> {
    #[serde(flatten)]
    change: &'a ChangeReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    settled: Option<&'a SettleReport>,
}

/// Which change is shown.
struct Shown<'a> {
    model: &'a Path,
    /// What was done to the rows, in one word.
    done: &'a str,
    /// Whether a model was published that knows the rows as they were.
    knows_old_rows: bool,
}

fn show(
    Shown { model, done, knows_old_rows }: &Shown<'_>,
    report: &ChangeReport,
    settled: Option<&SettleReport>,
    output: &Output,
) -> anyhow::Result<Answer> {
    output.in_force();
    let rows = counted(report.n_changed, "row");
    let sentence = if report.repeated {
        format!("{done} {rows} earlier, by the same request; nothing was done now")
    } else if report.n_changed == 0 && report.n_missing > 0 {
        "nothing was removed: none of them is in the model".into()
    } else {
        let (step, all) = (duration(report.step_seconds), duration(report.seconds));
        format!("{done} {rows} in {step} (durable after {all})")
    };
    let mut lines = vec![
        (if report.repeated { "rows then" } else { "rows now" }, report.n_rows.to_string()),
        ("gradient left, at most", bound(report.gradient_residual.get())),
        ("distance to the retrained weights, at most", bound(report.distance_bound.get())),
        ("how that is known", rung(report.rung).into()),
    ];
    if !report.classes_gone.is_empty() {
        lines.insert(1, ("classes that left with their last row", report.classes_gone.join(", ")));
    }
    if report.n_missing > 0 {
        lines.insert(1, ("not found", report.n_missing.to_string()));
    }
    if report.n_suppressed > 0 {
        lines.insert(1, ("rows left out, removed before", report.n_suppressed.to_string()));
    }
    if let (Some(budget), Some(spent)) = (report.budget, report.spent) {
        lines.push(("budget", format!("{} of {} spent", bound(spent.get()), number(budget))));
    }
    lines.extend(settled.into_iter().flat_map(settle_lines));
    output.show(&ChangeAndSettle { change: report, settled }, &sentence, &lines)?;
    output.remark(&report.remarks);
    if report.outcome == Outcome::RetrainRequired {
        output.say(&retraining_required(model, report.budget, report.spent));
        return Ok(Answer::Negative);
    }
    if report.n_changed == 0 {
        return Ok(Answer::Done);
    }
    let old = if *knows_old_rows { "models published before still know the old rows. " } else { "" };
    output.say(&format!("{old}next: efface release {}", quoted(model)));
    Ok(Answer::Done)
}
