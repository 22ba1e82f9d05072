//! What surrounds a model: who may read it, where its answers go, what its paths are called, and what a crash writes.
#![cfg(target_os = "linux")]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::sandbox::{Answer, COLUMNS, EFFACE, Sandbox};

/// A damaged name was signed as it stood, and nobody accepted the certificate.
#[test]
fn a_key_with_another_name_does_not_sign() {
    let sandbox = Sandbox::with_model("");
    let key = sandbox.text("model/signing.key");
    let public = sandbox.text("model/signing.key.pub");
    let write = |name: &str, text: &str| {
        sandbox.write(name, text);
        fs::set_permissions(sandbox.path(name), fs::Permissions::from_mode(0o600)).expect("own file");
    };
    write("model/signing.key", &key.replacen("name: efface/", "name: Efface/", 1));
    let parts = ["error: model/signing.key is called `Efface/", "but this model is signed by `efface/", "hint: nobody"];
    for command in ["release model", "ledger checkpoint model"] {
        sandbox.run(command).is_refusal(&parts);
    }
    assert_eq!(sandbox.json("status model")["n_releases"], 0);
    write("model/signing.key", &key);

    // The public half that is handed out must fit, too.
    write("model/signing.key.pub", &public.replacen("efface/", "Efface/", 1));
    sandbox.run("release model").is_refusal(&["error: model/signing.key.pub: not a public key: its hash is"]);
    sandbox.run("key new other.key --name other").ends_with(0);
    write("model/signing.key.pub", &sandbox.text("other.key.pub"));
    sandbox.run("release model").is_refusal(&["is called `efface/", "signed by `other`"]);
    write("model/signing.key.pub", &public);
    sandbox.json("release model");
    assert_eq!(sandbox.run("verify model").code, Some(0));

    // So does a key that the operator named.
    sandbox.json("release model --key other.key");
    write("other.key", &sandbox.text("other.key").replacen("name: other", "name: 0ther", 1));
    sandbox.run("release model").is_refusal(&["other.key is called `0ther`, but this model is signed by `other`"]);
}

#[test]
fn a_release_that_was_altered_is_not_used() {
    let sandbox = Sandbox::with_model("");
    sandbox.json("release model --out model.json");
    let file = "model/releases/1/model.json";
    let text = sandbox.text(file);
    assert!(text.contains("\"yes\"") && text.contains("\"no\""));
    sandbox.write(file, text.replace("\"yes\"", "\"maybe\""));
    let message = "model/releases/1/model.json: not the model that its certificate speaks of";
    for command in ["predict model two.csv", "evaluate model two.csv --label y", "predict model/releases/1 two.csv"] {
        sandbox.run(command).is_refusal(&[message]);
    }
    sandbox.run("predict model.json two.csv").ends_with(0);
    sandbox.write("model/releases/1/certificate.json", "{}");
    sandbox.run("predict model two.csv").is_refusal(&["error: model/releases/1/certificate.json: "]);
    sandbox.write(file, text);
}

#[test]
fn permissions_that_a_restore_has_loosened_are_told_and_mended() {
    let sandbox = Sandbox::with_model("--witness witness");
    sandbox.json("release model");
    assert_eq!(sandbox.json("status model")["loose"], serde_json::json!([]));
    sandbox.shell("chmod -R a+rX model; chmod a+r witness").ends_with(0);
    let answer = sandbox.run("status model");
    answer.ends_with(0);
    let parts = ["warning: others than its owner may use model and 10 more", "the next change makes all of it private"];
    assert!(parts.iter().all(|part| answer.stderr.contains(part)), "{answer:?}");
    let loose = &sandbox.json("status model")["loose"];
    for name in ["model/efface.db", "model/rows/000000.rows", "model/signing.key", "model/state"] {
        assert!(loose.as_array().expect("a list").iter().any(|loose| loose == name), "{name}: {loose}");
    }
    sandbox.json("remove model --id u1");
    assert_eq!(sandbox.json("status model")["loose"], serde_json::json!([]));
    sandbox.json("release model");
}

/// A change whose answer could not be written ended with code 0 when stdout was closed, and as if it had failed when it was
/// full.
#[test]
fn a_change_that_cannot_be_told_is_said_to_be_in_force() {
    let sandbox = Sandbox::with_model("");
    sandbox.write("more.csv", crate::sandbox::table(100..101, crate::sandbox::class));
    let message = "error: the change is in force, but the answer could not be written to stdout: ";
    for arguments in [
        "remove model --id u1",
        "add model more.csv --label y --id id --subject who",
        "settle model",
        "release model",
        "policy model --min-removals 2",
        "revoke model 1 --reason mistake",
        "train two.csv --label y --id id --subject who --out second",
    ] {
        let answer = sandbox.shell(&format!("\"$0\" {arguments} --json > /dev/full"));
        answer.ends_with(2);
        assert!(answer.stderr.lines().any(|line| line.starts_with(message)), "{answer:?}");
    }
    let status = sandbox.json("status model");
    assert_eq!((&status["n_rows"], &status["n_releases"]), (&60.into(), &1.into()));
    assert_eq!(status["revoked"], serde_json::json!([1]));
    assert_eq!(sandbox.json("status second")["n_rows"], 60);
    // Nobody reads at all.
    let (_, unread) = std::io::pipe().expect("a pipe");
    let output = Command::new(EFFACE)
        .args(["remove", "model", "--id", "u2", "--json"])
        .current_dir(sandbox.path("."))
        .stdout(unread)
        .output()
        .expect("runs");
    let answer = Answer::new("remove into a closed pipe".into(), output);
    answer.ends_with(2);
    assert!(answer.stderr.starts_with(message), "{answer:?}");
    assert_eq!(sandbox.json("status model")["n_rows"], 59);
    // A release that is held back has changed nothing.
    let answer = sandbox.shell("\"$0\" release model --json > /dev/full");
    answer.ends_with(2);
    assert!(!answer.stderr.contains("in force"), "{answer:?}");
}

#[test]
fn paths_need_not_be_unicode() {
    let sandbox = Sandbox::with_table();
    let name = |name: &[u8]| OsStr::from_bytes(name).to_owned();
    let (model, rows, out) = (name(b"m\xff del"), name(b"two\xfe.csv"), name(b"release\xfd.json"));
    fs::copy(sandbox.path("two.csv"), sandbox.path(".").join(&rows)).expect("writable");
    let run = |arguments: &[&OsStr]| {
        let output = Command::new(EFFACE).args(arguments).current_dir(sandbox.path(".")).output().expect("runs");
        Answer::new(format!("{arguments:?}"), output)
    };
    let os = OsStr::new;
    let train: Vec<&OsStr> = COLUMNS.split(' ').map(os).collect();
    let done = |arguments: &[&OsStr]| {
        let arguments = [arguments, &[os("--json")]].concat();
        let answer = run(&arguments);
        answer.ends_with(0);
        answer.json()
    };
    let trained = done(&[&[os("train"), &rows, os("--out"), &model][..], &train].concat());
    assert_eq!(trained["model"], "m\u{fffd} del");
    assert_eq!(done(&[os("remove"), &model, os("--id"), os("u1")])["n_rows"], 59);
    done(&[os("settle"), &model]);
    done(&[os("release"), &model, os("--out"), &out]);
    done(&[os("predict"), &out, &rows, os("--out"), &name(b"p\xff.csv")]);
    done(&[os("predict"), &model, &rows]);
    done(&[os("status"), &model]);
    done(&[os("verify"), &model]);
    done(&[os("revoke"), &model, os("1"), os("--reason"), os("test")]);
    done(&[os("certificate"), os("request"), &model, os("change-1"), os("--out"), &name(b"c\xff.json")]);
    done(&[os("certificate"), os("show"), &name(b"c\xff.json")]);
    // A path that is kept as text must be one.
    let other = name(b"other");
    let witness = name(b"w\xff");
    let train_other = |more: &[&OsStr]| run(&[&[os("train"), &rows, os("--out"), &other][..], &train, more].concat());
    train_other(&[os("--witness"), &witness])
        .is_refusal(&["error: the path of the witness must be valid Unicode, got "]);
    let key = name(b"k\xff");
    run(&[os("key"), os("new"), &key, os("--name"), os("operator")]).ends_with(0);
    train_other(&[os("--key"), &key]).is_refusal(&["error: the path of the key must be valid Unicode, got "]);
    assert!(!sandbox.exists("other"));
}

/// A crash would have written rows, weights and keys to a file.
#[test]
fn there_are_no_core_dumps() {
    let sandbox = Sandbox::with_table();
    sandbox.shell("mkfifo pipe.csv").ends_with(0);
    let mut process = Command::new(EFFACE)
        .args(["train", "pipe.csv", "--label", "y", "--out", "model"])
        .current_dir(sandbox.path("."))
        .spawn()
        .expect("runs");
    // Opened on both sides: the command is at work.
    let pipe = fs::File::options().write(true).open(sandbox.path("pipe.csv")).expect("a pipe");
    let limits = fs::read_to_string(format!("/proc/{}/limits", process.id())).expect("running");
    process.kill().expect("running");
    process.wait().expect("ends");
    drop(pipe);
    let core = limits.lines().find_map(|line| line.strip_prefix("Max core file size")).expect("a limit");
    assert_eq!(core.split_whitespace().collect::<Vec<_>>(), ["0", "0", "bytes"]);
}
