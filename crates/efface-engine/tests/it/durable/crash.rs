//! A crash between two steps of an operation, made by putting files back as they were: the next opening finishes what
//! was committed, and what was not committed does not count. Every single operation of the file system is tried by
//! `efface-crash`.

use std::fs;

use efface_core::loss::Logistic;
use efface_core::model::{BudgetRule, Mechanism, TrainingConfig};
use efface_engine::{ModelDirectory, PublishedModel, ReleaseAnswer, RowSource, Status};

use crate::models::{Folder, files, ids, published, randomness, table};

#[test]
fn what_was_answered_is_replayed_after_a_crash() {
    let folder = Folder::with_model();
    let mut model = folder.open();
    model.remove(&ids(&["row-17", "row-3"]), Some("ticket")).expect("removable");
    model.add(&RowSource::of(folder.write("more.csv", table([100, 101])))).expect("new");
    model.correct(&RowSource::of(folder.write("same.csv", table([5, 100])))).expect("present");
    model.remove(&ids(&["row-101"]), None).expect("removable");
    let claimed = Status::read(folder.model()).expect("readable");
    // Dropped, not closed: the state on disk is still that of training.
    drop(model);
    let mut model = folder.open();
    assert_eq!(model.n_rows(), 59);
    let replayed = Status::read(folder.model()).expect("readable");
    assert_eq!((replayed.n_rows, replayed.n_removed), (claimed.n_rows, claimed.n_removed));
    let ratio = replayed.distance_bound.get() / claimed.distance_bound.get();
    assert!((0.5..2.0).contains(&ratio), "{replayed:?} {claimed:?}");
    assert!(model.remove(&ids(&["row-17", "row-3"]), Some("ticket")).expect("answered").repeated);
    for gone in ["row-3", "row-101"] {
        model.remove(&ids(&[gone]), None).expect_err("removed before the crash");
    }
    assert_eq!(model.remove(&ids(&["row-100", "row-5"]), None).expect("present").n_rows, 57);
}

#[test]
fn rows_that_were_never_committed_are_overwritten() {
    let folder = Folder::with_model();
    let before = folder.copy("before");
    let mut model = folder.open();
    model.add(&RowSource::of(folder.write("more.csv", table([100])))).expect("new");
    drop(model);
    let appended = folder.read("model/rows/000000.rows");
    folder.restore("before", "");
    folder.write("model/rows/000000.rows", appended);
    drop(folder.open());
    assert!(files(&folder.model()) == files(&before));
    assert_eq!(folder.open().add(&RowSource::of(folder.path("more.csv"))).expect("new").n_rows, 61);
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
    folder.copy("before");
    published(folder.open().release(&mut randomness(), None).expect("writable"));
    let first = folder.read("model/releases/1/model.json");
    fs::rename(folder.path("model/releases/1"), folder.path("model/releases/1.partial")).expect("there");
    folder.restore("before", "state");
    folder.restore("before", "efface.db");
    let mut model = folder.open();
    assert!(!folder.path("model/releases/1").exists(), "what is not counted is not published");
    assert_eq!(published(model.release(&mut randomness(), None).expect("writable")).release, 1);
    assert_ne!(folder.read("model/releases/1/model.json"), first, "with fresh noise");
    assert!(!folder.path("model/releases/1.partial").exists());
}

#[test]
fn half_of_a_new_state_is_not_read() {
    let folder = Folder::with_model();
    let state = fs::read(folder.state_file()).expect("readable");
    folder.write("model/state/2.partial", &state[..state.len() / 2]);
    drop(folder.open());
    assert!(!folder.path("model/state/2.partial").exists());
    assert_eq!(folder.open().remove(&ids(&["row-3"]), None).expect("removable").n_rows, 59);
}

/// A folder in the place of the file that is written aside: no checkpoint can succeed.
fn obstruct(folder: &Folder, generation: u64) {
    let path = folder.path(&format!("model/state/{generation}.partial"));
    fs::create_dir(&path).expect("writable");
    fs::write(path.join("stone"), "").expect("writable");
}

fn clear(folder: &Folder, generation: u64) {
    fs::remove_dir_all(folder.path(&format!("model/state/{generation}.partial"))).expect("there");
}

#[test]
fn a_checkpoint_that_fails_leaves_the_changes_in_force_and_a_handle_that_says_so() {
    let folder = Folder::with_model();
    let mut model = folder.open();
    model.remove(&ids(&["row-1"]), None).expect("removable");
    obstruct(&folder, 2);
    let error = model.checkpoint().expect_err("no checkpoint");
    assert!(error.to_string().contains("state/2.partial"), "{error}");
    for error in [
        model.remove(&ids(&["row-4"]), None).expect_err("damaged"),
        model.settle(None).expect_err("damaged"),
        model.retrain(&mut randomness(), &mut |_| {}).expect_err("damaged"),
        model.release(&mut randomness(), None).expect_err("damaged"),
        model.checkpoint().expect_err("damaged"),
    ] {
        assert_eq!(error.to_string(), "an earlier operation on this model failed; open it again");
    }
    drop(model);
    clear(&folder, 2);
    assert_eq!(folder.open().remove(&ids(&["row-3"]), None).expect("removable").n_rows, 58);
}

#[test]
fn a_settling_that_cannot_be_kept_did_not_happen() {
    let folder = Folder::with_model();
    let mut model = folder.open();
    let before = files(&folder.model());
    obstruct(&folder, 2);
    model.settle(None).expect_err("no commit");
    drop(model);
    clear(&folder, 2);
    drop(folder.open());
    assert!(before == files(&folder.model()));
}

#[test]
fn a_release_whose_commit_fails_is_not_published() {
    let folder = Folder::with_model();
    let mut model = folder.open();
    obstruct(&folder, 2);
    let out = folder.path("copy.json");
    model.release(&mut randomness(), Some(&out)).expect_err("no commit");
    drop(model);
    clear(&folder, 2);
    assert_eq!(Status::read(folder.model()).expect("readable").n_releases, 0);
    assert!(fs::read_dir(folder.path("model/releases")).expect("a folder").next().is_none());
    let mut left: Vec<_> = fs::read_dir(folder.path(".")).expect("a folder").flatten().map(|e| e.file_name()).collect();
    left.sort();
    assert_eq!(left, ["model", "rows.csv"]);
}

/// A release that is refused keeps what it settled, and what was removed before it can still be replayed.
#[test]
fn a_refused_release_loses_nothing() {
    let folder = Folder::with(|config| {
        config.mechanism = Mechanism::Objective { budget: BudgetRule::Analytic };
        config.noise_std = Some(1e-7);
    });
    let mut model = folder.open();
    model.remove(&ids(&["row-17"]), None).expect("removable");
    assert!(matches!(model.release(&mut randomness(), None).expect("an answer"), ReleaseAnswer::Refused(_)));
    model.remove(&ids(&["row-18"]), None).expect("removable");
    drop(model);
    assert_eq!(folder.open().n_rows(), 58);
    folder.open().settle(None).expect("rows");
}

/// What stands in the way of finishing an earlier change is not said of the one that was asked for now.
#[test]
fn a_directory_that_cannot_be_finished_says_that_nothing_was_done() {
    let folder = Folder::with_model();
    folder.open().remove(&ids(&["row-17"]), None).expect("removable");
    obstruct(&folder, 2);
    let Err(error) = ModelDirectory::open(folder.model()) else { panic!("the checkpoint cannot be made") };
    assert!(error.to_string().contains("nothing was done now"), "{error}");
    clear(&folder, 2);
    assert_eq!(folder.open().n_rows(), 59);
}

fn names(folder: &Folder, of: &str) -> Vec<String> {
    let entries = fs::read_dir(folder.path(of)).expect("a folder").flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().expect("text")).collect();
    names.sort();
    names
}

fn train(folder: &Folder) {
    folder.train(&table(0..60), TrainingConfig::new(&Logistic, 1e-2, None));
}

/// A training that was killed before it made `releases/` was taken for somebody else's folder and stayed.
#[test]
fn trainings_that_were_killed_are_cleared_by_the_next_one_and_nothing_else_is() {
    let folder = Folder::new();
    let made = ["partial-1", "partial-2", "partial-3/state", "partial-4/rows", "partial-9/releases"];
    // Not made by a training: a name without a number, files that no training makes, and a model with a release.
    let kept = ["partial-x", "partial-6/rows", "partial-7/notes", "partial-8/releases/1"];
    for name in made.iter().chain(&kept) {
        fs::create_dir_all(folder.path(&format!("model.{name}"))).expect("writable");
    }
    folder.write("model.partial-2/lock", r#"{"process":2,"since":1}"#);
    folder.write("model.partial-3/state/1.partial", "half of a state");
    folder.write("model.partial-4/rows/000000.rows", "half of the rows");
    folder.write("model.partial-9/efface.db", "half of the rows");
    folder.write("model.partial-5", "a file");
    folder.write("model.partial-6/rows/mine.csv", "1,2");
    train(&folder);
    let mut left = names(&folder, ".");
    left.retain(|name| name.starts_with("model"));
    let expected =
        ["model", "model.partial-5", "model.partial-6", "model.partial-7", "model.partial-8", "model.partial-x"];
    assert_eq!(left, expected);
    assert_eq!(names(&folder, "model.partial-6"), ["rows"], "not even a lock is added");
}

/// Numbers of processes come again, in containers sooner than elsewhere.
#[test]
fn a_training_that_was_killed_under_the_same_number_stops_nobody() {
    let folder = Folder::new();
    let aside = format!("model.partial-{}", std::process::id());
    fs::create_dir_all(folder.path(&aside).join("releases")).expect("writable");
    folder.write(&format!("{aside}/efface.db"), "half of the rows");
    train(&folder);
    assert!(!folder.path(&aside).exists());
    folder.open().remove(&ids(&["row-1"]), None).expect("present");
}
