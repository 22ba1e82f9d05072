//! A release beside the certificate of the one before it.

use sha2::{Digest, Sha256};

use super::example::{fails, release};
use crate::certificate::ReleaseCertificate;
use crate::envelope::Envelope;
use crate::testing::signing_key;
use crate::verify::{Evidence, Verification, verify};

/// The release after `before`, honest but for `edit`.
fn next(before: &Envelope, edit: impl FnOnce(&mut ReleaseCertificate)) -> Envelope {
    release(|c| {
        let digest = hex::encode(Sha256::digest(before.unverified_payload()));
        (c.since_previous.release, c.since_previous.certificate) = (Some(c.release), Some(digest));
        c.release += 1;
        c.spent_before.n_releases += 1;
        c.spent_before.distance_squares += 1.001 * c.distance_bound * c.distance_bound;
        c.spent_before.distances += 1.001 * c.distance_bound;
        // As much as the promise allows: that is enough for one more release.
        (c.mu_total, c.epsilon_spent) = (c.mu_limit, c.epsilon);
        c.curve.clear();
        edit(c);
    })
}

fn check(certificate: &Envelope, previous: &str) -> Verification {
    let key = signing_key().public();
    let evidence = Evidence { key: Some(&key), previous: Some(previous.as_bytes()), ..Evidence::default() };
    verify(certificate.to_text().as_bytes(), &evidence)
}

#[test]
fn an_honest_account_is_continued() {
    let before = release(|_| {});
    let verification = check(&next(&before, |_| {}), &before.to_text());
    assert!(verification.is_valid(), "{verification:?}");
    let message = &verification.check("previous").expect("checked").message;
    assert!(message.ends_with("is continued, and what was spent up to it is accounted for"), "{message}");
}

#[test]
fn what_was_spent_cannot_be_forgotten() {
    let before = release(|_| {});
    for forget in [
        |c: &mut ReleaseCertificate| c.spent_before.distances *= 0.9,
        |c: &mut ReleaseCertificate| c.spent_before.distance_squares *= 0.95,
    ] {
        let after = next(&before, forget);
        fails(&check(&after, &before.to_text()), "previous", "is accounted for");
    }
}

#[test]
fn another_certificate_is_not_the_one_before() {
    let before = release(|_| {});
    let after = next(&before, |_| {});
    let other = release(|c| c.issued = "2020-01-01T00:00:00Z".into());
    fails(&check(&after, &other.to_text()), "previous", "does not name this certificate as the one before it");
    fails(&check(&after, "{}"), "previous", "is not a valid one of a release, under this key");
}
