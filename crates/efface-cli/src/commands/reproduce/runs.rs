//! Runs experiments one after another. What stops one does not stop the others.

use std::io::IsTerminal;

use efface_reproduce::{Experiment, ExperimentError};
use serde::Serialize;

use super::folder::Folder;
use crate::output::{Answer, Output, duration, in_one_line};

/// How the experiments went.
#[derive(Debug, Serialize)]
pub(super) struct Runs {
    pub(super) experiments: Vec<Run>,
    /// Those whose data is not there.
    pub(super) missing: Vec<NotRun>,
    pub(super) failed: Vec<NotRun>,
    /// What was to hold and does not; smoke runs are not asked.
    pub(super) shortfalls: Vec<NotRun>,
}

/// What an experiment found.
pub(super) struct Found<R> {
    pub(super) seconds: f64,
    /// Data sets that it had to do without, each with what is missing.
    pub(super) missing: Vec<String>,
    /// What was to hold and does not.
    pub(super) shortfalls: Vec<String>,
    /// Its numbers.
    pub(super) record: R,
}

/// An experiment that was done.
#[derive(Debug, Serialize)]
pub(super) struct Run {
    pub(super) experiment: &'static str,
    pub(super) seconds: f64,
    /// File with its numbers.
    pub(super) record: String,
}

/// An experiment that could not be done, or not in full, or did not come out as it should.
#[derive(Debug, Serialize)]
pub(super) struct NotRun {
    pub(super) experiment: &'static str,
    pub(super) reason: String,
}

/// Runs these experiments, tells how each went, and keeps their numbers as soon as they are there. Work goes on
/// after what is missing, failed or fell short.
pub(super) fn run_all<R: Serialize>(
    experiments: &[Experiment],
    run: &mut dyn FnMut(Experiment) -> Result<Found<R>, ExperimentError>,
    folder: &Folder,
    output: &Output,
) -> anyhow::Result<Runs> {
    let mut runs = Runs { experiments: Vec::new(), missing: Vec::new(), failed: Vec::new(), shortfalls: Vec::new() };
    for &experiment in experiments {
        let name = experiment.tag();
        if !std::io::stderr().is_terminal() {
            output.say(&format!("{name}: begun"));
        }
        match run(experiment) {
            Ok(Found { seconds, missing, shortfalls, record }) => {
                if folder.n_missing(experiment).is_some_and(|before| before < missing.len()) {
                    output.warn(&format!(
                        "{name}: the fuller numbers that are there are kept; remove them to replace them"
                    ));
                } else {
                    folder.keep(experiment, &record)?;
                }
                let record = folder.record(experiment).display().to_string();
                output.say(&format!("{name}: done in {}", duration(seconds)));
                runs.experiments.push(Run { experiment: name, seconds, record });
                for reason in missing {
                    let reason = in_one_line(&reason);
                    output.warn(&format!("{name} does without a data set: {}", runs.told(&reason)));
                    runs.missing.push(NotRun { experiment: name, reason });
                }
                for reason in shortfalls {
                    output.warn(&format!("{name} falls short: {reason}"));
                    runs.shortfalls.push(NotRun { experiment: name, reason });
                }
            }
            Err(error @ ExperimentError::Missing { .. }) => {
                let reason = in_one_line(&error.to_string());
                output.warn(&format!("{name} is left out: {}", runs.told(&reason)));
                runs.missing.push(NotRun { experiment: name, reason });
            }
            Err(error) => {
                let reason = in_one_line(&format!("{:#}", anyhow::Error::from(error)));
                output.complain(&format!("{name}: {reason}"));
                runs.failed.push(NotRun { experiment: name, reason });
            }
        }
    }
    Ok(runs)
}

impl Runs {
    /// Why data is missing; in short when it has been told before.
    fn told(&self, reason: &str) -> String {
        let before = self.missing.iter().any(|missing| missing.reason == reason);
        match reason.split_once(": ") {
            Some((name, _)) if before => format!("{name}: not found, as told above"),
            _ => reason.to_owned(),
        }
    }

    /// Whether all were done.
    pub(super) fn is_whole(&self) -> bool {
        self.missing.is_empty() && self.failed.is_empty()
    }

    /// Negative when data was missing or something fell short; an error when an experiment failed, or none could be done.
    pub(super) fn verdict(&self) -> anyhow::Result<Answer> {
        let names = |runs: &[NotRun]| runs.iter().map(|run| run.experiment).collect::<Vec<_>>().join(", ");
        anyhow::ensure!(self.failed.is_empty(), "failed: {}", names(&self.failed));
        anyhow::ensure!(
            self.missing.is_empty() || !self.experiments.is_empty(),
            "no experiment could be done: data is missing for {}",
            names(&self.missing),
        );
        let whole = self.missing.is_empty() && self.shortfalls.is_empty();
        Ok(if whole { Answer::Done } else { Answer::Negative })
    }
}
