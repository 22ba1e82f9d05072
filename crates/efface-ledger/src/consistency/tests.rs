//! Consistency files: what they show, and that every byte of them counts.

use super::*;
use crate::key::SigningKey;
use crate::merkle::EMPTY_ROOT;
use crate::tests::{assert_every_change_is_refused, other_key, signing_key};

const ORIGIN: &str = "example.org/churn";

fn store(size: u64, tag: u8) -> Vec<Hash> {
    let mut store = Vec::new();
    for index in 0..size {
        let new = merkle::append(&store, index, merkle::leaf_hash(&[tag, index as u8])).unwrap();
        store.extend(new);
    }
    store
}

fn signed(store: &Vec<Hash>, size: u64, key: &SigningKey) -> String {
    Checkpoint { origin: ORIGIN.into(), size, root: merkle::root(store, size).unwrap() }.sign(key).unwrap()
}

fn file(from: u64, to: u64) -> ConsistencyFile {
    let (store, key) = (store(to, 0), signing_key());
    let proof = merkle::consistency_proof(&store, from, to).unwrap();
    ConsistencyFile::new(signed(&store, from, &key), signed(&store, to, &key), proof)
}

#[test]
fn a_log_that_only_grew_is_accepted() {
    let public = signing_key().public();
    for (from, to) in [(0, 0), (0, 1), (0, 6), (1, 1), (1, 6), (4, 6), (3, 7), (6, 8), (7, 7)] {
        let file = ConsistencyFile::parse(file(from, to).to_text().as_bytes()).unwrap();
        let (earlier, later) = file.verify(&public, ORIGIN).unwrap();
        assert_eq!((earlier.size, later.size), (from, to));
        assert_eq!(earlier.root == EMPTY_ROOT, from == 0);
    }
}

#[test]
fn every_change_is_refused() {
    let public = signing_key().public();
    assert_every_change_is_refused(file(3, 7).to_text().as_bytes(), |changed| {
        ConsistencyFile::parse(changed).is_ok_and(|file| file.verify(&public, ORIGIN).is_ok())
    });
}

#[test]
fn a_log_that_was_rewritten_or_cut_is_refused() {
    let (key, public) = (signing_key(), signing_key().public());
    let (one, other) = (store(7, 0), store(7, 1));
    let proof = merkle::consistency_proof(&other, 3, 7).unwrap();
    let rewritten = ConsistencyFile::new(signed(&one, 3, &key), signed(&other, 7, &key), proof);
    assert!(matches!(rewritten.verify(&public, ORIGIN), Err(ConsistencyError::Proof(ProofError::OtherRoot))));
    let ConsistencyFile { from, to, proof, .. } = file(3, 7);
    let cut = ConsistencyFile::new(to, from, proof);
    assert!(matches!(cut.verify(&public, ORIGIN), Err(ConsistencyError::Proof(ProofError::Shrinks { .. }))));
}

#[test]
fn other_keys_and_logs_are_refused() {
    let file = file(3, 7);
    assert!(matches!(file.verify(&other_key().public(), ORIGIN), Err(ConsistencyError::From(_))));
    assert!(matches!(file.verify(&signing_key().public(), "example.org/other"), Err(ConsistencyError::From(_))));
    let mixed = ConsistencyFile { to: signed(&store(7, 0), 7, &other_key()), ..file };
    assert!(matches!(mixed.verify(&signing_key().public(), ORIGIN), Err(ConsistencyError::To(_))));
}

#[test]
fn what_is_not_known_is_unsupported() {
    let text = file(3, 7).to_text();
    let later = ConsistencyFile::parse(text.replace(FORMAT, "efface-consistency-2").as_bytes()).unwrap_err();
    assert_eq!(later.to_string(), "unsupported: format is `efface-consistency-2`, expected `efface-consistency-1`");
    let more = text.replace("  \"from\"", "  \"more\": 1,\n  \"from\"");
    let more = ConsistencyFile::parse(more.as_bytes()).unwrap_err();
    assert_eq!(more.to_string(), "unsupported: field `more` is not known to this version");
}
