//! The command line of Efface: parse, call the engine, show.
//!
//! Exit codes: 0 done, 1 a negative answer (retraining required, certificate not valid), 2 an error; a training that a signal
//! ends has the shell's (130 for Ctrl-C).

mod args;
mod commands;
mod ending;
mod hints;
mod interrupt;
mod output;
mod progress;
mod secrets;
mod whole_file;

use std::io::ErrorKind;
use std::process::ExitCode;

use clap::Parser;
use efface_engine::EngineError;

use crate::args::{Cli, Command};
use crate::output::{Answer, NotTold, Output};

#[global_allocator]
static ALLOCATOR: efface_memory::Allocator = efface_memory::Allocator;

fn main() -> ExitCode {
    ending::prepare();
    let cli = Cli::parse();
    // Experiments run on public rows, and measure their own memory.
    if !matches!(cli.command, Command::Reproduce(_)) {
        secrets::keep_out_of_core_dumps();
    }
    let output = Output::new(cli.json);
    let is_correction = matches!(cli.command, Command::Correct(_));
    let Some(answer) = ending::caught(&output, || run(cli, &output)) else { return ExitCode::from(2) };
    match answer {
        Ok(Answer::Done) => ExitCode::SUCCESS,
        Ok(Answer::Negative) => ExitCode::from(1),
        // Whoever read stdout has had enough.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            match error.downcast_ref::<EngineError>() {
                // Its own message says all that its sources say.
                Some(engine) => {
                    let own = if is_correction { hints::for_correction(engine) } else { None };
                    output.error(engine.code(), &engine.to_string(), own.or_else(|| hints::hint(engine)));
                }
                None if error.is::<NotTold>() => output.error("not-told", &error.to_string(), None),
                None => output.error("error", &format!("{error:#}"), is_disk_full(&error).then_some("free some space")),
            }
            ExitCode::from(2)
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    has_cause(error, ErrorKind::BrokenPipe)
}

fn is_disk_full(error: &anyhow::Error) -> bool {
    has_cause(error, ErrorKind::StorageFull) || has_cause(error, ErrorKind::QuotaExceeded)
}

fn has_cause(error: &anyhow::Error, kind: ErrorKind) -> bool {
    error.chain().any(|cause| cause.downcast_ref::<std::io::Error>().is_some_and(|cause| cause.kind() == kind))
}

fn run(cli: Cli, output: &Output) -> anyhow::Result<Answer> {
    match cli.command {
        Command::Demo(args) => commands::demo::run(&args, output),
        Command::Train(args) => commands::train::run(*args, output),
        Command::Remove(args) => commands::change::remove(&args, output),
        Command::Add(args) => commands::change::add(&args, output),
        Command::Correct(args) => commands::change::correct(&args, output),
        Command::Settle(args) => commands::settle::settle(&args, output),
        Command::Retrain(args) => commands::settle::retrain(&args, output),
        Command::Release(args) => commands::release::run(&args, output),
        Command::Verify(args) => commands::verify::run(&args, output),
        Command::Certificate(args) => commands::certificate::run(&args, output),
        Command::Key(args) => commands::key::run(&args, output),
        Command::Ledger(args) => commands::ledger::run(&args, output),
        Command::Policy(args) => commands::ledger::policy(&args, output),
        Command::Renew(args) => commands::ledger::renew(&args, output),
        Command::Revoke(args) => commands::ledger::revoke(&args, output),
        Command::Status(args) => commands::status::run(&args, output),
        Command::Predict(args) => commands::predict::run(&args, output),
        Command::Transform(args) => commands::transform::run(&args, output),
        Command::Evaluate(args) => commands::evaluate::run(args, output),
        Command::Export(args) => commands::export::run(&args, output),
        Command::Plan(args) => commands::plan::run(args, output),
        Command::Extractor(args) => commands::extractor::run(&args, output),
        Command::Audit(args) => commands::audit::run(&args, output),
        Command::Reproduce(args) => commands::reproduce::run(&args, output),
        Command::Schema(args) => commands::schema::run(&args, output),
    }
}
