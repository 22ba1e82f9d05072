//! Roots and proofs against the definitions of RFC 6962, against another implementation, and against known values.

use ct_merkle::RootHash;
use ct_merkle::mem_backed_tree::MemoryBackedTree;
use proptest::prelude::*;

use super::*;

type OtherTree = MemoryBackedTree<Sha256, Vec<u8>>;

/// Entries that all differ.
fn entry(index: u64) -> Vec<u8> {
    format!("entry {index}").into_bytes()
}

fn leaf(index: u64) -> Hash {
    leaf_hash(&entry(index))
}

/// The store of a log with `size` entries.
fn store(size: u64) -> Vec<Hash> {
    let mut store = Vec::new();
    for index in 0..size {
        assert_eq!(first_hash_index(index), store.len() as u64);
        let new = append(&store, index, leaf(index)).unwrap();
        assert_eq!(new.len() as u32, 1 + index.trailing_ones());
        store.extend(new);
    }
    store
}

fn other_tree(size: u64) -> OtherTree {
    let mut tree = OtherTree::new();
    (0..size).for_each(|index| tree.push(entry(index)));
    tree
}

fn concatenated(proof: &[Hash]) -> Vec<u8> {
    proof.concat()
}

/// `MTH`, `PATH` and `SUBPROOF` as RFC 6962, section 2.1, writes them, on the hashes of the entries.
mod definition {
    use super::*;

    fn split(leaves: &[Hash]) -> usize {
        let mut k = 1;
        while 2 * k < leaves.len() {
            k *= 2;
        }
        k
    }

    pub(super) fn root(leaves: &[Hash]) -> Hash {
        match leaves {
            [] => Sha256::digest([]).into(),
            [leaf] => *leaf,
            _ => {
                let (left, right) = leaves.split_at(split(leaves));
                let text = [&[1][..], &root(left), &root(right)].concat();
                Sha256::digest(text).into()
            }
        }
    }

    pub(super) fn path(m: usize, leaves: &[Hash]) -> Vec<Hash> {
        if leaves.len() == 1 {
            return Vec::new();
        }
        let k = split(leaves);
        let (left, right) = leaves.split_at(k);
        let (mut path, sibling) = if m < k { (path(m, left), root(right)) } else { (path(m - k, right), root(left)) };
        path.push(sibling);
        path
    }

    pub(super) fn subproof(m: usize, leaves: &[Hash], whole: bool) -> Vec<Hash> {
        if m == leaves.len() {
            return if whole { Vec::new() } else { vec![root(leaves)] };
        }
        let k = split(leaves);
        let (left, right) = leaves.split_at(k);
        let (mut proof, sibling) =
            if m <= k { (subproof(m, left, whole), root(right)) } else { (subproof(m - k, right, false), root(left)) };
        proof.push(sibling);
        proof
    }
}

const SIZES: u64 = 70;

#[test]
fn roots_are_those_of_the_certificate_transparency_tests() {
    let entries = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"];
    let roots = [
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ];
    let mut store = Vec::new();
    for (size, entry) in (0..).zip(entries) {
        let new = append(&store, size, leaf_hash(&hex::decode(entry).unwrap())).unwrap();
        store.extend(new);
    }
    for (size, expected) in (0..).zip(roots) {
        assert_eq!(hex::encode(root(&store, size).unwrap()), expected, "size {size}");
    }
    assert_eq!(EMPTY_ROOT, <Hash>::from(Sha256::digest([])));
}

#[test]
fn roots_are_those_of_the_definition_and_of_another_implementation() {
    let (store, leaves) = (store(SIZES), (0..SIZES).map(leaf).collect::<Vec<_>>());
    for size in 0..=SIZES {
        let root = root(&store, size).unwrap();
        assert_eq!(root, definition::root(&leaves[..size as usize]), "size {size}");
        assert_eq!(root[..], other_tree(size).root().as_bytes()[..], "size {size}");
    }
}

#[test]
fn inclusion_proofs_are_those_of_the_definition_and_of_another_implementation() {
    let (store, leaves) = (store(SIZES), (0..SIZES).map(leaf).collect::<Vec<_>>());
    for size in 1..=SIZES {
        let (root, other) = (root(&store, size).unwrap(), other_tree(size));
        for index in 0..size {
            let proof = inclusion_proof(&store, size, index).unwrap();
            assert_eq!(proof, definition::path(index as usize, &leaves[..size as usize]), "{index} of {size}");
            let other_proof = other.prove_inclusion(index as usize);
            assert_eq!(concatenated(&proof), other_proof.as_bytes(), "{index} of {size}");
            assert_eq!(verify_inclusion(&leaf(index), index, size, &proof, &root), Ok(()), "{index} of {size}");
        }
    }
}

#[test]
fn consistency_proofs_are_those_of_the_definition_and_of_another_implementation() {
    let (store, leaves) = (store(SIZES), (0..SIZES).map(leaf).collect::<Vec<_>>());
    let roots: Vec<Hash> = (0..=SIZES).map(|size| root(&store, size).unwrap()).collect();
    for to in 0..=SIZES {
        let other = other_tree(to);
        for from in 0..=to {
            let proof = consistency_proof(&store, from, to).unwrap();
            if from > 0 {
                let expected = definition::subproof(from as usize, &leaves[..to as usize], true);
                assert_eq!(proof, expected, "{from} to {to}");
                let other_proof = other.prove_consistency((to - from) as usize);
                assert_eq!(concatenated(&proof), other_proof.as_bytes(), "{from} to {to}");
                let old = RootHash::<Sha256>::new(roots[from as usize].into(), from);
                assert!(other.root().verify_consistency(&old, &other_proof).is_ok(), "{from} to {to}");
            }
            let (from_root, to_root) = (&roots[from as usize], &roots[to as usize]);
            assert_eq!(verify_consistency(from, from_root, to, to_root, &proof), Ok(()), "{from} to {to}");
        }
    }
}

/// Every proof with one bit changed, one hash less, one more, or two swapped.
fn damaged(proof: &[Hash]) -> Vec<Vec<Hash>> {
    let mut all = Vec::new();
    for position in 0..proof.len() {
        for bit in 0..256 {
            let mut changed = proof.to_vec();
            changed[position][bit / 8] ^= 1 << (bit % 8);
            all.push(changed);
        }
        let mut shorter = proof.to_vec();
        shorter.remove(position);
        all.push(shorter);
        if position > 0 {
            let mut swapped = proof.to_vec();
            swapped.swap(position - 1, position);
            all.push(swapped);
        }
    }
    for position in 0..=proof.len() {
        for more in [Hash::default(), *proof.first().unwrap_or(&EMPTY_ROOT)] {
            let mut longer = proof.to_vec();
            longer.insert(position, more);
            all.push(longer);
        }
    }
    all
}

#[test]
fn damaged_inclusion_proofs_are_refused() {
    for size in [1, 2, 3, 5, 6, 7, 8, 13] {
        let store = store(size);
        let root = root(&store, size).unwrap();
        for index in 0..size {
            let proof = inclusion_proof(&store, size, index).unwrap();
            for damaged in damaged(&proof) {
                assert!(verify_inclusion(&leaf(index), index, size, &damaged, &root).is_err(), "{index} of {size}");
            }
        }
    }
}

#[test]
fn damaged_consistency_proofs_are_refused() {
    for to in [1, 2, 3, 5, 6, 7, 8, 13] {
        let store = store(to);
        let to_root = root(&store, to).unwrap();
        for from in 0..=to {
            let (from_root, proof) = (root(&store, from).unwrap(), consistency_proof(&store, from, to).unwrap());
            for damaged in damaged(&proof) {
                assert!(verify_consistency(from, &from_root, to, &to_root, &damaged).is_err(), "{from} to {to}");
            }
            for bit in 0..256 {
                let mut other = from_root;
                other[bit / 8] ^= 1 << (bit % 8);
                assert!(verify_consistency(from, &other, to, &to_root, &proof).is_err(), "{from} to {to}");
                let mut other = to_root;
                other[bit / 8] ^= 1 << (bit % 8);
                // A log without entries is continued by every other.
                let accepted = verify_consistency(from, &from_root, to, &other, &proof).is_ok();
                assert_eq!(accepted, from == 0, "{from} to {to}");
            }
        }
    }
}

#[test]
fn a_proof_shows_one_entry_at_one_position() {
    let size = 21;
    let store = store(size);
    let root = root(&store, size).unwrap();
    for index in 0..size {
        let proof = inclusion_proof(&store, size, index).unwrap();
        for other in (0..size).filter(|other| *other != index) {
            assert!(verify_inclusion(&leaf(index), other, size, &proof, &root).is_err(), "{index} as {other}");
            assert!(verify_inclusion(&leaf(other), index, size, &proof, &root).is_err(), "{other} at {index}");
        }
    }
}

#[test]
fn the_hash_of_a_subtree_is_not_the_hash_of_an_entry() {
    let store = store(4);
    let (left, right) = (store[0], store[1]);
    let forged = leaf_hash(&[left, right].concat());
    assert_ne!(forged, store[2]);
}

#[test]
fn what_cannot_be_is_refused() {
    let store = store(5);
    assert_eq!(root(&store, 0), Ok(EMPTY_ROOT));
    assert_eq!(consistency_proof(&store, 0, 0), Ok(Vec::new()));
    assert_eq!(inclusion_proof(&store, 0, 0), Err(ProofError::IndexOutside { index: 0, size: 0 }.into()));
    assert_eq!(inclusion_proof(&store, 5, 5), Err(ProofError::IndexOutside { index: 5, size: 5 }.into()));
    assert_eq!(consistency_proof(&store, 5, 4), Err(ProofError::Shrinks { from: 5, to: 4 }.into()));
    assert_eq!(root(&store, 6), Err(TreeError::Store(MissingHash { index: 9, len: 8 })));
    assert_eq!(append(&store, 7, leaf(7)), Err(TreeError::Store(MissingHash { index: 10, len: 8 })));
    for size in [SIZE_LIMIT + 1, u64::MAX] {
        assert_eq!(root(&store, size), Err(ProofError::TooLarge { size }.into()));
        assert_eq!(inclusion_proof(&store, size, 0), Err(ProofError::TooLarge { size }.into()));
        assert_eq!(consistency_proof(&store, 0, size), Err(ProofError::TooLarge { size }.into()));
        assert_eq!(append(&store, size - 1, leaf(0)), Err(ProofError::TooLarge { size }.into()));
        let refused = Err(ProofError::TooLarge { size });
        assert_eq!(verify_inclusion(&leaf(0), size - 1, size, &[], &EMPTY_ROOT), refused);
        assert_eq!(verify_consistency(size, &EMPTY_ROOT, size, &EMPTY_ROOT, &[]), refused);
    }
    let root = leaf(0);
    assert_eq!(verify_inclusion(&root, 0, 0, &[], &root), Err(ProofError::IndexOutside { index: 0, size: 0 }));
    assert_eq!(verify_inclusion(&root, 1, 1, &[], &root), Err(ProofError::IndexOutside { index: 1, size: 1 }));
    assert_eq!(verify_inclusion(&root, 0, 1, &[], &leaf(1)), Err(ProofError::OtherRoot));
    assert_eq!(verify_consistency(2, &root, 1, &root, &[]), Err(ProofError::Shrinks { from: 2, to: 1 }));
    assert_eq!(verify_consistency(0, &root, 1, &root, &[]), Err(ProofError::OtherRoot));
    assert_eq!(verify_consistency(0, &EMPTY_ROOT, 0, &root, &[]), Err(ProofError::OtherRoot));
    assert_eq!(verify_consistency(0, &EMPTY_ROOT, 1, &root, &[root]), Err(ProofError::Length { found: 1 }));
    assert_eq!(verify_consistency(1, &root, 1, &root, &[root]), Err(ProofError::Length { found: 1 }));
    assert_eq!(verify_consistency(3, &root, 5, &root, &[]), Err(ProofError::Length { found: 0 }));
}

/// A log in which all entries are the same: the hash of a perfect subtree depends on its size alone, so a log of any
/// size can be had without being stored.
struct Uniform {
    levels: Vec<Hash>,
}

impl Uniform {
    fn new() -> Self {
        let next = |hash: &Hash| Some(node_hash(hash, hash));
        Self { levels: std::iter::successors(Some(leaf(0)), next).take(63).collect() }
    }
}

impl HashStore for Uniform {
    type Error = std::convert::Infallible;

    fn hash(&self, index: u64) -> Result<Hash, Self::Error> {
        // The entry that brought the hash is the last one whose own hash is not after it.
        let (mut low, mut high) = (0, SIZE_LIMIT);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if first_hash_index(middle) <= index { low = middle } else { high = middle }
        }
        Ok(self.levels[(index - first_hash_index(low)) as usize])
    }
}

proptest! {
    #[test]
    fn proofs_of_logs_of_any_size_are_accepted(to in 1..=SIZE_LIMIT, shift in 0..62_u32, index: u64, from: u64) {
        let to = (to >> shift).max(1);
        let (index, from) = (index % to, from % (to + 1));
        let store = Uniform::new();
        let (from_root, to_root) = (root(&store, from).unwrap(), root(&store, to).unwrap());
        let proof = inclusion_proof(&store, to, index).unwrap();
        prop_assert_eq!(verify_inclusion(&leaf(0), index, to, &proof, &to_root), Ok(()));
        let proof = consistency_proof(&store, from, to).unwrap();
        prop_assert_eq!(verify_consistency(from, &from_root, to, &to_root, &proof), Ok(()));
    }

    #[test]
    fn proofs_that_mean_nothing_are_refused(size: u64, index: u64, from: u64, n_hashes in 0..70_usize) {
        let proof = vec![EMPTY_ROOT; n_hashes];
        prop_assert!(verify_inclusion(&leaf(0), index, size, &proof, &leaf(1)).is_err());
        prop_assert!(verify_consistency(from, &leaf(0), size, &leaf(1), &proof).is_err());
    }

    #[test]
    fn a_log_that_was_rewritten_is_noticed(to in 2..200_u64, from: u64, changed: u64) {
        let from = 1 + from % (to - 1);
        let changed = changed % from;
        let mut rewritten = Vec::new();
        for index in 0..to {
            let hash = if index == changed { leaf_hash(b"another entry") } else { leaf(index) };
            let new = append(&rewritten, index, hash).unwrap();
            rewritten.extend(new);
        }
        let (from_root, to_root) = (root(&store(from), from).unwrap(), root(&rewritten, to).unwrap());
        let proof = consistency_proof(&rewritten, from, to).unwrap();
        prop_assert_eq!(verify_consistency(from, &from_root, to, &to_root, &proof), Err(ProofError::OtherRoot));
    }
}
