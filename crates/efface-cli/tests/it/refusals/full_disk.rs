//! Writing that fails: a full disk, a limit on the size of files, a directory that may not be written. The old model
//! stays whole, and the message names the file.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::sandbox::{COLUMNS, MODEL_FILES, Sandbox};

/// Runs the program under a limit on the size of files, in blocks of 512 bytes, with the signal ignored that would
/// otherwise end it.
fn limited(sandbox: &Sandbox, blocks: u32, arguments: &str) -> crate::sandbox::Answer {
    sandbox.shell(&format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" {arguments}"))
}

#[test]
fn a_full_disk_is_an_error_with_the_path() {
    let sandbox = Sandbox::with_model("");
    sandbox.json("release model");
    let parts = ["error: /dev/full: No space left on device"];
    sandbox.refuses("predict model two.csv --out /dev/full", &parts);
    sandbox.run("demo --out /dev/full --json").is_refusal(&parts);
}

#[test]
fn a_full_stdout_is_an_error() {
    let sandbox = Sandbox::with_model("");
    sandbox.json("release model");
    for arguments in ["predict model two.csv", "predict model two.csv --json", "status model --json"] {
        let answer = sandbox.shell(&format!("\"$0\" {arguments} > /dev/full"));
        answer.ends_with(2);
        assert!(
            answer.stderr.starts_with("error: ") && answer.stderr.contains("No space left on device"),
            "{answer:?}"
        );
    }
}

#[test]
fn training_that_cannot_be_written_leaves_nothing() {
    let sandbox = Sandbox::with_table();
    for blocks in [0, 1, 8, 10, 20, 40, 60] {
        let answer = limited(&sandbox, blocks, &format!("train two.csv {COLUMNS} --out model"));
        answer.is_refusal(&["error: model.partial"]);
        assert_eq!(sandbox.names("."), ["two.csv"], "{blocks} blocks");
    }
    sandbox.json(&format!("train two.csv {COLUMNS} --out model"));
}

/// Under any limit a command is done or refused. What was refused did not happen, unless the answer says that it is in
/// force; and without the limit the model goes on.
#[test]
fn a_change_that_cannot_be_written_did_not_happen_or_is_said_to_be_in_force() {
    let sandbox = Sandbox::with_model("");
    sandbox.write("more.csv", crate::sandbox::table(100..130, crate::sandbox::class));
    let copy = |from: &str, to: &str| sandbox.shell(&format!("rm -rf {to} && cp -a {from} {to}")).ends_with(0);
    let (mut refused, mut in_force) = (0, 0);
    for (arguments, n_rows) in [
        ("remove changed --id u1", 59),
        ("remove changed --subject p2 --settle", 56),
        ("settle changed", 60),
        ("retrain changed", 60),
        ("release changed", 60),
        ("add changed more.csv", 90),
    ] {
        for blocks in [0, 1, 4, 8, 20, 40, 60, 80, 100, 120] {
            copy("model", "changed");
            let answer = limited(&sandbox, blocks, arguments);
            let done = answer.code == Some(0)
                || ["is committed", "are removed"].iter().any(|part| answer.stderr.contains(part));
            if answer.code != Some(0) {
                answer.is_refusal(&["error: ", "changed/"]);
                refused += 1;
                in_force += usize::from(done);
            }
            let status = sandbox.json("status changed");
            assert_eq!(status["n_rows"], if done { n_rows } else { 60 }, "{arguments}, {blocks} blocks");
            let settled = sandbox.json("settle changed");
            assert!(settled["passes"].as_u64() > Some(0));
            assert_eq!(sandbox.json("status changed")["n_rows"], status["n_rows"]);
            sandbox.json("release changed");
        }
    }
    assert!(refused > 20 && in_force > 2, "{refused} {in_force}");
}

#[test]
fn a_process_that_the_system_ends_at_its_limit_leaves_the_old_model() {
    let sandbox = Sandbox::with_model("");
    let before = sandbox.json("status model");
    for arguments in ["remove model --id u1", "settle model", "release model"] {
        let answer = sandbox.shell(&format!("ulimit -c 0; ulimit -f 1; exec \"$0\" {arguments}"));
        assert_eq!(answer.code, None, "{answer:?}");
        assert_eq!(sandbox.json("status model"), before);
    }
    assert_eq!(sandbox.json("remove model --id u1")["n_rows"], 59);
    assert_eq!(sandbox.names("model"), MODEL_FILES);
}

#[test]
fn a_directory_that_may_not_be_written_is_named() {
    let sandbox = Sandbox::with_model("");
    let folder = sandbox.path("closed");
    fs::create_dir(&folder).expect("writable");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).expect("own folder");
    let privileged = fs::write(folder.join("probe"), "").is_ok();
    if !privileged {
        let parts = ["error: closed/model.partial", "Permission denied"];
        sandbox.run(&format!("train two.csv {COLUMNS} --out closed/model")).is_refusal(&parts);
        let parts = ["error: closed/model.json", "Permission denied"];
        sandbox.run("release model --out closed/model.json").is_refusal(&parts);
        assert_eq!(sandbox.json("status model")["n_releases"], 0);
    }
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).expect("own folder");
}

#[test]
fn secret_files_can_be_read_by_their_owner_only() {
    let sandbox = Sandbox::with_model("");
    sandbox.json("remove model --id u1");
    sandbox.json("release model");
    let mode = |name: &str| fs::metadata(sandbox.path(name)).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode("model"), 0o700);
    for name in ["model/releases", "model/rows", "model/state"] {
        assert_eq!(mode(name), 0o700, "{name}");
    }
    for name in ["model/state/3", "model/rows/000000.rows", "model/efface.db", "model/lock"] {
        assert_eq!(mode(name), 0o600, "{name}");
    }
}
