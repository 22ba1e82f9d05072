//! The witness: begun, kept up with, missing, altered, and what it leaves out of a new training.

use std::fs;

use efface_core::accounting::Extractor;
use efface_core::loss;
use efface_core::model::{Outcome, TrainingConfig};
use efface_engine::{EngineError, ModelDirectory, OpenError, OpenOptions, RowSource, Status};
use efface_ledger::verify::Verdict;

use super::backups::{nobody_is_back, out_of_step, with_backup};
use crate::models::{Folder, ids, published, randomness, squared, table};

/// The database does not list the release that the witness knows of: it was certified that there had been none.
#[test]
fn a_release_that_only_the_witness_knows_is_a_release_before() {
    let folder = with_backup(Some("witness"));
    folder.restore("backup", "");
    let report = published(folder.open().release(&mut randomness(), None).expect("writable"));
    assert_eq!((report.release, report.exposure.tag()), (2, "one-person"));
}

#[test]
fn without_a_witness_nobody_can_tell() {
    let folder = with_backup(None);
    folder.restore("backup", "");
    assert_eq!(folder.open().n_rows(), 59);
}

#[test]
fn a_witness_can_be_begun_later_and_is_told_what_it_missed() {
    let folder = with_backup(None);
    let options = OpenOptions { witness: Some(folder.path("witness")), ..OpenOptions::default() };
    drop(ModelDirectory::open_with(folder.model(), &options).expect("a model"));
    assert_eq!(Status::read(folder.model()).expect("readable").witness, Some(folder.path("witness")));
    // The backup does not know of the witness: it must be named again.
    folder.restore("backup", "");
    drop(ModelDirectory::open_with(folder.model(), &options).expect("a model"));
    nobody_is_back(&folder);
}

#[test]
fn a_model_is_not_changed_while_its_witness_is_missing() {
    let folder = with_backup(Some("witness"));
    fs::remove_file(folder.path("witness")).expect("there");
    let Err(error) = ModelDirectory::open(folder.model()) else { panic!("no witness") };
    assert!(matches!(error, EngineError::Open(OpenError::NoWitness { .. })), "{error}");
    let found = out_of_step(&folder);
    assert!(found.len() == 1 && found[0].ends_with("is missing"), "{found:?}");
    // Named again it is still missed: its disk may not be mounted.
    let options = OpenOptions { witness: Some(folder.path("witness")), ..OpenOptions::default() };
    let Err(error) = ModelDirectory::open_with(folder.model(), &options) else { panic!("no witness") };
    assert!(matches!(error, EngineError::Open(OpenError::NoWitness { .. })), "{error}");
    let options = OpenOptions { witness: Some(folder.path("other")), ..OpenOptions::default() };
    drop(ModelDirectory::open_with(folder.model(), &options).expect("a new one"));
    nobody_is_back(&folder);
}

/// Restored together with the directory it would know no more than that.
#[test]
fn a_witness_inside_the_directory_is_refused() {
    let folder = with_backup(None);
    let refused = |result: Result<(), EngineError>| match result {
        Err(error) => assert!(matches!(error, EngineError::Open(OpenError::WitnessInside { .. })), "{error}"),
        Ok(()) => panic!("a witness inside"),
    };
    for inside in ["model/witness", "model/state/witness", "model/../model/witness"] {
        let options = OpenOptions { witness: Some(folder.path(inside)), ..OpenOptions::default() };
        refused(ModelDirectory::open_with(folder.model(), &options).map(drop));
    }
    let nowhere = OpenOptions { witness: Some(folder.path("nowhere/witness")), ..OpenOptions::default() };
    let Err(error) = ModelDirectory::open_with(folder.model(), &nowhere) else { panic!("no such folder") };
    assert!(error.to_string().contains("nowhere: No such file"), "{error}");
    nobody_is_back(&folder);
}

#[test]
fn a_witness_of_another_model_is_refused() {
    let folder = with_backup(Some("witness"));
    folder.try_train(&table(0..60), squared(), "other", Some("other-witness")).expect("trainable");
    let options = OpenOptions { witness: Some(folder.path("other-witness")), ..OpenOptions::default() };
    let Err(error) = ModelDirectory::open_with(folder.model(), &options) else { panic!("a foreign witness") };
    assert!(matches!(error, EngineError::Open(OpenError::ForeignWitness { .. })), "{error}");
}

#[test]
fn training_anew_from_an_uncleaned_source_leaves_out_whom_the_witness_knows() {
    let folder = with_backup(Some("witness"));
    let report = folder.try_train(&table(0..60), squared(), "anew", Some("witness")).expect("trainable");
    assert_eq!((report.n_rows, report.n_suppressed), (53, 7));
    let mut anew = ModelDirectory::open(folder.path("anew")).expect("a model");
    let error = anew.remove(&ids(&["row-17"]), None).expect_err("never came in");
    assert!(error.to_string().ends_with("has already been removed"), "{error}");
    drop(anew);
    // From now on the witness is that of the new model.
    let Err(error) = ModelDirectory::open(folder.model()) else { panic!("a witness of two models") };
    assert!(matches!(error, EngineError::Open(OpenError::ForeignWitness { .. })), "{error}");
}

/// A label that only somebody has who is left out must not become a class that is published.
#[test]
fn whoever_is_left_out_makes_no_class() {
    let folder = Folder::new();
    let config = || TrainingConfig::new(&loss::Logistic, 1e-2, None);
    let secret =
        table(0..60).replace(&table([17])[15..], &table([17])[15..].replace(",0\n", ",7\n").replace(",1\n", ",7\n"));
    assert_ne!(secret, table(0..60));
    folder.try_train(&table(0..60), config(), "model", Some("witness")).expect("trainable");
    let mut model = folder.open();
    model.remove(&ids(&["row-17"]), None).expect("removable");
    model.close().expect("writable");
    let report = folder.try_train(&secret, config(), "anew", Some("witness")).expect("trainable");
    assert_eq!((report.n_suppressed, report.classes), (1, 2));
}

#[cfg(unix)]
#[test]
fn a_witness_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;

    let folder = with_backup(None);
    let mode = |name: &str| fs::metadata(folder.path(name)).expect("there").permissions().mode() & 0o777;
    // What somebody else left where it is written aside is not written into.
    folder.write("elsewhere", "not yours");
    std::os::unix::fs::symlink(folder.path("elsewhere"), folder.path("witness.partial")).expect("writable");
    let options = OpenOptions { witness: Some(folder.path("witness")), ..OpenOptions::default() };
    drop(ModelDirectory::open_with(folder.model(), &options).expect("a model"));
    assert_eq!((mode("witness"), folder.read("elsewhere")), (0o600, b"not yours".to_vec()));
    fs::set_permissions(folder.path("witness"), fs::Permissions::from_mode(0o644)).expect("own file");
    drop(folder.open());
    assert_eq!(mode("witness"), 0o600);
}

#[test]
fn half_a_line_at_the_end_of_a_witness_does_not_count_and_a_damaged_line_is_refused() {
    let folder = with_backup(Some("witness"));
    let whole = String::from_utf8(folder.read("witness")).expect("text");
    folder.write("witness", format!("{whole}change 9 half"));
    drop(folder.open());
    assert_eq!(folder.read("witness"), whole.as_bytes());
    for (i, _) in whole.char_indices().step_by(7) {
        let mut altered = whole.clone().into_bytes();
        altered[i] ^= 1;
        folder.write("witness", &altered);
        let read = ModelDirectory::open_to_read(folder.model(), &OpenOptions::default()).expect("whole");
        let is_found = read.verify(false).expect("readable").verdict == Verdict::Invalid;
        drop(read);
        let is_middle =
            (whole.find('\n').expect("lines")..whole[..whole.len() - 1].rfind('\n').expect("lines")).contains(&i);
        if ModelDirectory::open(folder.model()).is_ok() {
            // In the ordinary course only the first and the last line are read. Whoever needs the others notices. A last line
            // without its break does not count, and is written again.
            assert!(is_middle && is_found || altered.last() != Some(&b'\n'), "byte {i}");
            folder.write("witness", &whole);
        }
    }
}

/// What the witness is told is what the database holds, for every kind of change.
#[test]
fn the_witness_keeps_up_with_every_change() {
    let folder = Folder::new();
    let config = TrainingConfig::new(&loss::Logistic, 1e-2, None);
    folder.try_train(&table(0..60), config, "model", Some("witness")).expect("trainable");
    let mut lines = 0;
    let mut grew = || {
        let text = String::from_utf8(folder.read("witness")).expect("text");
        let before = std::mem::replace(&mut lines, text.lines().count());
        lines > before
    };
    assert!(grew());
    let mut model = folder.open();
    model.remove(&ids(&["row-3"]), None).expect("removable");
    assert!(grew());
    model.add(&RowSource::of(folder.write("more.csv", table([100])))).expect("new");
    assert!(grew());
    model.correct(&RowSource::of(folder.write("same.csv", table([5])))).expect("present");
    assert!(grew());
    model.settle(None).expect("rows");
    assert!(!grew(), "settling changes no row and spends nothing");
    published(model.release(&mut randomness(), None).expect("writable"));
    assert!(grew());
}

/// A model of other features took the witness over, and the next one behind the private extractor began to count its group anew.
#[test]
fn a_private_extractor_counts_who_left_while_other_features_were_trained_on() {
    let folder = Folder::new();
    let extractor = Some(Extractor { group: 3, ..Extractor::per_row(0.01, 1e-9) });
    let plain = TrainingConfig::new(&loss::Logistic, 1e-2, None);
    let private = TrainingConfig { extractor, ..plain.clone() };
    let train = |config: &TrainingConfig, first: usize, name: &str| {
        folder.try_train(&table(first..60), config.clone(), name, Some("witness")).map(drop)
    };
    let remove = |name: &str, gone: &[&str]| {
        let mut model = ModelDirectory::open(folder.path(name)).expect("a model");
        model.remove(&ids(gone), None).expect("removable").outcome
    };
    train(&private, 0, "first").expect("trainable");
    assert_eq!(remove("first", &["row-0", "row-1"]), Outcome::Done);
    train(&plain, 2, "plain").expect("trainable");
    assert_eq!(remove("plain", &["row-2"]), Outcome::Done);
    train(&private, 3, "again").expect("three are covered");
    assert_eq!(Status::read(folder.path("again")).expect("readable").n_left, 3);
    assert_eq!(remove("again", &["row-3"]), Outcome::RetrainRequired);
    train(&plain, 4, "plain-again").expect("trainable");
    let error = train(&private, 4, "never").expect_err("four have left");
    assert!(matches!(error, EngineError::Open(OpenError::ExtractorExhausted { n_left: 4, group: 3 })), "{error}");
}
