//! The experiments by name, and the record that one leaves.

use efface_report::numbers::{bytes, counted, seconds};
use efface_report::{Page, Part, Section, code, strong, text};
use serde::{Deserialize, Serialize};

use crate::features::SupportedRemovals;
use crate::measure::{peak_memory, reset_peak_memory, try_timed};
use crate::{ExperimentError, Result, Setting, beyond, mnist, scale, svhn, times};

/// An experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Experiment {
    /// Figures 1 to 3.
    Mnist,
    /// Sentences.
    Sst,
    /// Scenes, in place of LSUN.
    Scenes,
    /// Figure 5.
    Svhn,
    /// Table 1.
    Times,
    /// Beyond the paper.
    Beyond,
    /// A million rows, and growth curves.
    Scale,
}

/// Numbers of one experiment.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "experiment", rename_all = "kebab-case")]
enum Results {
    Mnist(mnist::MnistResults),
    Sst(SupportedRemovals),
    Scenes(SupportedRemovals),
    Svhn(svhn::SvhnResults),
    Times(times::TimesResults),
    Beyond(beyond::BeyondResults),
    Scale(Box<scale::ScaleResults>),
}

/// What one experiment leaves: its numbers, and how they came about.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Version of the program.
    efface: String,
    /// Whether it was a smoke run, whose numbers mean nothing.
    pub quick: bool,
    /// Seed of orders, samples and noise.
    pub seed: u64,
    threads: usize,
    /// How long it took.
    pub seconds: f64,
    /// Peak of resident memory while it ran, where the system tells. Where the system does not let a process begin a new
    /// peak, experiments before it in the same process count too.
    peak_memory_bytes: Option<u64>,
    #[serde(flatten)]
    results: Results,
}

impl Experiment {
    /// All of them, in the order of the report.
    pub const ALL: [Self; 7] =
        [Self::Mnist, Self::Sst, Self::Scenes, Self::Svhn, Self::Times, Self::Beyond, Self::Scale];

    /// Stable name, as on the command line and of files.
    pub fn tag(self) -> &'static str {
        match self {
            Self::Mnist => "mnist",
            Self::Sst => "sst",
            Self::Scenes => "scenes",
            Self::Svhn => "svhn",
            Self::Times => "times",
            Self::Beyond => "beyond",
            Self::Scale => "scale",
        }
    }

    /// Runs it.
    pub fn run(self, setting: &Setting<'_>) -> Result<Record> {
        // Best effort: where the system does not allow it, what ran before counts too.
        let _ = reset_peak_memory();
        let (results, seconds) = try_timed(|| {
            Ok::<_, ExperimentError>(match self {
                Self::Mnist => Results::Mnist(mnist::run(setting)?),
                Self::Sst => Results::Sst(SupportedRemovals::of_sentences(setting)?),
                Self::Scenes => Results::Scenes(SupportedRemovals::of_scenes(setting)?),
                Self::Svhn => Results::Svhn(svhn::run(setting)?),
                Self::Times => Results::Times(times::run(setting)?),
                Self::Beyond => Results::Beyond(beyond::run(setting)?),
                Self::Scale => Results::Scale(Box::new(scale::run(setting)?)),
            })
        })?;
        Ok(Record {
            efface: env!("CARGO_PKG_VERSION").to_owned(),
            quick: setting.quick,
            seed: setting.seed,
            threads: rayon::current_num_threads(),
            seconds,
            peak_memory_bytes: peak_memory(),
            results,
        })
    }
}

/// The report of these experiments; `command` is what makes the numbers of a record again, in the words of a front end.
pub fn page(records: &[Record], command: impl Fn(&Record) -> String) -> Page {
    Page {
        kicker: "Efface".to_owned(),
        title: "The experiments, repeated".into(),
        contents: true,
        sections: records.iter().map(|record| record.section(command(record))).collect(),
        ..Page::default()
    }
}

impl Record {
    /// The experiment whose numbers these are, and its part of the page.
    fn parts(&self) -> (Experiment, Section) {
        match &self.results {
            Results::Mnist(results) => (Experiment::Mnist, results.section()),
            Results::Sst(results) => (Experiment::Sst, results.sentences_section()),
            Results::Scenes(results) => (Experiment::Scenes, results.scenes_section()),
            Results::Svhn(results) => (Experiment::Svhn, results.section()),
            Results::Times(results) => (Experiment::Times, results.section()),
            Results::Beyond(results) => (Experiment::Beyond, results.section()),
            Results::Scale(results) => (Experiment::Scale, results.section()),
        }
    }

    /// The experiment whose numbers these are.
    pub fn experiment(&self) -> Experiment {
        self.parts().0
    }

    /// Data sets that were not there while others were, each with what is missing.
    pub fn missing(&self) -> &[String] {
        match &self.results {
            Results::Times(results) => &results.missing,
            Results::Beyond(results) => &results.missing,
            _ => &[],
        }
    }

    /// What was to hold and does not.
    pub fn shortfalls(&self) -> Vec<String> {
        match &self.results {
            Results::Mnist(results) => results.shortfalls(),
            Results::Svhn(results) => results.shortfalls(),
            Results::Beyond(results) => results.shortfalls(),
            _ => Vec::new(),
        }
    }

    /// The experiment on the page, with how its numbers came about and the command that makes them again.
    fn section(&self, command: String) -> Section {
        let (_, mut section) = self.parts();
        if self.quick {
            section.title += " (smoke run)";
            let text = strong("Smoke run: the numbers mean nothing.").into();
            section.parts.insert(0, Part::Verdict { good: false, text, reasons: Vec::new() });
        }
        let memory = self.peak_memory_bytes.map_or_else(String::new, |peak| format!(", peak memory {}", bytes(peak)));
        let (time, threads) = (seconds(self.seconds), counted(self.threads, "thread", "threads"));
        let facts = format!(": {time} on {threads}, seed {}{memory}, efface {}.", self.seed, self.efface);
        section.parts.push(Part::Note(text!["Made by ", code(command), facts]));
        section
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_documented_records_are_read_and_written_as_they_are() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results");
        for experiment in Experiment::ALL {
            let text = std::fs::read_to_string(folder.join(format!("{}.json", experiment.tag()))).expect("committed");
            let kept: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            let record: Record = serde_json::from_value(kept.clone()).expect("a record");
            assert_eq!(record.experiment(), experiment);
            assert_eq!(serde_json::to_value(&record).expect("numbers"), kept, "{}", experiment.tag());
        }
    }

    #[test]
    fn a_section_says_how_its_numbers_came_about() {
        let results = Results::Times(times::TimesResults { data_sets: Vec::new(), missing: Vec::new() });
        let mut record = Record {
            efface: "0.1.0".to_owned(),
            quick: true,
            seed: 7,
            threads: 2,
            seconds: 1.5,
            peak_memory_bytes: Some(345_000_000),
            results,
        };
        let command = |record: &Record| format!("make {} again", record.experiment().tag());
        let page = page(&[record.clone()], command);
        let (html, markdown) = (page.html(), page.markdown("figures/"));
        for part in ["make times again", "seed 7", "2\u{a0}threads", "345\u{a0}MB", "Smoke run:"] {
            assert!(html.contains(part) && markdown.contains(part), "{part}");
        }
        assert!(markdown.contains("removal (smoke run)](#table-1-times-of-training-and-removal-smoke-run)"));
        (record.quick, record.seed) = (false, 1);
        assert!(!super::page(&[record], command).html().contains("Smoke run"));
    }
}
