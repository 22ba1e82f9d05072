//! Damaged files: whatever byte is altered, the model is refused and nothing panics.

use std::fs;

use efface_engine::{EngineError, ModelDirectory, PublishedModel, Status};

use crate::models::{Folder, published, randomness};

/// What opening and a look at all rows says.
fn open_and_settle(folder: &Folder) -> Result<(), EngineError> {
    ModelDirectory::open(folder.model())?.settle(None).map(drop)
}

#[test]
fn a_state_with_any_byte_altered_is_refused() {
    let folder = Folder::with_model();
    let path = folder.state_file();
    let whole = fs::read(&path).expect("readable");
    for position in 0..whole.len() {
        let mut altered = whole.clone();
        altered[position] ^= 1 << (position % 8);
        fs::write(&path, altered).expect("writable");
        let error = open_and_settle(&folder).expect_err("altered");
        assert!(matches!(error, EngineError::BadState { .. }), "byte {position}: {error}");
    }
}

#[test]
fn a_state_of_any_other_length_is_refused() {
    let folder = Folder::with_model();
    let path = folder.state_file();
    let whole = fs::read(&path).expect("readable");
    for length in (0..whole.len()).step_by(13) {
        fs::write(&path, &whole[..length]).expect("writable");
        let error = open_and_settle(&folder).expect_err("cut short");
        assert!(matches!(error, EngineError::BadState { .. }), "{length} bytes: {error}");
    }
}

#[test]
fn lengths_beyond_all_memory_are_refused() {
    let folder = Folder::with_model();
    let path = folder.state_file();
    let whole = fs::read(&path).expect("readable");
    for at in [12, 20, 28] {
        for length in [u64::MAX, u64::MAX - 100, 1 << 62, 1 << 63] {
            let mut altered = whole.clone();
            altered[at..at + 8].copy_from_slice(&length.to_le_bytes());
            fs::write(&path, altered).expect("writable");
            assert!(matches!(open_and_settle(&folder), Err(EngineError::BadState { .. })));
        }
    }
}

#[test]
fn rows_with_any_byte_altered_are_refused_or_take_no_part() {
    let folder = Folder::with_model();
    let whole = folder.read("model/rows/000000.rows");
    open_and_settle(&folder).expect("whole");
    let before = 2.0 * Status::read(folder.model()).expect("readable").distance_bound.get();
    let mut refused = 0;
    for position in (0..whole.len()).step_by(5) {
        let mut altered = whole.clone();
        altered[position] ^= 1 << (position % 8);
        folder.write("model/rows/000000.rows", altered);
        match open_and_settle(&folder) {
            Err(EngineError::Rows(_) | EngineError::Store(_)) => refused += 1,
            Err(error) => panic!("byte {position}: {error}"),
            // What stands where no row is takes no part in a sum, and is overwritten.
            Ok(()) => {
                let settled = Status::read(folder.model()).expect("readable");
                assert_eq!(settled.n_rows, 60, "byte {position}");
                assert!(settled.distance_bound.get() <= before, "byte {position}: {settled:?}");
            }
        }
    }
    assert!(refused * 5 > 60 * (8 + 8 + 4 + 24), "{refused} of {} bytes", whole.len());
}

#[test]
fn a_database_with_any_byte_altered_does_not_panic() {
    let folder = Folder::with_model();
    let whole = folder.read("model/efface.db");
    for position in (0..whole.len()).step_by(97) {
        let copy = folder.copy(&format!("copy-{position}"));
        let mut altered = whole.clone();
        altered[position] ^= 1 << (position % 8);
        fs::write(copy.join("efface.db"), altered).expect("writable");
        let _ = ModelDirectory::open(&copy).and_then(|mut model| model.settle(None).map(drop));
        fs::remove_dir_all(copy).expect("there");
    }
}

/// Opening a model reads its settings and its head, not its status, which stayed as it was: unreadable, or wrong.
#[test]
fn a_damaged_status_is_written_again_when_the_model_is_opened() {
    let folder = Folder::with_model();
    let before = Status::read(folder.model()).expect("readable");
    for (sound, damaged) in [("\"l2\":", "\"lX\":"), ("\"n_rows\":60,\"n_removed\"", "\"n_rows\":90,\"n_removed\"")] {
        let mut bytes = folder.read("model/efface.db");
        let places: Vec<usize> =
            (0..bytes.len() - sound.len()).filter(|at| bytes[*at..].starts_with(sound.as_bytes())).collect();
        assert_eq!(places.len(), 1, "{sound}");
        bytes[places[0]..places[0] + damaged.len()].copy_from_slice(damaged.as_bytes());
        folder.write("model/efface.db", bytes);
        folder.open().close().expect("writable");
        let after = Status::read(folder.model()).expect("readable");
        assert_eq!((after.n_rows, after.l2), (before.n_rows, before.l2), "{damaged}");
    }
}

#[test]
fn a_published_model_with_any_byte_altered_does_not_panic() {
    let folder = Folder::with_model();
    published(folder.open().release(&mut randomness(), None).expect("writable"));
    let whole = folder.read("model/releases/1/model.json");
    let columns = efface_data::Columns {
        features: Some(["a", "b", "c"].map(String::from).to_vec()),
        ..efface_data::Columns::default()
    };
    for position in 0..whole.len() {
        for byte in *b"0[{\"}],-e\xff" {
            let mut altered = whole.clone();
            altered[position] = byte;
            folder.write("altered.json", altered);
            if let Ok(model) = PublishedModel::open(folder.path("altered.json")) {
                let table = efface_data::read_table(folder.path("rows.csv"), &columns).expect("readable");
                let _ = model.predict(table);
            }
        }
    }
}
