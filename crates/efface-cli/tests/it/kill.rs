//! A process killed at any moment: what it answered is in force, what it did not answer is done or not done as a whole,
//! and what it left behind stops nobody.
#![cfg(unix)]

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::sandbox::{Answer, COLUMNS, MODEL_FILES, Sandbox, number, two_classes};

/// Moments at which a command is killed, spread evenly over the time it takes and a little beyond.
const MOMENTS: u32 = 40;

/// Runs a command and kills it after a while, unless it has ended by then.
fn killed_after(sandbox: &Sandbox, arguments: &str, delay: Duration) -> Answer {
    let mut command = sandbox.command(arguments);
    let start = Instant::now();
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("runs");
    while start.elapsed() < delay && child.try_wait().expect("a child").is_none() {
        std::hint::spin_loop();
    }
    child.kill().expect("a child");
    Answer::new(arguments.into(), child.wait_with_output().expect("a child"))
}

/// The time a command takes when it is left alone.
fn time_of(sandbox: &Sandbox, arguments: &str) -> Duration {
    let start = Instant::now();
    sandbox.json(arguments);
    start.elapsed()
}

fn moments(whole: Duration) -> impl Iterator<Item = Duration> {
    (0..MOMENTS).map(move |k| whole * k / (MOMENTS - 8))
}

/// What was answered before the process was killed, if anything was.
fn answered(answer: &Answer) -> Option<Value> {
    if answer.stdout.ends_with('\n') { Some(answer.json()) } else { None }
}

#[test]
fn training_killed_at_any_moment_leaves_a_whole_model_or_none() {
    let sandbox = Sandbox::new();
    sandbox.write("rows.csv", two_classes(800));
    let train = format!("train rows.csv {COLUMNS} --out");
    let whole = time_of(&sandbox, &format!("{train} first"));
    let mut made = 0;
    for delay in moments(whole) {
        let answer = killed_after(&sandbox, &format!("{train} model --json"), delay);
        if sandbox.exists("model") {
            assert_eq!(sandbox.json("status model")["n_rows"], 800);
            sandbox.json("release model");
            std::fs::remove_dir_all(sandbox.path("model")).expect("there");
            made += 1;
        } else {
            assert_eq!(answered(&answer), None, "a model that was promised is there: {answer:?}");
        }
    }
    sandbox.json(&format!("{train} model"));
    assert!(made < MOMENTS, "some process must have been killed in time");
}

#[test]
fn a_removal_killed_at_any_moment_is_done_or_not_done() {
    let sandbox = Sandbox::new();
    sandbox.write("rows.csv", two_classes(800));
    sandbox.json(&format!("train rows.csv {COLUMNS} --out model"));
    let whole = time_of(&sandbox, "remove model --id u799");
    for (i, delay) in moments(whole).enumerate() {
        let answer = killed_after(&sandbox, &format!("remove model --id u{i} --json"), delay);
        let status = sandbox.json("status model");
        assert_eq!(number(&status, "n_rows") + number(&status, "n_removed"), 800.0, "{status}");
        let again = sandbox.run(&format!("remove model --id u{i} --json"));
        match answered(&answer) {
            Some(report) => {
                assert_eq!(report["n_rows"], status["n_rows"]);
                again.is_refusal(&[&format!("row id `u{i}` has already been removed")]);
            }
            None if again.code == Some(0) => {
                assert_eq!(number(&again.json(), "n_rows"), number(&status, "n_rows") - 1.0);
            }
            None => again.is_refusal(&[&format!("row id `u{i}` has already been removed")]),
        }
    }
    let status = sandbox.json("status model");
    assert_eq!(number(&status, "n_removed"), f64::from(MOMENTS) + 1.0);
    assert_eq!(sandbox.json("release model")["release"], 1);
}

#[test]
fn additions_and_corrections_killed_at_any_moment_are_done_or_not_done() {
    let sandbox = Sandbox::new();
    sandbox.write("rows.csv", two_classes(800));
    sandbox.json(&format!("train rows.csv {COLUMNS} --out model"));
    sandbox.write("same.csv", two_classes(50));
    let whole = time_of(&sandbox, "correct model same.csv");
    for (i, delay) in moments(whole).enumerate().step_by(2) {
        let more = format!("id,who,a,b,c,y\nnew{i},x,1,2,{i},no\n");
        sandbox.write("more.csv", more);
        let before = number(&sandbox.json("status model"), "n_rows");
        let added = killed_after(&sandbox, "add model more.csv --json", delay);
        let after = number(&sandbox.json("status model"), "n_rows");
        assert!(after == before + 1.0 || after == before && answered(&added).is_none(), "{before} {after} {added:?}");
        killed_after(&sandbox, "correct model same.csv --json", delay);
        sandbox.json("settle model --tolerance 1");
        assert_eq!(number(&sandbox.json("status model"), "n_rows"), after);
    }
}

#[test]
fn a_release_killed_at_any_moment_is_counted_if_it_can_be_seen() {
    let sandbox = Sandbox::new();
    sandbox.write("rows.csv", two_classes(800));
    sandbox.json(&format!("train rows.csv {COLUMNS} --out model"));
    let whole = time_of(&sandbox, "release model");
    for delay in moments(whole) {
        let before = number(&sandbox.json("status model"), "n_releases");
        let answer = killed_after(&sandbox, "release model --json", delay);
        let n_releases = number(&sandbox.json("status model"), "n_releases");
        assert!(n_releases == before || n_releases == before + 1.0);
        if let Some(report) = answered(&answer) {
            assert_eq!(number(&report, "release"), n_releases);
        }
        for name in sandbox.names("model/releases") {
            if let Ok(release) = name.parse::<f64>() {
                assert!(release <= n_releases, "release {release} is not counted");
            }
        }
        // The next writer finishes what was committed.
        sandbox.json("settle model --tolerance 1");
        sandbox.json_file(&format!("model/releases/{n_releases}/model.json"));
        sandbox.certificate(&format!("model/releases/{n_releases}/certificate.json"));
        sandbox.run("predict model rows.csv").ends_with(0);
    }
}

#[test]
fn what_killed_processes_left_behind_stops_nobody() {
    let sandbox = Sandbox::with_model("");
    sandbox.write("model/state/2.partial", "half of a state");
    std::fs::create_dir_all(sandbox.path("model/releases/1.partial")).expect("writable");
    sandbox.write("model/releases/1.partial/model.json", "half of a model");
    sandbox.write("copy.json.partial", "half of a copy");
    sandbox.json("status model");
    sandbox.refuses("predict model two.csv", &["model has no release yet"]);
    sandbox.json("remove model --id u1");
    assert_eq!(sandbox.json("release model --out copy.json")["release"], 1);
    sandbox.json_file("copy.json");
    assert_eq!(sandbox.names("model"), MODEL_FILES);
    assert_eq!(sandbox.names("model/releases"), ["1"]);
}

#[test]
fn what_a_killed_training_left_is_cleared_by_the_next_one() {
    let sandbox = Sandbox::with_table();
    std::fs::create_dir_all(sandbox.path("model.partial-1/releases")).expect("writable");
    sandbox.write("model.partial-1/efface.db", "half of the rows");
    sandbox.json(&format!("train two.csv {COLUMNS} --out model"));
    assert_eq!(sandbox.names("."), ["model", "two.csv"]);
}

/// A training that was killed before it made `releases/` was taken for somebody else's folder and stayed.
#[test]
fn a_training_that_was_killed_at_its_start_is_cleared_and_nothing_else() {
    let sandbox = Sandbox::with_table();
    for folder in ["partial-1", "partial-2", "partial-3/state", "partial-4/rows"] {
        std::fs::create_dir_all(sandbox.path(&format!("model.{folder}"))).expect("writable");
    }
    sandbox.write("model.partial-2/lock", r#"{"process":2,"since":1}"#);
    sandbox.write("model.partial-3/state/1.partial", "half of a state");
    sandbox.write("model.partial-4/rows/000000.rows", "half of the rows");
    // Not made by a training: a file, a name without a number, files that no training makes, and a model with a release.
    sandbox.write("model.partial-5", "a file");
    let kept = ["partial-x", "partial-6/rows", "partial-7/notes", "partial-8/releases/1"];
    for folder in kept {
        std::fs::create_dir_all(sandbox.path(&format!("model.{folder}"))).expect("writable");
    }
    sandbox.write("model.partial-6/rows/mine.csv", "1,2");
    sandbox.json(&format!("train two.csv {COLUMNS} --out model"));
    let left = ["model", "model.partial-5", "model.partial-6", "model.partial-7", "model.partial-8", "model.partial-x"];
    assert_eq!(sandbox.names("."), [&left[..], &["two.csv"]].concat());
    assert_eq!(sandbox.names("model.partial-6"), ["rows"], "not even a lock is added");
}

/// Numbers of processes come again, in containers sooner than elsewhere.
#[test]
fn a_training_that_was_killed_under_the_same_number_stops_nobody() {
    let sandbox = Sandbox::with_table();
    let left = "mkdir -p model.partial-$$/releases && echo half > model.partial-$$/efface.db";
    let answer = sandbox.shell(&format!("{left} && exec \"$0\" train two.csv {COLUMNS} --json --out model"));
    answer.ends_with(0);
    assert_eq!(sandbox.names("."), ["model", "two.csv"]);
    sandbox.json("remove model --id u1");
}
