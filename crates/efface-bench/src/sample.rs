//! A fixed small set of operations on seeded rows: what one build is compared with another by.

use clap::Args;
use efface_core::noise::NoiseSource;
use serde::{Deserialize, Serialize};

use crate::figure::Samples;
use crate::ledger;
use crate::operations::Bench;
use crate::subject::Subject;

#[derive(Args)]
pub(crate) struct SampleArgs {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
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

/// Rows and features of the model that is certified; the rows hardly matter.
const CERTIFICATE_SIZE: (usize, usize) = (500, 64);
const CERTIFICATES: usize = 9;

pub(crate) fn run(args: &SampleArgs) -> anyhow::Result<()> {
    let operations = measure()?;
    if args.json {
        println!("{}", serde_json::to_string(&operations)?);
    } else {
        for Operation { name, seconds } in operations {
            println!("  {name:32} {:10.3} ms", 1e3 * seconds);
        }
    }
    Ok(())
}

fn measure() -> anyhow::Result<Vec<Operation>> {
    let (n_rows, dim) = SIZE;
    let size = format!("{n_rows} × {dim}");
    let subject = Subject::synthetic(size.clone(), n_rows, dim)?;
    let mut bench = Bench::new(&subject, 1e-6 * n_rows as f64)?;
    for _ in 0..ROUNDS {
        bench.round()?;
    }
    let Some(figures) = bench.figures() else { anyhow::bail!("nothing was measured") };
    let operation = |what: &str, size: &str, seconds| Operation { name: format!("{what}, {size}"), seconds };
    Ok(vec![
        operation("train", &size, figures.train.seconds),
        operation("instant removal", &size, figures.remove_one.seconds),
        operation("settle", &size, figures.settle.seconds),
        operation("settle and release", &size, figures.release.seconds),
        operation("predict", &size, figures.predict.seconds),
        operation("issue certificate", &format!("d = {}", CERTIFICATE_SIZE.1), certificate_seconds()?),
    ])
}

fn certificate_seconds() -> anyhow::Result<f64> {
    let folder = tempfile::tempdir()?;
    let mut noise = NoiseSource::from_system()?;
    let mut model = ledger::train(folder.path(), CERTIFICATE_SIZE, &mut noise)?;
    let mut samples = Samples::default();
    for request in 0..CERTIFICATES {
        samples.push(ledger::remove_and_release(&mut model, request, &mut noise)?.certificate_seconds, None);
    }
    Ok(samples.figure().map_or(f64::NAN, |figure| figure.seconds))
}
