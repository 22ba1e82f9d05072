//! Envelopes against the example of the specification, with and without a log, and changed in every way.

use super::*;
use crate::merkle::ProofError;
use crate::testing::{assert_every_change_is_refused, other_key, signing_key};

const ORIGIN: &str = "example.org/churn";

fn envelope() -> Envelope {
    Envelope::sign(PAYLOAD_TYPE, br#"{"_type":"a claim"}"#.to_vec(), &signing_key())
}

/// The envelope as entry 2 of a log with 5.
fn logged() -> Envelope {
    let key = signing_key();
    let envelope = envelope();
    let mut store = Vec::new();
    for size in 0..5 {
        let leaf = if size == 2 { envelope.leaf_hash() } else { merkle::leaf_hash(&[size as u8]) };
        let new = merkle::append(&store, size, leaf).unwrap();
        store.extend(new);
    }
    let checkpoint = Checkpoint { origin: ORIGIN.into(), size: 5, root: merkle::root(&store, 5).unwrap() };
    let inclusion = merkle::inclusion_proof(&store, 5, 2).unwrap();
    envelope.with_log(LogProof { position: 2, inclusion, checkpoint: checkpoint.sign(&key).unwrap() })
}

fn refusal(text: &str) -> String {
    Envelope::parse(text.as_bytes()).expect_err("refused").to_string()
}

#[test]
fn what_is_signed_is_that_of_the_specification() {
    let encoded = pre_authentication_encoding("http://example.com/HelloWorld", b"hello world");
    assert_eq!(encoded, b"DSSEv1 29 http://example.com/HelloWorld 11 hello world");
}

#[test]
fn what_was_written_is_read_and_verified() {
    let public = signing_key().public();
    for envelope in [envelope(), logged()] {
        let read = Envelope::parse(envelope.to_text().as_bytes()).unwrap();
        assert_eq!(read, envelope);
        assert_eq!(read.verify(&public).unwrap(), br#"{"_type":"a claim"}"#);
        assert_eq!(read.key_id(), public.id());
    }
    assert_eq!(logged().leaf_hash(), envelope().leaf_hash());
    let checkpoint = logged().verify_log(&public, ORIGIN).unwrap();
    assert_eq!((checkpoint.size, checkpoint.origin.as_str()), (5, ORIGIN));
}

#[test]
fn the_text_has_the_fields_of_dsse() {
    let envelope = envelope();
    let signature = encoding::encode(&envelope.signatures[0].sig);
    let expected = format!(
        "{{\n  \"payload\": \"eyJfdHlwZSI6ImEgY2xhaW0ifQ==\",\n  \"payloadType\": \"application/vnd.in-toto+json\",\n  \
         \"signatures\": [\n    {{\n      \"keyid\": \"{}\",\n      \"sig\": \"{signature}\"\n    }}\n  ]\n}}\n",
        signing_key().public().id()
    );
    assert_eq!(envelope.to_text(), expected);
}

#[test]
fn every_change_is_refused() {
    let public = signing_key().public();
    assert_every_change_is_refused(logged().to_text().as_bytes(), |changed| {
        let Ok(envelope) = Envelope::parse(changed) else { return false };
        envelope.verify(&public).is_ok() && envelope.verify_log(&public, ORIGIN).is_ok()
    });
}

#[test]
fn other_keys_and_types_are_refused() {
    let other = other_key();
    assert!(matches!(envelope().verify(&other.public()), Err(EnvelopeError::OtherKey { .. })));
    let mut renamed = envelope();
    renamed.signatures[0].keyid = other.public().id();
    assert!(matches!(renamed.verify(&other.public()), Err(EnvelopeError::Signature)));
    let typed = Envelope::sign("text/plain", b"x".to_vec(), &signing_key());
    let error = typed.verify(&signing_key().public()).unwrap_err();
    assert_eq!(error.to_string(), "unsupported: payload type is `text/plain`, expected `application/vnd.in-toto+json`");
}

#[test]
fn unknown_fields_are_unsupported() {
    let text = logged().to_text();
    let cases = [
        ("{\n  \"payload\"", "{\n  \"more\": 1,\n  \"payload\"", "more"),
        ("      \"sig\"", "      \"cert\": \"\",\n      \"sig\"", "signatures[0].cert"),
        ("    \"position\"", "    \"tree\": 7,\n    \"position\"", "log.tree"),
    ];
    for (known, unknown, field) in cases {
        let text = text.replace(known, unknown);
        assert_eq!(refusal(&text), format!("unsupported: field `{field}` is not known to this version"));
        assert!(matches!(Envelope::parse(text.as_bytes()), Err(EnvelopeError::Unsupported { .. })));
    }
}

#[test]
fn an_envelope_has_exactly_one_signature() {
    let text = envelope().to_text();
    let start = text.find("    {").unwrap();
    let end = text.find("    }").unwrap() + 5;
    let signature = &text[start..end];
    assert!(refusal(&text.replace(signature, "")).starts_with("not an envelope: "));
    assert!(refusal(&text.replace(signature, &format!("{signature},\n{signature}"))).starts_with("not an envelope: "));
}

#[test]
fn other_spellings_are_refused() {
    let text = envelope().to_text();
    for other in [text.trim_end(), &format!("{text}\n"), &text.replace("  ", "\t"), &text.replace('\n', "\r\n")] {
        assert!(matches!(Envelope::parse(other.as_bytes()), Err(EnvelopeError::NotCanonical { .. })), "{other}");
    }
    assert!(refusal(&text.replace("ifQ==", "ifR==")).starts_with("not an envelope: not standard base64"));
    assert!(refusal(&text.replace("ifQ==", "ifQ")).starts_with("not an envelope: not standard base64"));
}

#[test]
fn a_log_that_does_not_hold_the_envelope_is_refused() {
    let public = signing_key().public();
    assert!(matches!(envelope().verify_log(&public, ORIGIN), Err(LogError::NotLogged)));
    assert!(matches!(logged().verify_log(&public, "example.org/other"), Err(LogError::Checkpoint(_))));
    assert!(matches!(logged().verify_log(&other_key().public(), ORIGIN), Err(LogError::Checkpoint(_))));
    let another = Envelope::sign(PAYLOAD_TYPE, b"another".to_vec(), &signing_key());
    let another = another.with_log(logged().log().unwrap().clone());
    assert!(matches!(another.verify_log(&public, ORIGIN), Err(LogError::Proof(ProofError::OtherRoot))));
    let moved = envelope().with_log(LogProof { position: 5, ..logged().log().unwrap().clone() });
    assert!(matches!(moved.verify_log(&public, ORIGIN), Err(LogError::Proof(ProofError::IndexOutside { .. }))));
}
