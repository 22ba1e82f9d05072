//! `efface reproduce`: runs experiments, keeps their numbers, and makes one report of all numbers kept. What is measured
//! and what is shown comes from `efface-reproduce`; here it is drawn.

mod figures;
mod folder;
mod html;
mod markdown;
mod runs;
mod shown;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use efface_reproduce::{Experiment, Progress, Setting, Stage};
use serde::Serialize;

use self::folder::Folder;
use self::runs::{Found, NotRun, Runs};
use self::shown::Shown;
use crate::args::ReproduceArgs;
use crate::output::{Answer, Output, duration, in_one_line};
use crate::progress::Stages;

/// What was done, for machines.
#[derive(Serialize)]
struct ReproduceAnswer<'a> {
    #[serde(flatten)]
    runs: &'a Runs,
    /// Experiments that the report shows.
    shown: Vec<&'static str>,
    report: String,
    markdown: String,
    /// Names of the pictures, each an SVG and a PNG.
    figures: Vec<String>,
    quick: bool,
    seed: u64,
    seconds: f64,
}

pub(crate) fn run(args: &ReproduceArgs, output: &Output) -> anyhow::Result<Answer> {
    let start = Instant::now();
    let chosen = args.chosen();
    let data = match &args.data {
        Some(data) => data.clone(),
        None if chosen.is_empty() => args.out.clone(),
        None => anyhow::bail!("where the data is was not said: give --data DIR, or set EFFACE_DATA"),
    };
    anyhow::ensure!(chosen.is_empty() || data.is_dir(), "--data: {} is not a directory", data.display());
    // Opened first: a place that cannot be written to is told before the work, not after it.
    let folder = Folder::open(&args.out, args.markdown.as_deref())?;
    let setting = Setting { data, quick: args.quick, seed: args.seed };

    let mut stages = Stages::new(output.is_text());
    let mut run_one = |experiment: Experiment| {
        let mut tell = |stage: &Stage| stages.now(experiment.tag(), &stage.what, stage.done, stage.of);
        let record = experiment.run(&setting, &mut Progress::new(&mut tell));
        stages.clear();
        record.map(|record| Found {
            seconds: record.seconds,
            missing: record.results.missing().to_vec(),
            shortfalls: if record.quick { Vec::new() } else { record.results.shortfalls() },
            record,
        })
    };
    let runs = runs::run_all(&chosen, &mut run_one, &folder, output)?;
    let records = folder.records(output);
    anyhow::ensure!(
        !records.is_empty() || !runs.is_whole(),
        "{}: no experiment has left its numbers here",
        args.out.display(),
    );
    let shown: Vec<Shown> = records.iter().map(Shown::new).collect();
    let figures = if shown.is_empty() { Vec::new() } else { report(&folder, &shown)? };
    let answer = ReproduceAnswer {
        runs: &runs,
        shown: records.iter().map(|record| record.results.experiment().tag()).collect(),
        report: folder.report.display().to_string(),
        markdown: folder.markdown.display().to_string(),
        figures,
        quick: args.quick,
        seed: args.seed,
        seconds: start.elapsed().as_secs_f64(),
    };
    output.show(&answer, &sentence(&answer), &lines(&answer))?;
    runs.verdict()
}

/// Draws and writes the report; returns the names of the pictures.
fn report(folder: &Folder, experiments: &[Shown]) -> anyhow::Result<Vec<String>> {
    let figures = figures::draw(experiments.iter().map(|shown| &shown.section))?;
    for figure in &figures {
        folder::write(&folder.figure(&figure.name, "svg"), figure.svg.as_bytes())?;
        folder::write(&folder.figure(&figure.name, "png"), &figure.png)?;
    }
    folder::write(&folder.report, html::page(experiments).as_bytes())?;
    folder::write(&folder.markdown, markdown::page(experiments, &folder.link_to_figures()).as_bytes())?;
    Ok(figures.into_iter().map(|figure| figure.name).collect())
}

fn sentence(answer: &ReproduceAnswer) -> String {
    let Runs { experiments, missing, failed, .. } = answer.runs;
    let undone = missing.iter().filter(|run| experiments.iter().all(|done| done.experiment != run.experiment)).count();
    let n = experiments.len() + undone + failed.len();
    if n == 0 {
        return format!("the report was written again ({})", duration(answer.seconds));
    }
    let noun = if n == 1 { "experiment" } else { "experiments" };
    format!("{} of {n} {noun} done ({})", experiments.len(), duration(answer.seconds))
}

fn lines(answer: &ReproduceAnswer) -> Vec<(&'static str, String)> {
    let names = |runs: &[NotRun]| runs.iter().map(|run| run.experiment).collect::<Vec<_>>().join(", ");
    let mut lines = Vec::new();
    if !answer.runs.missing.is_empty() {
        lines.push(("data missing for", names(&answer.runs.missing)));
    }
    if !answer.runs.shortfalls.is_empty() {
        lines.push(("fell short", names(&answer.runs.shortfalls)));
    }
    if !answer.runs.failed.is_empty() {
        lines.push(("failed", names(&answer.runs.failed)));
    }
    if !answer.shown.is_empty() {
        lines.push(("shown", answer.shown.join(", ")));
        lines.push(("report", answer.report.clone()));
        lines.push(("the same in Markdown", answer.markdown.clone()));
    }
    lines
}

/// A path in an error.
fn at(path: &Path) -> String {
    in_one_line(&path.display().to_string())
}

/// Context of a file that could not be read or written.
fn with_path<T>(result: std::io::Result<T>, path: &Path) -> anyhow::Result<T> {
    result.with_context(|| at(path))
}
