//! Where the real data sets are, for the tests that read them.

use std::path::PathBuf;

/// The folder that `EFFACE_DATA` names; `None`, with a line that says so, where it is `none`.
///
/// A test that runs only where somebody remembered to set a variable passes everywhere else without having run. So skipping
/// has to be asked for.
///
/// # Panics
///
/// When the variable is not set, or names no folder.
pub fn real_data() -> Option<PathBuf> {
    let folder = std::env::var_os("EFFACE_DATA").unwrap_or_default();
    assert!(
        !folder.is_empty(),
        "EFFACE_DATA is not set: set it to the folder with the data sets (docs/data.md says where to get them), or to \
         `none` to skip the tests that read them"
    );
    if folder == "none" {
        eprintln!("skipped: EFFACE_DATA is `none`");
        return None;
    }
    let folder = PathBuf::from(folder);
    assert!(folder.is_dir(), "EFFACE_DATA is `{}`, which is not a folder", folder.display());
    Some(folder)
}
