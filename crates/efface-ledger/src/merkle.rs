//! The log as a Merkle tree of RFC 6962 over SHA-256: what is stored, its root, and proofs.
//!
//! Stored are the hashes of all perfect subtrees, in the order in which they become complete, so a store is only ever
//! appended to. Entry `n` brings its own hash and one for each subtree that it completes:
//!
//! ```text
//!  position of each hash            entry    positions
//!          6                          0      0
//!      2       5                      1      1, 2
//!    0   1   3   4   7                2      3
//!                                     3      4, 5, 6
//!  0   1   2   3   4   entries        4      7
//! ```
//!
//! Roots and proofs follow from at most a few hashes per level. Proofs are verified in `verify.rs`, which needs no
//! store.

mod stored;
#[cfg(test)]
mod tests;
mod verify;

use sha2::{Digest, Sha256};
use thiserror::Error;

pub use self::stored::{HashStore, MissingHash, TreeError, append, consistency_proof, inclusion_proof, root};
pub use self::verify::{verify_consistency, verify_inclusion};

/// A SHA-256 hash.
pub type Hash = [u8; 32];

/// The root of a log without entries: the hash of nothing.
pub const EMPTY_ROOT: Hash = [
    0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9, 0x24, 0x27, 0xae, 0x41,
    0xe4, 0x64, 0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55,
];

/// The most entries a log may have. Positions of hashes stay below 2⁶³, so that they fit a column of SQLite.
pub const SIZE_LIMIT: u64 = 1 << 62;

/// Why there is no proof, or why it does not show what it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
#[non_exhaustive]
pub enum ProofError {
    /// The entry is not among those of the log.
    #[error("the log has {size} entries, so there is none at position {index}")]
    IndexOutside { index: u64, size: u64 },
    /// The later log is shorter than the earlier one.
    #[error("the later log has {to} entries, fewer than the earlier one with {from}")]
    Shrinks { from: u64, to: u64 },
    /// A log of this size cannot be.
    #[error("the log has {size} entries, more than {SIZE_LIMIT}")]
    TooLarge { size: u64 },
    /// The proof has too many or too few hashes for the sizes.
    #[error("the proof has {found} hashes, which does not fit the size of the log")]
    Length { found: usize },
    /// The proof leads to another root.
    #[error("the proof leads to another root of the log")]
    OtherRoot,
}

/// The hash of an entry.
pub fn leaf_hash(data: &[u8]) -> Hash {
    Sha256::new().chain_update([0]).chain_update(data).finalize().into()
}

fn node_hash(left: &Hash, right: &Hash) -> Hash {
    Sha256::new().chain_update([1]).chain_update(left).chain_update(right).finalize().into()
}

/// The position of the first hash that an entry brings: of the hash of the entry itself. Also the number of hashes that
/// are stored for a log with `entry` entries.
///
/// # Panics
///
/// If `entry` is above [`SIZE_LIMIT`].
pub fn first_hash_index(entry: u64) -> u64 {
    assert!(entry <= SIZE_LIMIT, "a log has at most {SIZE_LIMIT} entries");
    2 * entry - u64::from(entry.count_ones())
}

fn check_size(size: u64) -> Result<(), ProofError> {
    if size > SIZE_LIMIT { Err(ProofError::TooLarge { size }) } else { Ok(()) }
}
