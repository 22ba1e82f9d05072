//! A model directory whose database is any file: it is refused, or opens, and then opens again as it was.

use efface_engine::{ModelDirectory, Status};

use crate::scratch;

/// `efface.db`, beside the rows and the state of a model.
pub(crate) fn database(bytes: &[u8]) {
    let folder = scratch::empty_folder("model");
    for (name, content) in [("rows", ROWS), ("state", STATE)] {
        std::fs::create_dir(folder.join(name)).expect("writable");
        let file = if name == "rows" { "000000.rows" } else { "3" };
        scratch::write(&folder.join(name).join(file), content);
    }
    std::fs::create_dir(folder.join("releases")).expect("writable");
    scratch::write(&folder.join("efface.db"), bytes);
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
