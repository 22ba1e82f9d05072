//! Releases that are there under their names and that the account does not count, as after an old backup: their
//! certificates tell what they spent.

use std::fs;
use std::path::Path;

use efface_core::rounding::UpperBound;
use efface_ledger::envelope::Envelope;
use serde::Deserialize;

use crate::database::ReleaseEntry;
use crate::error::EngineError;
use crate::files::RELEASES;
use crate::releases::{CERTIFICATE_FILE, MODEL_FILE, release_folders};

/// A release that is there under its name and that the account does not count, as its certificate tells of it.
pub(crate) struct FoundRelease {
    pub(crate) entry: ReleaseEntry,
    /// Upper bound of what all releases up to this one have spent together, in units of the distance: μ_total · s.
    pub(crate) total_distance: UpperBound,
}

/// The part of a certificate that the account is made of.
#[derive(Deserialize)]
struct Spent {
    n_removed: usize,
    distance_bound: f64,
    noise_std: f64,
    mu_total: f64,
    certified: bool,
}

/// What a certificate says was spent.
fn spent_of(text: &[u8]) -> Result<Spent, String> {
    #[derive(Deserialize)]
    struct Signed {
        predicate: Spent,
    }

    let envelope = Envelope::parse(text).map_err(|error| error.to_string())?;
    let signed = serde_json::from_slice::<Signed>(envelope.unverified_payload());
    signed.map(|signed| signed.predicate).map_err(|error| error.to_string())
}

/// All releases beyond the first `n_releases`.
pub(crate) fn uncounted(path: &Path, n_releases: usize) -> Result<Vec<FoundRelease>, EngineError> {
    let releases = path.join(RELEASES);
    let entries = fs::read_dir(&releases).map_err(EngineError::io(&releases))?;
    let mut numbers: Vec<usize> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|number| *number > n_releases)
        .collect();
    numbers.sort_unstable();
    let mut found = Vec::new();
    for release in numbers {
        let (_, folder) = release_folders(path, release);
        let certificate = folder.join(CERTIFICATE_FILE);
        if !certificate.exists() && !folder.join(MODEL_FILE).exists() {
            continue;
        }
        let text = fs::read(&certificate).map_err(EngineError::io(&certificate))?;
        let spent = spent_of(&text).map_err(|error| EngineError::BadPublished {
            path: certificate.clone(),
            reason: format!("what this release spent is not known: {error}"),
        })?;
        let Spent { n_removed, distance_bound, noise_std, mu_total, certified } = spent;
        let numbers = [distance_bound, noise_std, mu_total];
        if let Some(number) = numbers.into_iter().find(|number| !(*number >= 0.0 && number.is_finite())) {
            let reason = format!("what this release spent must be positive and finite, got `{number}`");
            return Err(EngineError::BadPublished { path: certificate, reason });
        }
        let (time, sequence) = (None, None);
        let entry = ReleaseEntry { release, time, n_removed, distance_bound, certified, certificate: None, sequence };
        found.push(FoundRelease { entry, total_distance: UpperBound::new(mu_total) * UpperBound::new(noise_std) });
    }
    Ok(found)
}
