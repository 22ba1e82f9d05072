//! Envelopes as specified by DSSE: a payload, its type and its signature in one JSON file. Ours have exactly one
//! signature, and may carry their place in the log in a field of their own, `log`, which readers of DSSE pass over.
//!
//! ```text
//! {
//!   "payload": "eyJf…",
//!   "payloadType": "application/vnd.in-toto+json",
//!   "signatures": [ { "keyid": "3d5f…", "sig": "7nQk…" } ],
//!   "log": { "checkpoint": "example.org/churn\n3\n…", "proofs": [ { "position": 2, "inclusion": [ "qg4c…" ] } ] }
//! }
//! ```
//!
//! The first proof is that of the entry that belongs to the payload; others may follow. `verify` says which.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::canonical::{self, CanonicalError};
use crate::encoding;
use crate::key::{PublicKey, SigningKey};
use crate::merkle::Hash;

/// The one type of payload that is verified: an in-toto statement.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// A signed payload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Envelope {
    #[serde(with = "encoding::bytes")]
    payload: Vec<u8>,
    #[serde(rename = "payloadType")]
    payload_type: String,
    signatures: [Signature; 1],
    #[serde(default, skip_serializing_if = "Option::is_none")]
    log: Option<LogProof>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Signature {
    /// The id of the key, as [`PublicKey::id`] has it.
    keyid: String,
    #[serde(with = "encoding::bytes")]
    sig: [u8; 64],
}

/// Where in the log an envelope is, and the proofs of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogProof {
    /// A signed checkpoint of the log.
    pub checkpoint: String,
    /// Proofs that lead to its root.
    pub proofs: Vec<EntryProof>,
}

/// The proof that an entry is in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryProof {
    /// Which entry of the log it is, from 0.
    pub position: u64,
    /// From the entry up to the root.
    #[serde(with = "encoding::hashes")]
    pub inclusion: Vec<Hash>,
}

impl Envelope {
    /// The envelope of a payload, not in any log yet.
    pub fn sign(payload_type: &str, payload: Vec<u8>, key: &SigningKey) -> Self {
        let sig = key.sign(&pre_authentication_encoding(payload_type, &payload));
        let signatures = [Signature { keyid: key.public().id(), sig }];
        Self { payload, payload_type: payload_type.to_owned(), signatures, log: None }
    }

    /// The same envelope with its place in the log.
    #[must_use]
    pub fn with_log(self, log: LogProof) -> Self {
        Self { log: Some(log), ..self }
    }

    /// Reads the text of an envelope, if it is exactly what [`Envelope::to_text`] writes. Nothing in it is verified.
    pub fn parse(text: &[u8]) -> Result<Self, EnvelopeError> {
        Ok(canonical::from_text(text)?)
    }

    /// The text of the envelope: the file that is handed over.
    pub fn to_text(&self) -> String {
        canonical::plain_to_text(self)
    }

    /// The payload, if it is an in-toto statement and the signature is that of the key. The log is not looked at.
    pub fn verify(&self, key: &PublicKey) -> Result<&[u8], EnvelopeError> {
        if self.payload_type != PAYLOAD_TYPE {
            return Err(EnvelopeError::PayloadType { found: self.payload_type.clone() });
        }
        let [Signature { keyid, sig }] = &self.signatures;
        if *keyid != key.id() {
            return Err(EnvelopeError::OtherKey { found: keyid.clone(), expected: key.id() });
        }
        if !key.verify(&pre_authentication_encoding(&self.payload_type, &self.payload), sig) {
            return Err(EnvelopeError::Signature);
        }
        Ok(&self.payload)
    }

    /// The type of the payload. Not verified.
    pub fn payload_type(&self) -> &str {
        &self.payload_type
    }

    /// The id of the key that is said to have signed. Not verified.
    pub fn key_id(&self) -> &str {
        &self.signatures[0].keyid
    }

    /// The place in the log, if there is one. Not verified.
    pub fn log(&self) -> Option<&LogProof> {
        self.log.as_ref()
    }

    /// The payload. Not verified: what is shown of it must say so.
    pub fn unverified_payload(&self) -> &[u8] {
        &self.payload
    }
}

/// Why an envelope was not read, or its signature not accepted.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
#[non_exhaustive]
pub enum EnvelopeError {
    /// The text is not an envelope in its one accepted spelling, or has something in it that is not known.
    #[error(transparent)]
    Text(#[from] CanonicalError),
    /// The payload is of a type that this version does not know.
    #[error("unsupported: payload type is `{found}`, expected `{PAYLOAD_TYPE}`")]
    PayloadType { found: String },
    /// The envelope is signed by another key.
    #[error("the envelope is signed by the key `{found}`, expected `{expected}`")]
    OtherKey { found: String, expected: String },
    /// The signature is not that of the key on this payload.
    #[error("the signature does not match the payload")]
    Signature,
}

/// What is signed: the type and the payload, each with its length, so that neither can be read as part of the other.
///
/// ```text
/// PAE(type, body) = "DSSEv1" SP LEN(type) SP type SP LEN(body) SP body
/// ```
fn pre_authentication_encoding(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut encoded = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    encoded.extend(payload);
    encoded
}
