//! Benchmarks with sizes in their names, medians of repeats, and ratios taken inside one run.
//!
//! ```text
//! cargo run --profile dist -p efface-bench -- gram                 the weighted Gram matrix against a matrix product
//! cargo run --profile dist -p efface-bench -- exact                ridge with exact sums beside ridge with noise
//! cargo run --profile dist -p efface-bench -- scale                a million rows under a limit on memory, durable removals
//! cargo run --profile dist -p efface-bench -- derived              training and removals with derived constants and without
//! cargo run --profile dist -p efface-bench -- past                 one durable removal after up to a million others
//! cargo run --profile dist -p efface-bench -- ledger               issuing and verifying certificates, proofs from a long log
//! cargo run --profile dist -p efface-bench -- peers --data DIR     all of it beside scikit-learn, on the same rows
//! cargo run --profile dist -p efface-bench -- sample               a few operations, in memory and on the disk
//! cargo run --profile dist -p efface-bench -- compare OLD NEW      two builds of this program; `./compare` beside this crate makes them
//! ```

#![expect(clippy::print_stdout, reason = "the figures are the output")]

mod compare;
mod derived;
mod exact;
mod figure;
mod gram;
mod ledger;
mod operations;
mod past;
mod peers;
mod rows;
mod sample;
mod scale;
mod subject;

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
    /// The weighted Gram matrix, in GFLOP/s, beside the machine's matrix product.
    Gram,
    /// Ridge with exact integer sums beside the same with noise: training, removal, release.
    Exact,
    /// 1,000,000 × 256 from Parquet under a limit on memory: training, durable removals, settling, opening.
    Scale(scale::ScaleArgs),
    /// 1,000,000 × 256 with derived constants and without: reading, training, removals.
    Derived(derived::DerivedArgs),
    /// One durable removal after up to 1,000,000 others, with and without a witness.
    Past(past::PastArgs),
    /// Certificates of a model of 784 features, and a log of 1,000,000 entries.
    Ledger,
    /// Training, removal, settling, releasing and predicting beside scikit-learn, on the same rows and threads.
    Peers(peers::PeersArgs),
    /// Training, removal, settling, releasing and predicting in memory, a certificate, and the steps of a model directory.
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
        Command::Exact => exact::run(),
        Command::Gram => gram::run(),
        Command::Ledger => ledger::run(),
        Command::Derived(args) => derived::run(&args),
        Command::Past(args) => past::run(&args),
        Command::Peers(args) => peers::run(&args),
        Command::Sample(args) => sample::run(&args),
        Command::Compare(args) => return compare::run(&args),
        Command::Scale(args) => scale::run(&args),
        Command::ScaleStep(step) => scale::run_step(&step),
    }?;
    Ok(true)
}
