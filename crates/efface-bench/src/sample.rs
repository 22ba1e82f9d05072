//! A fixed small set of operations, in memory and on the disk: what one build is compared with another by.

use std::path::{Path, PathBuf};

use clap::Args;
use efface_core::noise::NoiseSource;
use efface_data::RowId;
use efface_engine::{ModelDirectory, Selection};
use efface_reproduce::measure::{median, try_timed};
use serde::{Deserialize, Serialize};

use crate::ledger;
use crate::operations::Bench;
use crate::peers::Set;
use crate::subject::Subject;

#[derive(Args)]
pub(crate) struct SampleArgs {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Folder with the data sets: MNIST 3-vs-8 is measured, too.
    #[arg(long, value_name = "DIR", env = "EFFACE_DATA")]
    data: Option<PathBuf>,
}

/// The median of one operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Operation {
    /// What was done, with its size. A name never changes its meaning: two builds are compared by it.
    pub(crate) name: String,
    /// Median.
    pub(crate) seconds: f64,
}

/// Rows and features that operations are measured on.
const SIZE: (usize, usize) = (10_000, 128);

/// How often everything is measured a few times: on a busy machine one round is a matter of luck.
const ROUNDS: usize = 3;

/// The same for MNIST, where one takes some seconds.
const MNIST_ROUNDS: usize = 1;

/// Rows and features of the model that is certified; the rows hardly matter.
const CERTIFICATE_SIZE: (usize, usize) = (500, 64);
const CERTIFICATES: usize = 9;

/// Rows and features of the model directories that are made, and how often each step is measured.
const DURABLE_SIZE: (usize, usize) = (2_000, 128);
const TRAININGS: usize = 3;
const REMOVALS: usize = 15;

pub(crate) fn run(args: &SampleArgs) -> anyhow::Result<()> {
    let operations = measure(args.data.as_deref())?;
    if args.json {
        println!("{}", serde_json::to_string(&operations)?);
    } else {
        for Operation { name, seconds } in operations {
            println!("  {name:32} {:10.3} ms", 1e3 * seconds);
        }
    }
    Ok(())
}

fn measure(data: Option<&Path>) -> anyhow::Result<Vec<Operation>> {
    let (n_rows, dim) = SIZE;
    let mut operations = in_memory(&Subject::synthetic(format!("{n_rows} × {dim}"), n_rows, dim)?, ROUNDS)?;
    if let Some(data) = data {
        operations.extend(in_memory(&Set::Mnist.load(Some(data))?, MNIST_ROUNDS)?);
    }
    operations.push(operation("issue certificate", &format!("d = {}", CERTIFICATE_SIZE.1), certificate_seconds()?));
    operations.extend(durable()?);
    Ok(operations)
}

fn operation(what: &str, size: &str, seconds: f64) -> Operation {
    Operation { name: format!("{what}, {size}"), seconds }
}

/// The life of a model in memory.
fn in_memory(subject: &Subject, rounds: usize) -> anyhow::Result<Vec<Operation>> {
    let mut bench = Bench::new(subject, 1e-6 * subject.train.len() as f64)?;
    for _ in 0..rounds {
        bench.round()?;
    }
    let Some(figures) = bench.figures() else { anyhow::bail!("nothing was measured") };
    let operation = |what: &str, seconds| operation(what, &subject.name, seconds);
    Ok(vec![
        operation("train", figures.train.seconds),
        operation("instant removal", figures.remove_one.seconds),
        operation("settle", figures.settle.seconds),
        operation("settle and release", figures.release.seconds),
        operation("predict", figures.predict.seconds),
    ])
}

fn certificate_seconds() -> anyhow::Result<f64> {
    let folder = tempfile::tempdir()?;
    let mut noise = NoiseSource::from_system()?;
    let (mut model, _) = ledger::train(folder.path(), CERTIFICATE_SIZE, &mut noise)?;
    let seconds = (0..CERTIFICATES)
        .map(|request| Ok(ledger::remove_and_release(&mut model, request, &mut noise)?.certificate_seconds));
    Ok(median(seconds.collect::<anyhow::Result<_>>()?))
}

/// The steps of a model directory: trained from a file, changed by one row at a time, each on the disk when it ends, opened.
fn durable() -> anyhow::Result<Vec<Operation>> {
    let mut noise = NoiseSource::from_system()?;
    let (mut training, mut removing, mut opening) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TRAININGS {
        let folder = tempfile::tempdir()?;
        let (mut model, trained) = ledger::train(folder.path(), DURABLE_SIZE, &mut noise)?;
        training.push(trained.seconds);
        for id in 0..REMOVALS / TRAININGS {
            let id = Selection::Ids(vec![RowId::parse(&id.to_string())]);
            let ((), seconds) = try_timed(|| model.remove(&id, None).and_then(|_| model.checkpoint()))?;
            removing.push(seconds);
            model.close()?;
            let (opened, seconds) = try_timed(|| ModelDirectory::open(&trained.model))?;
            opening.push(seconds);
            model = opened;
        }
    }
    let size = format!("{} × {}", DURABLE_SIZE.0, DURABLE_SIZE.1);
    let operation = |what: &str, seconds| operation(what, &size, median(seconds));
    Ok(vec![
        operation("train from a file", training),
        operation("durable removal", removing),
        operation("open a directory", opening),
    ])
}
