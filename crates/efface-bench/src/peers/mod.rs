//! Efface beside scikit-learn, in one run and on the same rows: times, ratios, and the gradient that each one leaves.
//!
//! Efface is measured before and after the peers, so that a machine that slows down meanwhile slows both.

mod sets;
mod table;
mod theirs;

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use efface_core::rows::RowStore;
use efface_reproduce::ExperimentError;
use serde::Serialize;

pub(crate) use sets::Set;
use theirs::{Peer, Theirs, Versions};

use crate::figure::Figure;
use crate::operations::{Bench, Operations};

#[derive(Args)]
pub(crate) struct PeersArgs {
    /// Directory with a folder per data set; synthetic sizes need none.
    #[arg(long, env = "EFFACE_DATA")]
    data: Option<PathBuf>,
    /// Python that has `crates/efface-bench/python/requirements.txt`.
    #[arg(long, default_value = "python3")]
    python: String,
    /// Only these.
    #[arg(long, num_args = 1.., value_enum, conflicts_with = "quick")]
    only: Vec<Set>,
    /// Also write the figures to this file, as JSON.
    #[arg(long)]
    out: Option<PathBuf>,
    /// A tiny synthetic set only: a smoke test, whose figures mean nothing.
    #[arg(long)]
    quick: bool,
}

/// ‖∇L‖ per row that the peers are asked for, and Efface beside them.
const GRADIENT_PER_ROW: f64 = 1e-6;

/// Everything that a run found.
#[derive(Serialize)]
struct Report {
    threads: usize,
    peers: Option<Versions>,
    sets: Vec<SetReport>,
}

/// What was found on one data set.
#[derive(Serialize)]
struct SetReport {
    name: String,
    n_rows: usize,
    dim: usize,
    n_classes: u32,
    n_test_rows: usize,
    l2_per_row: f64,
    /// ‖∇L‖ of `train_matched`.
    matched_gradient_norm: f64,
    efface: Operations<Figure>,
    scikit_learn: Vec<Theirs>,
}

pub(crate) fn run(args: &PeersArgs) -> anyhow::Result<()> {
    let peer = match Peer::find(&args.python) {
        Ok((peer, versions)) => {
            let Versions { scikit_learn, numpy, threads } = &versions;
            println!("scikit-learn {scikit_learn}, NumPy {numpy}, threads: {}", threads.join(", "));
            Some((peer, versions))
        }
        Err(error) => {
            println!("without scikit-learn ({error:#}): pip install -r crates/efface-bench/python/requirements.txt");
            None
        }
    };
    let sets: &[Set] = match &args.only[..] {
        _ if args.quick => &[Set::Tiny],
        [] => &Set::ALL,
        only => only,
    };
    if let Some(path) = &args.out {
        // Before the work: a place that cannot be written to.
        fs::OpenOptions::new().append(true).create(true).open(path).with_context(|| path.display().to_string())?;
    }
    let (peer, peers) = peer.unzip();
    let mut report = Report { threads: rayon::current_num_threads(), peers, sets: Vec::new() };
    for set in sets {
        match measure(*set, args, peer.as_ref()) {
            Ok(measured) => report.sets.push(measured),
            Err(error) if is_missing(&error) => {
                println!("\nleft out: {error}");
                continue;
            }
            Err(error) => return Err(error),
        }
        // After each set: what was measured is kept when a later one fails.
        if let Some(path) = &args.out {
            let text = serde_json::to_string_pretty(&report)? + "\n";
            fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))?;
        }
    }
    anyhow::ensure!(!report.sets.is_empty(), "nothing was measured: no data set is there");
    Ok(())
}

/// Whether a data set is not there, which is no reason to leave out the others.
fn is_missing(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(ExperimentError::Missing { .. }))
}

fn measure(set: Set, args: &PeersArgs, peer: Option<&Peer>) -> anyhow::Result<SetReport> {
    let subject = set.load(args.data.as_deref())?;
    let matched_gradient_norm = GRADIENT_PER_ROW * subject.train.n_rows() as f64;
    println!("\n{}: {}", subject.name, subject.shape());
    let mut bench = Bench::new(&subject, matched_gradient_norm)?;
    bench.round()?;
    let scikit_learn = match peer {
        Some(peer) => peer.measure(&subject, matched_gradient_norm, &bench.weights())?,
        None => Vec::new(),
    };
    bench.round()?;
    let report = SetReport {
        n_rows: subject.train.n_rows(),
        dim: subject.train.dim(),
        n_classes: subject.n_classes,
        n_test_rows: subject.test.n_rows(),
        l2_per_row: subject.l2_per_row,
        matched_gradient_norm,
        efface: bench.figures().context("nothing was measured")?,
        scikit_learn,
        name: subject.name,
    };
    print!("{}", table::of(&report));
    Ok(report)
}
