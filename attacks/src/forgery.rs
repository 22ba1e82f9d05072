//! What attackers make certificates with: a file taken apart and put together again, and an issuer of their own.

use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use efface_ledger::certificate::{Issued, Predicate, ReleaseCertificate};
use efface_ledger::checkpoint::Checkpoint;
use efface_ledger::envelope::{EntryProof, Envelope, LogProof, PAYLOAD_TYPE};
use efface_ledger::key::SigningKey;
use efface_ledger::merkle::{self, Hash};
use efface_ledger::statement::{Statement, Subject};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// The file of a certificate, of which everything can be changed. Fields in the order in which they are written.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Parts {
    payload: String,
    #[serde(rename = "payloadType")]
    payload_type: String,
    signatures: Vec<Signature>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) log: Option<LogProof>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Signature {
    keyid: String,
    sig: String,
}

impl Parts {
    /// Takes a file apart.
    pub(crate) fn of(file: &[u8]) -> anyhow::Result<Self> {
        serde_json::from_slice(file).context("a certificate")
    }

    /// Puts the file together, in the spelling that verifiers accept: only what was changed is wrong with it.
    pub(crate) fn to_file(&self) -> anyhow::Result<Vec<u8>> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        Ok(text)
    }

    /// Another payload under the same signature.
    pub(crate) fn with_payload<P: Predicate>(mut self, statement: &Statement<Issued<P>>) -> anyhow::Result<Self> {
        self.payload = STANDARD.encode(statement.to_payload()?);
        Ok(self)
    }

    /// The same signature under the name of another key.
    pub(crate) fn with_key_id(mut self, key_id: String) -> Self {
        self.signatures[0].keyid = key_id;
        self
    }

    /// Another place in the log.
    pub(crate) fn with_log(self, log: Option<LogProof>) -> Self {
        Self { log, ..self }
    }
}

/// What a certificate of a release says.
pub(crate) fn statement_of(file: &[u8]) -> anyhow::Result<Statement<ReleaseCertificate>> {
    any_statement_of(file)
}

/// What a certificate of this kind says.
pub(crate) fn any_statement_of<P: Predicate>(file: &[u8]) -> anyhow::Result<Statement<Issued<P>>> {
    Ok(Statement::from_payload(Envelope::parse(file)?.unverified_payload())?)
}

/// The certificate with something changed in it, under the signature that it had.
pub(crate) fn edited(certificate: &[u8], edit: impl FnOnce(&mut ReleaseCertificate)) -> anyhow::Result<Vec<u8>> {
    let Statement { subject, mut predicate, .. } = statement_of(certificate)?;
    edit(&mut predicate);
    let statement = Statement::new(subject, ReleaseCertificate::TYPE, predicate);
    Parts::of(certificate)?.with_payload(&statement)?.to_file()
}

/// Somebody with a key and a log of their own making. With the victim's key: an insider.
pub(crate) struct Issuer {
    pub(crate) key: SigningKey,
    /// What the log says.
    pub(crate) leaves: Vec<String>,
}

impl Issuer {
    /// A stranger with a key of this name, and a log in which others are made up.
    pub(crate) fn stranger(name: &str) -> anyhow::Result<Self> {
        let key = SigningKey::generate(name, &Zeroizing::new([0x66; 32]))?;
        Ok(Self { key, leaves: (0..64).map(|i| format!("made up {i}")).collect() })
    }

    /// Signs a statement and enters it in the log at the place that it names: everything that a signature and a log can
    /// show is in order.
    pub(crate) fn issue<P: Predicate>(&self, subject: Vec<Subject>, predicate: Issued<P>) -> anyhow::Result<Vec<u8>> {
        self.issue_showing(subject, predicate, &[])
    }

    /// The same with proofs of earlier entries.
    pub(crate) fn issue_showing<P: Predicate>(
        &self,
        subject: Vec<Subject>,
        predicate: Issued<P>,
        shown: &[u64],
    ) -> anyhow::Result<Vec<u8>> {
        let log = predicate.issue.log.clone();
        let statement = Statement::new(subject, P::TYPE, predicate);
        let payload = statement.to_payload()?;
        let own = statement.predicate.entry(hex::encode(Sha256::digest(&payload))).to_leaf();
        let mut leaves = self.leaves.clone();
        leaves.truncate(log.position as usize);
        leaves.push(own);
        let hashes = tree(&leaves)?;
        let size = leaves.len() as u64;
        let proofs = std::iter::once(&log.position).chain(shown).map(|position| {
            let inclusion = merkle::inclusion_proof(&hashes, size, *position)?;
            Ok(EntryProof { position: *position, inclusion })
        });
        let proofs = proofs.collect::<anyhow::Result<_>>()?;
        let checkpoint = Checkpoint { origin: log.origin, size, root: merkle::root(&hashes, size)? }.sign(&self.key)?;
        let envelope = Envelope::sign(PAYLOAD_TYPE, payload, &self.key).with_log(LogProof { checkpoint, proofs });
        Ok(envelope.to_text().into_bytes())
    }

    /// The same with a changed certificate of the victim's.
    pub(crate) fn reissue(&self, file: &[u8], change: impl FnOnce(&mut ReleaseCertificate)) -> anyhow::Result<Vec<u8>> {
        let Statement { subject, mut predicate, .. } = statement_of(file)?;
        predicate.issue.key_id = self.key.public().id();
        change(&mut predicate);
        self.issue(subject, predicate)
    }
}

/// The hashes of a log.
pub(crate) fn tree(leaves: &[String]) -> anyhow::Result<Vec<Hash>> {
    let mut hashes: Vec<Hash> = Vec::new();
    for (size, leaf) in (0..).zip(leaves) {
        let new = merkle::append(&hashes, size, merkle::leaf_hash(leaf.as_bytes()))?;
        hashes.extend(new);
    }
    Ok(hashes)
}
