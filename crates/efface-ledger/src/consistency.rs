//! A file that links two checkpoints of one log: the later log is the earlier one with entries added. Whoever kept an
//! old checkpoint can tell from it, without the log, that nothing was taken out or rewritten since.
//!
//! ```text
//! {
//!   "format": "efface-consistency-1",
//!   "from": "example.org/churn\n3\n…",
//!   "to": "example.org/churn\n8\n…",
//!   "proof": [ "qg4c…", "V8zT…" ]
//! }
//! ```

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::canonical::{self, CanonicalError};
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::encoding;
use crate::key::PublicKey;
use crate::merkle::{self, Hash, ProofError};

/// The tag of the file's format.
pub const FORMAT: &str = "efface-consistency-1";

/// Two signed checkpoints and the proof that the later one continues the earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsistencyFile {
    format: String,
    from: String,
    to: String,
    #[serde(with = "encoding::hashes")]
    proof: Vec<Hash>,
}

impl ConsistencyFile {
    /// The file of two signed checkpoints and the proof between them.
    pub fn new(from: String, to: String, proof: Vec<Hash>) -> Self {
        Self { format: FORMAT.to_owned(), from, to, proof }
    }

    /// Reads the text of a file, if it is exactly what [`ConsistencyFile::to_text`] writes. Nothing in it is verified.
    pub fn parse(text: &[u8]) -> Result<Self, ConsistencyError> {
        let file: Self = canonical::from_text(text)?;
        if file.format != FORMAT {
            return Err(ConsistencyError::Format { found: file.format });
        }
        Ok(file)
    }

    /// The text of the file.
    pub fn to_text(&self) -> String {
        canonical::plain_to_text(self)
    }

    /// The two checkpoints, if both are signed by the key and of the log named `origin`, and the later one continues the
    /// earlier one.
    pub fn verify(&self, key: &PublicKey, origin: &str) -> Result<(Checkpoint, Checkpoint), ConsistencyError> {
        let from = Checkpoint::open(&self.from, key, origin).map_err(ConsistencyError::From)?;
        let to = Checkpoint::open(&self.to, key, origin).map_err(ConsistencyError::To)?;
        merkle::verify_consistency(from.size, &from.root, to.size, &to.root, &self.proof)?;
        Ok((from, to))
    }
}

/// Why two checkpoints are not shown to be of one log.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
#[non_exhaustive]
pub enum ConsistencyError {
    /// The text is not such a file in its one accepted spelling, or has something in it that is not known.
    #[error(transparent)]
    Text(#[from] CanonicalError),
    /// The file is of a format that this version does not know.
    #[error("unsupported: format is `{found}`, expected `{FORMAT}`")]
    Format { found: String },
    /// The earlier checkpoint is not one, not signed by the key, or of another log.
    #[error("the earlier checkpoint is refused")]
    From(#[source] CheckpointError),
    /// The later checkpoint is not one, not signed by the key, or of another log.
    #[error("the later checkpoint is refused")]
    To(#[source] CheckpointError),
    /// The proof does not lead from one checkpoint to the other.
    #[error(transparent)]
    Proof(#[from] ProofError),
}
