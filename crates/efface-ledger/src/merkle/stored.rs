//! Roots and proofs from stored hashes: the definitions of RFC 6962, section 2.1, with every perfect subtree read
//! instead of computed.

use thiserror::Error;

use super::{EMPTY_ROOT, Hash, ProofError, SIZE_LIMIT, check_size, first_hash_index, node_hash};

/// Where the hashes of a log are kept, by their positions.
pub trait HashStore {
    /// Why a hash could not be read.
    type Error;

    /// The hash at a position.
    fn hash(&self, index: u64) -> Result<Hash, Self::Error>;
}

impl HashStore for Vec<Hash> {
    type Error = MissingHash;

    fn hash(&self, index: u64) -> Result<Hash, MissingHash> {
        let hash = usize::try_from(index).ok().and_then(|index| self.get(index));
        hash.copied().ok_or(MissingHash { index, len: self.len() })
    }
}

/// A hash was asked for that is not in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("no hash at position {index}, there are {len}")]
pub struct MissingHash {
    /// The position.
    pub index: u64,
    /// The number of hashes there are.
    pub len: usize,
}

/// Why a root or a proof could not be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TreeError<E> {
    /// A hash could not be read.
    #[error("a hash of the log could not be read")]
    Store(#[source] E),
    /// There is no such root or proof.
    #[error(transparent)]
    Impossible(#[from] ProofError),
}

/// The hashes that an entry adds to the store of a log with `size` entries, for the positions from
/// [`first_hash_index`]`(size)` on: its own, then those of the subtrees it completes, the larger the later.
pub fn append<S: HashStore>(store: &S, size: u64, leaf_hash: Hash) -> Result<Vec<Hash>, TreeError<S::Error>> {
    if size >= SIZE_LIMIT {
        return Err(ProofError::TooLarge { size: size.saturating_add(1) }.into());
    }
    let mut new = vec![leaf_hash];
    let mut right = leaf_hash;
    for level in 0..size.trailing_ones() {
        let left = store.hash(subtree_index(level, (size >> level) - 1)).map_err(TreeError::Store)?;
        right = node_hash(&left, &right);
        new.push(right);
    }
    Ok(new)
}

/// The root of the log with the first `size` entries.
pub fn root<S: HashStore>(store: &S, size: u64) -> Result<Hash, TreeError<S::Error>> {
    check_size(size)?;
    if size == 0 { Ok(EMPTY_ROOT) } else { range_hash(store, 0, size).map_err(TreeError::Store) }
}

/// The proof that the entry at `index` is in the log with the first `size` entries: `PATH(m, D[n])` of RFC 6962.
pub fn inclusion_proof<S: HashStore>(store: &S, size: u64, index: u64) -> Result<Vec<Hash>, TreeError<S::Error>> {
    check_size(size)?;
    if index >= size {
        return Err(ProofError::IndexOutside { index, size }.into());
    }
    let (mut start, mut end) = (0, size);
    let mut proof = Vec::new();
    while end - start > 1 {
        let middle = start + left_size(end - start);
        let sibling = if index < middle { (middle, end) } else { (start, middle) };
        proof.push(range_hash(store, sibling.0, sibling.1).map_err(TreeError::Store)?);
        if index < middle { end = middle } else { start = middle }
    }
    proof.reverse();
    Ok(proof)
}

/// The proof that the log with the first `to` entries continues the one with the first `from`: `PROOF(m, D[n])` of
/// RFC 6962. Empty if the two are the same or the earlier one is empty.
pub fn consistency_proof<S: HashStore>(store: &S, from: u64, to: u64) -> Result<Vec<Hash>, TreeError<S::Error>> {
    check_size(to)?;
    if from > to {
        return Err(ProofError::Shrinks { from, to }.into());
    }
    if from == 0 {
        return Ok(Vec::new());
    }
    let (mut start, mut end) = (0, to);
    let mut proof = Vec::new();
    while end != from {
        let middle = start + left_size(end - start);
        let sibling = if from <= middle { (middle, end) } else { (start, middle) };
        proof.push(range_hash(store, sibling.0, sibling.1).map_err(TreeError::Store)?);
        if from <= middle { end = middle } else { start = middle }
    }
    // Whoever checks the proof has the earlier root, so this subtree is left out where it is the whole earlier log.
    if start != 0 {
        proof.push(range_hash(store, start, end).map_err(TreeError::Store)?);
    }
    proof.reverse();
    Ok(proof)
}

/// `MTH(D[start:end])` of RFC 6962 for a range that is a node of the tree: perfect subtrees are read, and the ragged one
/// at the right edge is put together from them.
fn range_hash<S: HashStore>(store: &S, start: u64, end: u64) -> Result<Hash, S::Error> {
    let size = end - start;
    if size.is_power_of_two() {
        let level = size.trailing_zeros();
        return store.hash(subtree_index(level, start >> level));
    }
    let middle = start + left_size(size);
    Ok(node_hash(&range_hash(store, start, middle)?, &range_hash(store, middle, end)?))
}

/// The largest power of two below `size`: the left half of a tree is as large as it can be.
fn left_size(size: u64) -> u64 {
    1 << (size - 1).ilog2()
}

/// The position of the hash of the `n`-th perfect subtree with `2^level` entries. Its last entry completes it, after
/// its own hash and those of the `level - 1` smaller subtrees.
fn subtree_index(level: u32, n: u64) -> u64 {
    let last_entry = ((n + 1) << level) - 1;
    first_hash_index(last_entry) + u64::from(level)
}
