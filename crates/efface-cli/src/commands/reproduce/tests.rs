//! What stops one experiment does not stop the others; what cannot be read is left aside; every kind of part is drawn.

mod fixture;

use std::fs;

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
    assert_eq!(names, ["mnist", "sst", "scenes", "times", "beyond", "scale"]);
}

#[test]
fn missing_data_is_a_negative_answer_that_says_where_to_find_it() {
    let runs = runs(2, None);
    assert!(matches!(runs.verdict(), Ok(Answer::Negative)));
    assert_eq!((runs.experiments.len(), runs.missing.len()), (4, 2));
    for part in ["a data set", "data/set/rows", "https://example.org/set"] {
        assert!(runs.missing[0].reason.contains(part), "{:?}", runs.missing);
    }
}

#[test]
fn data_missing_everywhere_is_an_error() {
    let error = runs(6, None).verdict().map(|_| ()).expect_err("nothing was done").to_string();
    assert!(error.contains("no experiment could be done") && error.contains("mnist, sst"), "{error}");
}

#[test]
fn one_that_fails_is_an_error_at_the_end_and_the_others_go_on() {
    let runs = runs(1, Some(Experiment::Times));
    assert_eq!((runs.experiments.len(), runs.missing.len(), runs.failed.len()), (4, 1, 1));
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
fn a_report_has_every_part_in_both_forms_and_every_picture_as_a_file() {
    let (place, folder) = folder();
    let names = report(&folder, &[fixture::shown()]).expect("drawn");
    let at = |name: &str| place.path().join("deep/out").join(name);
    let text = |name: &str| fs::read_to_string(at(name)).expect("written");
    let (page, markdown) = (text("report.html"), text("results.md"));
    assert_eq!(names, ["fixture-bounds", "fixture-tradeoff", "fixture-accuracy", "fixture-images"]);
    for name in &names {
        assert!(text(&format!("figures/{name}.svg")).starts_with("<svg "));
        assert!(fs::read(at(&format!("figures/{name}.png"))).expect("written").starts_with(b"\x89PNG\r\n\x1a\n"));
        assert!(markdown.contains(&format!("](figures/{name}.svg)")), "{name}");
        assert!(page.contains(&format!("<figure id=\"{name}\">")), "{name}");
    }
    for part in ["Smoke run", "efface reproduce fixture --data DIR", "2 threads"] {
        assert!(page.contains(part) && markdown.contains(part), "{part}");
    }
    assert!(page.contains("a &lt;b&gt; &amp; c") && markdown.contains("a &lt;b\\> &amp; c"));
    assert!(page.contains("<a href=\"#fixture\">") && page.contains("<section id=\"fixture\">"));
    assert!(markdown.contains("- [A fixture](#a-fixture) (smoke run)") && markdown.contains("\n## A fixture\n"));
    assert!(page.contains("<td class=\"num\">≤ 2.5 ms</td>") && markdown.contains("| first \\| row | ≤ 2.5 ms |"));
    assert!(!page.contains("NaN") && !page.contains("href=\"http"), "a page refers to nothing outside itself");
}

#[test]
fn two_pictures_of_one_name_are_refused() {
    let (_place, folder) = folder();
    let error = report(&folder, &[fixture::shown(), fixture::shown()]).expect_err("one would be lost").to_string();
    assert!(error.contains("fixture-bounds"), "{error}");
}
