//! Whether a release continues the account of the one before: a certificate says what earlier releases spent, and the
//! certificate before it says the same.

use sha2::{Digest, Sha256};

use super::check::Check;
use super::{Document, Evidence, read, verify};
use crate::certificate::ReleaseCertificate;
use crate::envelope::Envelope;

/// Compares what a certificate says of the release before with that release's own certificate, if there is one.
pub(super) fn follows(c: &ReleaseCertificate, evidence: &Evidence<'_>) -> Option<Check> {
    let text = evidence.previous?;
    Some(Check::of("previous", compare(c, text, evidence)))
}

fn compare(c: &ReleaseCertificate, text: &[u8], evidence: &Evidence<'_>) -> Result<String, String> {
    let own = Evidence { key: evidence.key, ..Evidence::default() };
    let before = match read(text) {
        Ok(Document::Release(before)) if verify(text, &own).is_valid() => before,
        _ => return Err("the certificate before is not a valid one of a release, under this key".into()),
    };
    let digest = Envelope::parse(text).map(|file| hex::encode(Sha256::digest(file.unverified_payload())));
    if digest.ok() != c.since_previous.certificate {
        return Err(format!("release {} does not name this certificate as the one before it", c.release));
    }
    let (spent, r) = (before.spent_before, before.distance_bound);
    // Rounded down: an honest account has rounded up.
    let squares = (spent.distance_squares + (r * r).next_down()).next_down();
    let distances = (spent.distances + r).next_down();
    let found = c.spent_before;
    // Under mechanism `objective` releases spend nothing of a common account.
    let counted = found.distance_squares >= squares && found.distances >= distances;
    if before.mechanism != "objective" && !counted {
        return Err(format!(
            "up to release {} distances of {distances:e} were spent, and {:e} is accounted for",
            before.release, found.distances
        ));
    }
    Ok(format!("release {} is continued, and what was spent up to it is accounted for", before.release))
}
