//! The folder of results: numbers, pictures and reports. A file is either as it was or whole.

use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::Context;
use efface_data::files::{parent_of, percent_encoded};
use efface_reproduce::{Experiment, Record};
use serde::Serialize;

use super::at;
use crate::output::{Output, in_one_line};
use crate::whole_file::write_whole;

/// The folder of results.
pub(super) struct Folder {
    out: PathBuf,
    /// The report as a page.
    pub(super) report: PathBuf,
    /// The report in Markdown, here or elsewhere.
    pub(super) markdown: PathBuf,
}

impl Folder {
    /// Makes the folder where there is none, and tries whether it can be written to.
    pub(super) fn open(out: &Path, markdown: Option<&Path>) -> anyhow::Result<Self> {
        anyhow::ensure!(!out.is_file(), "--out: {} is a file, not a directory", at(out));
        let markdown = markdown.map_or_else(|| out.join("results.md"), Path::to_owned);
        // What a link names is written, not the link.
        let markdown = if markdown.is_symlink() { fs::canonicalize(&markdown).unwrap_or(markdown) } else { markdown };
        let folder = Self { out: out.to_owned(), report: out.join("report.html"), markdown };
        for (flag, needed) in
            [("--out", out), ("--out", &out.join(FIGURES)), ("--markdown", parent_of(&folder.markdown))]
        {
            let trial = needed.join(format!(".efface-{}.tmp", std::process::id()));
            let tried =
                fs::create_dir_all(needed).and_then(|()| fs::write(&trial, "")).and_then(|()| fs::remove_file(&trial));
            tried.with_context(|| format!("{flag}: cannot write in {}", at(needed)))?;
        }
        folder.check_markdown()?;
        Ok(folder)
    }

    /// The report in Markdown replaces a file of its own, nothing else.
    fn check_markdown(&self) -> anyhow::Result<()> {
        let Self { out, markdown, .. } = self;
        anyhow::ensure!(!markdown.is_dir(), "--markdown: {} is a directory", at(markdown));
        anyhow::ensure!(!markdown.exists() || markdown.is_file(), "--markdown: {} is no plain file", at(markdown));
        let absolute = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let folder = absolute(parent_of(markdown));
        let is_record = markdown.extension().is_some_and(|extension| extension == "json" || extension == "html");
        let is_ours = folder == absolute(out) && is_record || folder == absolute(&out.join(FIGURES));
        anyhow::ensure!(!is_ours, "--markdown: {} is where other results go", at(markdown));
        Ok(())
    }

    /// Whether the numbers of a full run of this experiment are here.
    pub(super) fn has_full_record(&self, experiment: Experiment) -> bool {
        read(&self.record(experiment)).is_ok_and(|record| !record.quick)
    }

    /// Data sets that the numbers kept of this experiment had to do without.
    pub(super) fn n_missing(&self, experiment: Experiment) -> Option<usize> {
        read(&self.record(experiment)).ok().map(|record| record.missing().len())
    }

    /// Keeps the numbers of an experiment; returns their file.
    pub(super) fn keep(&self, experiment: Experiment, record: &impl Serialize) -> anyhow::Result<PathBuf> {
        let path = self.record(experiment);
        let text = serde_json::to_string_pretty(record)? + "\n";
        write_whole(&path, text.as_bytes())?;
        Ok(path)
    }

    /// Where long work is written down while it goes on.
    pub(super) fn checkpoints(&self) -> PathBuf {
        self.out.join("checkpoints")
    }

    /// All numbers kept, in the order of the report, and how many cannot be read: these are named and skipped.
    pub(super) fn records(&self, output: &Output) -> (Vec<Record>, usize) {
        let (mut records, mut n_left_aside) = (Vec::new(), 0);
        for experiment in Experiment::ALL {
            let path = self.record(experiment);
            if !path.exists() {
                continue;
            }
            match read(&path) {
                Ok(record) if record.experiment() == experiment => records.push(record),
                Ok(record) => {
                    let found = record.experiment().tag();
                    output.warn(&format!("{} is skipped: it has the numbers of `{found}`", at(&path)));
                    n_left_aside += 1;
                }
                Err(error) => {
                    let (path, tag, why) = (at(&path), experiment.tag(), in_one_line(&format!("{error:#}")));
                    output.warn(&format!("{path} is skipped: {why}; run `efface reproduce {tag}` again or remove it"));
                    n_left_aside += 1;
                }
            }
        }
        (records, n_left_aside)
    }

    /// Where a picture goes.
    pub(super) fn figure(&self, name: &str) -> PathBuf {
        self.out.join(FIGURES).join(format!("{name}.svg"))
    }

    /// The folder of pictures as a report in Markdown links to it, with a slash at the end.
    pub(super) fn link_to_figures(&self) -> String {
        let figures = self.out.join(FIGURES);
        let absolute = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        link(&absolute(parent_of(&self.markdown)), &absolute(&figures))
    }

    /// The file with the numbers of an experiment.
    pub(super) fn record(&self, experiment: Experiment) -> PathBuf {
        self.out.join(format!("{}.json", experiment.tag()))
    }
}

fn read(path: &Path) -> anyhow::Result<Record> {
    Ok(serde_json::from_slice(&fs::read(path)?)?)
}

/// How one folder links to another, both absolute.
fn link(from: &Path, to: &Path) -> String {
    let from: Vec<Component> = from.components().collect();
    let to: Vec<Component> = to.components().collect();
    let n_shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = from[n_shared..].iter().map(|_| "..".to_owned());
    let down = to[n_shared..].iter().map(|part| percent_encoded(part.as_ref()));
    up.chain(down).map(|part| part + "/").collect()
}

const FIGURES: &str = "figures";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_relative_to_the_report() {
        for (from, to, expected) in [
            ("/a/results", "/a/results/figures", "figures/"),
            ("/a/docs", "/a/results/figures", "../results/figures/"),
            ("/a", "/a/my results/figures", "my%20results/figures/"),
            ("/a/b/c", "/d/figures", "../../../d/figures/"),
        ] {
            assert_eq!(link(Path::new(from), Path::new(to)), expected);
        }
    }

    #[test]
    fn the_markdown_replaces_nothing_but_itself() {
        let place = tempfile::tempdir().expect("a folder");
        let out = place.path().join("out");
        let open =
            |markdown: &str| Folder::open(&out, Some(&place.path().join(markdown))).map(|folder| folder.markdown);
        for refused in ["out/mnist.json", "out/report.html", "out/figures/x.md", "out"] {
            let error = open(refused).expect_err(refused).to_string();
            assert!(error.starts_with("--markdown: "), "{error}");
        }
        fs::write(place.path().join("real.md"), "").expect("writable");
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("real.md", place.path().join("link.md")).expect("a link");
            let written = open("link.md").expect("followed");
            assert_eq!(written.file_name(), Some("real.md".as_ref()));
            assert!(Folder::open(&out, Some(Path::new("/dev/null"))).is_err());
        }
        assert_eq!(open("docs/results.md").expect("made"), place.path().join("docs/results.md"));
    }
}
