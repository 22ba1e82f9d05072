//! Envelopes against the example of the specification, with and without a log, and changed in every way.

use super::*;
use crate::tests::{assert_every_change_is_refused, other_key, signing_key};

fn envelope() -> Envelope {
    Envelope::sign(PAYLOAD_TYPE, br#"{"_type":"a claim"}"#.to_vec(), &signing_key())
}

fn logged() -> Envelope {
    let proofs = vec![EntryProof { position: 2, inclusion: vec![[7; 32], [8; 32]] }];
    envelope().with_log(LogProof { checkpoint: "a signed note\n".into(), proofs })
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
    assert_every_change_is_refused(envelope().to_text().as_bytes(), |changed| {
        Envelope::parse(changed).is_ok_and(|envelope| envelope.verify(&public).is_ok())
    });
    // What is beside the signed part is checked by `verify`; here, nothing of it can be respelt.
    assert_every_change_is_refused(logged().to_text().as_bytes(), |changed| {
        Envelope::parse(changed).is_ok_and(|envelope| envelope == logged())
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
        ("    \"checkpoint\"", "    \"tree\": 7,\n    \"checkpoint\"", "log.tree"),
    ];
    for (known, unknown, field) in cases {
        let text = text.replace(known, unknown);
        assert_eq!(refusal(&text), format!("unsupported: field `{field}` is not known to this version"));
        assert!(matches!(
            Envelope::parse(text.as_bytes()),
            Err(EnvelopeError::Text(CanonicalError::Unsupported { .. }))
        ));
    }
}

#[test]
fn an_envelope_has_exactly_one_signature() {
    let text = envelope().to_text();
    let start = text.find("    {").unwrap();
    let end = text.find("    }").unwrap() + 5;
    let signature = &text[start..end];
    assert!(refusal(&text.replace(signature, "")).starts_with("not a valid file: "));
    assert!(refusal(&text.replace(signature, &format!("{signature},\n{signature}"))).starts_with("not a valid file: "));
}

#[test]
fn other_spellings_are_refused() {
    let text = envelope().to_text();
    for other in [text.trim_end(), &format!("{text}\n"), &text.replace("  ", "\t"), &text.replace('\n', "\r\n")] {
        assert!(
            matches!(Envelope::parse(other.as_bytes()), Err(EnvelopeError::Text(CanonicalError::NotCanonical { .. }))),
            "{other}"
        );
    }
    assert!(refusal(&text.replace("ifQ==", "ifR==")).starts_with("not a valid file: not base64 of the right length"));
    assert!(refusal(&text.replace("ifQ==", "ifQ")).starts_with("not a valid file: not base64 of the right length"));
}
