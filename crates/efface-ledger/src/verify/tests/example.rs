//! A sound document of each kind, in a log of several entries, and ways to change and check it.

use sha2::{Digest, Sha256};

use super::basis::{Basis, Kind};
use crate::certificate::{
    CoveredRequest, Issued, LogPosition, Predicate, ReleaseCertificate, RequestAnswer, RequestCertificate,
    RevocationCertificate, Signed, Withdrawal,
};
use crate::checkpoint::Checkpoint;
use crate::consistency::ConsistencyFile;
use crate::entry::{Change, Entry, Event, request_commitment};
use crate::envelope::{EntryProof, Envelope, LogProof, PAYLOAD_TYPE};
use crate::key::SigningKey;
use crate::merkle::{self, Hash};
use crate::statement::{Statement, Subject};
use crate::tests::signing_key;
use crate::verify::{CheckOutcome, Document, Evidence, Verification, read, verify};

pub(super) const ORIGIN: &str = "efface/model/log";
pub(super) const MODEL: &[u8] = b"{\"format\": \"efface-model-1\", \"weights\": [0.25, -1.5]}\n";
pub(super) const TIME: &str = "2026-01-31T12:00:00Z";
const SALT: &str = "5a17000000000000000000000000000000000000000000000000000000005a17";

/// A log, and the key that signs for it.
pub(super) struct Log {
    pub(super) key: SigningKey,
    pub(super) origin: String,
    hashes: Vec<Hash>,
    pub(super) size: u64,
}

impl Log {
    pub(super) fn new(key: SigningKey) -> Self {
        Self { key, origin: ORIGIN.into(), hashes: Vec::new(), size: 0 }
    }

    /// A log with the entries that the example certificates speak of: a start, and two removals.
    pub(super) fn started() -> Self {
        let mut log = Self::new(signing_key());
        let start = Event::Start { model: "model".into(), key_id: log.key.public().id(), n_rows: 60, changes: 0 };
        log.append(&Entry::new(TIME, start));
        for request in [named_request(), nameless_request()] {
            log.append(&entry_of(&request));
        }
        log
    }

    pub(super) fn append(&mut self, entry: &Entry) {
        let leaf = merkle::leaf_hash(entry.to_leaf().as_bytes());
        let new = merkle::append(&self.hashes, self.size, leaf).expect("a store in memory");
        self.hashes.extend(new);
        self.size += 1;
    }

    pub(super) fn next(&self) -> LogPosition {
        LogPosition { origin: self.origin.clone(), position: self.size }
    }

    /// Signs a predicate, gives it its place in the log, and shows it there together with the entries at `shown`.
    pub(super) fn certify<P: Predicate>(
        &mut self,
        subject: Vec<Subject>,
        predicate: &Issued<P>,
        shown: &[u64],
    ) -> Envelope {
        let position = self.size;
        let payload = payload(subject, predicate);
        self.append(&predicate.entry(hex::encode(Sha256::digest(&payload))));
        let positions = std::iter::once(position).chain(shown.iter().copied());
        let proofs = positions.map(|position| self.proof(position)).collect();
        let log = LogProof { checkpoint: self.checkpoint(), proofs };
        Envelope::sign(PAYLOAD_TYPE, payload, &self.key).with_log(log)
    }

    pub(super) fn proof(&self, position: u64) -> EntryProof {
        let inclusion = merkle::inclusion_proof(&self.hashes, self.size, position).expect("an entry");
        EntryProof { position, inclusion }
    }

    pub(super) fn checkpoint(&self) -> String {
        let root = merkle::root(&self.hashes, self.size).expect("a store in memory");
        let checkpoint = Checkpoint { origin: self.origin.clone(), size: self.size, root };
        checkpoint.sign(&self.key).expect("a name")
    }

    /// A file that links an earlier checkpoint and the log as it is.
    pub(super) fn consistency(&self, size: u64, checkpoint: &str) -> String {
        let proof = merkle::consistency_proof(&self.hashes, size, self.size).expect("an earlier size");
        ConsistencyFile::new(checkpoint.into(), self.checkpoint(), proof).to_text()
    }
}

/// The payload of a statement, the predicate as it is.
pub(super) fn payload<P: Predicate>(subject: Vec<Subject>, predicate: &Issued<P>) -> Vec<u8> {
    #[derive(serde::Serialize)]
    struct Raw<'a, P: Predicate> {
        #[serde(rename = "_type")]
        version: &'a str,
        subject: Vec<Subject>,
        #[serde(rename = "predicateType")]
        predicate_type: &'a str,
        predicate: &'a Issued<P>,
    }

    let raw = Raw { version: crate::statement::STATEMENT_TYPE, subject, predicate_type: P::TYPE, predicate };
    let payload = serde_json::to_vec(&raw).expect("JSON");
    Statement::<Issued<P>>::from_payload(&payload).expect("a statement of the same bytes");
    payload
}

pub(super) fn model_subject() -> Vec<Subject> {
    vec![Subject::new("model.json", Sha256::digest(MODEL).into())]
}

pub(super) fn named_request() -> CoveredRequest {
    CoveredRequest {
        id: "ticket-77".into(),
        time: TIME.into(),
        change: 1,
        n_rows: 2,
        rows: Some("c0".repeat(32)),
        salt: Some(SALT.into()),
        position: 1,
    }
}

pub(super) fn nameless_request() -> CoveredRequest {
    CoveredRequest { id: "change-2".into(), change: 2, n_rows: 1, salt: None, position: 2, ..named_request() }
}

pub(super) fn entry_of(request: &CoveredRequest) -> Entry {
    let commitment = request.salt.as_ref().map(|salt| request_commitment(salt, &request.id));
    let CoveredRequest { change, n_rows, rows, time, .. } = request.clone();
    Entry::new(time, Event::Removal(Change { change, n_rows, rows, request: commitment }))
}

/// What a certificate says, as the one who signs for the log says it.
pub(super) fn issued<T: Predicate>(body: T, log: LogPosition, key_id: String) -> Issued<T> {
    let [schema, software, model, issued] = [T::SCHEMA, "efface 0.1.0", "model", TIME].map(String::from);
    Issued { schema, software, model, issued, issue: Signed { key_id, log }, body }
}

/// A release certificate of a kind, changed before it is signed by the one who signs for the log.
pub(super) fn release_of(kind: Kind, edit: impl FnOnce(&mut ReleaseCertificate)) -> Envelope {
    release_from(&Basis::of(kind), edit)
}

/// The same for claims that follow from something else.
pub(super) fn release_from(basis: &Basis, edit: impl FnOnce(&mut ReleaseCertificate)) -> Envelope {
    let mut log = Log::started();
    let mut certificate = basis.certificate(log.next(), log.key.public().id());
    edit(&mut certificate);
    log.certify(model_subject(), &certificate, &[])
}

/// The release certificate that most tests change.
pub(super) fn release(edit: impl FnOnce(&mut ReleaseCertificate)) -> Envelope {
    release_of(Kind::Gaussian, edit)
}

/// The certificate of a release before which there was none.
pub(super) fn first_release(edit: impl FnOnce(&mut ReleaseCertificate)) -> Envelope {
    let basis = Basis { before: Vec::new(), ..Basis::of(Kind::Gaussian) };
    release_from(&basis, |c| {
        (c.since_previous.release, c.since_previous.certificate) = (None, None);
        (c.since_previous.exposure, c.decided.revoked) = ("no-previous-release".into(), Vec::new());
        edit(c);
    })
}

/// The certificate of the request with a name.
pub(super) fn request(edit: impl FnOnce(&mut RequestCertificate)) -> Envelope {
    let mut log = Log::started();
    let request = named_request();
    let answer = RequestAnswer {
        request_origin: log.origin.clone(),
        state: "covered".into(),
        release: Some(3),
        release_certificate: Some("ce".repeat(32)),
        request: request.clone(),
    };
    let mut certificate = issued(answer, log.next(), log.key.public().id());
    edit(&mut certificate);
    let subject = vec![Subject::new("request", Sha256::digest(entry_of(&request).to_leaf()).into())];
    log.certify(subject, &certificate, &[request.position])
}

/// The withdrawal of a release.
pub(super) fn revocation(edit: impl FnOnce(&mut RevocationCertificate)) -> Envelope {
    let mut log = Log::started();
    let withdrawal = Withdrawal { release: 3, release_certificate: None, reason: Some("superseded".into()) };
    let mut certificate = issued(withdrawal, log.next(), log.key.public().id());
    edit(&mut certificate);
    log.certify(model_subject(), &certificate, &[])
}

/// Everything is checked that can be checked of one file alone, and of the model file where it is about one.
pub(super) fn check(envelope: &Envelope) -> Verification {
    let key = signing_key().public();
    let text = envelope.to_text();
    let model = match read(text.as_bytes()) {
        Ok(Document::Request(_)) => None,
        _ => Some(MODEL),
    };
    verify(text.as_bytes(), &Evidence { key: Some(&key), model, ..Evidence::default() })
}

/// The one check that does not hold, with its message.
#[track_caller]
pub(super) fn only_failure(verification: &Verification) -> (&'static str, CheckOutcome, &str) {
    let sound = [CheckOutcome::Passed, CheckOutcome::NotChecked];
    let mut wrong = verification.checks.iter().filter(|check| !sound.contains(&check.outcome));
    let first = wrong.next().unwrap_or_else(|| panic!("nothing fails: {verification:?}"));
    assert!(wrong.next().is_none(), "more than one check fails: {verification:?}");
    (first.check.tag(), first.outcome, &first.message)
}

/// Exactly one check fails, with these words.
#[track_caller]
pub(super) fn fails(verification: &Verification, check: &str, words: &str) {
    let (found, outcome, message) = only_failure(verification);
    assert_eq!((found, outcome), (check, CheckOutcome::Failed), "{verification:?}");
    assert!(message.contains(words), "`{words}` is not in `{message}`");
    assert!(!verification.is_genuine());
}
