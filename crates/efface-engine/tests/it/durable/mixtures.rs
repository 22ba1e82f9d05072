//! Every mixture of old and new parts of a directory: the status says so, and nobody who was removed is in a later release.

use std::collections::BTreeSet;

use efface_engine::{CertifyError, EngineError, ModelDirectory, OpenError, ReleaseAnswer, Status};

use crate::models::{Folder, copy, ids, published, randomness, squared, subjects, table};

const PARTS: [&str; 4] = ["efface.db", "state", "rows", "releases"];

/// A model with a copy called `old`, from before rows 17 and 42 and person 13 left it, and one called `new`, from after the
/// release without them.
fn with_old_and_new(witness: Option<&str>) -> Folder {
    let folder = Folder::new();
    folder.try_train(&table(0..60), squared(), "model", witness).expect("trainable");
    let mut model = folder.open();
    model.remove(&ids(&["row-1"]), None).expect("removable");
    published(model.release(&mut randomness(), None).expect("writable"));
    model.close().expect("writable");
    folder.copy("old");
    let mut model = folder.open();
    model.remove(&ids(&["row-17", "row-42"]), None).expect("removable");
    model.remove(&subjects(&["person-13"]), None).expect("removable");
    published(model.release(&mut randomness(), None).expect("writable"));
    model.close().expect("writable");
    folder.copy("new");
    folder
}

/// Ids that the model can still be asked to remove.
fn present(folder: &Folder) -> BTreeSet<usize> {
    let mut model = folder.open();
    (0..60).filter(|row| model.remove(&ids(&[&format!("row-{row}")]), None).is_ok()).collect()
}

#[test]
fn whatever_is_old_is_told_and_nobody_comes_back() {
    for witness in [None, Some("witness")] {
        let folder = with_old_and_new(witness);
        let told = witness.map(|name| folder.read(name));
        for mixture in 0..1_usize << PARTS.len() {
            let is_old = |part: usize| mixture & 1 << part != 0;
            let old: Vec<&str> = (0..PARTS.len()).filter(|part| is_old(*part)).map(|part| PARTS[part]).collect();
            std::fs::remove_dir_all(folder.model()).expect("writable");
            copy(&folder.path("new"), &folder.model());
            for part in &old {
                folder.restore("old", part);
            }
            if let (Some(name), Some(told)) = (witness, &told) {
                folder.write(name, told);
            }
            let context = format!("{old:?} old, witness {witness:?}");
            let found = Status::read(folder.model()).expect("readable").out_of_step;
            let is_whole = old.is_empty() || old.len() == PARTS.len() && witness.is_none();
            assert_eq!(found.is_empty(), is_whole, "{context}: {found:?}");
            if old.len() == PARTS.len() && witness.is_none() {
                // A whole old directory: nobody can tell.
                continue;
            }
            let mut model = folder.open();
            match model.release(&mut randomness(), None) {
                Ok(ReleaseAnswer::Published(_)) => {}
                Ok(answer) => panic!("{context}: {answer:?}"),
                Err(EngineError::Certify(CertifyError::Unnamed { n_removals, n_rows })) => {
                    assert_eq!((n_removals, n_rows), (2, 6), "{context}");
                    model.close().expect("writable");
                    let found = Status::read(folder.model()).expect("readable").out_of_step;
                    assert_eq!(found, ["removals that a release covers are not known"], "{context}");
                    model = folder.open();
                    // Somebody else is not one of them.
                    model.remove(&ids(&["row-30"]), None).expect("present");
                    assert!(model.release(&mut randomness(), None).is_err(), "{context}");
                    // In another order than before.
                    model.remove(&ids(&["row-42", "row-17"]), None).expect("back");
                    assert!(model.release(&mut randomness(), None).is_err(), "{context}");
                    model.remove(&subjects(&["person-13"]), None).expect("back");
                    published(model.release(&mut randomness(), None).expect("all are named"));
                }
                Err(error) => panic!("{context}: {error}"),
            }
            model.close().expect("writable");
            assert!(Status::read(folder.model()).expect("readable").out_of_step.is_empty(), "{context}");
            let present = present(&folder);
            for gone in [1, 17, 42, 52, 53, 54, 55] {
                assert!(!present.contains(&gone), "{context}: row {gone}");
            }
        }
    }
}

/// The list of removed ids was restored with the database, and the state beside it was not: it counts removals that nobody
/// could name. The people were back, and the next release said that nobody had left.
#[test]
fn removals_that_only_a_state_counts_are_not_forgotten() {
    for (witness, old_rows) in [(None, false), (None, true), (Some("witness"), true)] {
        let folder = with_old_and_new(witness);
        let mut old = vec!["efface.db", "state/removed"];
        old.extend(old_rows.then_some("rows"));
        for part in &old {
            folder.restore("old", part);
        }
        let context = format!("{old:?} old, witness {witness:?}");
        assert!(!Status::read(folder.model()).expect("readable").out_of_step.is_empty(), "{context}");
        if old_rows && witness.is_none() {
            let error = ModelDirectory::open(folder.model()).err().expect("nobody knows who left");
            assert!(matches!(error, EngineError::Open(OpenError::LostRemovals { .. })), "{context}: {error}");
            assert!(
                error.to_string().ends_with("1 removed ids and people are known, and the state counts 8"),
                "{error}"
            );
            // The list brings the model back.
            folder.restore("new", "state/removed");
        }
        // The last row stays.
        let mut expected: BTreeSet<usize> = (0..59).collect();
        expected.retain(|row| ![1, 17, 42].contains(row) && !(52..56).contains(row));
        assert_eq!(present(&folder), expected, "{context}");
    }
}
