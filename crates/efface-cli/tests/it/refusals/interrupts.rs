//! Work that somebody stops: on a signal what was written goes, and after a kill of a training the next command says what is
//! left.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::models::extractor::{TRAIN, with_images};
use crate::sandbox::{COLUMNS, EFFACE, Sandbox, two_classes};

/// A training that reads its rows from a pipe, and so goes on until somebody ends it.
struct Training {
    process: Child,
    rows: File,
}

impl Training {
    /// Has written rows to the disk when it is returned.
    fn begin(sandbox: &Sandbox, options: &[&str]) -> Self {
        sandbox.shell("rm -f pipe.csv && mkfifo pipe.csv").ends_with(0);
        let process = efface()
            .args(["train", "pipe.csv", "--out", "model", "--scale", "unit"])
            .args(COLUMNS.split(' '))
            .args(options)
            .current_dir(sandbox.path("."))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("runs");
        let mut rows = File::options().write(true).open(sandbox.path("pipe.csv")).expect("a pipe");
        rows.write_all(b"id,who,a,b,c,y\n").expect("read");
        for i in 0..140_000 {
            writeln!(rows, "{i},{i},0.1,0.2,0.3,{}", i % 2).expect("read");
        }
        let first = sandbox.path(&format!("model.partial-{}", process.id())).join("rows/000000.rows");
        let start = Instant::now();
        while fs::metadata(&first).map_or(0, |file| file.len()) < 1 << 20 {
            assert!(start.elapsed() < Duration::from_mins(1), "no rows are written");
            std::thread::yield_now();
        }
        Self { process, rows }
    }

    /// Sends a signal and answers with the code of the end, or the signal, and with what was said.
    fn end(mut self, signal: &str) -> (Option<i32>, Option<i32>, [String; 2]) {
        send(signal, &self.process);
        let status = self.process.wait().expect("ends");
        drop(self.rows);
        let (mut stdout, mut stderr) = (String::new(), String::new());
        self.process.stdout.take().expect("a pipe").read_to_string(&mut stdout).expect("text");
        self.process.stderr.take().expect("a pipe").read_to_string(&mut stderr).expect("text");
        (status.code(), status.signal(), [stdout, stderr])
    }
}

/// The program with all signals as they are at first. Whoever runs the tests may ignore some, as `nohup` does, and the program
/// would go on doing so.
fn efface() -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal", EFFACE]);
    command
}

/// Whether the program has begun to listen to Ctrl-C.
fn listens(process: &Child) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap_or_default();
    let caught = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigCgt:")?.trim(), 16).ok());
    caught.is_some_and(|signals| signals & 2 != 0)
}

fn send(signal: &str, process: &Child) {
    let sent = Command::new("sh").args(["-c", &format!("kill -{signal} {}", process.id())]).status().expect("a shell");
    assert!(sent.success());
}

/// Ctrl-C in a training left 164 megabytes of rows in `OUT.partial-PID`.
#[test]
fn a_training_that_is_interrupted_leaves_no_rows() {
    let sandbox = Sandbox::new();
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let (ended, _, [stdout, stderr]) = Training::begin(&sandbox, &[]).end(signal);
        assert_eq!((ended, stdout.as_str()), (Some(code), ""), "{stderr}");
        assert_eq!(stderr, "error: interrupted; nothing is left of model\n");
        assert_eq!(sandbox.names("."), ["pipe.csv"]);
    }
    let (ended, _, [stdout, _]) = Training::begin(&sandbox, &["--json"]).end("INT");
    assert_eq!(ended, Some(130));
    let told: serde_json::Value = serde_json::from_str(&stdout).expect("one object");
    assert_eq!(told["error"]["code"], "interrupted");
}

/// A network that is interrupted is not there; with a checkpoint, the same command goes on with it.
#[test]
fn a_network_that_is_interrupted_goes_on_from_its_checkpoint() {
    let sandbox = with_images();
    let train = |options: &str| {
        let mut command = efface();
        command.args(TRAIN.split(' ')).args(options.split(' ')).current_dir(sandbox.path("."));
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("runs")
    };
    let interrupted = |process: Child| {
        send("INT", &process);
        let ended = process.wait_with_output().expect("ends");
        assert_eq!(ended.status.code(), Some(130), "{ended:?}");
        String::from_utf8(ended.stderr).expect("text")
    };
    let long = train("--epochs 100000 --batch 16");
    let start = Instant::now();
    while !listens(&long) {
        assert!(start.elapsed() < Duration::from_mins(1), "it never listens to signals");
        std::thread::yield_now();
    }
    assert!(interrupted(long).contains("nothing was written"));
    assert_eq!(sandbox.names("."), ["images.idx", "labels.idx"]);

    let options = "--epochs 5 --batch 16 --checkpoint run";
    let stopped = train(options);
    while !sandbox.exists("run") {
        assert!(start.elapsed() < Duration::from_mins(1), "no checkpoint is written");
        std::thread::yield_now();
    }
    let told = interrupted(stopped);
    assert!(told.contains("of 30 steps; the same command goes on from run"), "{told}");
    assert_eq!(sandbox.names("."), ["images.idx", "labels.idx", "run"]);
    // Another plan does not go on from it, and leaves it there.
    sandbox.refuses(&format!("{TRAIN} --epochs 6 --batch 16 --checkpoint run"), &["run", "plan"]);
    sandbox.json(&format!("{TRAIN} {options}"));
    assert_eq!(sandbox.names("."), ["images.idx", "labels.idx", "net.onnx", "net.statement.json"]);
}

/// `transform` left `OUT.partial-PID`, with scaled rows in it.
#[test]
fn answers_that_are_interrupted_leave_the_old_file() {
    let sandbox = Sandbox::with_model("");
    sandbox.json("release model --out model.json");
    sandbox.shell("mkfifo pipe.csv").ends_with(0);
    sandbox.write("answers.csv", "old");
    let before = sandbox.names(".");
    for verb in ["predict", "transform"] {
        let mut process = efface()
            .args([verb, "model.json", "pipe.csv", "--out", "answers.csv"])
            .current_dir(sandbox.path("."))
            .stderr(Stdio::piped())
            .spawn()
            .expect("runs");
        let mut rows = File::options().write(true).open(sandbox.path("pipe.csv")).expect("a pipe");
        rows.write_all(b"a,b,c\n").expect("read");
        rows.write_all("0.1,0.2,0.3\n".repeat(140_000).as_bytes()).expect("read");
        let aside = sandbox.path(&format!("answers.csv.partial-{}", process.id()));
        let start = Instant::now();
        while fs::metadata(&aside).map_or(0, |file| file.len()) == 0 {
            assert!(start.elapsed() < Duration::from_mins(1), "no answers are written");
            std::thread::yield_now();
        }
        send("INT", &process);
        assert_eq!(process.wait().expect("ends").code(), Some(130), "{verb}");
        drop(rows);
        let mut stderr = String::new();
        process.stderr.take().expect("a pipe").read_to_string(&mut stderr).expect("text");
        assert_eq!(stderr, "error: interrupted; answers.csv was not written\n", "{verb}");
        assert_eq!((sandbox.names("."), sandbox.text("answers.csv").as_str()), (before.clone(), "old"));
    }
}

#[test]
fn a_training_that_is_killed_is_told_by_the_next_command() {
    let sandbox = Sandbox::with_table();
    let training = Training::begin(&sandbox, &[]);
    let left = format!("model.partial-{}", training.process.id());
    // One that is at work is left alone.
    sandbox.run("status model").is_refusal(&["error: model does not exist\n"]);
    let (_, killed_by, _) = training.end("KILL");
    assert_eq!(killed_by, Some(9));
    let message = format!("error: model does not exist; {left} holds rows of a training that was killed");
    for command in ["status model", "remove model --id u1", "settle model"] {
        sandbox.run(command).is_refusal(&[&message, "hint: `efface train` with the same --out clears it"]);
    }
    let answer = sandbox.run(&format!("train two.csv {COLUMNS} --out model"));
    answer.ends_with(0);
    assert!(answer.stderr.contains(&format!("warning: removed {left}, which held rows")), "{answer:?}");
    assert!(!sandbox.exists(&left));

    // One that was killed beside a model that is there.
    sandbox.shell("mv model kept").ends_with(0);
    let training = Training::begin(&sandbox, &[]);
    let left = format!("model.partial-{}", training.process.id());
    sandbox.shell("mv kept model").ends_with(0);
    sandbox.run("status model").ends_with(0);
    training.end("KILL");
    let answer = sandbox.run("status model");
    answer.ends_with(1);
    assert!(answer.stderr.contains(&format!("warning: {left} holds rows of a training that was killed")), "{answer:?}");
    sandbox.shell("rm -r model.partial-*").ends_with(0);
    sandbox.run("status model").ends_with(0);
}

/// A witness is taken over before the new model has its name, and was kept when that name was taken meanwhile: the model that it
/// belonged to took no changes any more.
#[test]
fn a_training_that_fails_leaves_the_witness_to_the_model_it_belongs_to() {
    let sandbox = Sandbox::with_table();
    sandbox.json(&format!("train two.csv {COLUMNS} --witness witness --out first"));
    sandbox.json("remove first --id u1");
    let before = sandbox.read("witness");
    for witness in ["witness", "fresh"] {
        let mut training = Training::begin(&sandbox, &["--witness", witness]);
        sandbox.shell("mkdir model; touch model/taken").ends_with(0);
        drop(training.rows);
        assert_eq!(training.process.wait().expect("ends").code(), Some(2));
        assert!(sandbox.names(".").iter().all(|name| !name.contains("partial")));
        sandbox.shell("rm -r model").ends_with(0);
    }
    assert!(before == sandbox.read("witness"), "the witness has changed");
    assert!(!sandbox.exists("fresh"));
    assert_eq!(sandbox.json("remove first --id u2")["n_rows"], 58);
}

/// At whatever moment it comes, a signal leaves a model or nothing, and a witness that fits.
#[test]
fn a_signal_at_any_moment_leaves_a_model_or_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("many.csv", two_classes(6000));
    let train = format!("train many.csv {COLUMNS} --scale unit --witness witness --out model");
    let start = Instant::now();
    sandbox.json(&train);
    let usual = start.elapsed();
    let (mut complete, mut nothing) = (0, 0);
    for step in 0..40 {
        sandbox.shell("rm -rf model witness witness.lock").ends_with(0);
        let mut process = efface()
            .args(train.split_whitespace())
            .current_dir(sandbox.path("."))
            .stderr(Stdio::null())
            .spawn()
            .expect("runs");
        std::thread::sleep(usual * step / 36);
        send(if step % 2 == 0 { "INT" } else { "TERM" }, &process);
        let status = process.wait().expect("ends");
        let ended = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
        let names = sandbox.names(".");
        if names.contains(&"model".to_owned()) {
            assert!([0, 130, 143].map(Some).contains(&ended), "{ended:?}");
            sandbox.json("status model");
            complete += 1;
        } else {
            assert!([130, 143].map(Some).contains(&ended), "{ended:?}");
            assert!(!names.contains(&"witness".to_owned()), "{names:?}");
            nothing += 1;
        }
        assert!(names.iter().all(|name| !name.contains("partial")), "{names:?}");
    }
    assert!(nothing > 5, "{complete} models, {nothing} times nothing");
}
