//! Checkpoints as specified by C2SP: the size and the root of a log, signed. Whoever holds one can tell later whether
//! the log still is what it was.
//!
//! ```text
//! example.org/churn        origin: which log
//! 3                        number of entries
//! qg4c…=                   root of the Merkle tree over them
//! ```

use thiserror::Error;

use crate::encoding;
use crate::key::{PublicKey, SigningKey};
use crate::merkle::Hash;
use crate::note::{self, NoteError};

/// The state of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Which log: a name that is the same for all of its checkpoints, and of no other log.
    pub origin: String,
    /// Number of entries.
    pub size: u64,
    /// Root of the Merkle tree over them.
    pub root: Hash,
}

impl Checkpoint {
    /// The checkpoint as a signed note.
    pub fn sign(&self, key: &SigningKey) -> Result<String, CheckpointError> {
        check_origin(&self.origin)?;
        let text = format!("{}\n{}\n{}\n", self.origin, self.size, encoding::encode(&self.root));
        Ok(note::sign(&text, key)?)
    }

    /// The checkpoint in a signed note, if it is signed by the key and of the log named `origin`.
    pub fn open(note: &str, key: &PublicKey, origin: &str) -> Result<Self, CheckpointError> {
        let checkpoint = Self::parse(note::open(note, key)?)?;
        if checkpoint.origin != origin {
            return Err(CheckpointError::OtherLog { found: checkpoint.origin, expected: origin.to_owned() });
        }
        Ok(checkpoint)
    }

    fn parse(text: &str) -> Result<Self, CheckpointError> {
        let mut lines = text.strip_suffix('\n').unwrap_or(text).split('\n');
        let mut line = || lines.next().ok_or(CheckpointError::Lines);
        let (origin, size, root) = (line()?, line()?, line()?);
        check_origin(origin)?;
        if let Some(extension) = lines.next() {
            return Err(CheckpointError::Extension { line: extension.to_owned() });
        }
        let number: Option<u64> = size.parse().ok();
        // One spelling per number: no sign, no leading zeros.
        let number = number.filter(|number| number.to_string() == size);
        Ok(Self {
            origin: origin.to_owned(),
            size: number.ok_or_else(|| CheckpointError::Size { found: size.to_owned() })?,
            root: encoding::decode_array(root).ok_or_else(|| CheckpointError::Root { found: root.to_owned() })?,
        })
    }
}

fn check_origin(origin: &str) -> Result<(), CheckpointError> {
    let is_name = !origin.is_empty() && !origin.contains(char::is_control);
    if is_name { Ok(()) } else { Err(CheckpointError::InvalidOrigin { origin: origin.to_owned() }) }
}

/// Why a checkpoint was not signed or not accepted.
#[derive(Debug, Error, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
#[non_exhaustive]
pub enum CheckpointError {
    /// The note is not one, or not signed by the key.
    #[error(transparent)]
    Note(#[from] NoteError),
    /// The origin is not a name.
    #[error("the origin of a checkpoint must not be empty or have control characters in it, got {origin:?}")]
    InvalidOrigin { origin: String },
    /// The checkpoint is of another log.
    #[error("the checkpoint is of the log `{found}`, expected `{expected}`")]
    OtherLog { found: String, expected: String },
    /// There are fewer lines than a checkpoint has.
    #[error("a checkpoint must have three lines: origin, size, root")]
    Lines,
    /// There is a line that this version does not know.
    #[error("unsupported: extension line {line:?} in a checkpoint is not known to this version")]
    Extension { line: String },
    /// The second line is not a number.
    #[error("the size of a checkpoint must be a decimal number without leading zeros, got {found:?}")]
    Size { found: String },
    /// The third line is not a hash.
    #[error("the root of a checkpoint must be 32 bytes in standard base64, got {found:?}")]
    Root { found: String },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{assert_every_change_is_refused, other_key, signing_key};

    const ORIGIN: &str = "example.org/churn";

    fn checkpoint(size: u64) -> Checkpoint {
        Checkpoint { origin: ORIGIN.into(), size, root: [7; 32] }
    }

    fn open_text(text: &str) -> Result<Checkpoint, CheckpointError> {
        let key = signing_key();
        Checkpoint::open(&note::sign(text, &key).unwrap(), &key.public(), ORIGIN)
    }

    #[test]
    fn what_was_signed_is_opened() {
        let key = signing_key();
        for size in [0, 1, 10, u64::MAX] {
            let note = checkpoint(size).sign(&key).unwrap();
            assert_eq!(Checkpoint::open(&note, &key.public(), ORIGIN), Ok(checkpoint(size)));
        }
    }

    #[test]
    fn every_change_is_refused() {
        let key = signing_key();
        let note = checkpoint(42).sign(&key).unwrap();
        assert_every_change_is_refused(note.as_bytes(), |changed| {
            std::str::from_utf8(changed).is_ok_and(|note| Checkpoint::open(note, &key.public(), ORIGIN).is_ok())
        });
    }

    #[test]
    fn other_logs_and_keys_are_refused() {
        let key = signing_key();
        let note = checkpoint(42).sign(&key).unwrap();
        let error = Checkpoint::open(&note, &key.public(), "example.org/other").unwrap_err();
        assert_eq!(error.to_string(), "the checkpoint is of the log `example.org/churn`, expected `example.org/other`");
        let error = Checkpoint::open(&note, &other_key().public(), ORIGIN).unwrap_err();
        assert!(matches!(error, CheckpointError::Note(NoteError::OtherKey { .. })));
        for origin in ["", "a\nb", "a\tb"] {
            let named = Checkpoint { origin: origin.into(), ..checkpoint(1) };
            assert!(matches!(named.sign(&key), Err(CheckpointError::InvalidOrigin { .. })), "{origin:?}");
        }
    }

    #[test]
    fn signed_texts_that_are_no_checkpoints_are_refused() {
        let root = encoding::encode(&[7; 32]);
        assert_eq!(open_text(&format!("{ORIGIN}\n42\n{root}\n")), Ok(checkpoint(42)));
        assert_eq!(open_text(&format!("{ORIGIN}\n42\n")), Err(CheckpointError::Lines));
        let extended = open_text(&format!("{ORIGIN}\n42\n{root}\nmore\n"));
        assert_eq!(extended, Err(CheckpointError::Extension { line: "more".into() }));
        let extended = open_text(&format!("{ORIGIN}\n42\n{root}\n\n"));
        assert_eq!(extended, Err(CheckpointError::Extension { line: String::new() }));
        for size in ["", "042", "+42", "-1", "4 2", " 42", "0x2a", "18446744073709551616", "٤٢"] {
            let opened = open_text(&format!("{ORIGIN}\n{size}\n{root}\n"));
            assert_eq!(opened, Err(CheckpointError::Size { found: size.into() }));
        }
        let unpadded = root.trim_end_matches('=');
        for root in ["", unpadded, "AAAA", &format!("{root} "), &encoding::encode(&[7; 33])] {
            let opened = open_text(&format!("{ORIGIN}\n42\n{root}\n"));
            assert_eq!(opened, Err(CheckpointError::Root { found: root.into() }));
        }
    }
}
