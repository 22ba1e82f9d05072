//! A release beside the certificates of those before it.

use sha2::{Digest, Sha256};

use super::basis::Kind;
use super::example::{MODEL, check, fails, first_release, release, release_of};
use crate::certificate::ReleaseCertificate;
use crate::envelope::Envelope;
use crate::tests::signing_key;
use crate::verify::{CheckName, CheckOutcome, Document, Evidence, Verdict, Verification, read, verify};

/// The release after `before`, honest but for `edit`.
fn next(before: &Envelope, edit: impl FnOnce(&mut ReleaseCertificate)) -> Envelope {
    let Ok(Document::Release(before_it)) = read(before.to_text().as_bytes()) else { panic!("not of a release") };
    release(|c| {
        let digest = hex::encode(Sha256::digest(before.unverified_payload()));
        (c.since_previous.release, c.since_previous.certificate) = (Some(before_it.release), Some(digest));
        let (spent, r) = (before_it.spent_before, before_it.distance_bound);
        c.release = before_it.release + 1;
        c.spent_before.n_releases = before_it.release;
        c.spent_before.distance_squares = spent.distance_squares + 1.001 * r * r;
        c.spent_before.distances = spent.distances + 1.0001 * r;
        // As much as the promise allows: that is enough for some more releases.
        (c.mu_total, c.epsilon_spent) = (c.mu_limit, c.epsilon);
        c.curve.clear();
        edit(c);
    })
}

fn beside(certificate: &Envelope, previous: &[&Envelope]) -> Verification {
    let texts: Vec<String> = previous.iter().map(|envelope| envelope.to_text()).collect();
    let texts: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
    let key = signing_key().public();
    let evidence = Evidence { key: Some(&key), model: Some(MODEL), previous: &texts, ..Evidence::default() };
    verify(certificate.to_text().as_bytes(), &evidence)
}

#[track_caller]
fn says(verification: &Verification, outcome: CheckOutcome, words: &str) {
    let check =
        verification.check(CheckName::Previous).or_else(|| verification.check(CheckName::Chain)).expect("listed");
    assert_eq!((check.outcome, &*check.message), (outcome, words));
}

#[test]
fn an_account_that_is_shown_from_the_first_release_on_is_valid() {
    let first = first_release(|_| {});
    let second = next(&first, |_| {});
    let third = next(&second, |_| {});
    let alone = beside(&first, &[]);
    says(&alone, CheckOutcome::Passed, "the first release: nothing was spent before it");
    assert!(alone.verdict == Verdict::Valid, "{alone:?}");
    for previous in [[&first, &second], [&second, &first]] {
        let verification = beside(&third, &previous);
        says(&verification, CheckOutcome::Passed, "what releases 1 to 2 spent is accounted for");
        assert!(verification.verdict == Verdict::Valid, "{verification:?}");
    }
}

/// What earlier releases spent was taken from the certificate itself, and called valid with it.
#[test]
fn what_is_not_shown_of_the_account_is_not_verified() {
    let (first, fourth_before) = (first_release(|_| {}), release(|_| {}));
    let second = next(&first, |_| {});
    let third = next(&second, |_| {});
    let open = |certificate: &Envelope, previous: &[&Envelope], words: &str| {
        let verification = beside(certificate, previous);
        says(&verification, CheckOutcome::NotChecked, words);
        assert_eq!(verification.verdict, Verdict::PartlyVerified);
    };
    let without_first = "what release 1 spent was not verified: the certificate of release 1 was not given";
    open(&second, &[], without_first);
    open(&third, &[], "what releases 1 to 2 spent was not verified: the certificate of release 2 was not given");
    open(&third, &[&second], without_first);
    // A chain that is cut: no certificate that anybody could show continues it.
    let cut = next(&second, |c| c.since_previous.certificate = None);
    open(&cut, &[], "what releases 1 to 2 spent was not verified: release 3 names no certificate before it");
    open(&cut, &[&second], "what releases 1 to 2 spent was not verified: release 3 names no certificate before it");
    let elsewhere = first_release(|c| c.model = "other".into());
    fails(&beside(&cut, &[&elsewhere]), "previous", "does not name this certificate as one before it");
    let after = next(&cut, |_| {});
    open(&after, &[&cut], "what releases 1 to 2 spent was not verified: release 3 names no certificate before it");
    assert_eq!(beside(&fourth_before, &[]).verdict, Verdict::PartlyVerified);
}

/// One perturbation covers each release alone; without noise nothing is spent.
#[test]
fn where_releases_spend_nothing_there_is_no_account() {
    for kind in [Kind::Objective, Kind::Exact] {
        let verification = check(&release_of(kind, |_| {}));
        says(&verification, CheckOutcome::Passed, "earlier releases spend nothing of what this one claims");
        assert!(verification.verdict == Verdict::Valid, "{verification:?}");
    }
}

#[test]
fn what_was_spent_cannot_be_forgotten() {
    let first = first_release(|_| {});
    let second = next(&first, |_| {});
    for forget in [
        |c: &mut ReleaseCertificate| c.spent_before.distances *= 0.9,
        |c: &mut ReleaseCertificate| {
            c.spent_before.distances *= 0.97;
            c.spent_before.distance_squares *= 0.95;
        },
    ] {
        fails(&beside(&next(&first, forget), &[&first]), "previous", "is accounted for");
        // By any of them.
        let forgetful = next(&second, forget);
        fails(&beside(&next(&forgetful, |_| {}), &[&forgetful, &second, &first]), "previous", "is accounted for");
    }
}

#[test]
fn another_certificate_is_not_the_one_before() {
    let before = release(|_| {});
    let after = next(&before, |_| {});
    let other = release(|c| c.issued = "2020-01-01T00:00:00Z".into());
    let words = "does not name this certificate as one before it";
    fails(&beside(&after, &[&other]), "previous", words);
    fails(&beside(&after, &[&before, &other]), "previous", words);
    let key = signing_key().public();
    let evidence = Evidence { key: Some(&key), previous: &[b"{}"], ..Evidence::default() };
    let verification = verify(after.to_text().as_bytes(), &evidence);
    fails(&verification, "previous", "is not a valid one of a release, under this key");
}

/// A chain that leaves releases out, or goes over to another model.
#[test]
fn the_one_before_is_the_one_before() {
    let first = first_release(|_| {});
    let second = next(&first, |_| {});
    let leap = next(&second, |c| {
        c.since_previous.release = Some(1);
        c.since_previous.certificate = Some(hex::encode(Sha256::digest(first.unverified_payload())));
    });
    let verification = beside(&leap, &[&first]);
    assert_eq!(verification.verdict, Verdict::Invalid);
    let message = |name| verification.check(name).expect("checked").message.clone();
    assert_eq!(message(CheckName::Requests), "release 3 names release 1 as the one before it");
    assert_eq!(message(CheckName::Previous), "release 3 of model model does not come after release 1 of model model");
    let elsewhere = next(&first_release(|c| c.model = "other".into()), |_| {});
    let other = first_release(|c| c.model = "other".into());
    fails(&beside(&elsewhere, &[&other]), "previous", "does not come after release 1 of model other");
    fails(&check(&release(|c| c.since_previous.release = Some(1))), "requests", "names release 1 as the one before it");
    let nameless = first_release(|c| c.since_previous.certificate = Some("ce".repeat(32)));
    fails(&check(&nameless), "requests", "names a certificate of no release before it");
}
