//! The file of a private key: its owner's alone, and never overwritten.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use zeroize::Zeroizing;

use super::error::KeyError;
use super::{Protection, SigningKey};

impl SigningKey {
    /// Writes the private key to a file that does not exist yet and that only its owner can read, and returns once its
    /// content is on the disk. Its name is, once whoever keeps it has synced the folder.
    pub fn write_new(&self, path: &Path, protection: Option<&Protection<'_>>) -> Result<(), KeyError> {
        let text = self.to_pem(protection)?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => KeyError::Exists { path: path.to_owned() },
            _ => KeyError::io(path)(source),
        })?;
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
        if written.is_err() {
            // Best effort: a key that is not whole is of no use, and would be in the way of the next one.
            let _ = fs::remove_file(path);
        }
        written.map_err(KeyError::io(path))
    }

    /// Reads a private key from a file that nobody but its owner can use.
    pub fn read(path: &Path, passphrase: Option<&[u8]>) -> Result<Self, KeyError> {
        let file = File::open(path).map_err(KeyError::io(path))?;
        check_private(&file, path)?;
        let size = file.metadata().map_err(KeyError::io(path))?.len();
        if size > SIZE_LIMIT {
            return Err(KeyError::not_a_key(format!("the file has {size} bytes, more than {SIZE_LIMIT}")));
        }
        // As large as it will get: growing would leave copies of the key behind.
        let mut text = Zeroizing::new(String::with_capacity(SIZE_LIMIT as usize + 1));
        file.take(SIZE_LIMIT).read_to_string(&mut text).map_err(KeyError::io(path))?;
        Self::from_pem(&text, passphrase)
    }
}

/// Refuses a key that others may have read, or put there.
fn check_private(file: &File, path: &Path) -> Result<(), KeyError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;

        let mode = file.metadata().map_err(KeyError::io(path))?.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(KeyError::NotPrivate { path: path.to_owned(), mode });
        }
    }
    #[cfg(not(unix))]
    let _ = (file, path);
    Ok(())
}

/// More than any key takes.
const SIZE_LIMIT: u64 = 16 * 1024;
