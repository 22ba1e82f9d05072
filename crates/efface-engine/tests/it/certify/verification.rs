//! Checking a whole directory: whatever was altered behind the engine's back is found.

use std::fs;
use std::path::Path;

use efface_engine::{DirectoryReport, RowSource};
use efface_ledger::merkle;
use efface_ledger::verify::{CheckName, CheckOutcome, Verdict};
use rusqlite::params;

use crate::models::{Folder, ids, published, randomness, table};

/// A model with two removals, two releases and five entries, closed.
fn model() -> Folder {
    let folder = Folder::with_model();
    for row in ["row-17", "row-30"] {
        let mut model = folder.open();
        model.remove(&ids(&[row]), None).expect("removable");
        published(model.release(&mut randomness(), None).expect("writable"));
        model.close().expect("writable");
    }
    folder
}

fn verify(folder: &Folder) -> DirectoryReport {
    folder.open().verify(true).expect("readable")
}

/// The directory is found wrong, and these are the words of all that fails.
#[track_caller]
fn is_found(folder: &Folder, words: &[&str]) {
    let report = verify(folder);
    assert_eq!(report.verdict, Verdict::Invalid, "{report:?}");
    let failed: Vec<&str> = report
        .checks
        .iter()
        .filter(|check| check.outcome == CheckOutcome::Failed)
        .map(|check| &*check.message)
        .collect();
    assert_eq!(failed.len(), words.len(), "{failed:?}");
    for (message, words) in failed.iter().zip(words) {
        assert!(message.contains(words), "`{words}` is not in `{message}`");
    }
}

#[test]
fn a_directory_that_nobody_touched_is_valid() {
    let folder = model();
    let report = verify(&folder);
    assert_eq!((report.verdict, report.log_size), (Verdict::Valid, 5));
    let measured = report.measured_gradient_residual.expect("measured");
    assert!(measured > 0.0 && measured <= 2.0 * report.gradient_residual, "{report:?}");
    assert!(report.checks.iter().all(|check| check.outcome == CheckOutcome::Passed), "{report:?}");
    let names: Vec<&str> = report.checks.iter().map(|check| check.check.tag()).collect();
    assert_eq!(names, ["database", "rows", "removed", "signature", "log", "release", "release", "replay"]);
    let quick = folder.open().verify(false).expect("readable");
    assert_eq!((quick.verdict, quick.measured_gradient_residual), (Verdict::Valid, None));
}

#[test]
fn an_entry_that_was_edited_is_found() {
    let folder = model();
    folder.sql("UPDATE ledger SET leaf = replace(leaf, '\"n_rows\":1', '\"n_rows\":2') WHERE position = 1");
    is_found(&folder, &["the log's entries do not lead to its root: it was rewritten"]);
}

#[test]
fn an_entry_that_was_taken_out_is_found() {
    for position in [0, 2, 4] {
        let folder = model();
        folder.sql(&format!("DELETE FROM ledger WHERE position = {position}"));
        is_found(&folder, &["the log has 4 entries in the place of 5: some were taken out"]);
    }
}

#[test]
fn an_entry_that_was_put_in_is_found() {
    let folder = model();
    folder.sql("INSERT INTO ledger SELECT log, 5, NULL, leaf FROM ledger WHERE position = 1");
    is_found(&folder, &["the log has 6 entries in the place of 5"]);
    // In the place of another one.
    let folder = model();
    folder.sql("UPDATE ledger SET position = 7 WHERE position = 4");
    is_found(&folder, &["the log has 5 entries in the place of 5"]);
}

#[test]
fn hashes_that_were_edited_are_found() {
    let folder = model();
    // The hash of the first four entries, and that of the fifth.
    for position in [6, 7] {
        let folder_hash = format!("UPDATE ledger_hashes SET hash = zeroblob(32) WHERE position = {position}");
        folder.sql(&folder_hash);
        assert_eq!(verify(&folder).verdict, Verdict::Invalid, "{position}");
    }
    // One that no root of today is made of: the next entry but one would be.
    let folder = model();
    folder.sql("UPDATE ledger_hashes SET hash = zeroblob(32) WHERE position = 3");
    assert_eq!(verify(&folder).verdict, Verdict::Invalid);
    let folder = model();
    folder.sql("DELETE FROM ledger_hashes WHERE position = 0");
    assert_eq!(verify(&folder).verdict, Verdict::Invalid);
}

/// Writes the hashes of a log anew, as somebody would who wants its entries to fit.
fn rehash(folder: &Folder, n_entries: usize) {
    let leaves = folder.leaves();
    let database = folder.database();
    let log: String = database.query_row("SELECT min(log) FROM ledger", [], |row| row.get(0)).expect("a log");
    database.execute("DELETE FROM ledger_hashes", []).expect("a table");
    database.execute("DELETE FROM ledger WHERE position >= ?1", [n_entries]).expect("a table");
    let mut hashes: Vec<merkle::Hash> = Vec::new();
    for (size, leaf) in (0..).zip(&leaves[..n_entries]) {
        let new = merkle::append(&hashes, size, merkle::leaf_hash(leaf.as_bytes())).expect("a store in memory");
        hashes.extend(new);
    }
    for (position, hash) in hashes.iter().enumerate() {
        let insert = "INSERT INTO ledger_hashes (log, position, hash) VALUES (?1, ?2, ?3)";
        database.execute(insert, params![log, position, hash]).expect("a table");
    }
    drop(database);
    let mut head = folder.head();
    head["ledger"]["size"] = n_entries.into();
    folder.sql(&format!("UPDATE settings SET value = '{head}' WHERE key = 'head'"));
}

/// Entries and hashes fit each other: the certificates that are out there do not fit them.
#[test]
fn a_log_that_was_rewritten_with_its_hashes_is_found_by_its_certificates() {
    let folder = model();
    folder.sql("UPDATE ledger SET leaf = replace(leaf, '\"n_rows\":1', '\"n_rows\":2') WHERE position = 3");
    rehash(&folder, 5);
    is_found(&folder, &["release 2: the log up to it was rewritten"]);
    let folder = model();
    rehash(&folder, 4);
    is_found(&folder, &["release 2 is in a log of 5 entries, there are 4: the log was cut"]);
}

#[test]
fn files_of_a_release_that_were_swapped_are_found() {
    let release = |folder: &Folder, k: usize, file: &str| folder.path(&format!("model/releases/{k}/{file}"));
    let folder = model();
    let swap = |file: &str| {
        let (one, two) = (release(&folder, 1, file), release(&folder, 2, file));
        let (first, second) = (fs::read(&one).expect("there"), fs::read(&two).expect("there"));
        fs::write(one, second).expect("writable");
        fs::write(two, first).expect("writable");
    };
    swap("model.json");
    let wrong = "the model file is not the certified one";
    is_found(&folder, &[&format!("release 1: {wrong}"), &format!("release 2: {wrong}")]);
    swap("certificate.json");
    let wrong = "its certificate is not the one that was issued";
    is_found(&folder, &[&format!("release 1: {wrong}"), &format!("release 2: {wrong}")]);
    swap("model.json");
    swap("certificate.json");
    assert_eq!(verify(&folder).verdict, Verdict::Valid);

    let path = release(&folder, 2, "certificate.json");
    let text = fs::read_to_string(&path).expect("text");
    fs::write(&path, text.replacen("payload", "Payload", 1)).expect("writable");
    is_found(&folder, &["release 2: "]);
    fs::remove_file(&path).expect("there");
    is_found(&folder, &["release 2: its model is there without its certificate"]);
    // What was deleted by its owner is not wrong, and not checked.
    fs::remove_file(release(&folder, 2, "model.json")).expect("there");
    let report = verify(&folder);
    assert_eq!(report.verdict, Verdict::Valid);
    assert!(report.checks.iter().any(|check| check.message == "release 2: its files are not there any more"));
}

/// A state that has not followed a correction, under a head that says it has: everything fits but the rows.
#[test]
fn a_residual_that_is_understated_is_found_by_replay() {
    let folder = Folder::with_model();
    let (state, head) = (fs::read(folder.state_file()).expect("there"), folder.head());
    let mut model = folder.open();
    let flipped = table(0..10).lines().map(flip_label).collect::<Vec<_>>().join("\n");
    model.correct(&RowSource::of(folder.write("flipped.csv", flipped))).expect("present");
    model.close().expect("writable");
    assert_eq!(verify(&folder).verdict, Verdict::Valid);

    let mut forged = folder.head();
    let generation = forged["generation"].clone();
    fs::remove_file(folder.state_file()).expect("there");
    folder.write(&format!("model/state/{}", head["generation"]), state);
    (forged["generation"], forged["state"]) = (head["generation"].clone(), head["state"].clone());
    assert_ne!(forged["generation"], generation);
    folder.sql(&format!("UPDATE settings SET value = '{forged}' WHERE key = 'head'"));
    let model = folder.open();
    assert!(model.repairs_at_opening().is_empty(), "{:?}", model.repairs_at_opening());
    assert_eq!(model.verify(false).expect("readable").verdict, Verdict::Valid, "only the rows tell");
    drop(model);
    is_found(&folder, &["the residual on the rows is at least"]);
}

/// A row of the table with the other class.
fn flip_label(line: &str) -> String {
    match line.rsplit_once(',') {
        Some((row, "0")) => format!("{row},1"),
        Some((row, "1")) => format!("{row},0"),
        _ => line.to_owned(),
    }
}

#[test]
fn the_public_key_beside_the_private_one_is_the_one_that_the_log_names() {
    let folder = model();
    let other = Folder::with_model();
    let from = |folder: &Folder| fs::read(folder.path("model/signing.key.pub")).expect("there");
    fs::write(Path::new(&folder.path("model/signing.key.pub")), from(&other)).expect("writable");
    let report = verify(&folder);
    assert_eq!(report.verdict, Verdict::Invalid);
    let signature = report.checks.iter().find(|check| check.check == CheckName::Signature).expect("checked");
    assert!(signature.message.starts_with("the public key beside the private one is"), "{report:?}");
}

/// `predict` looks for the withdrawal itself: without it, a withdrawn release would be used.
#[test]
fn a_withdrawal_that_is_gone_or_another_one_is_found() {
    let folder = model();
    let mut opened = folder.open();
    let (one, two) = (opened.revoke(1, None).expect("there"), opened.revoke(2, None).expect("there"));
    opened.close().expect("writable");
    let report = verify(&folder);
    assert_eq!(report.verdict, Verdict::Valid);
    assert_eq!(report.checks.iter().filter(|check| check.message.ends_with("is withdrawn")).count(), 2);
    let kept = fs::read(&one.revocation).expect("there");
    fs::copy(&two.revocation, &one.revocation).expect("writable");
    is_found(&folder, &["release 1: its withdrawal is not the one that was issued"]);
    let text = String::from_utf8(kept).expect("text");
    let damaged = text.replacen("\"position\": 5", "\"position\": 4", 1);
    assert_ne!(damaged, text);
    fs::write(&one.revocation, damaged).expect("writable");
    is_found(&folder, &["release 1: its withdrawal: a proof for entry 4 in the place of 5"]);
    fs::remove_file(&one.revocation).expect("there");
    is_found(&folder, &["release 1 was withdrawn, and its withdrawal is gone: predict would use it"]);
}
