//! What has been removed is gone: its features, its label and its ids are in no file of the directory.

use std::path::{Path, PathBuf};

use efface_core::loss;
use efface_core::model::TrainingConfig;
use efface_engine::{RowSource, Status};

use crate::models::{Folder, features, files, ids, published, randomness, remove_and_close, squared, subjects, table};

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
    assert_eq!(found_features(&model, 17), ["rows/000000.rows"; 3].map(PathBuf::from));

    let mut open = folder.open();
    published(open.release(&mut randomness(), None).expect("writable"));
    open.remove(&ids(&["row-17", "row-42"]), Some("ticket-1")).expect("removable");
    open.checkpoint().expect("writable");
    for row in [17, 42] {
        assert_eq!(found_features(&model, row), Vec::<PathBuf>::new(), "while the model is still open");
    }
    open.settle(None).expect("rows");
    published(open.release(&mut randomness(), None).expect("writable"));
    drop(open);
    drop(folder.open());
    for row in [17, 42] {
        assert_eq!(found_features(&model, row), Vec::<PathBuf>::new());
    }
    // The others are still there.
    assert_eq!(found_features(&model, 18).len(), 3);
}

/// Not even those of rows that are present: they are found by a keyed hash.
#[test]
fn no_id_and_no_subject_is_ever_in_a_file() {
    let folder = Folder::with_model();
    let mut model = folder.open();
    for _ in 0..2 {
        for name in [&b"row-1"[..], b"row-17", b"person-"] {
            assert_eq!(found(&folder.model(), name), Vec::<PathBuf>::new());
        }
        model.remove(&ids(&["row-17"]), Some("ticket")).ok();
        model.remove(&subjects(&["person-13"]), None).ok();
        model.add(&RowSource::of(folder.write("more.csv", table([100])))).ok();
    }
    drop(model);
    assert_eq!(found(&folder.model(), b"row-"), Vec::<PathBuf>::new());
    assert_eq!(found(&folder.model(), b"person-"), Vec::<PathBuf>::new());
}

#[test]
fn a_removed_subject_is_in_no_file() {
    let folder = Folder::with_model();
    remove_and_close(&folder, &subjects(&["person-13"]));
    for row in 52..56 {
        assert_eq!(found_features(&folder.model(), row), Vec::<PathBuf>::new());
    }
}

#[test]
fn a_subject_whose_rows_go_one_by_one_is_gone_with_the_last() {
    let folder = Folder::with_model();
    for row in 48..52 {
        remove_and_close(&folder, &ids(&[&format!("row-{row}")]));
    }
    let message = folder.open().remove(&subjects(&["person-12"]), None).expect_err("gone").to_string();
    assert_eq!(message, "subject id `person-12` has already been removed");
}

#[test]
fn the_old_values_of_a_corrected_row_are_in_no_file() {
    let folder = Folder::with_model();
    let corrected = table([18]).replace("row-18,person-4", "row-17,person-99");
    let mut model = folder.open();
    model.correct(&RowSource::of(folder.write("corrected.csv", corrected))).expect("present");
    model.close().expect("writable");
    assert_eq!(found_features(&folder.model(), 17), Vec::<PathBuf>::new());
    assert_eq!(found_features(&folder.model(), 18).len(), 3);
    assert_eq!(folder.open().remove(&subjects(&["person-99"]), None).expect("its new subject").n_changed, 1);
}

/// A correction that gives a row to somebody who was removed would bring them back.
#[test]
fn a_row_cannot_be_given_to_somebody_who_was_removed() {
    let folder = Folder::with_model();
    let mut model = folder.open();
    model.remove(&subjects(&["person-13"]), None).expect("removable");
    let given = folder.write("given.csv", table([3]).replace("person-0", "person-13"));
    let error = model.correct(&RowSource::of(&given)).expect_err("removed").to_string();
    assert_eq!(error, "subject id `person-13` has already been removed");
    assert_eq!(model.n_rows(), 56);
    let error = model.remove(&subjects(&["person-13"]), None).expect_err("still gone").to_string();
    assert_eq!(error, "subject id `person-13` has already been removed");
}

/// A model that is dropped, not closed, still has the bytes of the rows that left; opening it overwrites them.
#[test]
fn a_model_that_was_not_closed_is_purged_when_it_is_opened() {
    let folder = Folder::with_model();
    folder.open().remove(&ids(&["row-17"]), None).expect("removable");
    assert_eq!(found_features(&folder.model(), 17).len(), 3);
    assert_eq!(Status::read(folder.model()).expect("readable").n_unpurged, 1);
    drop(folder.open());
    assert_eq!(found_features(&folder.model(), 17), Vec::<PathBuf>::new());
    assert_eq!(Status::read(folder.model()).expect("readable").n_unpurged, 0);
}

#[test]
fn a_removed_label_is_in_no_file() {
    let folder = Folder::new();
    let rows = table(0..60);
    let line = rows.lines().nth(18).expect("row 17");
    let label = 0.123_456_789_f64;
    let marked = format!("{},{label}", &line[..line.rfind(',').expect("a comma")]);
    folder.train(&rows.replace(line, &marked), squared());
    assert_eq!(found(&folder.model(), &label.to_le_bytes()), [PathBuf::from("rows/000000.rows")]);
    remove_and_close(&folder, &ids(&["row-17"]));
    assert_eq!(found(&folder.model(), &label.to_le_bytes()), Vec::<PathBuf>::new());
}

#[test]
fn an_added_row_can_be_removed_without_a_trace() {
    let folder = Folder::with_model();
    folder.open().add(&RowSource::of(folder.write("more.csv", table([100])))).expect("new");
    assert_eq!(found_features(&folder.model(), 100).len(), 3);
    remove_and_close(&folder, &ids(&["row-100"]));
    assert_eq!(found_features(&folder.model(), 100), Vec::<PathBuf>::new());
}

#[test]
fn removed_ids_are_remembered_without_being_kept() {
    let folder = Folder::with(|config| *config = TrainingConfig::new(&loss::Logistic, 1e-2, None));
    folder.open().remove(&ids(&["row-17"]), None).expect("removable");
    let message = |selection| folder.open().remove(&selection, None).expect_err("gone").to_string();
    assert_eq!(message(ids(&["row-17"])), "row id `row-17` has already been removed");
    assert_eq!(message(ids(&["row-61"])), "unknown row id `row-61`");
}

/// A file that nobody cleaned, offered again: who was removed stays out, by row and by subject, and the rest comes in.
#[test]
fn rows_that_were_removed_are_left_out_when_they_are_offered_again() {
    let folder = Folder::with_model();
    let mut model = folder.open();
    model.remove(&ids(&["row-17"]), None).expect("removable");
    model.remove(&subjects(&["person-13"]), None).expect("removable");
    // Row 17, a row of person 13, a new row of person 13, and a new row of a new person.
    let offered = table([17, 52, 100, 101]).replace("row-100,person-25", "row-100,person-13");
    let report = model.add(&RowSource::of(folder.write("again.csv", offered))).expect("some are new");
    assert_eq!((report.n_changed, report.n_suppressed, report.n_rows), (1, 3, 56));
    let report = model.add(&RowSource::of(folder.write("again.csv", table([17])))).expect("none is new");
    assert_eq!((report.n_changed, report.n_suppressed, report.n_rows), (0, 1, 56));
    let status = Status::read(folder.model()).expect("readable");
    assert_eq!((status.n_rows, status.n_suppressed), (56, 4));
    let message = model.correct(&RowSource::of(folder.path("again.csv"))).expect_err("not again").to_string();
    assert_eq!(message, "row id `row-17` has already been removed");
    model.close().expect("writable");
    assert_eq!(found_features(&folder.model(), 52), Vec::<PathBuf>::new());
    assert_eq!(found_features(&folder.model(), 101).len(), 3);
}
