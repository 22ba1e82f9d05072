//! Writing that fails: a full disk, a limit on the size of files, a directory that may not be written. The old model
//! stays whole, and the message names the file.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::sandbox::{COLUMNS, Sandbox};

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
        answer.is_refusal(&["No space left on device"]);
    }
}

#[test]
fn training_that_cannot_be_written_leaves_nothing() {
    let sandbox = Sandbox::with_table();
    let answer = limited(&sandbox, 1, &format!("train two.csv {COLUMNS} --out model"));
    answer.is_refusal(&["error: model.partial", "File too large"]);
    assert_eq!(sandbox.names("."), ["two.csv"]);
    sandbox.json(&format!("train two.csv {COLUMNS} --out model"));
}

#[test]
fn a_change_that_cannot_be_written_leaves_the_old_model() {
    let sandbox = Sandbox::with_model("");
    sandbox.write("more.csv", crate::sandbox::table(100..130, crate::sandbox::class));
    let before = sandbox.snapshot();
    for (arguments, file) in [
        ("remove model --id u1", "state.efface"),
        ("remove model --subject p2 --settle", "state.efface"),
        ("settle model", "state.efface"),
        ("retrain model", "state.efface"),
        ("release model", "model/releases/1.partial"),
    ] {
        // The state has about 3 kB: it cannot be written, and what is smaller can.
        let blocks = u32::from(!file.contains("releases"));
        limited(&sandbox, blocks, arguments).is_refusal(&["error: model/", file, "File too large"]);
        sandbox.json("status model");
        assert!(before == sandbox.snapshot(), "{arguments}");
    }
    limited(&sandbox, 1, "add model more.csv").is_refusal(&["error: model/", "File too large"]);
    assert_eq!(sandbox.json("remove model --id u1")["n_rows"], 59);
    assert_eq!(sandbox.json("release model")["release"], 1);
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
    assert_eq!(sandbox.names("model"), ["lock", "releases", "rows.bin", "state.efface"]);
}

/// The state fits under the limit, the file of rows does not: the removal is committed, but the row cannot be
/// overwritten. That must be said, and made up for as soon as possible.
#[test]
fn a_purge_that_fails_is_told_as_such_and_finished_later() {
    let sandbox = Sandbox::new();
    let rows: Vec<String> = (0..2000).map(|i| format!("{i},0.{:03},0.5,{}", i % 997 + 1, i % 2)).collect();
    sandbox.write("rows.csv", format!("id,a,b,y\n{}\n", rows.join("\n")));
    sandbox.json("train rows.csv --id id --label y --out model");
    let (state, rows) = (sandbox.read("model/state.efface").len(), sandbox.read("model/rows.bin").len());
    assert!(state < 50 * 512 && 100 * 512 < rows, "{state} {rows}");
    let answer = limited(&sandbox, 50, "remove model --id 1999");
    let parts =
        ["error: the change is in force, but the old rows could not be overwritten yet", "model/rows.bin", "hint"];
    answer.is_refusal(&parts);
    sandbox.run("remove model --id 1999").is_refusal(&["row id `1999` has already been removed"]);
    assert_eq!(sandbox.json("status model")["n_removed"], 1);
    let left = sandbox.read("model/rows.bin");
    assert!(left[left.len() - 28..].iter().all(|byte| *byte == 0), "the next command has overwritten the row");
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
    for name in ["model/state.efface", "model/rows.bin", "model/lock"] {
        assert_eq!(mode(name), 0o600, "{name}");
    }
}
