//! Runs experiments one after another. What stops one does not stop the others.

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
}

/// An experiment that was done.
#[derive(Debug, Serialize)]
pub(super) struct Run {
    pub(super) experiment: &'static str,
    pub(super) seconds: f64,
    /// File with its numbers.
    pub(super) record: String,
}

/// An experiment that could not be done.
#[derive(Debug, Serialize)]
pub(super) struct NotRun {
    pub(super) experiment: &'static str,
    pub(super) reason: String,
}

/// Runs these experiments, tells how each went, and keeps their numbers as soon as they are there. `run` returns how many
/// seconds one took, and its numbers.
pub(super) fn run_all<R: Serialize>(
    experiments: &[Experiment],
    run: &mut dyn FnMut(Experiment) -> Result<(f64, R), ExperimentError>,
    folder: &Folder,
    output: &Output,
) -> anyhow::Result<Runs> {
    let mut runs = Runs { experiments: Vec::new(), missing: Vec::new(), failed: Vec::new() };
    for &experiment in experiments {
        let name = experiment.tag();
        match run(experiment) {
            Ok((seconds, record)) => {
                let record = folder.keep(experiment, &record)?.display().to_string();
                output.say(&format!("{name}: done in {}", duration(seconds)));
                runs.experiments.push(Run { experiment: name, seconds, record });
            }
            Err(error @ ExperimentError::Missing { .. }) => {
                let reason = in_one_line(&error.to_string());
                output.warn(&format!("{name} is left out: {reason}"));
                runs.missing.push(NotRun { experiment: name, reason });
            }
            Err(error) => {
                let reason = in_one_line(&format!("{:#}", anyhow::Error::from(error)));
                output.error(&format!("{name}: {reason}"), None);
                runs.failed.push(NotRun { experiment: name, reason });
            }
        }
    }
    Ok(runs)
}

impl Runs {
    /// Whether all were done.
    pub(super) fn is_whole(&self) -> bool {
        self.missing.is_empty() && self.failed.is_empty()
    }

    /// Negative when data was missing; an error when an experiment failed, or none could be done.
    pub(super) fn verdict(&self) -> anyhow::Result<Answer> {
        let names = |runs: &[NotRun]| runs.iter().map(|run| run.experiment).collect::<Vec<_>>().join(", ");
        anyhow::ensure!(self.failed.is_empty(), "failed: {}", names(&self.failed));
        anyhow::ensure!(
            self.missing.is_empty() || !self.experiments.is_empty(),
            "no experiment could be done: data is missing for {}",
            names(&self.missing),
        );
        Ok(if self.missing.is_empty() { Answer::Done } else { Answer::Negative })
    }
}
