//! Whether a release continues the account of those before it. A certificate says what earlier releases spent, and names
//! the certificate of the one before, which says it too: link by link the chain leads to the first release, before which
//! nothing was spent. Where the chain is not shown to its end, what was spent before is the issuer's word.

use sha2::{Digest, Sha256};

use super::check::{Check, CheckName};
use super::labels::is_objective;
use super::{Document, Evidence, read, verify};
use crate::certificate::ReleaseCertificate;
use crate::envelope::Envelope;

/// Follows the account back through the certificates that the verifier has.
pub(super) fn account(c: &ReleaseCertificate, evidence: &Evidence<'_>) -> Check {
    follow(c, evidence).unwrap_or_else(|message| Check::failed(CheckName::Previous, message))
}

fn follow(c: &ReleaseCertificate, evidence: &Evidence<'_>) -> Result<Check, String> {
    let mut given: Vec<(String, &[u8])> = Vec::new();
    for text in evidence.previous {
        let envelope = Envelope::parse(text).map_err(|_| NOT_VALID)?;
        given.push((hex::encode(Sha256::digest(envelope.unverified_payload())), text));
    }
    let mut earliest = c.clone();
    while let Some(named) = &earliest.since_previous.certificate
        && let Some(index) = given.iter().position(|(digest, _)| digest == named)
    {
        let before = released(given.swap_remove(index).1, evidence)?;
        continues(&earliest, &before)?;
        earliest = *before;
    }
    // A chain that is cut, as after an old backup, leads to none of those before. What they spent is spent all the same.
    let is_cut = earliest.since_previous.certificate.is_none() && earliest.release > 1;
    for (_, text) in given {
        let before = released(text, evidence)?;
        if !(is_cut && before.model == earliest.model && before.release < earliest.release) {
            return Err(format!("release {} does not name this certificate as one before it", earliest.release));
        }
        forgets_nothing(&earliest, &before)?;
    }
    Ok(conclusion(c, &earliest))
}

/// What is known once the chain has been followed back to `earliest`.
fn conclusion(c: &ReleaseCertificate, earliest: &ReleaseCertificate) -> Check {
    let spent = match earliest.release {
        0 | 1 if c.release <= 1 => {
            return Check::passed(CheckName::Previous, "the first release: nothing was spent before it");
        }
        0 | 1 => {
            let message = format!("what {} spent is accounted for", releases(c.release - 1));
            return Check::passed(CheckName::Previous, message);
        }
        release => format!("what {} spent was not verified", releases(release - 1)),
    };
    // Under mechanism `objective` one perturbation covers each release alone, and without noise nothing is spent.
    if is_objective(c) || c.noise_std == 0.0 {
        return Check::passed(CheckName::Previous, "earlier releases spend nothing of what this one claims");
    }
    let (check, why) = match &earliest.since_previous.certificate {
        Some(_) => (CheckName::Previous, format!("the certificate of release {} was not given", earliest.release - 1)),
        None => (CheckName::Chain, format!("release {} names no certificate before it", earliest.release)),
    };
    Check::not_checked(check, format!("{spent}: {why}"))
}

/// The certificate of a release that the same key signed.
fn released(text: &[u8], evidence: &Evidence<'_>) -> Result<Box<ReleaseCertificate>, String> {
    let own = Evidence { key: evidence.key, ..Evidence::default() };
    match read(text) {
        Ok(Document::Release(before)) if verify(text, &own).is_genuine() => Ok(before),
        _ => Err(NOT_VALID.into()),
    }
}

/// `c` comes right after `before`, and forgets nothing.
fn continues(c: &ReleaseCertificate, before: &ReleaseCertificate) -> Result<(), String> {
    if c.model != before.model || c.release.checked_sub(1) != Some(before.release) {
        return Err(format!(
            "release {} of model {} does not come after release {} of model {}",
            c.release, c.model, before.release, before.model
        ));
    }
    forgets_nothing(c, before)
}

/// What had been spent by `before`, itself included, is accounted for by `c`.
fn forgets_nothing(c: &ReleaseCertificate, before: &ReleaseCertificate) -> Result<(), String> {
    let (spent, r) = (before.spent_before, before.distance_bound);
    // Rounded down: an honest account has rounded up.
    let squares = (spent.distance_squares + (r * r).next_down()).next_down();
    let distances = (spent.distances + r).next_down();
    let found = c.spent_before;
    // Under mechanism `objective` releases spend nothing of a common account.
    let counted = found.distance_squares >= squares && found.distances >= distances;
    if !is_objective(before) && !counted {
        return Err(format!(
            "up to release {} distances of {distances:e} were spent, and {:e} is accounted for",
            before.release, found.distances
        ));
    }
    Ok(())
}

fn releases(last: usize) -> String {
    if last == 1 { "release 1".into() } else { format!("releases 1 to {last}") }
}

const NOT_VALID: &str = "the certificate before is not a valid one of a release, under this key";
