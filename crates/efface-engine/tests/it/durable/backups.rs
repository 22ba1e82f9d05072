//! Parts of a directory, or all of it, restored from an older backup: nobody who was removed comes back.

use std::fs;

use efface_engine::{ModelDirectory, OpenOptions, ReleaseAnswer, ReleasePolicy, RowSource, Status, make_key};
use efface_ledger::envelope::Envelope;
use efface_ledger::key::SigningKey;

use crate::models::{Folder, certificate, features, files, ids, json, published, randomness, squared, subjects, table};

/// A model with a copy called `backup` from before rows 17 and 42, person 13 and one release left it, closed.
pub(super) fn with_backup(witness: Option<&str>) -> Folder {
    let folder = Folder::new();
    folder.try_train(&table(0..60), squared(), "model", witness).expect("trainable");
    let mut model = folder.open();
    model.remove(&ids(&["row-1"]), None).expect("removable");
    model.close().expect("writable");
    folder.copy("backup");
    let mut model = folder.open();
    model.remove(&ids(&["row-17", "row-42"]), None).expect("removable");
    model.remove(&subjects(&["person-13"]), None).expect("removable");
    published(model.release(&mut randomness(), None).expect("writable"));
    model.close().expect("writable");
    folder
}

/// Nobody is back: not in the rows, not in the index, not in the weights, and what was spent is known.
pub(super) fn nobody_is_back(folder: &Folder) {
    let mut model = folder.open();
    assert_eq!(model.n_rows(), 53);
    for gone in [ids(&["row-17"]), ids(&["row-42"]), ids(&["row-53"]), subjects(&["person-13"])] {
        let error = model.remove(&gone, None).expect_err("gone");
        assert!(error.to_string().ends_with("has already been removed"), "{error}");
    }
    let report = published(model.release(&mut randomness(), None).expect("writable"));
    assert_eq!(report.release, 2, "the first release is not forgotten");
    drop(model);
    for row in [1, 17, 42, 52, 53, 54, 55] {
        for x in features(row) {
            let bytes = x.to_le_bytes();
            let holds = |content: &[u8]| content.windows(8).any(|window| window == bytes);
            assert!(!files(&folder.model()).values().any(|content| holds(content)), "row {row}");
        }
    }
    let from_scratch = Folder::new();
    from_scratch.train(&table((0..60).filter(|i| ![1, 17, 42].contains(i) && i / 4 != 13)), squared());
    let expected = published(from_scratch.open().release(&mut randomness(), None).expect("writable"));
    let weights = |path| {
        json(path)["weights"].as_array().expect("a list").iter().map(serde_json::Value::as_f64).collect::<Vec<_>>()
    };
    for (found, expected) in weights(&report.model).into_iter().zip(weights(&expected.model)) {
        let (found, expected) = (found.expect("a number"), expected.expect("a number"));
        assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    }
}

/// What the status says before anything is repaired.
pub(super) fn out_of_step(folder: &Folder) -> Vec<String> {
    Status::read(folder.model()).expect("readable").out_of_step
}

fn repaired(folder: &Folder) -> Vec<(String, usize)> {
    let status = Status::read(folder.model()).expect("readable");
    status.repairs.iter().map(|repair| (repair.in_words(), repair.n_removed_again)).collect()
}

#[test]
fn old_row_segments_are_overwritten_again() {
    let folder = with_backup(None);
    assert_eq!(out_of_step(&folder), Vec::<String>::new());
    folder.restore("backup", "rows");
    assert_eq!(out_of_step(&folder), ["row segments are older than the database"]);
    assert_eq!(folder.open().repairs_at_opening().len(), 1);
    assert_eq!(out_of_step(&folder), Vec::<String>::new());
    assert_eq!(folder.open().repairs_at_opening().len(), 0);
    assert_eq!(repaired(&folder), [("row segments are older than the database".into(), 6)]);
    nobody_is_back(&folder);
    assert_eq!(repaired(&folder).len(), 1, "once is enough");
}

#[test]
fn an_old_state_is_trained_again() {
    let folder = with_backup(None);
    folder.restore("backup", "state");
    assert_eq!(out_of_step(&folder), ["the state is not the one that the database names"]);
    nobody_is_back(&folder);
    assert_eq!(repaired(&folder), [("the state is not the one that the database names".into(), 0)]);
}

#[test]
fn a_missing_state_is_trained_again() {
    let folder = with_backup(None);
    fs::remove_file(folder.state_file()).expect("there");
    assert_eq!(out_of_step(&folder), ["the state is missing"]);
    nobody_is_back(&folder);
    assert_eq!(repaired(&folder), [("the state is missing".into(), 0)]);
}

#[test]
fn old_rows_and_an_old_state_are_both_repaired() {
    let folder = with_backup(None);
    folder.restore("backup", "rows");
    folder.restore("backup", "state");
    nobody_is_back(&folder);
    assert_eq!(repaired(&folder).len(), 2);
}

#[test]
fn an_old_database_learns_from_the_state_who_was_removed() {
    let folder = with_backup(None);
    folder.restore("backup", "efface.db");
    let found = ["the database is older than the state", "the database is older than the row segments"];
    assert_eq!(out_of_step(&folder), found);
    nobody_is_back(&folder);
    assert_eq!(repaired(&folder), [("the database is older than the state".into(), 6)]);
}

#[test]
fn an_old_database_with_old_rows_learns_it_too() {
    let folder = with_backup(None);
    folder.restore("backup", "efface.db");
    folder.restore("backup", "rows");
    nobody_is_back(&folder);
}

/// The old database does not know where the new values of a corrected row are: the row leaves, and that is said.
#[test]
fn a_row_that_was_corrected_after_the_backup_of_the_database_is_counted_as_lost() {
    let folder = with_backup(None);
    let mut model = folder.open();
    model.correct(&RowSource::of(folder.write("same.csv", table([5])))).expect("present");
    model.add(&RowSource::of(folder.write("more.csv", table([100])))).expect("new");
    model.close().expect("writable");
    folder.restore("backup", "efface.db");
    let mut model = folder.open();
    assert_eq!(model.n_rows(), 52);
    assert_eq!(Status::read(folder.model()).expect("readable").repairs[0].n_lost, 2);
    let again = model.add(&RowSource::of(folder.write("again.csv", table([5, 100])))).expect("lost, not removed");
    assert_eq!((again.n_changed, again.n_rows), (2, 54));
}

/// The rows know better: what they have overwritten had been removed.
#[test]
fn an_old_database_with_an_old_state_learns_from_the_rows() {
    let folder = with_backup(None);
    folder.restore("backup", "efface.db");
    folder.restore("backup", "state");
    nobody_is_back(&folder);
    let found = repaired(&folder);
    let words = "the database and the state are older than the rows";
    assert!(found.iter().any(|(found, n_rows)| found.contains(words) && *n_rows == 6), "{found:?}");
}

/// Rows that came after the backup are not known any more, and that is said.
#[test]
fn rows_that_an_old_database_does_not_know_are_counted_as_lost() {
    let folder = with_backup(None);
    let mut model = folder.open();
    model.add(&RowSource::of(folder.write("more.csv", table(100..110)))).expect("new");
    model.close().expect("writable");
    folder.restore("backup", "efface.db");
    assert_eq!(folder.open().n_rows(), 53);
    assert_eq!(Status::read(folder.model()).expect("readable").repairs[0].n_lost, 10);
}

/// A database whose list of removals was emptied.
#[test]
fn removals_that_the_database_forgot_are_known_to_the_state() {
    let folder = with_backup(None);
    let database = folder.database();
    database.execute("DELETE FROM suppressed", []).expect("a table");
    drop(database);
    nobody_is_back(&folder);
    assert_eq!(repaired(&folder), [("the database has forgotten removals that the state knows".into(), 0)]);
}

/// Stopped in the middle of a repair, in whatever order parts of it are on the disk, it is done again.
#[test]
fn repair_after_a_witness_can_be_cut_short() {
    let whole = with_backup(Some("witness"));
    let witness = whole.read("witness");
    whole.restore("backup", "");
    whole.copy("older");
    drop(whole.open());
    whole.copy("repaired");
    // The witness as it was, and any mixture of the parts from before and after.
    for parts in [
        &["efface.db", "rows"][..],
        &["efface.db", "state"],
        &["rows", "state"],
        &["rows"],
        &["state"],
        &["efface.db"],
        &[],
    ] {
        whole.write("witness", &witness);
        whole.restore("older", "");
        for part in parts {
            whole.restore("repaired", part);
        }
        nobody_is_back(&whole);
    }
}

/// A repair that was stopped between its state and its commit took the state's number of changes for knowledge of them, and
/// whoever only a certificate knew was back.
#[test]
fn what_only_certificates_know_outlives_a_repair_that_is_cut_short() {
    let folder = with_backup(None);
    for part in ["efface.db", "state", "rows"] {
        folder.restore("backup", part);
    }
    folder.copy("older");
    drop(folder.open());
    folder.copy("repaired");
    for parts in [&["state"][..], &["rows"], &["state", "rows"], &["efface.db", "state", "rows"]] {
        folder.restore("older", "");
        for part in parts {
            folder.restore("repaired", part);
        }
        let mut model = folder.open();
        let error = model.release(&mut randomness(), None).expect_err("unknown removals");
        assert_eq!(error.code(), "unnamed-removals", "{parts:?}");
        model.remove(&ids(&["row-17", "row-42"]), None).expect("as it was asked for");
        model.remove(&subjects(&["person-13"]), None).expect("as it was asked for");
        model.close().expect("writable");
        nobody_is_back(&folder);
    }
}

/// The list of removed ids was not asked where something else was seen to be newer than the database.
#[test]
fn whoever_is_listed_stays_out_whatever_else_is_old() {
    let folder = with_backup(None);
    let listed = folder.read("model/state/removed");
    for part in ["efface.db", "state", "rows"] {
        folder.restore("backup", part);
    }
    folder.write("model/state/removed", &listed);
    assert_eq!(out_of_step(&folder).len(), 2, "the list and the release");
    nobody_is_back(&folder);
}

/// An old database with a change that is in no state yet, and newer rows: its row had left the index already.
#[test]
fn an_old_database_with_a_pending_change_is_repaired() {
    let folder = Folder::new();
    folder.train(&table(0..60), squared());
    let mut model = folder.open();
    model.remove(&ids(&["row-1"]), None).expect("removable");
    drop(model);
    folder.copy("backup");
    let mut model = folder.open();
    model.remove(&ids(&["row-17"]), None).expect("removable");
    model.close().expect("writable");
    for part in ["efface.db", "state"] {
        folder.restore("backup", part);
    }
    let mut model = folder.open();
    assert_eq!(model.n_rows(), 58);
    for gone in ["row-1", "row-17"] {
        let error = model.remove(&ids(&[gone]), None).expect_err("gone");
        assert!(error.to_string().ends_with("has already been removed"), "{error}");
    }
}

/// What stood in new rows is forgotten when rows leave, also where it is a repair that takes them out.
#[test]
fn a_repair_forgets_what_stood_in_the_rows_of_requests() {
    let folder = Folder::new();
    folder.train(&table(0..60), squared());
    let path = folder.write("more.csv", table(100..103));
    let mut model = folder.open();
    model.add(&RowSource { request_id: Some("more"), ..RowSource::of(&path) }).expect("new");
    model.close().expect("writable");
    folder.copy("backup");
    let mut model = folder.open();
    model.remove(&ids(&["row-101"]), None).expect("removable");
    model.close().expect("writable");
    folder.restore("backup", "efface.db");
    let n_known = |folder: &Folder| -> i64 {
        let count = "SELECT COUNT(*) FROM request_cells";
        folder.database().query_row(count, [], |row| row.get(0)).expect("a table")
    };
    assert_eq!(n_known(&folder), 1);
    folder.open().close().expect("writable");
    assert_eq!(n_known(&folder), 0);
}

/// Whatever the noise: the account that is made of certificates is rounded up.
#[test]
fn a_gap_among_releases_hides_nothing() {
    for noise_std in [1e-3, 0.7e-3, 0.3, 1.7e-5, 0.011, 3.3e-4] {
        let folder = Folder::with(|config| config.noise_std = Some(noise_std));
        folder.copy("backup");
        let mut model = folder.open();
        for _ in 0..3 {
            published(model.release(&mut randomness(), None).expect("writable"));
        }
        model.close().expect("writable");
        let spent = Status::read(folder.model()).expect("readable").mu_total.get();
        for part in ["efface.db", "state", "rows"] {
            folder.restore("backup", part);
        }
        fs::remove_dir_all(folder.path("model/releases/1")).expect("there");
        drop(folder.open());
        let status = Status::read(folder.model()).expect("readable");
        assert_eq!(status.n_releases, 3);
        let counted = status.mu_total.get();
        assert!(counted >= spent && counted < spent * (1.0 + 1e-9), "{noise_std}: {spent} {counted}");
    }
}

/// A certificate that was edited says nothing that can be counted.
#[test]
fn a_release_whose_certificate_makes_no_sense_is_not_counted_as_nothing() {
    let folder = Folder::with_model();
    folder.copy("backup");
    published(folder.open().release(&mut randomness(), None).expect("writable"));
    let path = folder.path("model/releases/1/certificate.json");
    let mut certificate = certificate(&path);
    certificate["distance_bound"] = (-1.0).into();
    let statement = serde_json::json!({ "predicate": certificate }).to_string();
    let key = SigningKey::generate("somebody", &[7; 32].into()).expect("a name");
    fs::write(path, Envelope::sign("", statement.into(), &key).to_text()).expect("writable");
    for part in ["efface.db", "state"] {
        folder.restore("backup", part);
    }
    let Err(error) = ModelDirectory::open(folder.model()) else { panic!("counted as less than nothing") };
    assert!(error.to_string().contains("must be positive and finite, got `-1`"), "{error}");
}

#[test]
fn a_whole_old_directory_is_noticed_by_its_witness() {
    let folder = with_backup(Some("witness"));
    folder.restore("backup", "");
    assert_eq!(Status::read(folder.model()).expect("readable").n_rows, 59);
    assert_eq!(out_of_step(&folder), ["the directory is older than its witness"]);
    drop(folder.open());
    assert_eq!(repaired(&folder), [("the directory is older than its witness".into(), 6)]);
    nobody_is_back(&folder);
    assert_eq!(repaired(&folder).len(), 1);
}

/// Whoever has a release has it: what it spent is spent, even if the rest of the directory has forgotten it.
#[test]
fn releases_that_the_account_forgot_are_counted() {
    let folder = Folder::with_model();
    folder.copy("backup");
    let mut model = folder.open();
    for _ in 0..3 {
        published(model.release(&mut randomness(), None).expect("writable"));
    }
    model.close().expect("writable");
    let spent = Status::read(folder.model()).expect("readable").mu_total.get();
    for part in ["efface.db", "state", "rows"] {
        folder.restore("backup", part);
    }
    assert_eq!(Status::read(folder.model()).expect("readable").n_releases, 0);
    let mut model = folder.open();
    let status = Status::read(folder.model()).expect("readable");
    assert_eq!(status.n_releases, 3);
    assert!(status.mu_total.get() >= spent && status.mu_total.get() < spent * (1.0 + 1e-9), "{spent} {status:?}");
    assert_eq!(repaired(&folder), [("releases are newer than the database".into(), 0)]);
    assert_eq!(published(model.release(&mut randomness(), None).expect("writable")).release, 4);
}

/// A key was named when an old directory was opened, and the entry that notes it took the place of one that the witness
/// knew of: two checkpoints of one log contradicted each other.
#[test]
fn a_change_of_the_key_does_not_fork_a_log_that_lost_entries() {
    let folder = Folder::new();
    folder.try_train(&table(0..60), squared(), "model", Some("witness")).expect("trainable");
    let mut model = folder.open();
    model.remove(&ids(&["row-1"]), Some("ticket-1")).expect("removable");
    model.close().expect("writable");
    folder.copy("backup");
    let mut model = folder.open();
    model.certify_request("ticket-1", &folder.path("certificate")).expect("writable");
    let lost = model.ledger_checkpoint().expect("signed");
    model.close().expect("writable");
    folder.restore("backup", "");
    make_key(&folder.path("key"), "operator", None).expect("writable");
    let options = OpenOptions { key: Some(folder.path("key")), ..OpenOptions::default() };
    let model = ModelDirectory::open_with(folder.model(), &options).expect("a model");
    let origin = |checkpoint: &str| checkpoint.lines().next().map(ToOwned::to_owned);
    let now = model.ledger_checkpoint().expect("signed");
    assert_ne!(origin(&now), origin(&lost), "{now} {lost}");
    assert!(now.contains("— operator "), "{now}");
    assert_eq!(repaired(&folder), [("the directory is older than its witness".into(), 0)]);
}

/// Who left between a release that the database had forgotten and the next one is not known. It was certified that
/// nobody had, and no policy made the next release wait.
#[test]
fn whoever_left_around_a_forgotten_release_counts_as_alone() {
    let folder = Folder::with_model();
    published(folder.open().release(&mut randomness(), None).expect("writable"));
    folder.copy("backup");
    let mut model = folder.open();
    model.remove(&ids(&["row-10", "row-11", "row-12"]), None).expect("removable");
    published(model.release(&mut randomness(), None).expect("writable"));
    model.remove(&ids(&["row-13"]), None).expect("removable");
    model.close().expect("writable");
    for part in ["efface.db", "state"] {
        folder.restore("backup", part);
    }
    let mut model = folder.open();
    model.set_policy(ReleasePolicy { min_removals: Some(2), every_seconds: None }).expect("writable");
    match model.release(&mut randomness(), None).expect("writable") {
        ReleaseAnswer::HeldBack(held_back) => assert_eq!(held_back.n_people, 1),
        other => panic!("{other:?}"),
    }
    model.set_policy(ReleasePolicy::default()).expect("writable");
    let report = published(model.release(&mut randomness(), None).expect("writable"));
    assert_eq!((report.release, report.exposure.tag()), (3, "one-person"));
}

/// A withdrawal was forgotten with the database and lay in its folder all the same: the log went on from before it, past a
/// checkpoint that somebody had, and later certificates did not list it.
#[test]
fn a_withdrawal_that_the_database_forgot_is_counted() {
    let folder = Folder::with_model();
    published(folder.open().release(&mut randomness(), None).expect("writable"));
    folder.copy("backup");
    let mut model = folder.open();
    model.revoke(1, None).expect("writable");
    let lost = model.ledger_checkpoint().expect("signed");
    model.close().expect("writable");
    folder.restore("backup", "efface.db");
    let mut model = folder.open();
    let error = model.revoke(1, None).expect_err("revoked").to_string();
    assert!(error.contains("release 1 is revoked already"), "{error}");
    published(model.release(&mut randomness(), None).expect("writable"));
    let origin = |checkpoint: &str| checkpoint.lines().next().map(ToOwned::to_owned);
    assert_ne!(origin(&model.ledger_checkpoint().expect("signed")), origin(&lost));
    assert!(model.verify(false).expect("readable").verdict == efface_ledger::verify::Verdict::Valid);
    assert_eq!(repaired(&folder), [("withdrawals are newer than the database".into(), 0)]);
    drop(model);
    assert_eq!(folder.open().repairs_at_opening().len(), 0);
}
