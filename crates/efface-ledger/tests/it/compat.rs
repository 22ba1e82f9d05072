//! Documents of every released version, kept under `tests/compat`: they stay what they were. They are those of the model
//! directory that the engine keeps; `crates/efface-engine/tests/compat/make` wrote both.

use std::fs;
use std::path::Path;

use efface_ledger::key::PublicKey;
use efface_ledger::verify::{CheckName, Document, Evidence, Verdict, read, verify};

fn kept(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compat").join(name)).expect("kept")
}

fn key() -> PublicKey {
    let text = String::from_utf8(kept("signer.pub")).expect("text");
    text.trim_end().parse().expect("a public key")
}

#[test]
fn a_kept_release_certificate_is_valid() {
    let (key, model, consistency) = (key(), kept("model.json"), kept("consistency.json"));
    let checkpoint = String::from_utf8(kept("checkpoint.txt")).expect("text");
    let evidence = Evidence {
        key: Some(&key),
        model: Some(&model),
        checkpoint: Some(&checkpoint),
        consistency: Some(&consistency),
        revocation: None,
        previous: &[],
    };
    let verification = verify(&kept("release.json"), &evidence);
    assert!(verification.verdict == Verdict::Valid, "{verification:?}");
    assert_eq!(
        verification.check(CheckName::Checkpoint).expect("checked").message,
        "the log of 7 entries continues the one of 5"
    );
    let Ok(Document::Release(certificate)) = read(&kept("release.json")) else { panic!("not of a release") };
    let requests: Vec<&str> = certificate.requests.iter().map(|request| &*request.id).collect();
    assert_eq!((certificate.release, &*requests), (1, &["first", "change-3"][..]));
}

#[test]
fn a_kept_request_certificate_is_valid() {
    let key = key();
    let verification = verify(&kept("request.json"), &Evidence { key: Some(&key), ..Evidence::default() });
    assert!(verification.verdict == Verdict::Valid, "{verification:?}");
    let Ok(Document::Request(certificate)) = read(&kept("request.json")) else { panic!("not of a request") };
    assert_eq!((&*certificate.request.id, &*certificate.state, certificate.release), ("first", "covered", Some(1)));
}

#[test]
fn a_kept_revocation_is_genuine_and_withdraws_its_release() {
    let (key, revocation) = (key(), kept("revocation.json"));
    let model = kept("model.json");
    let evidence = Evidence { key: Some(&key), model: Some(&model), ..Evidence::default() };
    assert_eq!(verify(&revocation, &evidence).verdict, Verdict::Withdrawn);
    let evidence = Evidence { revocation: Some(&revocation), ..evidence };
    let verification = verify(&kept("release.json"), &evidence);
    assert_eq!(verification.verdict, Verdict::Invalid);
    let message = &verification.check(CheckName::Revocation).expect("checked").message;
    assert!(message.starts_with("release 1 was revoked on "), "{message}");
}
