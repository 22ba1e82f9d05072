//! The folder of results: numbers, pictures and reports. A file is either as it was or whole: it is written under
//! another name first.

use std::fmt::Write as _;
use std::fs;
use std::path::{Component, Path, PathBuf};

use efface_reproduce::{Experiment, Record};
use serde::Serialize;

use super::{at, with_path};
use crate::output::{Output, in_one_line};

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
        let markdown = markdown.map_or_else(|| out.join("results.md"), Path::to_owned);
        let folder = Self { out: out.to_owned(), report: out.join("report.html"), markdown };
        let markdown_folder = parent(&folder.markdown);
        for needed in [out, &out.join(FIGURES), markdown_folder] {
            with_path(fs::create_dir_all(needed), needed)?;
            let trial = temporary(needed);
            with_path(fs::write(&trial, "").and_then(|()| fs::remove_file(&trial)), needed)?;
        }
        anyhow::ensure!(!folder.markdown.is_dir(), "--markdown: {} is a directory", at(&folder.markdown));
        Ok(folder)
    }

    /// Keeps the numbers of an experiment; returns their file.
    pub(super) fn keep(&self, experiment: Experiment, record: &impl Serialize) -> anyhow::Result<PathBuf> {
        let path = self.record(experiment);
        let text = serde_json::to_string_pretty(record)? + "\n";
        write(&path, text.as_bytes())?;
        Ok(path)
    }

    /// All numbers kept, in the order of the report. What cannot be read is told and left aside.
    pub(super) fn records(&self, output: &Output) -> Vec<Record> {
        let mut records = Vec::new();
        for experiment in Experiment::ALL {
            let path = self.record(experiment);
            if !path.exists() {
                continue;
            }
            match read(&path) {
                Ok(record) if record.results.experiment() == experiment => records.push(record),
                Ok(record) => {
                    let found = record.results.experiment().tag();
                    output.warn(&format!("{} is left aside: it has the numbers of `{found}`", at(&path)));
                }
                Err(error) => {
                    output.warn(&format!("{} is left aside: {}", at(&path), in_one_line(&format!("{error:#}"))));
                }
            }
        }
        records
    }

    /// Where a picture goes.
    pub(super) fn figure(&self, name: &str, extension: &str) -> PathBuf {
        self.out.join(FIGURES).join(format!("{name}.{extension}"))
    }

    /// The folder of pictures as a report in Markdown links to it, with a slash at the end.
    pub(super) fn link_to_figures(&self) -> String {
        let figures = self.out.join(FIGURES);
        let absolute = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        link(&absolute(parent(&self.markdown)), &absolute(&figures))
    }

    fn record(&self, experiment: Experiment) -> PathBuf {
        self.out.join(format!("{}.json", experiment.tag()))
    }
}

/// Writes a file as a whole.
pub(super) fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let temporary = temporary(parent(path));
    let written = fs::write(&temporary, bytes).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // Best effort: half a file helps nobody.
        let _ = fs::remove_file(&temporary);
    }
    with_path(written, path)
}

fn read(path: &Path) -> anyhow::Result<Record> {
    Ok(serde_json::from_slice(&fs::read(path)?)?)
}

/// A file in this folder until it is whole. Another process has another name.
fn temporary(folder: &Path) -> PathBuf {
    folder.join(format!(".efface-{}.tmp", std::process::id()))
}

/// The folder of a file.
fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// How one folder links to another, both absolute.
fn link(from: &Path, to: &Path) -> String {
    let from: Vec<Component> = from.components().collect();
    let to: Vec<Component> = to.components().collect();
    let n_shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = from[n_shared..].iter().map(|_| "..".to_owned());
    let down = to[n_shared..].iter().map(|part| encoded(&part.as_os_str().to_string_lossy()));
    up.chain(down).map(|part| part + "/").collect()
}

/// A part of a path as links have it.
fn encoded(part: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "._-~".contains(c);
    let mut link = String::new();
    for c in part.chars() {
        if plain(c) {
            link.push(c);
        } else {
            for byte in c.to_string().bytes() {
                let _ = write!(link, "%{byte:02X}");
            }
        }
    }
    link
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
    fn a_bare_name_lies_in_the_folder_at_hand() {
        assert_eq!(parent(Path::new("results.md")), Path::new("."));
    }
}
