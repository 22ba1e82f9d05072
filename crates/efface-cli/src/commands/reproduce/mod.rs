//! `efface reproduce`: runs experiments, keeps their numbers, and makes one report of all numbers kept. What is measured
//! and what is shown comes from `efface-reproduce`.

mod folder;
mod runs;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use efface_report::Page;
use efface_reproduce::{Experiment, Record, Setting, Stage};
use serde::Serialize;
use serde_json::{Value, json};

use self::folder::Folder;
use self::runs::{Found, NotRun, Runs};
use crate::args::{DEFAULT_SEED, ReproduceArgs};
use crate::output::{Answer, Output, counted, duration, in_one_line};
use crate::progress;
use crate::whole_file::write_whole;

/// What was done, for machines.
#[derive(Serialize)]
struct ReproduceAnswer<'a> {
    #[serde(flatten)]
    runs: &'a Runs,
    /// Experiments that the report shows.
    shown: Vec<Value>,
    report: Option<String>,
    markdown: Option<String>,
    /// Names of the pictures, each an SVG.
    figures: Vec<String>,
    /// Files of numbers that cannot be read.
    n_left_aside: usize,
    seconds: f64,
}

pub(crate) fn run(args: &ReproduceArgs, output: &Output) -> anyhow::Result<Answer> {
    let start = Instant::now();
    let chosen = args.chosen();
    let data = match &args.data {
        Some(data) => data.clone(),
        None if chosen.is_empty() => args.out.clone(),
        None => anyhow::bail!("no data directory given: name it with --data DIR, or set EFFACE_DATA"),
    };
    anyhow::ensure!(chosen.is_empty() || data.is_dir(), "--data: {} is not a directory", data.display());
    // Opened first: a place that cannot be written to is told before the work, not after it.
    let folder = Folder::open(&args.out, args.markdown.as_deref())?;
    if let Some(full) = chosen.iter().find(|experiment| args.quick && folder.has_full_record(**experiment)) {
        let (out, tag) = (at(&args.out), full.tag());
        anyhow::bail!(
            "{out} has the numbers of a full run of `{tag}`, and a quick one would replace them: give another --out"
        );
    }

    let mut stages = progress::Progress::new(output.is_text());
    let mut run_one = |experiment: Experiment| {
        let mut tell = |stage: &Stage| stages.steps(experiment.tag(), &stage.what, stage.done, stage.of);
        let setting = Setting::new(data.clone(), args.quick, args.seed, &mut tell);
        let record = experiment.run(&setting.with_checkpoints(folder.checkpoints()));
        stages.clear();
        record.map(|record| Found {
            seconds: record.seconds,
            missing: record.missing().to_vec(),
            shortfalls: if record.quick { Vec::new() } else { record.shortfalls() },
            record,
        })
    };
    let runs = runs::run_all(&chosen, &mut run_one, &folder, output)?;
    let (records, n_left_aside) = folder.records(output);
    anyhow::ensure!(
        !records.is_empty() || !runs.is_whole(),
        "{}: no experiment has left its numbers here; run one, or give the --out of a run",
        args.out.display(),
    );
    let figures = if records.is_empty() {
        Vec::new()
    } else {
        let again = || format!("the numbers are kept in {}: fix this, then `efface reproduce report`", at(&args.out));
        report(&folder, &efface_reproduce::page(&records, command)).with_context(again)?
    };
    let answer = ReproduceAnswer {
        runs: &runs,
        shown: records.iter().map(shown).collect(),
        report: (!records.is_empty()).then(|| folder.report.display().to_string()),
        markdown: (!records.is_empty()).then(|| folder.markdown.display().to_string()),
        figures,
        n_left_aside,
        seconds: start.elapsed().as_secs_f64(),
    };
    output.show(&answer, &sentence(&answer), &lines(&answer))?;
    let verdict = runs.verdict()?;
    Ok(if n_left_aside == 0 { verdict } else { Answer::Negative })
}

/// The command that makes the numbers of a record again.
fn command(record: &Record) -> String {
    let quick = if record.quick { " --quick" } else { "" };
    let seed = if record.seed == DEFAULT_SEED { String::new() } else { format!(" --seed {}", record.seed) };
    format!("efface reproduce {} --data DIR{quick}{seed}", record.experiment().tag())
}

/// An experiment on the report.
fn shown(record: &Record) -> Value {
    json!({"experiment": record.experiment().tag(), "quick": record.quick, "seed": record.seed})
}

/// Draws and writes the report; returns the names of the pictures.
fn report(folder: &Folder, page: &Page) -> anyhow::Result<Vec<String>> {
    let figures = page.figures().map_err(|name| anyhow::anyhow!("two pictures have the name `{name}`"))?;
    for figure in &figures {
        write_whole(&folder.figure(&figure.name), figure.svg.as_bytes())?;
    }
    write_whole(&folder.report, page.html().as_bytes())?;
    write_whole(&folder.markdown, page.markdown(&folder.link_to_figures()).as_bytes())?;
    Ok(figures.into_iter().map(|figure| figure.name).collect())
}

fn sentence(answer: &ReproduceAnswer) -> String {
    let Runs { experiments, missing, failed, .. } = answer.runs;
    let undone = missing.iter().filter(|run| experiments.iter().all(|done| done.experiment != run.experiment)).count();
    let n = experiments.len() + undone + failed.len();
    if n == 0 {
        return format!("the report was written again ({})", duration(answer.seconds));
    }
    format!("{} of {} done ({})", experiments.len(), counted(n, "experiment"), duration(answer.seconds))
}

fn lines(answer: &ReproduceAnswer) -> Vec<(&'static str, String)> {
    let Runs { experiments, missing, failed, shortfalls } = answer.runs;
    let names = |runs: &mut dyn Iterator<Item = &NotRun>| {
        let mut names: Vec<&str> = runs.map(|run| run.experiment).collect();
        names.dedup();
        names.join(", ")
    };
    let was_done = |run: &&NotRun| experiments.iter().any(|done| done.experiment == run.experiment);
    let mut lines = vec![
        ("left out, data missing", names(&mut missing.iter().filter(|run| !was_done(run)))),
        ("done in part, data missing", names(&mut missing.iter().filter(was_done))),
        ("fell short", names(&mut shortfalls.iter())),
        ("failed", names(&mut failed.iter())),
        ("shown", answer.shown.iter().filter_map(|shown| shown["experiment"].as_str()).collect::<Vec<_>>().join(", ")),
        ("report", answer.report.clone().unwrap_or_default()),
        ("the same in Markdown", answer.markdown.clone().unwrap_or_default()),
    ];
    lines.retain(|(_, text)| !text.is_empty());
    lines
}

/// A path in an error.
fn at(path: &Path) -> String {
    in_one_line(&path.display().to_string())
}
