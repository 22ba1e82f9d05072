//! What stops one experiment does not stop the others; what cannot be read is skipped; the report is written whole.

use std::fs;

use efface_report::{Axis, Chart, Page, Part, Section, Series};
use efface_reproduce::data::Source;
use efface_reproduce::{Experiment, ExperimentError};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::folder::Folder;
use super::report;
use super::runs::{Found, Runs, run_all};
use crate::output::{Answer, Output};

static SOURCE: Source = Source { name: "a data set", folder: "set", published: "https://example.org/set" };

fn folder() -> (TempDir, Folder) {
    let place = tempfile::tempdir().expect("a temporary folder");
    let folder = Folder::open(&place.path().join("deep/out"), None).expect("writable");
    (place, folder)
}

/// Runs all experiments: the first `n_missing` miss their data, `failing` fails.
fn runs(n_missing: usize, failing: Option<Experiment>) -> Runs {
    let (_place, folder) = folder();
    let mut run = |experiment: Experiment| match experiment {
        _ if Some(experiment) == failing => {
            Err(ExperimentError::Unexpected { path: "set/rows".into(), what: "too\nshort".into() })
        }
        _ if Experiment::ALL[..n_missing].contains(&experiment) => {
            Err(ExperimentError::Missing { source_of: &SOURCE, path: "data/set/rows".into() })
        }
        _ => Ok(found(Vec::new(), Vec::new())),
    };
    run_all::<Value>(&Experiment::ALL, &mut run, &folder, &Output::new(true)).expect("kept")
}

fn found(missing: Vec<String>, shortfalls: Vec<String>) -> Found<Value> {
    Found { seconds: 0.5, missing, shortfalls, record: json!({ "seconds": 0.5 }) }
}

#[test]
fn a_data_set_that_one_does_without_and_what_falls_short_are_negative_answers() {
    let (_place, folder) = folder();
    let told = || vec!["this and that".to_owned()];
    for (missing, shortfalls) in [(told(), Vec::new()), (Vec::new(), told())] {
        let mut run = |_| Ok(found(missing.clone(), shortfalls.clone()));
        let runs = run_all(&[Experiment::Times], &mut run, &folder, &Output::new(true)).expect("kept");
        assert_eq!((runs.experiments.len(), runs.missing.len()), (1, missing.len()));
        assert_eq!(runs.shortfalls.len(), shortfalls.len());
        assert!(matches!(runs.verdict(), Ok(Answer::Negative)));
    }
}

#[test]
fn all_that_can_be_done_is_done() {
    let whole = runs(0, None);
    assert!(whole.is_whole() && matches!(whole.verdict(), Ok(Answer::Done)));
    let names: Vec<&str> = whole.experiments.iter().map(|run| run.experiment).collect();
    assert_eq!(names, ["mnist", "sst", "scenes", "svhn", "times", "beyond", "scale"]);
}

#[test]
fn missing_data_is_a_negative_answer_that_says_where_to_find_it() {
    let runs = runs(2, None);
    assert!(matches!(runs.verdict(), Ok(Answer::Negative)));
    assert_eq!((runs.experiments.len(), runs.missing.len()), (5, 2));
    for part in ["a data set", "data/set/rows", "https://example.org/set"] {
        assert!(runs.missing[0].reason.contains(part), "{:?}", runs.missing);
    }
}

#[test]
fn data_missing_everywhere_is_an_error() {
    let error = runs(7, None).verdict().map(|_| ()).expect_err("nothing was done").to_string();
    assert!(error.contains("no experiment could be done") && error.contains("mnist, sst"), "{error}");
}

#[test]
fn one_that_fails_is_an_error_at_the_end_and_the_others_go_on() {
    let runs = runs(1, Some(Experiment::Times));
    assert_eq!((runs.experiments.len(), runs.missing.len(), runs.failed.len()), (5, 1, 1));
    assert_eq!(runs.failed[0].reason, r"set/rows: too\nshort");
    assert!(runs.verdict().is_err_and(|error| error.to_string() == "failed: times"));
}

#[test]
fn records_are_kept_and_those_that_cannot_be_read_are_left_aside() {
    let (place, folder) = folder();
    let path = folder.keep(Experiment::Sst, &json!({ "experiment": "no such one" })).expect("writable");
    assert_eq!(path, place.path().join("deep/out/sst.json"));
    assert!(fs::read_to_string(&path).expect("kept").contains("\n  \"experiment\""));
    fs::write(place.path().join("deep/out/mnist.json"), "{").expect("writable");
    let (records, n_left_aside) = folder.records(&Output::new(true));
    assert_eq!((records.len(), n_left_aside), (0, 2));
    assert!(fs::read_dir(place.path().join("deep/out")).expect("a folder").all(|entry| {
        let name = entry.expect("readable").file_name();
        ["figures", "sst.json", "mnist.json"].iter().any(|expected| name == *expected)
    }));
}

#[test]
fn a_report_is_a_page_its_markdown_and_its_pictures() {
    let (place, folder) = folder();
    let chart = |id: &str| {
        Part::Chart(Chart {
            id: id.to_owned(),
            caption: String::new(),
            x: Axis::linear("x"),
            y: Axis::linear("y"),
            series: vec![Series::line("line", [(0.0, 1.0), (1.0, 2.0)])],
            ..Chart::default()
        })
    };
    let mut page = Page {
        sections: vec![Section::new("fixture", "A fixture", vec![chart("one"), chart("two")])],
        ..Page::default()
    };
    let names = report(&folder, &page).expect("drawn");
    assert_eq!(names, ["one", "two"]);
    let text = |name: &str| fs::read_to_string(place.path().join("deep/out").join(name)).expect("written");
    assert!(text("report.html").starts_with("<!DOCTYPE html>"));
    for name in &names {
        assert!(text(&format!("figures/{name}.svg")).starts_with("<svg "));
        assert!(text("results.md").contains(&format!("](figures/{name}.svg)")), "{name}");
    }
    page.sections[0].parts.push(chart("one"));
    let error = report(&folder, &page).expect_err("one would be lost").to_string();
    assert!(error.contains("`one`"), "{error}");
}
