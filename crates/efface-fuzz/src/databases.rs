//! A model directory whose database is any file: it is refused, or opens, and then opens again as it was.

use efface_engine::{ModelDirectory, Status};

use crate::scratch;

/// `efface.db`, beside the rows and the state of a model: as it is, and with the checksums of its pages put right. Without
/// that, no altered page would be read.
pub(crate) fn database(bytes: &[u8]) {
    opens(bytes);
    let mut sealed = bytes.to_vec();
    efface_pages::seal(&mut sealed);
    if sealed != bytes {
        opens(&sealed);
    }
}

/// Whether a model of this database opens. One that does opens again.
fn opens(bytes: &[u8]) -> bool {
    let folder = scratch::empty_folder("model");
    for name in ["rows", "state", "releases"] {
        std::fs::create_dir(folder.join(name)).expect("writable");
    }
    for (file, content) in [("rows/000000.rows", ROWS), ("state/3", STATE), ("efface.db", bytes)] {
        scratch::write(&folder.join(file), content);
    }
    let _ = Status::read(&folder);
    let Ok(model) = ModelDirectory::open(&folder) else { return false };
    let n_rows = model.n_rows();
    model.close().expect("a model that opens can be closed");
    // The status is a copy of what the model says, for those who do not open it: one that was altered and sealed is told as
    // it is, or refused.
    let _ = Status::read(&folder);
    let again = ModelDirectory::open(&folder).expect("a model that opens opens again");
    assert_eq!(again.n_rows(), n_rows, "rows");
    true
}

const ROWS: &[u8] = include_bytes!("../models/release.rows");
const STATE: &[u8] = include_bytes!("../models/release.state");

#[cfg(test)]
mod tests {
    use super::*;

    const RELEASE: &[u8] = include_bytes!("../../../fuzz/corpus/database/release");

    /// If they did not, each of their alterations would be refused for the same reason, and nothing else be looked at.
    #[test]
    fn the_seeds_are_of_a_model_that_opens() {
        assert!(opens(RELEASE));
        assert_eq!(Status::read(scratch::path("model")).expect("a status").n_rows, 11);
        assert!(opens(include_bytes!("../../../fuzz/corpus/database/damaged-status")));
    }

    #[test]
    fn an_altered_page_is_read_only_when_it_is_sealed() {
        let mut altered = RELEASE.to_vec();
        // The version of SQLite that wrote the file last, in page 1, which it keeps and does not look at.
        altered[96] ^= 1;
        assert!(!opens(&altered));
        efface_pages::seal(&mut altered);
        assert!(opens(&altered));
    }
}
