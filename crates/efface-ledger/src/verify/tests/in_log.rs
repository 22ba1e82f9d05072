//! The place of a certificate in the log, and the log against a checkpoint from elsewhere.

use super::basis::{Basis, Kind};
use super::example::{Log, check, fails, model_subject, release, request};
use crate::entry::{Entry, Event};
use crate::envelope::{EntryProof, Envelope, LogProof};
use crate::tests::{other_key, signing_key};
use crate::verify::{CheckName, CheckOutcome, Evidence, Verdict, Verification, verify};

/// The same envelope with another proof, which is not signed.
fn with_proof(envelope: &Envelope, edit: impl FnOnce(&mut LogProof)) -> Envelope {
    let mut log = envelope.log().expect("a place").clone();
    edit(&mut log);
    envelope.clone().with_log(log)
}

fn later(time: &str) -> Entry {
    Entry::new(time, Event::Key { key_id: "k".into() })
}

/// A release, the log it is in after three more entries, and the file between the two.
struct Grown {
    release: Envelope,
    known: String,
    log: Log,
}

impl Grown {
    fn new() -> Self {
        let mut log = Log::started();
        let certificate = Basis::of(Kind::Gaussian).certificate(log.next(), log.key.public().id());
        let release = log.certify(model_subject(), &certificate, &[]);
        let known = release.log().expect("a place").checkpoint.clone();
        for time in ["2026-02-01T00:00:00Z", "2026-02-02T00:00:00Z", "2026-02-03T00:00:00Z"] {
            log.append(&later(time));
        }
        Self { release, known, log }
    }

    fn check(&self, checkpoint: &str, consistency: Option<&str>) -> Verification {
        let key = signing_key().public();
        let evidence = Evidence {
            key: Some(&key),
            checkpoint: Some(checkpoint),
            consistency: consistency.map(str::as_bytes),
            ..Evidence::default()
        };
        verify(self.release.to_text().as_bytes(), &evidence)
    }
}

#[test]
fn a_certificate_has_the_place_that_it_names() {
    let genuine = release(|_| {});
    let shifted = with_proof(&genuine, |log| log.proofs[0].position = 2);
    fails(&check(&shifted), "log", "a proof for entry 2 in the place of 3");
    fails(&check(&release(|c| c.issue.log.position = 2)), "log", "a proof for entry 3 in the place of 2");
    let both = with_proof(&release(|c| c.issue.log.position = 2), |log| log.proofs[0].position = 2);
    fails(&check(&both), "log", "entry 2 is not shown to be in the log");
    let beyond = with_proof(&release(|c| c.issue.log.position = 4), |log| log.proofs[0].position = 4);
    fails(&check(&beyond), "log", "the log has 4 entries, so there is none at position 4");
}

#[test]
fn a_proof_that_is_cut_or_prolonged_is_refused() {
    let genuine = release(|_| {});
    let not_shown = "entry 3 is not shown to be in the log: ";
    fails(&check(&with_proof(&genuine, |log| log.proofs[0].inclusion.truncate(1))), "log", not_shown);
    fails(&check(&with_proof(&genuine, |log| log.proofs[0].inclusion.clear())), "log", not_shown);
    fails(&check(&with_proof(&genuine, |log| log.proofs[0].inclusion.push([7; 32]))), "log", not_shown);
    fails(&check(&with_proof(&genuine, |log| log.proofs[0].inclusion.swap(0, 1))), "log", not_shown);
    fails(&check(&with_proof(&genuine, |log| log.proofs.clear())), "log", "0 proofs of inclusion in the place of 1");
    let more = EntryProof { position: 0, inclusion: Vec::new() };
    let more = with_proof(&genuine, |log| log.proofs.push(more));
    fails(&check(&more), "log", "2 proofs of inclusion in the place of 1");
}

#[test]
fn a_request_certificate_shows_the_entry_of_its_request() {
    let genuine = request(|_| {});
    let own_only = with_proof(&genuine, |log| drop(log.proofs.pop()));
    fails(&check(&own_only), "log", "1 proofs of inclusion in the place of 2");
    let swapped = with_proof(&genuine, |log| log.proofs.swap(0, 1));
    fails(&check(&swapped), "log", "a proof for entry 1 in the place of 3");
    let elsewhere = request(|c| c.request.position = 2);
    fails(&check(&elsewhere), "log", "a proof for entry 1 in the place of 2");
}

#[test]
fn the_checkpoint_in_a_certificate_is_signed_and_of_its_log() {
    let genuine = release(|_| {});
    let mut other = Log::started();
    other.origin = "efface/other/log".into();
    other.append(&later("2026-02-01T00:00:00Z"));
    let elsewhere = with_proof(&genuine, |log| log.checkpoint = other.checkpoint());
    fails(&check(&elsewhere), "log", "the checkpoint is of the log `efface/other/log`, expected `efface/model/log`");
    let mut forged = Log::new(other_key());
    forged.append(&later("2026-02-01T00:00:00Z"));
    let forged = with_proof(&genuine, |log| log.checkpoint = forged.checkpoint());
    fails(&check(&forged), "log", "its checkpoint is refused: the note is signed by");
    let unsigned = with_proof(&genuine, |log| log.checkpoint = "efface/model/log\n4\n".into());
    fails(&check(&unsigned), "log", "its checkpoint is refused: a note must end with");
    let claimed = release(|c| c.issue.log.origin = "efface/other/log".into());
    fails(&check(&claimed), "log", "the checkpoint is of the log `efface/model/log`, expected `efface/other/log`");
}

#[test]
fn a_checkpoint_from_elsewhere_is_linked_by_a_proof() {
    let grown = Grown::new();
    let passed = |verification: Verification, words: &str| {
        assert!(verification.is_genuine(), "{verification:?}");
        let check = verification.check(CheckName::Checkpoint).expect("checked");
        assert_eq!((check.outcome, &*check.message), (CheckOutcome::Passed, words));
    };
    passed(grown.check(&grown.known, None), "the log of 4 entries is the one that you know");
    let proof = grown.log.consistency(4, &grown.known);
    let latest = grown.log.checkpoint();
    passed(grown.check(&latest, Some(&proof)), "the log of 7 entries continues the one of 4");
    // One that is older than the certificate is linked as well.
    let older = Log::started();
    let certificate = Basis::of(Kind::Gaussian).certificate(older.next(), older.key.public().id());
    let (early, mut log) = (older.checkpoint(), older);
    log.certify(model_subject(), &certificate, &[]);
    passed(grown.check(&early, Some(&log.consistency(3, &early))), "the log of 4 entries continues the one of 3");
}

#[test]
fn a_checkpoint_without_the_right_proof_is_refused() {
    let grown = Grown::new();
    let latest = grown.log.checkpoint();
    // Nothing is wrong yet, and nothing is shown.
    let unlinked = grown.check(&latest, None);
    assert_eq!(unlinked.verdict, Verdict::NotVerified);
    let check = unlinked.check(CheckName::Checkpoint).expect("asked for");
    assert_eq!(check.outcome, CheckOutcome::NotChecked);
    assert!(check.message.contains("whether one continues the other takes a proof"), "{check:?}");
    let proof = grown.log.consistency(4, &grown.known);
    let cut = proof.replacen("\n  ]", "\n    ,\"\"\n  ]", 1);
    fails(&grown.check(&latest, Some(&cut)), "checkpoint", "the proof of consistency is refused: ");
    fails(&grown.check(&latest, Some("{}")), "checkpoint", "the proof of consistency is refused: ");
    // A proof between two other checkpoints, each of them genuine.
    let started = Log::started().checkpoint();
    let other = grown.log.consistency(3, &started);
    let words = "the proof is about logs of 3 and 7 entries; it takes one about the logs of 4 and 7 that are compared";
    fails(&grown.check(&latest, Some(&other)), "checkpoint", words);
}

#[test]
fn a_checkpoint_of_another_log_or_key_is_refused() {
    let grown = Grown::new();
    let mut elsewhere = Log::started();
    elsewhere.origin = "efface/other/log".into();
    let words = "the checkpoint is of the log `efface/other/log`";
    fails(&grown.check(&elsewhere.checkpoint(), None), "checkpoint", words);
    let mut forged = Log::new(other_key());
    forged.append(&later("2026-02-01T00:00:00Z"));
    fails(&grown.check(&forged.checkpoint(), None), "checkpoint", "the checkpoint is refused: the note is signed by");
    fails(&grown.check("nothing", None), "checkpoint", "the checkpoint is refused: a note must end with");
}

/// The issuer shows one log to one and another log to the other: both are signed.
#[test]
fn a_forked_log_is_noticed() {
    let grown = Grown::new();
    let mut fork = Log::started();
    fork.append(&later("2026-02-01T00:00:00Z"));
    let words = "two logs of 4 entries with different roots: the log was forked";
    fails(&grown.check(&fork.checkpoint(), None), "checkpoint", words);
    // Of another size: no honest proof links them, and none of either branch is taken for one.
    let known = fork.checkpoint();
    fork.append(&later("2026-02-02T00:00:00Z"));
    let latest = fork.checkpoint();
    for proof in [fork.consistency(4, &known), fork.consistency(4, &grown.known)] {
        let verification = grown.check(&latest, Some(&proof));
        assert_eq!(
            verification.check(CheckName::Checkpoint).expect("checked").outcome,
            CheckOutcome::Failed,
            "{verification:?}"
        );
    }
}
