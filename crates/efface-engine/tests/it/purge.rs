//! What has been removed is gone: its features, its label and its ids are in no file of the directory.

use std::path::{Path, PathBuf};

use efface_core::loss;
use efface_core::model::TrainingConfig;
use efface_engine::RowSource;

use crate::models::{Folder, features, files, ids, published, randomness, squared, subjects, table};

/// Files that contain these bytes.
fn found(directory: &Path, bytes: &[u8]) -> Vec<PathBuf> {
    let contains = |content: &[u8]| content.windows(bytes.len()).any(|window| window == bytes);
    files(directory).into_iter().filter(|(_, content)| contains(content)).map(|(path, _)| path).collect()
}

/// Files that contain any feature of a row, as it is kept.
fn found_features(directory: &Path, row: usize) -> Vec<PathBuf> {
    features(row).iter().flat_map(|x| found(directory, &x.to_le_bytes())).collect()
}

#[test]
fn a_removed_row_is_in_no_file() {
    let folder = Folder::with_model();
    let model = folder.model();
    assert_eq!(found_features(&model, 17), ["rows.bin"; 3].map(PathBuf::from));
    assert_eq!(found(&model, b"row-17"), [PathBuf::from("state.efface")]);

    let mut open = folder.open();
    published(open.release(&mut randomness(), None).expect("writable"));
    open.remove(&ids(&["row-17", "row-42"]), Some("ticket-1")).expect("removable");
    for row in [17, 42] {
        assert_eq!(found_features(&model, row), Vec::<PathBuf>::new(), "while the model is still open");
        assert_eq!(found(&model, format!("row-{row}").as_bytes()), Vec::<PathBuf>::new());
    }
    open.settle(None).expect("rows");
    published(open.release(&mut randomness(), None).expect("writable"));
    drop(open);
    drop(folder.open());
    for row in [17, 42] {
        assert_eq!(found_features(&model, row), Vec::<PathBuf>::new());
        assert_eq!(found(&model, format!("row-{row}").as_bytes()), Vec::<PathBuf>::new());
    }
    // The others are still there.
    assert_eq!(found_features(&model, 18).len(), 3);
    assert_eq!(found(&model, b"person-4"), [PathBuf::from("state.efface")]);
}

#[test]
fn a_removed_subject_is_in_no_file() {
    let folder = Folder::with_model();
    folder.open().remove(&subjects(&["person-13"]), None).expect("removable");
    for row in 52..56 {
        assert_eq!(found_features(&folder.model(), row), Vec::<PathBuf>::new());
        assert_eq!(found(&folder.model(), format!("row-{row}").as_bytes()), Vec::<PathBuf>::new());
    }
    assert_eq!(found(&folder.model(), b"person-13"), Vec::<PathBuf>::new());
}

#[test]
fn a_subject_whose_rows_go_one_by_one_is_gone_with_the_last() {
    let folder = Folder::with_model();
    for row in 52..56 {
        assert_eq!(found(&folder.model(), b"person-13"), [PathBuf::from("state.efface")]);
        folder.open().remove(&ids(&[&format!("row-{row}")]), None).expect("removable");
    }
    assert_eq!(found(&folder.model(), b"person-13"), Vec::<PathBuf>::new());
}

#[test]
fn the_old_values_of_a_corrected_row_are_in_no_file() {
    let folder = Folder::with_model();
    let corrected = table([18]).replace("row-18,person-4", "row-17,person-99");
    folder.open().correct(&RowSource::of(&folder.write("corrected.csv", corrected))).expect("present");
    assert_eq!(found_features(&folder.model(), 17), Vec::<PathBuf>::new());
    assert_eq!(found_features(&folder.model(), 18).len(), 3);
    assert_eq!(found(&folder.model(), b"row-17"), [PathBuf::from("state.efface")]);
    assert_eq!(found(&folder.model(), b"person-99"), [PathBuf::from("state.efface")]);
}

#[test]
fn a_removed_label_is_in_no_file() {
    let folder = Folder::new();
    let rows = table(0..60);
    let line = rows.lines().nth(18).expect("row 17");
    let label = 0.123_456_789_f64;
    let marked = format!("{},{label}", &line[..line.rfind(',').expect("a comma")]);
    folder.train(&rows.replace(line, &marked), squared());
    assert_eq!(found(&folder.model(), &label.to_le_bytes()), [PathBuf::from("rows.bin")]);
    folder.open().remove(&ids(&["row-17"]), None).expect("removable");
    assert_eq!(found(&folder.model(), &label.to_le_bytes()), Vec::<PathBuf>::new());
}

#[test]
fn an_added_row_can_be_removed_without_a_trace() {
    let folder = Folder::with_model();
    folder.open().add(&RowSource::of(&folder.write("more.csv", table([100])))).expect("new");
    assert_eq!(found_features(&folder.model(), 100).len(), 3);
    folder.open().remove(&ids(&["row-100"]), None).expect("removable");
    assert_eq!(found_features(&folder.model(), 100), Vec::<PathBuf>::new());
    assert_eq!(found(&folder.model(), b"row-100"), Vec::<PathBuf>::new());
}

/// Every opening overwrites what a removal left to be overwritten. Once that is done it must be forgotten, or each
/// opening would overwrite all rows that were ever removed.
#[test]
fn what_is_purged_is_not_purged_again_for_ever() {
    let folder = Folder::with_model();
    for i in 0..10 {
        folder.open().remove(&ids(&[&format!("row-{i}")]), None).expect("removable");
        let pending = folder.state()["index"]["pending_purge"].as_array().expect("a list").len();
        assert!(pending <= 1, "{pending} positions after {} removals", i + 1);
    }
    folder.open().settle(None).expect("rows");
    assert_eq!(folder.state()["index"]["pending_purge"].as_array().map(Vec::len), Some(0));
}

#[test]
fn removed_ids_are_remembered_without_being_kept() {
    let folder = Folder::with(|config| *config = TrainingConfig::new(&loss::Logistic, 1e-2, None));
    folder.open().remove(&ids(&["row-17"]), None).expect("removable");
    let message = |selection| folder.open().remove(&selection, None).expect_err("gone").to_string();
    assert_eq!(message(ids(&["row-17"])), "row id `row-17` has already been removed");
    assert_eq!(message(ids(&["row-61"])), "unknown row id `row-61`");
    let again = folder.write("again.csv", table([17]));
    let message = folder.open().add(&RowSource::of(&again)).expect_err("not again").to_string();
    assert_eq!(message, "row id `row-17` has been removed and cannot be used again");
}
