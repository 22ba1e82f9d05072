//! Benchmarks with sizes in their names, medians of repeats, and ratios taken inside one run.
//!
//! ```text
//! cargo run --release -p efface-bench -- mnist --data DIR     training, removal, settling on MNIST 3-vs-8
//! cargo run --release -p efface-bench -- memory --data DIR    peak of memory of one life of a model
//! cargo run --release -p efface-bench -- ladder --data DIR    what each bound promises, and what is true
//! cargo run --release -p efface-bench -- growth               instant removal against the number of rows
//! cargo run --release -p efface-bench -- gram                 the weighted Gram matrix against a matrix product
//! cargo run --release -p efface-bench -- exact                ridge with exact sums beside ridge with noise
//! cargo run --release -p efface-bench -- scale                a million rows under a limit on memory, durable removals
//! cargo run --release -p efface-bench -- ledger               issuing and verifying certificates, proofs from a long log
//! cargo run --release -p efface-bench -- peers --data DIR     all of it beside scikit-learn, on the same rows
//! cargo run --release -p efface-bench -- sample               a few operations on seeded rows
//! cargo run --release -p efface-bench -- compare OLD NEW      two builds of this program; `benches/compare` makes them
//! ```

#![expect(clippy::print_stdout, reason = "the figures are the output")]

mod compare;
mod exact;
mod figure;
mod gram;
mod growth;
mod ladder;
mod ledger;
mod measure;
mod mnist;
mod operations;
mod peers;
mod rows;
mod sample;
mod scale;
mod subject;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Benchmarks of Efface.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Training, instant removal and settling on MNIST 3-vs-8 (n = 11,982, d = 784, λ = 1e-3).
    Mnist {
        /// Directory that holds `mnist/` with the four gzipped IDX files.
        #[arg(long, env = "EFFACE_DATA")]
        data: PathBuf,
    },
    /// Peak of memory on MNIST 3-vs-8.
    Memory {
        /// Directory that holds `mnist/` with the four gzipped IDX files.
        #[arg(long, env = "EFFACE_DATA")]
        data: PathBuf,
    },
    /// The residual ladder for one batch of 100 rows of MNIST 3-vs-8.
    Ladder {
        /// Directory that holds `mnist/` with the four gzipped IDX files.
        #[arg(long, env = "EFFACE_DATA")]
        data: PathBuf,
    },
    /// Instant removal at n = 10,000 and n = 200,000, d = 256.
    Growth,
    /// The weighted Gram matrix, in GFLOP/s, beside the machine's matrix product.
    Gram,
    /// Ridge with exact integer sums beside the same with noise: training, removal, release.
    Exact,
    /// 1,000,000 × 256 from Parquet under a limit on memory: training, durable removals, settling, opening.
    Scale(scale::ScaleArgs),
    /// Certificates of a model of 784 features, and a log of 1,000,000 entries.
    Ledger,
    /// Training, removal, settling, releasing and predicting beside scikit-learn, on the same rows and threads.
    Peers(peers::PeersArgs),
    /// Training, removal, settling, releasing, predicting and a certificate on seeded synthetic rows.
    Sample(sample::SampleArgs),
    /// Runs `sample` of two builds in turn; the exit code is 1 when the new one is slower.
    Compare(compare::CompareArgs),
    /// One step of `scale`, in a process of its own.
    #[command(subcommand, hide = true)]
    ScaleStep(scale::Step),
}

/// 0: done. 1: the new build of `compare` is slower. 2: an error.
fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(command: Command) -> anyhow::Result<bool> {
    let part = matches!(&command, Command::ScaleStep(_) | Command::Compare(_))
        || matches!(&command, Command::Sample(args) if args.json);
    if !part {
        println!("threads: {}", rayon::current_num_threads());
    }
    match command {
        Command::Mnist { data } => mnist::run(&data),
        Command::Memory { data } => mnist::memory(&data),
        Command::Ladder { data } => ladder::run(&data),
        Command::Growth => growth::run(),
        Command::Exact => exact::run(),
        Command::Gram => gram::run(),
        Command::Ledger => ledger::run(),
        Command::Peers(args) => peers::run(&args),
        Command::Sample(args) => sample::run(&args),
        Command::Compare(args) => return compare::run(&args),
        Command::Scale(args) => scale::run(&args),
        Command::ScaleStep(step) => scale::run_step(&step),
    }?;
    Ok(true)
}
