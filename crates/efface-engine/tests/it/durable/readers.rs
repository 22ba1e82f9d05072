//! Reading beside a writer: status and published models need no lock, a second writer is turned away.

use efface_engine::{EngineError, ModelDirectory, OpenError, OpenOptions, PublishedModel, Status};

use crate::models::{Folder, ids, published, randomness};

#[test]
fn the_status_can_be_read_while_a_writer_holds_the_lock() {
    let folder = Folder::with_model();
    let mut model = folder.open();
    assert_eq!(Status::read(folder.model()).expect("readable").n_rows, 60);
    model.remove(&ids(&["row-3"]), None).expect("removable");
    assert_eq!(Status::read(folder.model()).expect("readable").n_rows, 59);
    published(model.release(&mut randomness(), None).expect("writable"));
    PublishedModel::open(folder.model()).expect("published");
}

#[test]
fn a_second_writer_is_turned_away_until_the_first_is_done() {
    let folder = Folder::with_model();
    let first = folder.open();
    let Err(error) = ModelDirectory::open(folder.model()) else { panic!("two writers") };
    assert!(matches!(error, EngineError::Open(OpenError::Locked { .. })), "{error}");
    let holder = format!("is being changed by process {} (since ", std::process::id());
    assert!(error.to_string().contains(&holder), "{error}");
    assert_eq!(error.code(), "locked");
    drop(first);
    drop(folder.open());
}

#[test]
fn a_second_writer_can_wait_for_the_first() {
    let folder = Folder::with_model();
    let first = folder.open();
    let path = folder.model();
    let second = std::thread::spawn(move || {
        let options = OpenOptions { wait: std::time::Duration::from_mins(1), ..OpenOptions::default() };
        ModelDirectory::open_with(path, &options).map(|model| model.n_rows())
    });
    drop(first);
    assert_eq!(second.join().expect("no panic").expect("its turn"), 60);
}

#[test]
fn readers_see_the_old_or_the_new_state_while_it_is_replaced() {
    let folder = Folder::with_model();
    let path = folder.model();
    let reader = std::thread::spawn(move || {
        let mut seen = Vec::new();
        while seen.last() != Some(&40) {
            let status = Status::read(&path).expect("readable at any moment");
            assert_eq!(status.n_rows + status.n_removed, 60);
            seen.push(status.n_rows);
        }
        seen
    });
    let mut model = folder.open();
    for i in 0..20 {
        model.remove(&ids(&[&format!("row-{i}")]), None).expect("removable");
    }
    let seen = reader.join().expect("no reader fails");
    assert!(seen.is_sorted_by(|earlier, later| earlier >= later), "{seen:?}");
}
