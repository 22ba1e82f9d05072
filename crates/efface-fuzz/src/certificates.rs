//! What strangers hand over: certificates, checkpoints, proofs, keys. What is accepted is what was signed, and no altered
//! copy of it is accepted.

use std::sync::LazyLock;

use efface_ledger::checkpoint::Checkpoint;
use efface_ledger::consistency::ConsistencyFile;
use efface_ledger::envelope::{Envelope, PAYLOAD_TYPE};
use efface_ledger::key::{PublicKey, SigningKey};
use efface_ledger::verify::{Evidence, read, verify};

use crate::alteration::only_as_it_is;

/// A certificate as it is, and its bytes as the payload of one that was signed: everything behind the signature is reached.
pub(crate) fn certificate(bytes: &[u8]) {
    let evidence = Evidence { key: Some(&KEY), ..Evidence::default() };
    only_as_it_is(bytes, |bytes| verify(bytes, &evidence).is_genuine());
    let payload = Envelope::parse(bytes).map_or_else(|_| bytes.to_vec(), |file| file.unverified_payload().to_vec());
    let signed = Envelope::sign(PAYLOAD_TYPE, payload, &SIGNER).to_text();
    let _ = read(signed.as_bytes());
    let signer = SIGNER.public();
    let evidence = Evidence { key: Some(&signer), model: Some(bytes), ..Evidence::default() };
    assert!(!verify(signed.as_bytes(), &evidence).is_genuine(), "valid without a place in the log");
}

/// A signed checkpoint.
pub(crate) fn checkpoint(bytes: &[u8]) {
    let opens = |bytes: &[u8]| {
        let note = std::str::from_utf8(bytes).ok()?;
        Checkpoint::open(note, &KEY, note.lines().next()?).ok()
    };
    only_as_it_is(bytes, |bytes| opens(bytes).is_some());
}

/// A proof that links two checkpoints.
pub(crate) fn consistency(bytes: &[u8]) {
    let Ok(file) = ConsistencyFile::parse(bytes) else { return };
    assert_eq!(file.to_text().as_bytes(), bytes, "read from another text than it is written to");
    let origin = ORIGIN.trim_end();
    only_as_it_is(bytes, |bytes| ConsistencyFile::parse(bytes).is_ok_and(|file| file.verify(&KEY, origin).is_ok()));
}

/// A private key, with and without a passphrase, and a public one.
pub(crate) fn key(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = SigningKey::from_pem(text, None);
    let _ = SigningKey::from_pem(text, Some(b"passphrase"));
    if let Ok(key) = text.parse::<PublicKey>() {
        assert_eq!(key.to_string(), text, "a public key has one spelling");
    }
}

/// The public key of the model that the seeds are of.
static KEY: LazyLock<PublicKey> =
    LazyLock::new(|| include_str!("../models/release.pub").trim_end().parse().expect("a public key"));

/// The name of its log.
const ORIGIN: &str = include_str!("../models/release.origin");

/// A key whose private half everybody has.
static SIGNER: LazyLock<SigningKey> =
    LazyLock::new(|| SigningKey::generate("fuzz", &[7; 32].into()).expect("a valid name"));
