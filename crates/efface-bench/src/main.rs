//! Benchmarks with sizes in their names, medians of repeats, and ratios taken inside one run.
//!
//! ```text
//! cargo run --release -p efface-bench -- mnist --data DIR     training, removal, settling on MNIST 3-vs-8
//! cargo run --release -p efface-bench -- memory --data DIR    peak of memory of one life of a model
//! cargo run --release -p efface-bench -- ladder --data DIR    what each bound promises, and what is true
//! cargo run --release -p efface-bench -- growth               instant removal against the number of rows
//! cargo run --release -p efface-bench -- gram                 the weighted Gram matrix against a matrix product
//! cargo run --release -p efface-bench -- scale                a million rows under a limit on memory, durable removals
//! cargo run --release -p efface-bench -- ledger               issuing and verifying certificates, proofs from a long log
//! ```

#![expect(clippy::print_stdout, reason = "the figures are the output")]

mod gram;
mod growth;
mod ladder;
mod ledger;
mod measure;
mod mnist;
mod rows;
mod scale;

use std::path::PathBuf;

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
    /// 1,000,000 × 256 from Parquet under a limit on memory: training, durable removals, settling, opening.
    Scale(scale::ScaleArgs),
    /// Certificates of a model of 784 features, and a log of 1,000,000 entries.
    Ledger,
    /// One step of `scale`, in a process of its own.
    #[command(subcommand, hide = true)]
    ScaleStep(scale::Step),
}

fn main() -> anyhow::Result<()> {
    let command = Cli::parse().command;
    if !matches!(command, Command::ScaleStep(_)) {
        println!("threads: {}", rayon::current_num_threads());
    }
    match command {
        Command::Mnist { data } => mnist::run(&data),
        Command::Memory { data } => mnist::memory(&data),
        Command::Ladder { data } => ladder::run(&data),
        Command::Growth => growth::run(),
        Command::Gram => gram::run(),
        Command::Ledger => ledger::run(),
        Command::Scale(args) => scale::run(&args),
        Command::ScaleStep(step) => scale::run_step(&step),
    }
}
