//! Why an envelope was not accepted.

use thiserror::Error;

use super::PAYLOAD_TYPE;
use crate::canonical::CanonicalError;

/// Why an envelope was not read, or its signature not accepted.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EnvelopeError {
    /// The text has a field that this version does not know. A later version may.
    #[error("unsupported: field `{field}` is not known to this version")]
    Unsupported {
        /// Where the field is.
        field: String,
    },
    /// The text can be read, but is not in the one accepted spelling.
    #[error("not in canonical form: differs from what would be written at byte {offset}")]
    NotCanonical {
        /// The first byte that differs.
        offset: usize,
    },
    /// The text is not an envelope with one signature.
    #[error("not an envelope: {0}")]
    Json(#[source] serde_json::Error),
    /// The payload is of a type that this version does not know.
    #[error("unsupported: payload type is `{found}`, expected `{PAYLOAD_TYPE}`")]
    PayloadType {
        /// The type in the envelope.
        found: String,
    },
    /// The envelope is signed by another key.
    #[error("the envelope is signed by the key `{found}`, expected `{expected}`")]
    OtherKey {
        /// The key's id in the envelope.
        found: String,
        /// The id of the key that the envelope was checked with.
        expected: String,
    },
    /// The signature is not that of the key on this payload.
    #[error("the signature does not match the payload")]
    Signature,
}

impl From<CanonicalError> for EnvelopeError {
    fn from(error: CanonicalError) -> Self {
        match error {
            CanonicalError::Json(error) => Self::Json(error),
            CanonicalError::Unsupported { field } => Self::Unsupported { field },
            CanonicalError::NotCanonical { offset } => Self::NotCanonical { offset },
        }
    }
}
