//! Whose a document is, what it is about, and what is not known of its form.

use super::basis::{Basis, Kind};
use super::example::{
    Log, MODEL, check, fails, first_release, model_subject, only_failure, payload, release, request, revocation,
};
use crate::envelope::{Envelope, PAYLOAD_TYPE};
use crate::statement::Subject;
use crate::tests::{other_key, signing_key};
use crate::verify::{CheckName, CheckOutcome, Document, Evidence, Verdict, Verification, read, verify};

fn with_key(envelope: &Envelope) -> Verification {
    let key = signing_key().public();
    verify(envelope.to_text().as_bytes(), &Evidence { key: Some(&key), ..Evidence::default() })
}

/// The envelope of the same log with another payload, signed by the key of the log.
fn repacked(envelope: &Envelope, edit: impl FnOnce(String) -> String) -> Envelope {
    let payload = String::from_utf8(envelope.unverified_payload().to_vec()).expect("text");
    let log = envelope.log().expect("a place").clone();
    Envelope::sign(PAYLOAD_TYPE, edit(payload).into_bytes(), &signing_key()).with_log(log)
}

#[track_caller]
fn unsupported(verification: &Verification, words: &str) {
    let (name, outcome, message) = only_failure(verification);
    assert_eq!((name, outcome), ("form", CheckOutcome::Unsupported), "{message}");
    assert!(message.contains(words), "`{words}` is not in `{message}`");
    assert_eq!(verification.verdict, Verdict::Unsupported);
}

#[test]
fn sound_documents_of_every_kind_are_genuine() {
    for envelope in [release(|_| {}), request(|_| {}), revocation(|_| {})] {
        assert!(with_key(&envelope).is_genuine());
        assert!(check(&envelope).is_genuine());
    }
    assert_eq!(with_key(&request(|_| {})).verdict, Verdict::Valid);
    assert!(matches!(read(release(|_| {}).to_text().as_bytes()), Ok(Document::Release(_))));
    assert!(matches!(read(request(|_| {}).to_text().as_bytes()), Ok(Document::Request(_))));
    assert!(matches!(read(revocation(|_| {}).to_text().as_bytes()), Ok(Document::Revocation(_))));
}

#[test]
fn without_a_key_nothing_is_verified() {
    for envelope in [release(|_| {}), request(|_| {}), revocation(|_| {})] {
        let verification = verify(envelope.to_text().as_bytes(), &Evidence::default());
        assert_eq!(verification.verdict, Verdict::NotVerified);
        for name in [CheckName::Signature, CheckName::Log] {
            let check = verification.check(name).expect("listed");
            assert_eq!(check.outcome, CheckOutcome::NotChecked);
            assert!(check.message.starts_with("no public key was given"), "{}", check.message);
        }
    }
}

#[test]
fn another_key_is_refused() {
    let key = other_key().public();
    for envelope in [release(|_| {}), request(|_| {}), revocation(|_| {})] {
        let evidence = Evidence { key: Some(&key), ..Evidence::default() };
        let verification = verify(envelope.to_text().as_bytes(), &evidence);
        assert_eq!(verification.verdict, Verdict::Invalid);
        let signature = verification.check(CheckName::Signature).expect("checked");
        assert!(signature.message.starts_with("the envelope is signed by the key `"), "{}", signature.message);
    }
}

/// An attacker edits a payload, and signs it as well as they can.
#[test]
fn an_edited_payload_is_not_made_good_by_another_signature() {
    let genuine = release(|_| {});
    let edited = repacked(&genuine, |payload| payload.replace("\"n_removed\":9", "\"n_removed\":8"));
    let payload = edited.unverified_payload().to_vec();
    let log = genuine.log().expect("a place").clone();
    // With their own key: its id is another one.
    let own = Envelope::sign(PAYLOAD_TYPE, payload.clone(), &other_key()).with_log(log.clone());
    let verification = with_key(&own);
    assert!(verification.check(CheckName::Signature).expect("checked").message.contains("is signed by the key"));
    assert!(verification.check(CheckName::Issuer).expect("checked").message.starts_with("it names key"));
    assert_eq!(verification.verdict, Verdict::Invalid);
    // Under the name of the operator's key.
    let (theirs, ours) = (other_key().public().id(), signing_key().public().id());
    let renamed = own.to_text().replace(&theirs, &ours);
    let renamed = verify(
        renamed.as_bytes(),
        &Evidence { key: Some(&signing_key().public()), model: Some(MODEL), ..Evidence::default() },
    );
    assert_eq!(
        renamed.check(CheckName::Signature).expect("checked").message,
        "the signature does not match the payload"
    );
    assert_eq!(renamed.verdict, Verdict::Invalid);
    // With the operator's key, even: what is in the log is something else.
    fails(&with_key(&edited), "log", "entry 3 is not shown to be in the log");
}

#[test]
fn a_certificate_names_the_key_that_signs_it() {
    fails(&check(&release(|c| c.issue.key_id = "0".repeat(64))), "issuer", "it names key 0000");
    fails(&check(&request(|c| c.issue.key_id = "0".repeat(64))), "issuer", "it names key 0000");
    fails(&check(&revocation(|c| c.issue.key_id = "0".repeat(64))), "issuer", "it names key 0000");
}

/// It was called valid, and a script that looked at the exit code used the model that it withdraws.
#[test]
fn a_revocation_is_no_certificate_of_a_model() {
    for verification in [with_key(&revocation(|_| {})), check(&revocation(|_| {}))] {
        assert_eq!(verification.verdict, Verdict::Withdrawn, "{verification:?}");
        assert!(verification.verdict != Verdict::Valid);
    }
}

/// Whatever model a certificate is shown with: without its file nobody knows that it is the one.
#[test]
fn without_the_model_file_a_certificate_is_not_plainly_valid() {
    let first = first_release(|_| {});
    assert_eq!(check(&first).verdict, Verdict::Valid);
    let alone = with_key(&first);
    assert_eq!(alone.verdict, Verdict::PartlyVerified);
    let open: Vec<&str> = alone.checks.iter().filter(|c| c.leaves_a_part()).map(|c| &*c.message).collect();
    assert_eq!(open, ["the model file was not checked"]);
}

/// Two subjects: one that somebody looks at, and one that the signature vouches for as well. None: whatever is shown.
#[test]
fn a_document_is_about_exactly_one_thing() {
    let one = model_subject();
    let two = vec![one[0].clone(), Subject::new("other.json", [7; 32])];
    for (subject, words) in [(two, "this one names 2"), (Vec::new(), "this one names 0")] {
        let mut log = Log::started();
        let certificate = Basis::of(Kind::Gaussian).certificate(log.next(), log.key.public().id());
        fails(&with_key(&log.certify(subject.clone(), &certificate, &[])), "subject", words);
        let Ok(Document::Revocation(withdrawal)) = read(revocation(|_| {}).to_text().as_bytes()) else { panic!() };
        let mut log = Log::started();
        fails(&with_key(&log.certify(subject.clone(), &*withdrawal, &[])), "subject", words);
        let mut log = Log::started();
        let Ok(Document::Request(request)) = read(request(|_| {}).to_text().as_bytes()) else { panic!() };
        let verification = with_key(&log.certify(subject, &*request, &[request.request.position]));
        assert_eq!(verification.verdict, Verdict::Invalid);
        assert!(verification.check(CheckName::Subject).expect("checked").message.contains(words));
    }
}

#[test]
fn another_model_file_is_refused() {
    let key = signing_key().public();
    for (envelope, words) in [(release(|_| {}), "not the certified one"), (revocation(|_| {}), "not the withdrawn one")]
    {
        let evidence = Evidence { key: Some(&key), model: Some(b"another model"), ..Evidence::default() };
        let verification = verify(envelope.to_text().as_bytes(), &evidence);
        fails(&verification, "model", &format!("the model file is {words}: its SHA-256 is "));
        let check = with_key(&envelope).check(CheckName::Model).expect("listed").clone();
        assert_eq!(check.outcome, CheckOutcome::NotChecked);
    }
    let evidence = Evidence { key: Some(&key), model: Some(MODEL), ..Evidence::default() };
    let about_a_request = verify(request(|_| {}).to_text().as_bytes(), &evidence);
    fails(&about_a_request, "model", "the certificate of a request vouches for no model file");
}

#[test]
fn a_revoked_release_is_refused_and_another_one_is_not() {
    let (release, key) = (release(|_| {}), signing_key().public());
    let against = |revocation: &str| {
        let evidence = Evidence { key: Some(&key), revocation: Some(revocation.as_bytes()), ..Evidence::default() };
        verify(release.to_text().as_bytes(), &evidence)
    };
    let revoked = against(&revocation(|_| {}).to_text());
    fails(&revoked, "revocation", "release 3 was revoked on 2026-01-31T12:00:00Z");
    let digest = hex::encode(<sha2::Sha256 as sha2::Digest>::digest(release.unverified_payload()));
    let by_digest = revocation(|c| c.release_certificate = Some(digest));
    fails(&against(&by_digest.to_text()), "revocation", "release 3 was revoked");
    for other in [
        revocation(|c| c.release = 2),
        revocation(|c| c.model = "other".into()),
        revocation(|c| c.release_certificate = Some("ab".repeat(32))),
    ] {
        assert!(against(&other.to_text()).is_genuine());
    }
}

/// Whoever hands out a false revocation must not be believed either way.
#[test]
fn a_revocation_that_is_none_is_told() {
    let (release, key) = (release(|_| {}), signing_key().public());
    let genuine = revocation(|_| {});
    let payload = genuine.unverified_payload().to_vec();
    let log = genuine.log().expect("a place").clone();
    let forged = Envelope::sign(PAYLOAD_TYPE, payload, &other_key()).with_log(log);
    for text in [forged.to_text(), release.to_text(), "{}".into(), genuine.to_text().replace("sig\": \"", "sig\": \"A")]
    {
        let evidence = Evidence { key: Some(&key), revocation: Some(text.as_bytes()), ..Evidence::default() };
        let verification = verify(release.to_text().as_bytes(), &evidence);
        fails(&verification, "revocation", "the revocation is not one that this key signed");
    }
}

#[test]
fn a_request_certificate_fits_what_it_is_issued_for() {
    fails(&check(&request(|c| c.release = None)), "request", "`covered` and release None contradict each other");
    let applied = |c: &mut crate::certificate::RequestCertificate| c.state = "applied".into();
    fails(&check(&request(applied)), "request", "`applied` and release Some(3) contradict each other");
    let unknown = check(&request(|c| c.state = "lost".into()));
    let (name, outcome, message) = only_failure(&unknown);
    assert_eq!((name, outcome), ("request", CheckOutcome::Unsupported));
    assert_eq!(message, "state `lost` is not known to this version");
    assert_eq!(unknown.verdict, Verdict::Unsupported);
}

/// The log's commitment is a hash over salt and id, one after the other: a salt that is a digit longer would open it to
/// an id that is a digit shorter.
#[test]
fn a_commitment_is_opened_to_one_id_only() {
    let shifted = |request: &mut crate::certificate::CoveredRequest| {
        let salt = request.salt.take().expect("a named request");
        request.salt = Some(format!("{salt}{}", &request.id[..1]));
        request.id.remove(0);
    };
    fails(&check(&request(|c| shifted(&mut c.request))), "request", "its salt must be 64 hexadecimal digits");
    let release = check(&release(|c| shifted(&mut c.requests[0])));
    fails(&release, "requests", "the salt of request icket-77 must be 64 hexadecimal digits");
}

/// Each of these is what the entry of the request says: it is neither what was issued nor in the log.
#[test]
fn a_request_certificate_does_not_speak_of_another_request() {
    type Edit = fn(&mut crate::certificate::RequestCertificate);
    let edits: [Edit; 6] = [
        |c| c.request.id = "ticket-78".into(),
        |c| c.request.salt = None,
        |c| c.request.n_rows = 1,
        |c| c.request.change = 2,
        |c| c.request.rows = None,
        |c| c.request.time = "2026-01-30T12:00:00Z".into(),
    ];
    for edit in edits {
        let verification = check(&request(edit));
        assert_eq!(verification.verdict, Verdict::Invalid);
        let message = |name| verification.check(name).expect("checked").message.clone();
        assert_eq!(message(CheckName::Request), "what it says of the request is not what it is issued for");
        assert!(
            message(CheckName::Log).starts_with("entry 1 is not shown to be in the log"),
            "{}",
            message(CheckName::Log)
        );
    }
    let earlier = request(|c| c.request_origin = "efface/model/earlier".into());
    fails(&check(&earlier), "log", "2 proofs of inclusion in the place of 1");
}

#[test]
fn forms_that_are_not_known_are_unsupported() {
    let genuine = release(|_| {});
    let edited = |from: &str, to: &str| {
        let edited = repacked(&genuine, |payload| {
            assert!(payload.contains(from), "{payload}");
            payload.replacen(from, to, 1)
        });
        with_key(&edited)
    };
    unsupported(&edited("release-certificate-1", "release-certificate-2"), "schema `efface-release-certificate-2`");
    unsupported(
        &edited("certificate:release:1", "certificate:release:2"),
        "of type `urn:efface:certificate:release:2`",
    );
    unsupported(&edited("Statement/v1", "Statement/v2"), "statement type is");
    unsupported(&edited("\"n_removed\":9", "\"n_removed\":9,\"more\":1"), "field `predicate.more` is not known");
    unsupported(&edited("\"origin\":", "\"tree\":7,\"origin\":"), "field `predicate.log.tree` is not known");
    unsupported(&edited("\"subject\":[", "\"note\":\"\",\"subject\":["), "field `note` is not known");
    let (request, revocation) = (request(|_| {}), revocation(|_| {}));
    for (envelope, schema) in [(&request, "request-certificate"), (&revocation, "revocation")] {
        let later = repacked(envelope, |payload| payload.replace(&format!("{schema}-1\""), &format!("{schema}-2\"")));
        unsupported(&with_key(&later), "is not known; expected");
    }
    let text = genuine.to_text();
    let more = text.replacen("{\n", "{\n  \"more\": 1,\n", 1);
    unsupported(&verify(more.as_bytes(), &Evidence::default()), "field `more` is not known");
    let typed = Envelope::sign("text/plain", genuine.unverified_payload().to_vec(), &signing_key());
    unsupported(&with_key(&typed), "payload type `text/plain` is not known");
}

#[test]
fn what_is_no_certificate_is_refused() {
    for (text, words) in [
        ("", "not a certificate: "),
        ("{}", "not a certificate: "),
        ("efface/model\n3\nAAAA\n\n— name AAAA\n", "not a certificate: "),
    ] {
        fails(&verify(text.as_bytes(), &Evidence::default()), "form", words);
    }
    let empty = Envelope::sign(PAYLOAD_TYPE, b"{}".to_vec(), &signing_key());
    fails(&with_key(&empty), "form", "its payload is not a statement");
    let missing = repacked(&release(|_| {}), |payload| payload.replace("\"n_removed\":9,", ""));
    fails(&with_key(&missing), "form", "missing field `n_removed`");
    let respelt = repacked(&release(|_| {}), |payload| payload.replace("\"n_removed\":9", "\"n_removed\": 9"));
    fails(&with_key(&respelt), "form", "not in canonical form");
    let outside = Envelope::sign(PAYLOAD_TYPE, payload(model_subject(), &certificate()), &signing_key());
    fails(&with_key(&outside), "log", "the certificate has no place in a log");
}

fn certificate() -> crate::certificate::ReleaseCertificate {
    match read(release(|_| {}).to_text().as_bytes()) {
        Ok(Document::Release(certificate)) => *certificate,
        other => panic!("{other:?}"),
    }
}
