//! Files and folders that are their owner's alone, and that are there after a crash.

use std::fmt::Write;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// Opens a file for reading and writing; if it is made, only its owner can use it.
pub fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Takes the right to use a file from everybody but its owner.
pub fn make_private(file: &File) -> io::Result<()> {
    restrict(&file.metadata()?, 0o600, |permissions| file.set_permissions(permissions))
}

/// Makes a folder that only its owner can enter, or makes one that exists so.
pub fn make_private_directory(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)?;
    restrict(&fs::metadata(path)?, 0o700, |permissions| fs::set_permissions(path, permissions))
}

/// Returns once the folder that holds `path` is on the disk.
pub fn sync_parent(path: &Path) -> io::Result<()> {
    sync_directory(parent_of(path))
}

/// The folder that holds `path`.
pub fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A path as it is written within a URI.
pub fn percent_encoded(path: &Path) -> String {
    let mut encoded = String::new();
    for byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-~".contains(byte) {
            encoded.push(char::from(*byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// Returns once the names in a folder are on the disk.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    // Folders can be opened and synced on unix only.
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

/// Overwrites a file with zeros, and deletes it once they are on the disk.
pub fn erase(path: &Path) -> io::Result<()> {
    let mut file = File::options().write(true).open(path)?;
    let len = file.metadata()?.len();
    io::copy(&mut io::repeat(0).take(len), &mut file)?;
    file.sync_data()?;
    fs::remove_file(path)
}

/// Sets the mode of what others can use.
#[cfg(unix)]
fn restrict(found: &fs::Metadata, mode: u32, set: impl FnOnce(fs::Permissions) -> io::Result<()>) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    if found.permissions().mode() & 0o077 != 0 { set(fs::Permissions::from_mode(mode)) } else { Ok(()) }
}

#[cfg(not(unix))]
fn restrict(_: &fs::Metadata, _: u32, _: impl FnOnce(fs::Permissions) -> io::Result<()>) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_lies_in_the_folder_at_hand() {
        assert_eq!(parent_of(Path::new("results.md")), Path::new("."));
        assert_eq!(percent_encoded(Path::new("my results/é~")), "my%20results/%C3%A9~");
    }
}
