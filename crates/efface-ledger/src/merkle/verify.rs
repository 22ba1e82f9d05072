//! Verification of proofs, by the algorithms of RFC 9162, sections 2.1.3.2 and 2.1.4.2. A proof that is accepted has
//! exactly the hashes it needs.

use super::{EMPTY_ROOT, Hash, ProofError, check_size, node_hash};

/// Checks that the entry with this hash is at `index` in the log with `size` entries and this root.
pub fn verify_inclusion(
    leaf_hash: &Hash,
    index: u64,
    size: u64,
    proof: &[Hash],
    root: &Hash,
) -> Result<(), ProofError> {
    check_size(size)?;
    if index >= size {
        return Err(ProofError::IndexOutside { index, size });
    }
    let mut path = Path { node: index, last: size - 1 };
    let mut hash = *leaf_hash;
    for sibling in proof {
        hash = match path.step().ok_or(ProofError::Length { found: proof.len() })? {
            Side::Left => node_hash(sibling, &hash),
            Side::Right => node_hash(&hash, sibling),
        };
    }
    if path.last != 0 {
        return Err(ProofError::Length { found: proof.len() });
    }
    if hash == *root { Ok(()) } else { Err(ProofError::OtherRoot) }
}

/// Checks that the log with `to` entries and root `to_root` continues the one with `from` entries and root `from_root`.
pub fn verify_consistency(
    from: u64,
    from_root: &Hash,
    to: u64,
    to_root: &Hash,
    proof: &[Hash],
) -> Result<(), ProofError> {
    let length = ProofError::Length { found: proof.len() };
    check_size(to)?;
    if from > to {
        return Err(ProofError::Shrinks { from, to });
    }
    if (to == 0 && *to_root != EMPTY_ROOT) || (from == 0 && *from_root != EMPTY_ROOT) {
        return Err(ProofError::OtherRoot);
    }
    if from == 0 || from == to {
        let same = from == 0 || from_root == to_root;
        return match proof {
            [] if same => Ok(()),
            [] => Err(ProofError::OtherRoot),
            _ => Err(length),
        };
    }
    // From the largest subtree that ends where the earlier log does. If that is all of it, its hash is known.
    let level = from.trailing_zeros();
    let mut path = Path { node: (from - 1) >> level, last: (to - 1) >> level };
    let (first, rest) = if from.is_power_of_two() { (from_root, proof) } else { proof.split_first().ok_or(length)? };
    let (mut earlier, mut later) = (*first, *first);
    for sibling in rest {
        match path.step().ok_or(length)? {
            Side::Left => {
                earlier = node_hash(sibling, &earlier);
                later = node_hash(sibling, &later);
            }
            Side::Right => later = node_hash(&later, sibling),
        }
    }
    if path.last != 0 {
        return Err(length);
    }
    if earlier == *from_root && later == *to_root { Ok(()) } else { Err(ProofError::OtherRoot) }
}

/// A node on its way to the root: its number among the nodes of its level, and that of the last one.
struct Path {
    node: u64,
    last: u64,
}

enum Side {
    Left,
    Right,
}

impl Path {
    /// Goes up to the next node that has a sibling, past it, and says where the sibling was. Nothing at the root.
    fn step(&mut self) -> Option<Side> {
        if self.last == 0 {
            return None;
        }
        let side = if self.node % 2 == 1 || self.node == self.last {
            // The last node of a level with an odd number of them goes up alone until it has a sibling on its left.
            let alone = self.node.trailing_zeros();
            self.node >>= alone;
            self.last >>= alone;
            Side::Left
        } else {
            Side::Right
        };
        self.node /= 2;
        self.last /= 2;
        Some(side)
    }
}
