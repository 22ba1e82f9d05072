//! `efface reproduce`: what it needs, what it leaves, and how it ends.
//!
//! The whole of it runs where the data sets are: `EFFACE_DATA` says where.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

use crate::sandbox::{EFFACE, Sandbox};

const EXPERIMENTS: [&str; 7] = ["mnist", "sst", "scenes", "svhn", "times", "beyond", "scale"];

/// Runs the program as if nothing said where the data is.
fn without_data(sandbox: &Sandbox, arguments: &str) -> (i32, String, String) {
    let mut command = Command::new(EFFACE);
    command.args(arguments.split_whitespace()).env_remove("EFFACE_DATA").current_dir(sandbox.path(""));
    let output = command.output().expect("runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code().expect("a code"), text(output.stdout), text(output.stderr))
}

#[test]
fn data_that_is_not_named_or_not_there_is_told_before_anything_is_made() {
    let sandbox = Sandbox::new();
    let (code, stdout, stderr) = without_data(&sandbox, "reproduce mnist");
    assert!(code == 2 && stdout.is_empty(), "{stderr}");
    assert!(stderr.contains("--data") && stderr.contains("EFFACE_DATA") && stderr.lines().count() == 1, "{stderr}");
    sandbox.refuses("reproduce all --data nowhere", &["--data", "nowhere", "directory"]);
    assert!(!sandbox.exists("results"));
}

#[test]
fn a_place_that_cannot_be_written_to_is_told_before_the_work() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("data")).expect("writable");
    sandbox.write("taken", "a file");
    sandbox.refuses("reproduce all --data data --out taken", &["taken"]);
    sandbox.refuses("reproduce all --data data --out taken/below", &["taken"]);
    fs::create_dir_all(sandbox.path("results/figures")).expect("writable");
    sandbox.refuses("reproduce all --data data --markdown taken/results.md", &["taken"]);
    sandbox.refuses("reproduce all --data data --markdown data", &["--markdown", "data", "directory"]);
}

#[test]
fn what_is_no_experiment_is_refused() {
    let sandbox = Sandbox::new();
    for arguments in ["reproduce", "reproduce lsun", "reproduce mnist --seed x"] {
        let answer = sandbox.run(arguments);
        answer.ends_with(2);
        assert!(answer.stdout.is_empty(), "{answer:?}");
    }
    let help = sandbox.run("reproduce --help");
    help.ends_with(0);
    for part in EXPERIMENTS.iter().chain(&["report", "--quick", "--markdown", "EFFACE_DATA", "Examples:"]) {
        assert!(help.stdout.contains(part), "`{part}` is missing");
    }
}

#[test]
fn a_report_of_nothing_is_an_error_and_unreadable_numbers_are_skipped() {
    let sandbox = Sandbox::new();
    let (code, stdout, stderr) = without_data(&sandbox, "reproduce report --out results --json");
    assert!(code == 2 && stderr.contains("no experiment has left its numbers"), "{stderr}");
    assert!(stdout.starts_with("{\"error\":{\"code\":\"error\"") && stdout.lines().count() == 1, "{stdout}");
    sandbox.write("results/mnist.json", "{ \"experiment\": ");
    let (code, _, stderr) = without_data(&sandbox, "reproduce report");
    assert_eq!((code, stderr.lines().count()), (2, 2), "{stderr}");
    assert!(stderr.starts_with("warning: results/mnist.json is skipped"), "{stderr}");
    assert!(!sandbox.exists("results/report.html"));
}

#[test]
fn an_empty_data_directory_never_ends_well_where_data_is_needed() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("data")).expect("writable");
    let answer = sandbox.run("reproduce mnist --quick --data data --json");
    answer.ends_with(2);
    let value = answer.json();
    let reason = value["missing"][0]["reason"].as_str().expect("a reason");
    assert!(reason.contains("data") && reason.contains("published at"), "{reason}");
    let warnings: Vec<&str> = answer.stderr.lines().filter(|line| line.starts_with("warning: ")).collect();
    assert!(warnings.len() == 1 && warnings[0].contains(reason), "{answer:?}");
}

/// The records under `docs/` are read as they are, and `docs/results.md` with its figures is their report.
#[test]
fn the_documented_results_are_the_report_of_their_records() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let text = |file: &str| fs::read_to_string(docs.join(file)).expect(file);
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.path("docs/results")).expect("writable");
    for name in EXPERIMENTS {
        sandbox.write(&format!("docs/results/{name}.json"), text(&format!("results/{name}.json")));
    }
    let value = sandbox.json("reproduce report --out docs/results --markdown docs/results.md");
    assert!(sandbox.text("docs/results.md") == text("results.md"), "`reproduce report` writes another docs/results.md");
    for figure in value["figures"].as_array().expect("a list") {
        let figure = format!("results/figures/{}.svg", figure.as_str().expect("a name"));
        assert_eq!(sandbox.text(&format!("docs/{figure}")).trim_end(), text(&figure).trim_end(), "{figure}");
    }
}

/// The smoke run of everything.
#[test]
fn all_experiments_leave_whole_files() {
    let Some(data) = efface_testkit::real_data() else { return };
    let sandbox = Sandbox::new();
    let data = data.to_str().expect("text");
    let arguments = ["reproduce", "all", "--quick", "--data", data, "--markdown", "docs/results.md", "--json"];
    let answer = sandbox.run_all(&arguments);
    answer.ends_with(0);
    let value = answer.json();
    assert_eq!(value["experiments"].as_array().map(Vec::len), Some(EXPERIMENTS.len()), "{value}");
    assert_eq!((&value["report"], &value["shown"][0]["quick"]), (&"results/report.html".into(), &true.into()));
    check_files(&sandbox, &value);

    // The numbers suffice to write all again.
    let before = sandbox.snapshot();
    for name in ["results/report.html", "docs/results.md"] {
        fs::remove_file(sandbox.path(name)).expect("there");
    }
    fs::remove_dir_all(sandbox.path("results/figures")).expect("there");
    sandbox.json("reproduce report --markdown docs/results.md");
    assert!(before == sandbox.snapshot(), "the report changes when it is written again");
}

fn check_files(sandbox: &Sandbox, value: &Value) {
    let page = sandbox.text("results/report.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
    for name in EXPERIMENTS {
        assert_eq!(sandbox.json_file(&format!("results/{name}.json"))["experiment"], name);
        assert!(page.contains(&format!("efface reproduce {name} --data DIR --quick")), "{name}");
    }
    for figure in value["figures"].as_array().expect("a list") {
        let figure = format!("results/figures/{}", figure.as_str().expect("a name"));
        let svg = sandbox.text(&format!("{figure}.svg"));
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>"), "{figure}");
    }
    let markdown = sandbox.text("docs/results.md");
    assert_eq!(markdown.matches("Smoke run").count(), EXPERIMENTS.len());
    for (i, _) in markdown.match_indices("](").filter(|(i, _)| !markdown[*i..].starts_with("](#")) {
        let link = markdown[i + 2..].split(')').next().expect("a link");
        assert!(Path::new(&sandbox.path("docs")).join(link).is_file(), "{link} leads nowhere");
    }
}
