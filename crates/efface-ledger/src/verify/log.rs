//! A certificate and the log that it is entered in.

use super::Evidence;
use super::check::{Check, CheckName};
use crate::certificate::LogPosition;
use crate::checkpoint::Checkpoint;
use crate::consistency::ConsistencyFile;
use crate::entry::Entry;
use crate::envelope::Envelope;
use crate::key::PublicKey;
use crate::merkle;

pub(super) struct Expected {
    pub(super) position: u64,
    pub(super) entry: Entry,
}

/// The entries are in the log, at their places, under a checkpoint that the key signed.
pub(super) fn included(
    envelope: &Envelope,
    log: &LogPosition,
    expected: &[Expected],
    key: &PublicKey,
) -> Result<Checkpoint, Check> {
    let failed = |message: String| Check::failed(CheckName::Log, message);
    let proof = envelope.log().ok_or_else(|| failed("the certificate has no place in a log".into()))?;
    let checkpoint = Checkpoint::open(&proof.checkpoint, key, &log.origin)
        .map_err(|error| failed(format!("its checkpoint is refused: {}", with_sources(&error))))?;
    if proof.proofs.len() != expected.len() {
        return Err(failed(format!("{} proofs of inclusion in the place of {}", proof.proofs.len(), expected.len())));
    }
    for (proof, Expected { position, entry }) in proof.proofs.iter().zip(expected) {
        if proof.position != *position {
            return Err(failed(format!("a proof for entry {} in the place of {position}", proof.position)));
        }
        let leaf = merkle::leaf_hash(entry.to_leaf().as_bytes());
        merkle::verify_inclusion(&leaf, *position, checkpoint.size, &proof.inclusion, &checkpoint.root)
            .map_err(|error| failed(format!("entry {position} is not shown to be in the log: {error}")))?;
    }
    Ok(checkpoint)
}

/// A checkpoint that the verifier has from elsewhere is of the same log, unforked.
pub(super) fn continues(embedded: &Checkpoint, evidence: &Evidence<'_>, key: &PublicKey) -> Option<Check> {
    let given = evidence.checkpoint?;
    let name = CheckName::Checkpoint;
    let given = match Checkpoint::open(given, key, &embedded.origin) {
        Ok(given) => given,
        Err(error) => return Some(Check::failed(name, format!("the checkpoint is refused: {}", with_sources(&error)))),
    };
    if given.size == embedded.size {
        let (size, same) = (given.size, given.root == embedded.root);
        return Some(Check::of(
            name,
            if same {
                Ok(format!("the log of {size} entries is the one that you know"))
            } else {
                Err(format!("two logs of {size} entries with different roots: the log was forked"))
            },
        ));
    }
    let (earlier, later) = if given.size < embedded.size { (&given, embedded) } else { (embedded, &given) };
    let Some(file) = evidence.consistency else {
        let message = format!(
            "the certificate knows a log of {} entries and you one of {}: whether one continues the other takes a proof",
            embedded.size, given.size
        );
        return Some(Check::not_checked(name, message));
    };
    Some(Check::of(name, linked(file, earlier, later, key)))
}

fn linked(file: &[u8], earlier: &Checkpoint, later: &Checkpoint, key: &PublicKey) -> Result<String, String> {
    let refused =
        |error: &dyn std::error::Error| format!("the proof of consistency is refused: {}", with_sources(error));
    let file = ConsistencyFile::parse(file).map_err(|error| refused(&error))?;
    let (from, to) = file.verify(key, &earlier.origin).map_err(|error| refused(&error))?;
    if from != *earlier || to != *later {
        return Err(format!(
            "the proof is about logs of {} and {} entries; it takes one about the logs of {} and {} that are compared",
            from.size, to.size, earlier.size, later.size
        ));
    }
    Ok(format!("the log of {} entries continues the one of {}", to.size, from.size))
}

fn with_sources(error: &dyn std::error::Error) -> String {
    let sources = std::iter::successors(Some(error), |error| error.source());
    sources.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
