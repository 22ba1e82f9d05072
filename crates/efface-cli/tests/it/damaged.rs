//! Files of a model directory that are cut short, altered, swapped or of another version: refused with the file's name,
//! never half-used.

use crate::sandbox::{Sandbox, number};

const STATE: &str = "model/state/1";
const ROWS: &str = "model/rows/000000.rows";

#[test]
fn a_state_with_any_byte_altered_is_refused() {
    let sandbox = Sandbox::with_model("");
    let whole = sandbox.read(STATE);
    for position in (0..whole.len()).step_by(97).chain(0..36).chain([whole.len() - 32, whole.len() - 1]) {
        let mut altered = whole.clone();
        altered[position] ^= 0x55;
        sandbox.write(STATE, altered);
        sandbox.refuses("settle model", &["error: model/state/1: "]);
    }
    sandbox.write(STATE, whole);
    sandbox.json("settle model");
}

#[test]
fn a_state_that_is_cut_short_or_too_long_is_refused() {
    let sandbox = Sandbox::with_model("");
    let whole = sandbox.read(STATE);
    for length in [0, 1, 8, 12, 35, 36, 100, whole.len() / 2, whole.len() - 1] {
        sandbox.write(STATE, &whole[..length]);
        sandbox.refuses("settle model", &["error: model/state/1: the state file is damaged"]);
    }
    sandbox.write(STATE, [whole.as_slice(), b"more"].concat());
    sandbox.refuses("remove model --id u1", &["error: model/state/1: the state file is damaged"]);
}

#[test]
fn a_state_of_another_version_is_refused_with_its_version() {
    let sandbox = Sandbox::with_model("");
    let mut state = sandbox.read(STATE);
    state[8..12].copy_from_slice(&7_u32.to_le_bytes());
    sandbox.write(STATE, state);
    let parts = ["model/state/1: state format version 7 is unknown; this program reads version 1"];
    sandbox.refuses("settle model", &parts);
}

#[test]
fn a_database_that_is_damaged_or_none_is_refused() {
    let sandbox = Sandbox::with_model("");
    let whole = sandbox.read("model/efface.db");
    let mut other = whole.clone();
    other[60..64].copy_from_slice(&7_u32.to_be_bytes());
    for (bytes, part) in [
        (b"not a database, but some text that is long enough to look at".to_vec(), "file is not a database"),
        (Vec::new(), "database version 0 is unknown; this program reads version 1"),
        (other, "database version 7 is unknown; this program reads version 1"),
        (whole[..whole.len() / 2].to_vec(), "malformed"),
    ] {
        sandbox.write("model/efface.db", bytes);
        for command in ["status model", "remove model --id u1"] {
            sandbox.run(command).is_refusal(&["error: model/efface.db: ", part]);
        }
    }
    sandbox.write("model/efface.db", whole);
    sandbox.json("settle model");
}

#[test]
fn rows_with_any_byte_altered_are_refused() {
    let sandbox = Sandbox::with_model("");
    let whole = sandbox.read(ROWS);
    // The first row, in all four places: 60 rows of 3 doubles in blocks of 256, after a header of 4096 bytes.
    let places = [4096..4104, 4096 + 2048..4096 + 2056, 4096 + 4096..4096 + 4100, 4096 + 5120..4096 + 5144];
    for position in (0..48).chain(places.into_iter().flatten()) {
        for bit in [0x01, 0x80] {
            let mut altered = whole.clone();
            altered[position] ^= bit;
            sandbox.write(ROWS, altered);
            let arguments = ["settle model", "remove model --id u0", "retrain model"][position % 3];
            sandbox.refuses(arguments, &["error: ", "model/rows/000000.rows: "]);
        }
    }
    sandbox.write(ROWS, whole);
    sandbox.json("settle model");
}

#[test]
fn rows_that_are_cut_short_or_gone_are_refused() {
    let sandbox = Sandbox::with_model("");
    let whole = sandbox.read(ROWS);
    for length in [0, 10, 63, 4096, whole.len() / 2, whole.len() - 1] {
        sandbox.write(ROWS, &whole[..length]);
        sandbox.refuses("remove model --id u1", &["error: model/rows/000000.rows: "]);
    }
    std::fs::remove_file(sandbox.path(ROWS)).expect("there");
    sandbox.refuses("remove model --id u1", &["error: model/rows/000000.rows: No such file"]);
    // The status needs no rows, and sees that they are gone.
    let answer = sandbox.run("status model --json");
    answer.ends_with(1);
    let found = answer.json()["out_of_step"][0].as_str().map(str::to_owned).unwrap_or_default();
    assert!(found.starts_with("row segments cannot be read: model/rows/000000.rows: No such file"), "{found}");
}

#[test]
fn an_old_state_does_not_bring_removed_rows_back() {
    let sandbox = Sandbox::with_model("");
    let old = sandbox.read(STATE);
    sandbox.json("remove model --id u7");
    std::fs::remove_file(sandbox.path("model/state/2")).expect("there");
    sandbox.write(STATE, old);
    assert_eq!(number(&sandbox.json("settle model"), "passes"), 1.0, "it has been trained again");
    let status = sandbox.json("status model");
    assert_eq!((number(&status, "n_rows"), number(&status, "n_removed")), (59.0, 1.0));
    assert_eq!(status["mended"][0]["found"], "the state was not the one that the database names");
    let shown = sandbox.run("status model").stderr;
    assert!(shown.contains("mended") && shown.contains("not the one that the database names"), "{shown}");
}

#[test]
fn files_of_two_models_do_not_go_together() {
    let sandbox = Sandbox::with_model("");
    sandbox.json("train two.csv --label y --features a,b --out other");
    let whole = sandbox.read(ROWS);
    sandbox.write(ROWS, sandbox.read("other/rows/000000.rows"));
    sandbox.refuses("settle model", &["error: model/rows: rows of 2 values in ", "expected 3 values in "]);
    sandbox.write(ROWS, whole);
    sandbox.json("settle model");
}

#[test]
fn what_an_interrupted_append_left_behind_is_not_read() {
    let sandbox = Sandbox::with_model("");
    let mut rows = sandbox.read(ROWS);
    rows.extend([1; 1000]);
    sandbox.write(ROWS, rows);
    let removed = sandbox.json("remove model --id u1");
    assert_eq!(number(&removed, "n_rows"), 59.0);
    sandbox.write("more.csv", crate::sandbox::table([100], crate::sandbox::class));
    sandbox.json("add model more.csv");
    assert_eq!(sandbox.json("settle model")["passes"].as_u64().map(|passes| passes > 0), Some(true));
    assert_eq!(sandbox.json("status model")["n_rows"], 60);
}
