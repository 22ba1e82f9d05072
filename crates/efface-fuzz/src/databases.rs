//! A model directory whose database is any file: it is refused, or opens, and then opens again as it was.

use efface_engine::{ModelDirectory, Status};

use crate::scratch;

/// `efface.db`, beside the rows and the state of a model.
pub(crate) fn database(bytes: &[u8]) {
    let folder = scratch::empty_folder("model");
    for name in ["rows", "state", "releases"] {
        std::fs::create_dir(folder.join(name)).expect("writable");
    }
    for (file, content) in [("rows/000000.rows", ROWS), ("state/3", STATE), ("efface.db", bytes)] {
        scratch::write(&folder.join(file), content);
    }
    let _ = Status::read(&folder);
    let Ok(model) = ModelDirectory::open(&folder) else { return };
    let n_rows = model.n_rows();
    model.close().expect("a model that opens can be closed");
    let status = Status::read(&folder).expect("a model that opens has a status");
    assert_eq!(status.n_rows, n_rows, "rows");
    let again = ModelDirectory::open(&folder).expect("a model that opens opens again");
    assert_eq!(again.n_rows(), n_rows, "rows");
}

const ROWS: &[u8] = include_bytes!("../models/release.rows");
const STATE: &[u8] = include_bytes!("../models/release.state");
