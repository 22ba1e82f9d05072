//! An old backup that is put back: told by `status` before anything happens, repaired by the next change, and told again.

use crate::sandbox::{COLUMNS, Sandbox};

fn shell(sandbox: &Sandbox, line: &str) {
    sandbox.shell(line).ends_with(0);
}

#[test]
fn a_directory_that_is_put_back_is_noticed_repaired_and_reported() {
    let sandbox = Sandbox::with_table();
    sandbox.json(&format!("train two.csv {COLUMNS} --out model --witness witness"));
    sandbox.json("release model");
    shell(&sandbox, "cp -a model backup");
    sandbox.json("remove model --subject p3");
    sandbox.json("release model");
    shell(&sandbox, "rm -r model && cp -a backup model");

    let answer = sandbox.run("status model --json");
    answer.ends_with(1);
    assert_eq!(answer.json()["out_of_step"][0], "the directory is older than its witness");
    let told = sandbox.run("status model").stderr;
    assert!(told.contains("OUT OF STEP") && told.contains("next: efface settle model"), "{told}");
    let told = sandbox.run("predict model two.csv --json").stderr;
    assert!(told.contains("warning: the directory is older than its witness: release 1 may know"), "{told}");

    let told = sandbox.run("settle model");
    told.ends_with(0);
    let repaired = "repaired: the directory is older than its witness; 4 rows removed again";
    assert!(told.stderr.contains(&format!("warning: {repaired}")), "{told:?}");
    let status = sandbox.json("status model");
    assert_eq!((&status["n_rows"], &status["n_releases"]), (&56.into(), &2.into()));
    assert_eq!(sandbox.json("release model")["release"], 3);
}

#[test]
fn a_witness_that_is_taken_over_is_reported() {
    let sandbox = Sandbox::with_table();
    sandbox.json(&format!("train two.csv {COLUMNS} --out one --witness witness"));
    sandbox.json("remove one --subject p3");
    let told = sandbox.run(&format!("train two.csv {COLUMNS} --out two --witness witness"));
    told.ends_with(0);
    for part in ["rows left out, removed before", "warning: the witness witness now belongs to this model"] {
        assert!(told.stderr.contains(part), "{told:?}");
    }
    assert_eq!(sandbox.json("status two")["n_rows"], 56);
    sandbox.run("remove one --id u1").is_refusal(&["belongs to another model", "hint: name the model's own"]);
    sandbox.json("remove one --id u1 --witness another");
    sandbox.run(&format!("train two.csv {COLUMNS} --out three --witness three/inside")).ends_with(2);
}

#[test]
fn a_status_can_be_read_where_nothing_can_be_written() {
    let sandbox = Sandbox::with_model("");
    let before = sandbox.json("status model");
    shell(&sandbox, "rm -f model/efface.db-wal model/efface.db-shm && chmod 500 model && chmod 400 model/efface.db");
    let status = sandbox.run("status model --json");
    shell(&sandbox, "chmod 700 model && chmod 600 model/efface.db");
    status.ends_with(0);
    assert_eq!(status.json(), before);
}
