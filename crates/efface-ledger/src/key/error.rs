//! Why a key was not made, read or written.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a private key was not made, read or written.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
#[non_exhaustive]
pub enum KeyError {
    /// The name cannot stand in a signed note.
    #[error("key name must not be empty or have blanks, control characters or `+` in it, got {name:?}")]
    Name { name: String },
    /// The key is protected by a passphrase, and none was given.
    #[error("the private key is protected by a passphrase, and none was given")]
    NeedsPassphrase,
    /// The passphrase does not open the key, or the key was damaged.
    #[error("the passphrase does not open the private key")]
    WrongPassphrase,
    /// A passphrase was given for a key that has none, so that it is not the key that was meant.
    #[error("the private key is not protected, but a passphrase was given")]
    NotProtected,
    /// A passphrase that protects nothing.
    #[error("the passphrase must not be empty")]
    EmptyPassphrase,
    /// The text is not a private key in the form that is written here.
    #[error("not a private key: {reason}")]
    NotAKey { reason: String },
    /// Others than the owner can read or write the file.
    #[error(
        "private key `{path}` can be used by others than its owner: mode is {mode:03o}, must be 600; run `chmod 600 {path}`",
        path = path.display()
    )]
    NotPrivate { path: PathBuf, mode: u32 },
    /// There is a file of that name, and a key that may have signed is never overwritten.
    #[error("`{path}` exists; a private key is not overwritten", path = path.display())]
    Exists { path: PathBuf },
    /// The file could not be read or written.
    #[error("{path}: {source}", path = path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl KeyError {
    pub(crate) fn io(path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::Io { path: path.to_owned(), source }
    }

    pub(crate) fn not_a_key(reason: impl fmt::Display) -> Self {
        Self::NotAKey { reason: reason.to_string() }
    }
}

/// Why a public key was not read.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
#[non_exhaustive]
pub enum PublicKeyError {
    /// The text is not `name+hash+key`.
    #[error("not a public key: expected `name+hash+key`, {reason}")]
    Form { reason: &'static str },
    /// The hash in the text is not that of its name and key.
    #[error("not a public key: its hash is `{found}`, that of its name and key is `{expected}`")]
    Hash { found: String, expected: String },
    /// Not a point of the curve, or one for which signatures prove nothing.
    #[error("not a public key: its bytes are not an Ed25519 key")]
    Point,
    /// The file could not be read.
    #[error("{path}: {source}", path = path.display())]
    Io { path: PathBuf, source: io::Error },
}
