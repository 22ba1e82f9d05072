//! Copies of one directory that share a witness: they take turns, and what one of them spends the other one counts.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use efface_core::loss;
use efface_core::model::TrainingConfig;
use efface_engine::{EngineError, ModelDirectory, OpenError, OpenOptions};

use crate::models::{Folder, ids, published, randomness, table};

/// A model with a witness, and a copy of its directory.
fn with_copy() -> (Folder, PathBuf) {
    let folder = Folder::new();
    let config = TrainingConfig::new(&loss::Logistic, 1e-2, None);
    folder.try_train(&table(0..60), config, "model", Some("witness")).expect("trainable");
    let copy = folder.copy("copy");
    (folder, copy)
}

fn patient() -> OpenOptions {
    OpenOptions { wait: Duration::from_secs(45), ..OpenOptions::default() }
}

#[track_caller]
fn is_in_use(result: Result<ModelDirectory, EngineError>) {
    let Err(error) = result else { panic!("two copies are open at once") };
    assert!(matches!(error, EngineError::Open(OpenError::WitnessLocked { .. })), "{error}");
    let words = format!("is in use by process {} (since ", std::process::id());
    assert!(error.to_string().contains(&words), "{error}");
}

#[test]
fn a_copy_waits_until_the_witness_is_free() {
    let (folder, copy) = with_copy();
    let model = folder.open();
    is_in_use(ModelDirectory::open(&copy));
    // By another name it is still the same witness.
    std::os::unix::fs::symlink(folder.path("witness"), folder.path("link")).expect("writable");
    let linked = OpenOptions { witness: Some(folder.path("link")), ..OpenOptions::default() };
    is_in_use(ModelDirectory::open_with(&copy, &linked));
    drop(model);
    ModelDirectory::open(&copy).expect("free again").close().expect("writable");
}

/// Two copies released at once, and each told the witness of its own releases only: 12 were counted as 6.
#[test]
fn releases_of_two_copies_at_once_are_all_counted() {
    const EACH: usize = 6;
    let (folder, copy) = with_copy();
    let release = |path: &Path| -> Vec<usize> {
        let once = |_| {
            let mut model = ModelDirectory::open_with(path, &patient()).expect("its turn");
            let report = published(model.release(&mut randomness(), None).expect("writable"));
            model.close().expect("writable");
            report.release
        };
        (0..EACH).map(once).collect()
    };
    let found = std::thread::scope(|scope| {
        let threads = [folder.model(), copy].map(|path| scope.spawn(move || release(&path)));
        threads.map(|thread| thread.join().expect("released"))
    });
    let numbers: BTreeSet<usize> = found.into_iter().flatten().collect();
    assert_eq!(numbers, (1..=2 * EACH).collect(), "every release has a number of its own");
    assert_eq!(folder.open().n_releases(), 2 * EACH);
}

/// What one copy removed and released while the other one was closed, that one does when it is next opened.
#[test]
fn a_copy_catches_up_with_what_the_other_one_did() {
    let (folder, copy) = with_copy();
    let mut model = folder.open();
    model.remove(&ids(&["row-17"]), None).expect("removable");
    published(model.release(&mut randomness(), None).expect("writable"));
    model.close().expect("writable");
    let mut model = ModelDirectory::open(&copy).expect("free");
    assert_eq!(model.repairs_at_opening()[0].in_words(), "the directory is older than its witness");
    assert_eq!((model.n_rows(), model.n_releases()), (59, 1));
    assert_eq!(published(model.release(&mut randomness(), None).expect("writable")).release, 2);
}

/// A training that takes a witness over waits for no model: it is told that one is open.
#[test]
fn a_witness_in_use_is_not_taken_over() {
    let (folder, _) = with_copy();
    let model = folder.open();
    let config = TrainingConfig::new(&loss::Logistic, 1e-2, None);
    let train = || folder.try_train(&table(0..60), config.clone(), "anew", Some("witness"));
    assert!(matches!(train(), Err(EngineError::Open(OpenError::WitnessLocked { .. }))));
    drop(model);
    train().expect("trainable");
}
