//! Ed25519 keys. A key has a name, which the signed notes of C2SP carry, and an id, which envelopes carry.
//!
//! The two halves are [`SigningKey`] and [`PublicKey`]; their file forms are in `pem.rs` and `file.rs`.

mod error;
mod file;
mod pem;
mod public;
#[cfg(test)]
mod tests;

use std::fmt;

use ed25519_dalek::Signer;
use zeroize::Zeroizing;

pub use self::error::{KeyError, PublicKeyError};
pub use self::pem::Protection;
pub use self::public::PublicKey;

/// A private key and its name. It prints as its name and its public id only, and is wiped when dropped.
pub struct SigningKey {
    name: String,
    key: ed25519_dalek::SigningKey,
}

impl SigningKey {
    /// The key of a seed, which is 32 bytes from a generator fit for keys.
    pub fn generate(name: &str, seed: &Zeroizing<[u8; 32]>) -> Result<Self, KeyError> {
        check_name(name)?;
        Ok(Self { name: name.to_owned(), key: ed25519_dalek::SigningKey::from_bytes(seed) })
    }

    /// What the notes and the public key are signed with: see [`PublicKey::name`].
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The signature of a message: deterministic, RFC 8032.
    pub fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.key.sign(message).to_bytes()
    }

    /// The key that verifies what this one signs.
    pub fn public(&self) -> PublicKey {
        PublicKey::new(self.name.clone(), self.key.verifying_key())
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("name", &self.name).field("id", &self.public().id()).finish_non_exhaustive()
    }
}

/// Names stand between blanks and plus signs in the texts of C2SP, so they must not have any.
fn check_name(name: &str) -> Result<(), KeyError> {
    let refused = |c: char| c.is_whitespace() || c.is_control() || c == '+';
    if name.is_empty() || name.contains(refused) {
        return Err(KeyError::Name { name: name.to_owned() });
    }
    Ok(())
}
