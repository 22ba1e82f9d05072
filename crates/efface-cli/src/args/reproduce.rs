//! What can be typed after `efface reproduce`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use efface_reproduce::Experiment;

#[derive(Args)]
#[command(after_help = "Examples:
  efface reproduce all --data data --out results
  efface reproduce mnist times --data data
  efface reproduce all --quick --data data --out smoke
  efface reproduce report --out results --markdown docs/results.md

The data directory has one folder per data set: mnist (for mnist, times, beyond), sst-features (sst, times, beyond),
scenes-features (scenes, times, beyond, scale), svhn (svhn, times). docs/data.md says which files are in them. A missing data set is
reported with its source, and the other experiments still run.

On two cores mnist takes about 6 minutes, sst 2, scenes 6, times 2, beyond 10, scale 7, which needs 9 GB of memory.

Each experiment leaves its numbers in OUT/NAME.json. The report shows every experiment whose numbers are in OUT, whenever
they were made: OUT/report.html, results.md, and OUT/figures with every picture as SVG. Networks that svhn trains are written
down in OUT/checkpoints meanwhile: the same command goes on after an interruption.

Ends with 0 when all were done, 1 when a data set was missing, a result is not what it should be or numbers in OUT cannot
be read, 2 on errors or when no experiment could be done.")]
pub(crate) struct ReproduceArgs {
    /// What to do, one or more.
    #[arg(required = true, value_name = "EXPERIMENT", value_parser = choices())]
    pub(crate) experiments: Vec<String>,
    /// Directory with one folder per data set.
    #[arg(long, value_name = "DIR", env = "EFFACE_DATA")]
    pub(crate) data: Option<PathBuf>,
    /// Where numbers, pictures and the report go.
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub(crate) out: PathBuf,
    /// Few rows and few repeats: shows in seconds that everything runs. The numbers mean nothing, and do not replace those of
    /// a full run.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Where the report in Markdown goes [default: OUT/results.md].
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Seed of orders, samples and noise. What is trained here is not to be published.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub(crate) seed: u64,
}

pub(crate) const DEFAULT_SEED: u64 = 1;

/// Experiments by their tags, all of them, or none.
fn choices() -> PossibleValuesParser {
    let choices = [
        ("mnist", "Figures 1 to 3 of the paper: digits, 3 against 8"),
        ("sst", "Sentences, on public features"),
        ("scenes", "Scenes, on public features"),
        ("svhn", "Figure 5 of the paper: house numbers, on private and on fixed features"),
        ("times", "Table 1 of the paper: what training and removal cost"),
        ("beyond", "Half of the rows leave"),
        ("scale", "A million rows like scenes, and how costs grow"),
        ("all", "All of these"),
        ("report", "None: only write the report again from the numbers in OUT"),
    ];
    PossibleValuesParser::new(choices.map(|(name, help)| PossibleValue::new(name).help(help)))
}

impl ReproduceArgs {
    /// The experiments to run, each once, in the order of the report.
    pub(crate) fn chosen(&self) -> Vec<Experiment> {
        let is_chosen = |experiment: &Experiment| {
            self.experiments.iter().any(|choice| choice == "all" || choice == experiment.tag())
        };
        Experiment::ALL.into_iter().filter(is_chosen).collect()
    }
}
