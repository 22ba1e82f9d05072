//! Signed notes as specified by C2SP: a short text for people and programs, and under it the signature.
//!
//! ```text
//! example.org/churn
//! 3
//! qg4c…=
//!
//! — example.org/churn cbZx…=
//! ```
//!
//! The specification lets a note carry signatures of others, which are passed over. Here a note has exactly one
//! signature line, so that no byte of it is without meaning.

use thiserror::Error;

use crate::encoding;
use crate::key::{PublicKey, SigningKey};

/// Why a note was not signed or not accepted.
#[derive(Debug, Error, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
#[non_exhaustive]
pub enum NoteError {
    /// The text does not end with a newline, or is nothing else.
    #[error("the text of a note must end with a newline and have at least one line before it")]
    NoText,
    /// The text has a character that a note must not have.
    #[error("a note must not have control characters in it, found {character:?}")]
    Control { character: char },
    /// The text is not followed by a blank line and one signature line.
    #[error("a note must end with a blank line and one signature line `— name signature`")]
    NotSigned,
    /// There is more than one signature line.
    #[error("unsupported: the note has {found} signature lines, expected 1")]
    Signatures { found: usize },
    /// The signature line is of another key.
    #[error("the note is signed by `{found}`, expected `{expected}`")]
    OtherKey { found: String, expected: String },
    /// The signature is not that of the key on this text.
    #[error("the signature of `{name}` does not match the text of the note")]
    Signature { name: String },
}

/// The note of a text, which must end with a newline.
pub fn sign(text: &str, key: &SigningKey) -> Result<String, NoteError> {
    check_text(text)?;
    let mut signature = key.public().key_hash().to_vec();
    signature.extend(key.sign(text.as_bytes()));
    Ok(format!("{text}\n{DASH}{} {}\n", key.name(), encoding::encode(&signature)))
}

/// The text of a note, if its one signature is that of the key.
pub fn open<'a>(note: &'a str, key: &PublicKey) -> Result<&'a str, NoteError> {
    let end = note.rfind("\n\n").ok_or(NoteError::NotSigned)?;
    let (text, signatures) = (&note[..=end], &note[end + 2..]);
    check_text(text)?;
    let line = signatures.strip_suffix('\n').ok_or(NoteError::NotSigned)?;
    match line.split('\n').count() {
        1 => {}
        found => return Err(NoteError::Signatures { found }),
    }
    let parts = line.strip_prefix(DASH).and_then(|parts| parts.split_once(' '));
    let (name, encoded) = parts.ok_or(NoteError::NotSigned)?;
    let bytes: [u8; 68] = encoding::decode_array(encoded).ok_or(NoteError::NotSigned)?;
    let [a, b, c, d, signature @ ..] = &bytes;
    let hash = [*a, *b, *c, *d];
    if name != key.name() || hash != key.key_hash() {
        let expected = describe(key.name(), key.key_hash());
        return Err(NoteError::OtherKey { found: describe(name, hash), expected });
    }
    if key.verify(text.as_bytes(), signature) { Ok(text) } else { Err(NoteError::Signature { name: name.to_owned() }) }
}

fn check_text(text: &str) -> Result<(), NoteError> {
    if text.len() < 2 || !text.ends_with('\n') {
        return Err(NoteError::NoText);
    }
    match text.chars().find(|&c| c < ' ' && c != '\n') {
        Some(character) => Err(NoteError::Control { character }),
        None => Ok(()),
    }
}

fn describe(name: &str, hash: [u8; 4]) -> String {
    format!("{name}+{}", hex::encode(hash))
}

const DASH: &str = "— ";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{assert_every_change_is_refused, other_key, signing_key};

    #[test]
    fn what_was_signed_is_opened() {
        let key = signing_key();
        for text in ["one line\n", "three\nlines\nö\n", "blank\n\nlines\n\n", "— looks signed\n\n— by x\n"] {
            let note = sign(text, &key).unwrap();
            assert_eq!(open(&note, &key.public()), Ok(text));
        }
    }

    #[test]
    fn every_change_is_refused() {
        let key = signing_key();
        let note = sign("a text\nof two lines\n", &key).unwrap();
        assert_every_change_is_refused(note.as_bytes(), |changed| {
            std::str::from_utf8(changed).is_ok_and(|note| open(note, &key.public()).is_ok())
        });
    }

    #[test]
    fn texts_that_cannot_be_signed_are_refused() {
        let key = signing_key();
        for text in ["", "\n", "no newline"] {
            assert_eq!(sign(text, &key), Err(NoteError::NoText), "{text:?}");
        }
        assert_eq!(sign("a\tb\n", &key), Err(NoteError::Control { character: '\t' }));
        assert_eq!(sign("a\r\n", &key), Err(NoteError::Control { character: '\r' }));
    }

    #[test]
    fn a_note_by_another_key_is_refused() {
        let (key, other) = (signing_key(), other_key());
        let note = sign("text\n", &other).unwrap();
        assert!(matches!(open(&note, &key.public()), Err(NoteError::OtherKey { .. })));
        // The hash in the line is not a secret; the signature decides.
        let line = |key: &SigningKey| {
            let mut bytes = signing_key().public().key_hash().to_vec();
            bytes.extend(key.sign(b"text\n"));
            format!("text\n\n— {} {}\n", signing_key().name(), encoding::encode(&bytes))
        };
        assert_eq!(open(&line(&key), &key.public()), Ok("text\n"));
        assert!(matches!(open(&line(&other), &key.public()), Err(NoteError::Signature { .. })));
    }

    #[test]
    fn more_or_fewer_than_one_signature_is_refused() {
        let (key, other) = (signing_key(), other_key());
        let note = sign("text\n", &key).unwrap();
        let second = sign("text\n", &other).unwrap().split_off("text\n\n".len());
        assert_eq!(open(&format!("{note}{second}"), &key.public()), Err(NoteError::Signatures { found: 2 }));
        assert_eq!(open(&format!("{note}{}", &note[6..]), &key.public()), Err(NoteError::Signatures { found: 2 }));
        assert_eq!(open("text\n", &key.public()), Err(NoteError::NotSigned));
        assert_eq!(open("text\n\n", &key.public()), Err(NoteError::NotSigned));
        assert!(open(&format!("{note}\n"), &key.public()).is_err());
        assert!(open(note.trim_end(), &key.public()).is_err());
        assert!(open(&note.replace('\n', "\r\n"), &key.public()).is_err());
        assert!(open("", &key.public()).is_err());
    }
}
