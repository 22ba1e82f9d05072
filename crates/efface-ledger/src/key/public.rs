//! The public half of a key. Its text is the verifier key of C2SP signed notes, one line that a person can pass on:
//! `name+hash+key`, with eight hexadecimal digits of a hash over both, so that a name cannot be put on another's key.

use std::fmt;
use std::fs;
use std::path::Path;
use std::str::FromStr;

use ed25519_dalek::{Signature, VerifyingKey};
use sha2::{Digest, Sha256};

use super::error::PublicKeyError;
use crate::encoding;

/// A public key and its name.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey {
    name: String,
    key: VerifyingKey,
}

impl PublicKey {
    pub(super) fn new(name: String, key: VerifyingKey) -> Self {
        Self { name, key }
    }

    /// The name that this key's notes carry. It says who claims to have signed; the key shows that it is so.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The 32 bytes of the key.
    pub fn as_bytes(&self) -> &[u8; 32] {
        self.key.as_bytes()
    }

    /// The SHA-256 hash of the key's 32 bytes, in hexadecimal digits. The name takes no part in it.
    pub fn id(&self) -> String {
        hex::encode(Sha256::digest(self.as_bytes()))
    }

    /// Whether the signature is this key's on this message. Strict: of the signatures that differ in their bytes and not
    /// in what they show, one is accepted.
    #[must_use]
    pub fn verify(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        self.key.verify_strict(message, &Signature::from_bytes(signature)).is_ok()
    }

    /// The first bytes of the hash over name and key, by which a note's signature line refers to a key.
    pub fn key_hash(&self) -> [u8; 4] {
        let hash =
            Sha256::new().chain_update(&self.name).chain_update([b'\n']).chain_update(self.tagged_key()).finalize();
        [hash[0], hash[1], hash[2], hash[3]]
    }

    /// Reads a file that holds the key's line, with or without a newline at its end.
    pub fn read(path: &Path) -> Result<Self, PublicKeyError> {
        let text = fs::read_to_string(path).map_err(|source| PublicKeyError::Io { path: path.to_owned(), source })?;
        text.strip_suffix('\n').unwrap_or(&text).parse()
    }

    fn tagged_key(&self) -> [u8; 33] {
        let mut tagged = [ED25519; 33];
        tagged[1..].copy_from_slice(self.as_bytes());
        tagged
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}+{}", self.name, hex::encode(self.key_hash()), encoding::encode(&self.tagged_key()))
    }
}

impl FromStr for PublicKey {
    type Err = PublicKeyError;

    /// Exactly the text that is displayed, and nothing around it.
    fn from_str(text: &str) -> Result<Self, PublicKeyError> {
        let form = |reason| PublicKeyError::Form { reason };
        // The key may have plus signs of its own, the name has none.
        let mut parts = text.splitn(3, '+');
        let (Some(name), Some(hash), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(form("found fewer than three parts"));
        };
        super::check_name(name).map_err(|_| form("the name is empty or has blanks in it"))?;
        let tagged: [u8; 33] = encoding::decode_array(key).ok_or(form("the key is not 33 bytes in standard base64"))?;
        let [tag, bytes @ ..] = &tagged;
        if *tag != ED25519 {
            return Err(form("the key is of another kind than Ed25519"));
        }
        let key = VerifyingKey::from_bytes(bytes).map_err(|_| PublicKeyError::Point)?;
        if key.is_weak() {
            return Err(PublicKeyError::Point);
        }
        let key = Self { name: name.to_owned(), key };
        let expected = hex::encode(key.key_hash());
        if hash != expected {
            return Err(PublicKeyError::Hash { found: hash.to_owned(), expected });
        }
        Ok(key)
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

/// C2SP's tag of the Ed25519 signature algorithm.
const ED25519: u8 = 0x01;
