//! Damaged files: whatever byte is altered, the model is refused and nothing panics.

use efface_engine::{EngineError, ModelDirectory, PublishedModel, Status};

use crate::models::{Folder, published, randomness};

#[test]
fn a_state_with_any_byte_altered_is_refused() {
    let folder = Folder::with_model();
    let whole = folder.read("model/state.efface");
    for position in 0..whole.len() {
        let mut altered = whole.clone();
        altered[position] ^= 1 << (position % 8);
        folder.write("model/state.efface", altered);
        let error = Status::read(folder.model()).expect_err("altered");
        assert!(matches!(error, EngineError::BadState { .. }), "byte {position}: {error}");
    }
}

#[test]
fn a_state_of_any_other_length_is_refused() {
    let folder = Folder::with_model();
    let whole = folder.read("model/state.efface");
    for length in (0..whole.len()).step_by(13) {
        folder.write("model/state.efface", &whole[..length]);
        let error = Status::read(folder.model()).expect_err("cut short");
        assert!(matches!(error, EngineError::BadState { .. }), "{length} bytes: {error}");
    }
}

#[test]
fn lengths_beyond_all_memory_are_refused() {
    let folder = Folder::with_model();
    let whole = folder.read("model/state.efface");
    for at in [12, 20] {
        for length in [u64::MAX, u64::MAX - 100, 1 << 62, 0] {
            let mut altered = whole.clone();
            altered[at..at + 8].copy_from_slice(&length.to_le_bytes());
            folder.write("model/state.efface", altered);
            assert!(matches!(Status::read(folder.model()), Err(EngineError::BadState { .. })));
        }
    }
}

#[test]
fn a_file_of_rows_with_any_byte_altered_is_refused() {
    let folder = Folder::with_model();
    let whole = folder.read("model/rows.bin");
    for position in (0..whole.len()).step_by(5) {
        let mut altered = whole.clone();
        altered[position] ^= 1 << (position % 8);
        folder.write("model/rows.bin", altered);
        let Err(error) = ModelDirectory::open(folder.model()) else { panic!("byte {position} is not noticed") };
        assert!(matches!(error, EngineError::Rows(_)), "byte {position}: {error}");
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
