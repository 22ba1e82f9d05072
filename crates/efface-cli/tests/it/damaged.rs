//! Files of a model directory that are cut short, altered, swapped or of another version: refused with the file's name,
//! never half-used.

use crate::sandbox::{Sandbox, number};

/// Every command that reads the secret state.
const READERS: [&str; 2] = ["status model", "settle model"];

#[test]
fn a_state_with_any_byte_altered_is_refused() {
    let sandbox = Sandbox::with_model("");
    let whole = sandbox.read("model/state.efface");
    for position in (0..whole.len()).step_by(97).chain(0..28).chain([whole.len() - 32, whole.len() - 1]) {
        let mut altered = whole.clone();
        altered[position] ^= 0x55;
        sandbox.write("model/state.efface", altered);
        sandbox.refuses(READERS[position % 2], &["error: model/state.efface: "]);
    }
    sandbox.write("model/state.efface", whole);
    sandbox.json("settle model");
}

#[test]
fn a_state_that_is_cut_short_or_too_long_is_refused() {
    let sandbox = Sandbox::with_model("");
    let whole = sandbox.read("model/state.efface");
    for length in [0, 1, 8, 12, 27, 28, 100, whole.len() / 2, whole.len() - 1] {
        sandbox.write("model/state.efface", &whole[..length]);
        for arguments in READERS {
            sandbox.refuses(arguments, &["error: model/state.efface: the state file is damaged"]);
        }
    }
    sandbox.write("model/state.efface", [whole.as_slice(), b"more"].concat());
    sandbox.refuses("remove model --id u1", &["error: model/state.efface: the state file is damaged"]);
}

#[test]
fn a_state_of_another_version_is_refused_with_its_version() {
    let sandbox = Sandbox::with_model("");
    let mut state = sandbox.read("model/state.efface");
    state[8..12].copy_from_slice(&7_u32.to_le_bytes());
    sandbox.write("model/state.efface", state);
    for arguments in READERS {
        sandbox.refuses(
            arguments,
            &["model/state.efface: state format version 7 is unknown; this program reads version 1"],
        );
    }
}

#[test]
fn a_file_of_rows_with_any_byte_altered_is_refused() {
    let sandbox = Sandbox::with_model("");
    let whole = sandbox.read("model/rows.bin");
    for position in (0..whole.len()).step_by(97).chain(0..64).chain([whole.len() - 1]) {
        for bit in [0x01, 0x80] {
            let mut altered = whole.clone();
            altered[position] ^= bit;
            sandbox.write("model/rows.bin", altered);
            let arguments = ["settle model", "remove model --id u1", "release model"][position % 3];
            sandbox.refuses(arguments, &["error: model/rows.bin: "]);
        }
    }
    sandbox.write("model/rows.bin", whole);
    sandbox.json("settle model");
}

#[test]
fn a_file_of_rows_that_is_cut_short_or_gone_is_refused() {
    let sandbox = Sandbox::with_model("");
    let whole = sandbox.read("model/rows.bin");
    for length in [0, 10, 63, 64, whole.len() / 2, whole.len() - 1] {
        sandbox.write("model/rows.bin", &whole[..length]);
        sandbox.refuses("remove model --id u1", &["error: model/rows.bin: "]);
    }
    std::fs::remove_file(sandbox.path("model/rows.bin")).expect("there");
    sandbox.refuses("remove model --id u1", &["error: model/rows.bin: No such file"]);
    // The status needs no rows.
    sandbox.json("status model");
}

#[test]
fn an_old_state_does_not_bring_removed_rows_back() {
    let sandbox = Sandbox::with_model("");
    let old = sandbox.read("model/state.efface");
    sandbox.json("remove model --id u7");
    sandbox.write("model/state.efface", old);
    sandbox.refuses("settle model", &["error: model/rows.bin: checksum of the row at position 7 does not match"]);
}

#[test]
fn files_of_two_models_do_not_go_together() {
    let sandbox = Sandbox::with_model("");
    sandbox.json("train two.csv --label y --features a,b --out other");
    let rows = sandbox.read("other/rows.bin");
    sandbox.write("model/rows.bin", rows);
    sandbox.refuses("settle model", &["error: model/rows.bin: rows of 2 values in ", "expected 3 in "]);
}

#[test]
fn what_an_interrupted_append_left_behind_is_not_read() {
    let sandbox = Sandbox::with_model("");
    let mut rows = sandbox.read("model/rows.bin");
    rows.extend([1; 1000]);
    sandbox.write("model/rows.bin", rows);
    let removed = sandbox.json("remove model --id u1");
    assert_eq!(number(&removed, "n_rows"), 59.0);
    sandbox.write("more.csv", crate::sandbox::table([100], crate::sandbox::class));
    sandbox.json("add model more.csv");
    assert_eq!(sandbox.json("settle model")["passes"].as_u64().map(|passes| passes > 0), Some(true));
    assert_eq!(sandbox.json("status model")["n_rows"], 60);
}
