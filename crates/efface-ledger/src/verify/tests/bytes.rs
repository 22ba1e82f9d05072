//! Every byte of every file that is checked: with any bit turned over, it is refused.

use super::basis::{Basis, Kind};
use super::example::{Log, MODEL, model_subject, release, request, revocation};
use crate::entry::{Entry, Event};
use crate::tests::{assert_every_change_is_refused, signing_key};
use crate::verify::{Evidence, verify};

/// Every bit of every byte turned over, every byte removed, every byte repeated. All values of every byte would take
/// minutes; parsing alone is tried with all of them, beside each file's own code.
#[track_caller]
fn nothing_changed_is_accepted(bytes: &[u8], accepts: impl Fn(&[u8]) -> bool) {
    assert!(accepts(bytes), "refused as it is");
    let mut changed = bytes.to_vec();
    for position in 0..bytes.len() {
        for bit in 0..8 {
            changed[position] ^= 1 << bit;
            assert!(!accepts(&changed), "bit {bit} of byte {position} turned over was accepted");
            changed[position] = bytes[position];
        }
        let mut shorter = bytes.to_vec();
        shorter.remove(position);
        assert!(!accepts(&shorter), "byte {position} removed was accepted");
        let mut longer = bytes.to_vec();
        longer.insert(position, bytes[position]);
        assert!(!accepts(&longer), "byte {position} repeated was accepted");
    }
}

#[test]
fn no_byte_of_a_certificate_can_be_changed() {
    let key = signing_key().public();
    // A request's certificate is about no file.
    for (envelope, model) in
        [(release(|_| {}), Some(MODEL)), (request(|_| {}), None), (revocation(|_| {}), Some(MODEL))]
    {
        let evidence = Evidence { key: Some(&key), model, ..Evidence::default() };
        nothing_changed_is_accepted(envelope.to_text().as_bytes(), |changed| verify(changed, &evidence).is_genuine());
    }
}

#[test]
fn no_byte_of_a_model_can_be_changed() {
    let (key, certificate) = (signing_key().public(), release(|_| {}).to_text());
    assert_every_change_is_refused(MODEL, |changed| {
        let evidence = Evidence { key: Some(&key), model: Some(changed), ..Evidence::default() };
        verify(certificate.as_bytes(), &evidence).is_genuine()
    });
}

#[test]
fn no_byte_of_a_checkpoint_or_of_a_proof_can_be_changed() {
    let key = signing_key().public();
    let mut log = Log::started();
    let certificate = Basis::of(Kind::Gaussian).certificate(log.next(), key.id());
    let envelope = log.certify(model_subject(), &certificate, &[]);
    let known = envelope.log().expect("a place").checkpoint.clone();
    for n in 1..=4 {
        log.append(&Entry::new(format!("2026-02-0{n}T00:00:00Z"), Event::Key { key_id: "k".into() }));
    }
    let (text, checkpoint, consistency) = (envelope.to_text(), log.checkpoint(), log.consistency(4, &known));
    let accepts = |checkpoint: &[u8], consistency: &[u8]| {
        // As the command line reads it.
        let checkpoint = String::from_utf8_lossy(checkpoint);
        let evidence = Evidence {
            key: Some(&key),
            checkpoint: Some(&checkpoint),
            consistency: Some(consistency),
            ..Evidence::default()
        };
        verify(text.as_bytes(), &evidence).is_genuine()
    };
    nothing_changed_is_accepted(checkpoint.as_bytes(), |changed| accepts(changed, consistency.as_bytes()));
    nothing_changed_is_accepted(consistency.as_bytes(), |changed| accepts(checkpoint.as_bytes(), changed));
}

#[test]
fn no_byte_of_a_revocation_can_be_changed_to_hide_it() {
    let (key, certificate) = (signing_key().public(), release(|_| {}).to_text());
    let hides = |revocation: &[u8]| {
        let evidence = Evidence { key: Some(&key), revocation: Some(revocation), ..Evidence::default() };
        verify(certificate.as_bytes(), &evidence).is_genuine()
    };
    let text = revocation(|_| {}).to_text();
    let mut changed = text.clone().into_bytes();
    assert!(!hides(&changed), "it is revoked");
    for position in (0..changed.len()).step_by(7) {
        for bit in 0..8 {
            changed[position] ^= 1 << bit;
            assert!(!hides(&changed), "bit {bit} of byte {position} turned over hides it");
            changed[position] ^= 1 << bit;
        }
    }
}
