//! What all certificates have in common: of which model, by whom, when, and their place in the log.

use std::ops::{Deref, DerefMut};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::entry::{Entry, Event};

/// A certificate: what it says, and who says it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issued<T, I = Signed> {
    /// Tag of this form. Its meaning never changes.
    pub schema: String,
    /// Program and version that wrote it.
    pub software: String,
    /// A random name that tells this model from others.
    pub model: String,
    /// When, in UTC (RFC 3339).
    pub issued: String,
    /// Who signs it, and where it is in the log.
    #[serde(flatten)]
    pub issue: I,
    /// What it says.
    #[serde(flatten)]
    pub body: T,
}

/// Who vouches for a certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signed {
    /// SHA-256 of the public key that signs.
    pub key_id: String,
    /// Where it is in the log.
    pub log: LogPosition,
}

/// The certificate of a model in memory, which has neither key nor log: nobody vouches for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Unsigned {
    signed: bool,
}

impl Unsigned {
    /// Says so.
    pub const ISSUE: Self = Self { signed: false };
}

/// Where a certificate is in the log. Its proof is beside the signed part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogPosition {
    /// Name of the log.
    pub origin: String,
    /// Number of its entry, counted from 0.
    pub position: u64,
}

/// What a certificate can say.
pub trait Predicate: Serialize + DeserializeOwned {
    /// Tag in the field `schema`.
    const SCHEMA: &str;
    /// The in-toto predicate type.
    const TYPE: &str;

    /// What the log says of it, given the digest of the certificate's payload.
    fn event(&self, certificate: String) -> Event;
}

impl<T: Predicate> Issued<T> {
    /// Tag in the field `schema`.
    pub const SCHEMA: &str = T::SCHEMA;
    /// The in-toto predicate type.
    pub const TYPE: &str = T::TYPE;

    /// The entry of the log that belongs to it, given the digest of its payload.
    pub fn entry(&self, certificate: String) -> Entry {
        Entry::new(&self.issued, self.body.event(certificate))
    }
}

impl<T, I> Deref for Issued<T, I> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.body
    }
}

impl<T, I> DerefMut for Issued<T, I> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.body
    }
}
