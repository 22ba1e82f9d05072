//! A crash between two steps of an operation, made by putting files back as they were: the next opening finishes what
//! was committed, and what was not committed does not count.

use std::fs;

use efface_engine::{PublishedModel, RowSource, Status};

use crate::models::{Folder, files, ids, published, randomness, table};

/// Bytes of one record of three doubles: label, features, checksum.
const RECORD: usize = 8 + 3 * 8 + 4;

fn record(folder: &Folder, position: usize) -> Vec<u8> {
    let start = 64 + position * RECORD;
    folder.read("model/rows.bin")[start..start + RECORD].to_vec()
}

#[test]
fn a_purge_that_was_cut_short_is_finished_at_opening() {
    let folder = Folder::with_model();
    let rows = folder.read("model/rows.bin");
    folder.open().remove(&ids(&["row-17", "row-3"]), None).expect("removable");
    let purged = folder.read("model/rows.bin");
    folder.write("model/rows.bin", &rows);
    assert_ne!(record(&folder, 17), [0; RECORD]);
    drop(folder.open());
    for position in [3, 17] {
        assert_eq!(record(&folder, position), [0; RECORD]);
    }
    assert_eq!(folder.read("model/rows.bin"), purged);
}

#[test]
fn a_purge_that_was_cut_short_is_finished_before_the_next_removal() {
    let folder = Folder::with_model();
    let rows = folder.read("model/rows.bin");
    folder.open().remove(&ids(&["row-17"]), None).expect("removable");
    folder.write("model/rows.bin", rows);
    folder.open().remove(&ids(&["row-18"]), None).expect("removable");
    for position in [17, 18] {
        assert_eq!(record(&folder, position), [0; RECORD]);
    }
    assert_eq!(Status::read(folder.model()).expect("readable").n_removed, 2);
}

#[test]
fn a_correction_that_was_cut_short_before_its_commit_did_not_happen() {
    let folder = Folder::with_model();
    let state = folder.read("model/state.efface");
    let before = Status::read(folder.model()).expect("readable").gradient_residual;
    // The new rows are appended before the commit, the old ones overwritten after it.
    let appended = {
        let rows = folder.read("model/rows.bin");
        folder.open().correct(&RowSource::of(&folder.write("same.csv", table([3, 17])))).expect("present");
        let after = folder.read("model/rows.bin");
        [rows.as_slice(), &after[rows.len()..]].concat()
    };
    folder.write("model/state.efface", state);
    folder.write("model/rows.bin", appended);
    assert_eq!(Status::read(folder.model()).expect("readable").gradient_residual.to_bits(), before.to_bits());
    let mut model = folder.open();
    assert_eq!(model.remove(&ids(&["row-3"]), None).expect("removable").n_rows, 59);
    assert_eq!(model.add(&RowSource::of(&folder.write("more.csv", table([100])))).expect("new").n_rows, 60);
    drop(model);
    assert_eq!(folder.open().remove(&ids(&["row-100"]), None).expect("removable").n_rows, 59);
}

#[test]
fn a_release_that_was_committed_gets_its_name_at_opening() {
    let folder = Folder::with_model();
    published(folder.open().release(&mut randomness(), None).expect("writable"));
    let before = files(&folder.model());
    fs::rename(folder.path("model/releases/1"), folder.path("model/releases/1.partial")).expect("there");
    assert_eq!(Status::read(folder.model()).expect("readable").n_releases, 1);
    assert!(PublishedModel::open(folder.model()).is_err());
    drop(folder.open());
    assert!(before == files(&folder.model()));
    PublishedModel::open(folder.model()).expect("published");
    assert_eq!(published(folder.open().release(&mut randomness(), None).expect("writable")).release, 2);
}

#[test]
fn a_release_that_was_not_committed_is_made_anew() {
    let folder = Folder::with_model();
    let state = folder.read("model/state.efface");
    published(folder.open().release(&mut randomness(), None).expect("writable"));
    let first = folder.read("model/releases/1/model.json");
    fs::rename(folder.path("model/releases/1"), folder.path("model/releases/1.partial")).expect("there");
    folder.write("model/state.efface", state);
    let mut model = folder.open();
    assert!(!folder.path("model/releases/1").exists(), "what is not counted is not published");
    assert_eq!(published(model.release(&mut randomness(), None).expect("writable")).release, 1);
    assert_ne!(folder.read("model/releases/1/model.json"), first, "with fresh noise");
    assert!(!folder.path("model/releases/1.partial").exists());
}

#[test]
fn half_of_a_new_state_is_not_read() {
    let folder = Folder::with_model();
    let state = folder.read("model/state.efface");
    folder.write("model/state.efface.partial", &state[..state.len() / 2]);
    let report = folder.open().remove(&ids(&["row-3"]), None).expect("removable");
    assert_eq!(report.n_rows, 59);
    assert!(!folder.path("model/state.efface.partial").exists());
}

/// A folder in the place of the file that is written aside: no commit can succeed.
fn obstruct(folder: &Folder) {
    fs::create_dir(folder.path("model/state.efface.partial")).expect("writable");
    folder.write("model/state.efface.partial/stone", "");
}

#[test]
fn a_commit_that_fails_leaves_the_old_model_and_a_handle_that_says_so() {
    let folder = Folder::with_model();
    let mut model = folder.open();
    model.remove(&ids(&["row-1"]), None).expect("removable");
    let before = files(&folder.model());
    obstruct(&folder);
    let error = model.remove(&ids(&["row-3"]), None).expect_err("no commit");
    assert!(error.to_string().contains("state.efface.partial"), "{error}");
    for error in [
        model.remove(&ids(&["row-4"]), None).expect_err("damaged"),
        model.settle(None).expect_err("damaged"),
        model.retrain(&mut randomness(), &mut |_| {}).expect_err("damaged"),
        model.release(&mut randomness(), None).expect_err("damaged"),
    ] {
        assert_eq!(error.to_string(), "an earlier operation on this model failed; open it again");
    }
    drop(model);
    fs::remove_dir_all(folder.path("model/state.efface.partial")).expect("there");
    assert!(before == files(&folder.model()));
    assert_eq!(folder.open().remove(&ids(&["row-3"]), None).expect("removable").n_rows, 58);
}

#[test]
fn a_release_whose_commit_fails_is_not_published() {
    let folder = Folder::with_model();
    let mut model = folder.open();
    let before = files(&folder.model());
    obstruct(&folder);
    let out = folder.path("copy.json");
    model.release(&mut randomness(), Some(&out)).expect_err("no commit");
    drop(model);
    fs::remove_dir_all(folder.path("model/state.efface.partial")).expect("there");
    assert!(before == files(&folder.model()));
    let mut left: Vec<_> = fs::read_dir(folder.path(".")).expect("a folder").flatten().map(|e| e.file_name()).collect();
    left.sort();
    assert_eq!(left, ["model", "rows.csv"]);
}
