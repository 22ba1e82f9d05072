//! The withdrawal of a release.

use serde::{Deserialize, Serialize};

use super::{LogPosition, Predicate};
use crate::entry::{Entry, Event};

/// A release must not be used any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevocationCertificate {
    /// Tag of this form. Its meaning never changes.
    pub schema: String,
    /// Program and version that wrote it.
    pub software: String,
    /// A random name that tells this model from others.
    pub model: String,
    /// When, in UTC (RFC 3339).
    pub issued: String,
    /// SHA-256 of the public key that signs.
    pub key_id: String,
    /// Where it stands in the log.
    pub log: LogPosition,
    /// k.
    pub release: usize,
    /// SHA-256 of the payload of its certificate, where that is known.
    pub release_certificate: Option<String>,
    /// Why, in the operator's words.
    pub reason: Option<String>,
}

impl Predicate for RevocationCertificate {
    const SCHEMA: &str = "efface-revocation-1";
    const TYPE: &str = "urn:efface:certificate:revocation:1";

    fn schema(&self) -> &str {
        &self.schema
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn key_id(&self) -> &str {
        &self.key_id
    }

    fn log(&self) -> &LogPosition {
        &self.log
    }

    fn entry(&self, certificate: String) -> Entry {
        Entry::new(&self.issued, Event::Revocation { release: self.release, certificate })
    }
}
