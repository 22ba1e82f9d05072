//! More rows than memory: a Parquet file of a million rows, trained under a limit on memory and without one, then
//! removals that are durable one by one, and settling. Each step runs in a process of its own, whose peak of memory is
//! its own too.

pub(crate) mod parquet;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use clap::{Args, Subcommand};
use efface_core::noise::NoiseSource;
use efface_data::{Columns, RowId};
use efface_engine::{ModelDirectory, OpenOptions, Selection, TrainRequest};
use efface_reproduce::measure::{median, peak_memory, try_timed};

use crate::ledger::{spread, train_request};

#[derive(Args)]
pub(crate) struct ScaleArgs {
    /// Rows.
    #[arg(long, default_value_t = 1_000_000)]
    rows: usize,
    /// Features.
    #[arg(long, default_value_t = 256)]
    dim: usize,
    /// Bytes of rows that may be in memory.
    #[arg(long, default_value_t = 512_000_000)]
    memory: u64,
    /// Where the rows and the models are made: about three times the rows' size. Removed at the end.
    #[arg(long, default_value = "efface-bench-scale")]
    folder: PathBuf,
    /// Keep the features in one list column instead of a column each.
    #[arg(long)]
    list: bool,
}

#[derive(Subcommand)]
pub(crate) enum Step {
    /// Trains on the rows of the folder.
    Train {
        /// The folder.
        folder: PathBuf,
        /// Name of the model.
        name: String,
        /// Bytes of rows that may be in memory.
        memory: u64,
    },
    /// Removes rows of a model one by one, settles.
    Remove {
        /// The model.
        model: PathBuf,
        /// Bytes of rows that may be in memory.
        memory: u64,
    },
    /// Opens a model again and again.
    Open {
        /// The model.
        model: PathBuf,
    },
}

const ROWS_FILE: &str = "rows.parquet";
const REMOVALS: usize = 1000;
const SUBJECTS: usize = 200;

pub(crate) fn run(args: &ScaleArgs) -> anyhow::Result<()> {
    let ScaleArgs { rows, dim, memory, folder, list } = args;
    ensure!(!folder.exists(), "{} exists already", folder.display());
    std::fs::create_dir_all(folder)?;
    let done = steps(*rows, *dim, *memory, folder, *list);
    std::fs::remove_dir_all(folder)?;
    done
}

fn steps(rows: usize, dim: usize, memory: u64, folder: &Path, list: bool) -> anyhow::Result<()> {
    let ((), seconds) = try_timed(|| parquet::write(&folder.join(ROWS_FILE), rows, dim, list))?;
    let form = if list { "one list column" } else { "a column per feature" };
    println!("{rows} × {dim} in single precision, Parquet with {form}, written in {seconds:.1} s");
    let path = |name: &str| folder.join(name).display().to_string();
    println!("under a limit of {} MB for rows", memory / 1_000_000);
    step(&["train", &folder.display().to_string(), "limited", &memory.to_string()])?;
    println!("all rows in memory");
    step(&["train", &folder.display().to_string(), "unlimited", &u64::MAX.to_string()])?;
    println!("the limited model");
    step(&["remove", &path("limited"), &memory.to_string()])?;
    step(&["open", &path("limited")])?;

    let wide = folder.join("wide");
    std::fs::create_dir_all(&wide)?;
    parquet::write(&wide.join(ROWS_FILE), 12_000, 784, false)?;
    println!("12,000 × 784");
    step(&["train", &wide.display().to_string(), "model", &u64::MAX.to_string()])?;
    step(&["open", &wide.join("model").display().to_string()])
}

/// Runs one step in a process of its own.
fn step(arguments: &[&str]) -> anyhow::Result<()> {
    let status = Command::new(std::env::current_exe()?).arg("scale-step").args(arguments).status()?;
    ensure!(status.success(), "a step failed");
    Ok(())
}

pub(crate) fn run_step(step: &Step) -> anyhow::Result<()> {
    match step {
        Step::Train { folder, name, memory } => train(folder, name, *memory),
        Step::Remove { model, memory } => remove(model, *memory),
        Step::Open { model } => open(model),
    }?;
    let peak = peak_memory().context("this system does not report peak memory")?;
    println!("    peak of memory {} MB", peak / 1_000_000);
    Ok(())
}

fn train(folder: &Path, name: &str, memory: u64) -> anyhow::Result<()> {
    let columns = Columns {
        label: Some("y".into()),
        id: Some("id".into()),
        subject: Some("subject".into()),
        ..Columns::default()
    };
    let request = train_request(&folder.join(ROWS_FILE), columns, None, folder.join(name))?;
    let request = TrainRequest { memory_bytes: Some(memory), ..request };
    let report = ModelDirectory::train(request, &mut NoiseSource::from_system()?, &mut |_| {})?;
    println!(
        "  read in {:.2} s, trained in {:.2} s ({} passes, gradient ≤ {:.1e}), {:.2} s in all",
        report.read_seconds, report.train_seconds, report.iterations, report.gradient_residual, report.seconds
    );
    Ok(())
}

fn remove(model: &Path, memory: u64) -> anyhow::Result<()> {
    let options = OpenOptions { memory_bytes: Some(memory), ..OpenOptions::default() };
    let (mut model, seconds) = try_timed(|| ModelDirectory::open_with(model, &options))?;
    println!("  opened in {:.1} ms", 1e3 * seconds);
    let n_rows = model.n_rows();
    let ids = (0..REMOVALS).map(|i| RowId::Integer(parquet::row_id(i * (n_rows / REMOVALS))));
    remove_each(&mut model, "removal by id, durable", ids.map(|id| Selection::Ids(vec![id])))?;
    let subjects = (0..SUBJECTS).map(|i| RowId::parse(&parquet::subject(1 + i * (n_rows / SUBJECTS))));
    remove_each(&mut model, "removal by subject, durable", subjects.map(|id| Selection::Subjects(vec![id])))?;
    let (settled, seconds) = try_timed(|| model.settle(None))?;
    // Settling to any gradient at all is one measuring pass.
    let mut passes = Vec::new();
    for _ in 0..5 {
        passes.push(try_timed(|| model.settle(Some(f64::MAX)))?.1);
    }
    let pass = median(passes);
    println!(
        "  settled after them in {seconds:.2} s ({} passes, gradient ≤ {:.1e}): the time of {:.1} passes of {pass:.2} s",
        settled.passes,
        settled.gradient_residual,
        seconds / pass
    );
    model.close()?;
    Ok(())
}

/// Removes one selection after the other, and prints what that took, and what of it was not the step.
fn remove_each(
    model: &mut ModelDirectory,
    what: &str,
    selections: impl Iterator<Item = Selection>,
) -> anyhow::Result<()> {
    let (mut times, mut beyond) = (Vec::new(), Vec::new());
    for selection in selections {
        let report = model.remove(&selection, None)?;
        times.push(report.seconds);
        beyond.push(report.seconds - report.step_seconds);
    }
    let n = times.len();
    let beyond = 1e3 * median(beyond);
    println!("  {what}: median {}; beyond the step {beyond:.3} ms; {n} of them", spread(times).trim_start());
    Ok(())
}

fn open(model: &Path) -> anyhow::Result<()> {
    let mut times = Vec::new();
    for _ in 0..7 {
        times.push(1e3 * try_timed(|| ModelDirectory::open(model))?.1);
    }
    println!("  opened in {:.1} ms (median of 7)", median(times));
    Ok(())
}
