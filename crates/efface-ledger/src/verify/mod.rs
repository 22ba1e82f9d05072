//! Checking a certificate, offline, with nothing but its file, a public key, and what else is at hand: the model file, a
//! checkpoint of the log, a revocation.
//!
//! ```text
//! form ─▶ signature ─▶ subject ─▶ tags ─▶ model ─▶ log ─▶ checkpoint ─▶ arithmetic ─▶ labels ─▶ revocation ─▶ previous
//! ```
//!
//! Each check has its own outcome and message. What is not known is "unsupported", never valid; what takes a file that was
//! not given is "not checked", and the verdict says which part of the certificate that leaves open.
//!
#![doc = include_str!("arithmetic.md")]
#![doc = include_str!("log.md")]

mod arithmetic;
mod check;
mod features;
mod labels;
mod log;
mod previous;
mod subject;
#[cfg(test)]
mod tests;

pub use check::{Check, CheckName, CheckOutcome, Verdict, Verification};
pub use labels::exposure;

use serde::Deserialize;
use sha2::{Digest, Sha256};

use self::log::Expected;
use crate::canonical::CanonicalError;
use crate::certificate::{
    Issued, Predicate, ReleaseCertificate, ReleaseClaims, RequestCertificate, RequestState, RevocationCertificate,
};
use crate::entry::{Change, Entry, Event, is_salt, request_commitment};
use crate::envelope::{Envelope, EnvelopeError, PAYLOAD_TYPE};
use crate::key::PublicKey;
use crate::statement::{Statement, StatementError, Subject};

/// What a verifier has besides the certificate.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence<'a> {
    /// The issuer's public key, from a source that the verifier trusts.
    pub key: Option<&'a PublicKey>,
    /// The model file.
    pub model: Option<&'a [u8]>,
    /// A signed checkpoint of the log, from elsewhere.
    pub checkpoint: Option<&'a str>,
    /// A file that links that checkpoint and the certificate's.
    pub consistency: Option<&'a [u8]>,
    /// A signed revocation.
    pub revocation: Option<&'a [u8]>,
    /// Certificates of releases before, in any order: from the one right before, back to the first for all of the account.
    pub previous: &'a [&'a [u8]],
}

/// A certificate that could be read. Nothing of it is verified.
#[derive(Clone, Debug)]
pub enum Document {
    /// Of a release.
    Release(Box<ReleaseCertificate>),
    /// Of a request.
    Request(Box<RequestCertificate>),
    /// A withdrawal.
    Revocation(Box<RevocationCertificate>),
}

/// Reads a certificate without verifying it; the check that fails where it cannot be read.
pub fn read(certificate: &[u8]) -> Result<Document, Check> {
    Ok(open(certificate)?.document)
}

/// The files that a certificate is about, by their hashes, without verifying anything of it.
pub fn subjects(certificate: &[u8]) -> Result<Vec<Subject>, Check> {
    Ok(open(certificate)?.subject)
}

/// Checks a certificate with what evidence there is.
pub fn verify(certificate: &[u8], evidence: &Evidence<'_>) -> Verification {
    let Opened { envelope, payload_digest, subject, document } = match open(certificate) {
        Ok(opened) => opened,
        Err(check) => return Verification::of(vec![check]),
    };
    let mut checks = vec![Check::passed(CheckName::Form, "the file is whole and in its one accepted spelling")];
    checks.extend([signature(&envelope, evidence.key), subject::is_one(&subject)]);
    let digest = hex::encode(payload_digest);
    match &document {
        Document::Release(certificate) => {
            let tags = labels::known(certificate);
            let readable = tags.outcome == CheckOutcome::Passed;
            checks.extend([tags, labels::certified(certificate)]);
            checks.push(issuer(&envelope, &**certificate));
            checks.push(subject::model_file(&subject, evidence.model, "certified"));
            checks.extend(in_log(&envelope, &**certificate, digest.clone(), Vec::new(), evidence));
            // Under a word that is not known, other rules may hold: nothing is called wrong by these.
            if readable {
                checks.extend(computed(certificate));
                checks.push(Check::of(CheckName::Requests, labels::requests(certificate)));
            }
            let is_revoked = |withdrawn: &_| is_revoked(certificate, &digest, withdrawn);
            checks.extend(evidence.revocation.map(|text| revocation(text, evidence, is_revoked)));
            checks.push(previous::account(certificate, evidence));
        }
        Document::Request(certificate) => {
            checks.push(issuer(&envelope, &**certificate));
            let (check, shown) = request(&subject, certificate);
            checks.push(check);
            checks.extend(evidence.model.map(|_| subject::not_of_a_model(certificate)));
            let is_revoked = |withdrawn: &_| is_cover_revoked(certificate, withdrawn);
            checks.extend(evidence.revocation.map(|text| revocation(text, evidence, is_revoked)));
            if shown.is_empty() {
                let message = format!("its own entry is in the log {}, which was lost", certificate.request_origin);
                checks.push(Check::not_checked(CheckName::RequestEntry, message));
            }
            checks.extend(in_log(&envelope, &**certificate, digest, shown, evidence));
        }
        Document::Revocation(certificate) => {
            let (release, model, issued) = (certificate.release, &certificate.model, &certificate.issued);
            let message = format!("release {release} of model {model} was withdrawn on {issued}: it must not be used");
            checks.push(Check::passed(CheckName::Withdrawal, message));
            checks.push(issuer(&envelope, &**certificate));
            checks.push(subject::model_file(&subject, evidence.model, "withdrawn"));
            checks.extend(in_log(&envelope, &**certificate, digest, Vec::new(), evidence));
        }
    }
    Verification::of(checks)
}

/// Checks what a release claims, whoever issues it: its tags, its arithmetic and its labels. None of these takes a signature.
pub fn verify_claims<D, R>(claims: &ReleaseClaims<D, R>) -> Vec<Check> {
    let tags = labels::known(claims);
    let readable = tags.outcome == CheckOutcome::Passed;
    [tags].into_iter().chain(readable.then(|| computed(claims)).into_iter().flatten()).collect()
}

fn computed<D, R>(claims: &ReleaseClaims<D, R>) -> Vec<Check> {
    let mut checks = arithmetic::checks(claims);
    if !claims.feature_maps.is_empty() {
        checks.push(Check::of(CheckName::Features, features::sound(claims)));
    }
    let stated = Ok("limits and scope are stated".into());
    checks.push(Check::of(CheckName::Labels, labels::missing_label(claims).map_or(stated, Err)));
    checks
}

struct Opened {
    envelope: Envelope,
    payload_digest: [u8; 32],
    subject: Vec<Subject>,
    document: Document,
}

fn open(certificate: &[u8]) -> Result<Opened, Check> {
    let envelope = Envelope::parse(certificate).map_err(|error| match error {
        EnvelopeError::Text(CanonicalError::Unsupported { .. }) => {
            Check::unsupported(CheckName::Form, error.to_string())
        }
        error => Check::failed(CheckName::Form, format!("not a certificate: {error}")),
    })?;
    if envelope.payload_type() != PAYLOAD_TYPE {
        return Err(Check::unsupported(
            CheckName::Form,
            format!("payload type `{}` is not known", envelope.payload_type()),
        ));
    }
    let payload = envelope.unverified_payload();
    let (subject, document) = document(payload)?;
    let payload_digest = Sha256::digest(payload).into();
    Ok(Opened { envelope, payload_digest, subject, document })
}

fn document(payload: &[u8]) -> Result<(Vec<Subject>, Document), Check> {
    #[derive(Deserialize)]
    struct Kind {
        #[serde(rename = "predicateType")]
        predicate_type: String,
    }

    let kind: Kind = serde_json::from_slice(payload)
        .map_err(|error| Check::failed(CheckName::Form, format!("its payload is not a statement: {error}")))?;
    match &*kind.predicate_type {
        ReleaseCertificate::TYPE => typed(payload, Document::Release),
        RequestCertificate::TYPE => typed(payload, Document::Request),
        RevocationCertificate::TYPE => typed(payload, Document::Revocation),
        other => Err(Check::unsupported(CheckName::Form, format!("certificates of type `{other}` are not known"))),
    }
}

fn typed<P: Predicate>(
    payload: &[u8],
    document: impl FnOnce(Box<Issued<P>>) -> Document,
) -> Result<(Vec<Subject>, Document), Check> {
    let statement: Statement<Issued<P>> = Statement::from_payload(payload).map_err(|error| match error {
        StatementError::Text(CanonicalError::Unsupported { .. }) | StatementError::Type { .. } => {
            Check::unsupported(CheckName::Form, error.to_string())
        }
        error => Check::failed(CheckName::Form, error.to_string()),
    })?;
    let schema = &statement.predicate.schema;
    if schema != P::SCHEMA {
        let message = format!("schema `{schema}` is not known; expected `{}`", P::SCHEMA);
        return Err(Check::unsupported(CheckName::Form, message));
    }
    Ok((statement.subject, document(Box::new(statement.predicate))))
}

fn signature(envelope: &Envelope, key: Option<&PublicKey>) -> Check {
    let Some(key) = key else {
        return Check::not_checked(CheckName::Signature, "no public key was given, and anybody may have written this");
    };
    match envelope.verify(key) {
        Ok(_) => Check::passed(CheckName::Signature, format!("signed by {} ({})", key.name(), key.id())),
        Err(error) => Check::failed(CheckName::Signature, error.to_string()),
    }
}

/// The certificate names the key that signed it.
fn issuer<P>(envelope: &Envelope, certificate: &Issued<P>) -> Check {
    let (named, signed) = (&*certificate.issue.key_id, envelope.key_id());
    Check::of(
        CheckName::Issuer,
        if named == signed {
            Ok(format!("model {}", certificate.model))
        } else {
            Err(format!("it names key {named}, and is signed by {signed}"))
        },
    )
}

/// The certificate's own entry, and those `shown` with it, are in the log.
fn in_log(
    envelope: &Envelope,
    certificate: &Issued<impl Predicate>,
    digest: String,
    shown: Vec<Expected>,
    evidence: &Evidence<'_>,
) -> Vec<Check> {
    let Some(key) = evidence.key else {
        return vec![Check::not_checked(CheckName::Log, "no public key was given to check the log's checkpoint with")];
    };
    let own = Expected { position: certificate.issue.log.position, entry: certificate.entry(digest) };
    let expected: Vec<Expected> = std::iter::once(own).chain(shown).collect();
    match log::included(envelope, &certificate.issue.log, &expected, key) {
        Err(check) => vec![check],
        Ok(checkpoint) => {
            let message =
                format!("entry {} of {} in the log {}", expected[0].position, checkpoint.size, checkpoint.origin);
            let passed = Check::passed(CheckName::Log, message);
            std::iter::once(passed).chain(log::continues(&checkpoint, evidence, key)).collect()
        }
    }
}

/// What a request certificate says fits together; the entry of the request, if the log still has it.
fn request(subject: &[Subject], c: &RequestCertificate) -> (Check, Vec<Expected>) {
    let commitment = c.request.salt.as_ref().map(|salt| request_commitment(salt, &c.request.id));
    let change = Change {
        change: c.request.change,
        n_rows: c.request.n_rows,
        rows: c.request.rows.clone(),
        request: commitment,
    };
    let entry = Entry::new(&c.request.time, Event::Removal(change));
    let leaf: [u8; 32] = Sha256::digest(entry.to_leaf()).into();
    let names_itself = subject.first().is_some_and(|subject| subject.digest.sha256 == leaf);
    let check = match RequestState::by_tag(&c.state) {
        None => Check::unsupported(CheckName::Request, format!("state `{}` is not known to this version", c.state)),
        Some(_) if !names_itself => {
            Check::failed(CheckName::Request, "what it says of the request is not what it is issued for")
        }
        Some(_) if c.request.salt.as_deref().is_some_and(|salt| !is_salt(salt)) => {
            Check::failed(CheckName::Request, "its salt must be 64 hexadecimal digits")
        }
        Some(state) if (state == RequestState::Covered) != c.release.is_some() => Check::failed(
            CheckName::Request,
            format!("`{}` and release {:?} contradict each other", c.state, c.release),
        ),
        Some(state) if (state == RequestState::NothingFound) != (c.request.n_rows == 0) => Check::failed(
            CheckName::Request,
            format!("`{}` and {} removed rows contradict each other", c.state, c.request.n_rows),
        ),
        Some(state) => Check::passed(CheckName::Request, format!("request {}: {}", c.request.id, state.in_words())),
    };
    let in_this_log = c.request_origin == c.issue.log.origin;
    let shown = if in_this_log { vec![Expected { position: c.request.position, entry }] } else { Vec::new() };
    (check, shown)
}

/// A withdrawal that the verifier has is one that the key signed, and of another release; `concerns` says what is wrong
/// otherwise.
fn revocation(
    text: &[u8],
    evidence: &Evidence<'_>,
    concerns: impl FnOnce(&RevocationCertificate) -> Option<String>,
) -> Check {
    let own = Evidence { key: evidence.key, ..Evidence::default() };
    let withdrawn = match read(text) {
        Ok(Document::Revocation(withdrawn)) if verify(text, &own).is_genuine() => withdrawn,
        _ => return Check::failed(CheckName::Revocation, "the revocation is not one that this key signed"),
    };
    let other = format!("the revocation is of release {} of model {}", withdrawn.release, withdrawn.model);
    Check::of(CheckName::Revocation, concerns(&withdrawn).map_or(Ok(other), Err))
}

/// This release must not be used. `digest` is that of its certificate.
fn is_revoked(c: &ReleaseCertificate, digest: &str, withdrawn: &RevocationCertificate) -> Option<String> {
    let same_release = withdrawn.model == c.model && withdrawn.release == c.release;
    let same = same_release && withdrawn.release_certificate.as_ref().is_none_or(|certificate| certificate == digest);
    same.then(|| format!("release {} was revoked on {}", c.release, withdrawn.issued))
}

/// The release that covers a request must not be used.
fn is_cover_revoked(c: &RequestCertificate, withdrawn: &RevocationCertificate) -> Option<String> {
    let (release, issued) = (withdrawn.release, &withdrawn.issued);
    let same = withdrawn.model == c.model && Some(release) == c.release;
    same.then(|| format!("release {release}, which covers the request, was revoked on {issued}"))
}
