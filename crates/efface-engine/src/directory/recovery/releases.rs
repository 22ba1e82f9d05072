//! Releases that are there under their names and that the account does not count, as after an old backup: their
//! certificates tell what they spent.

use std::fs;
use std::path::Path;

use efface_core::rounding::UpperBound;
use efface_ledger::envelope::Envelope;
use serde::Deserialize;

use super::Known;
use crate::directory::certify::publication::{CERTIFICATE_FILE, MODEL_FILE, release_folders};
use crate::directory::files::{self, RELEASES};
use crate::error::{CertifyError, EngineError};
use crate::life::ReleaseEntry;

impl Known {
    /// Counts releases that are there under their names and not in the account: it was restored, they were not.
    pub(super) fn ask_releases(&mut self, path: &Path) -> Result<(), EngineError> {
        for (entry, total) in uncounted(path, self.account.n_releases)? {
            let (account, distance) = (&mut self.account, UpperBound::new(entry.distance_bound));
            account.n_releases = entry.release;
            // Some in between may be gone: the total of the certificate counts them too.
            account.distance_squares = (account.distance_squares + distance.squared()).max(total.squared());
            account.distances = (account.distances + distance).max(total);
            account.certified &= entry.certified;
            self.releases.push(entry);
        }
        if !self.releases.is_empty() {
            self.found.push("releases are newer than the database");
        }
        Ok(())
    }
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

fn spent_of(text: &[u8]) -> Result<Spent, String> {
    #[derive(Deserialize)]
    struct Signed {
        predicate: Spent,
    }

    let envelope = Envelope::parse(text).map_err(|error| error.to_string())?;
    let signed = serde_json::from_slice::<Signed>(envelope.unverified_payload());
    signed.map(|signed| signed.predicate).map_err(|error| error.to_string())
}

/// All releases beyond the first `n_releases`, each with an upper bound of what all releases up to it have spent together, in
/// units of the distance: μ_total · s.
fn uncounted(path: &Path, n_releases: usize) -> Result<Vec<(ReleaseEntry, UpperBound)>, EngineError> {
    let mut found = Vec::new();
    for release in files::numbers_in(&path.join(RELEASES))?.into_iter().filter(|release| *release > n_releases) {
        let (_, folder) = release_folders(path, release);
        let certificate = folder.join(CERTIFICATE_FILE);
        if !certificate.exists() && !folder.join(MODEL_FILE).exists() {
            continue;
        }
        let text = fs::read(&certificate).map_err(EngineError::io(&certificate))?;
        let spent = spent_of(&text).map_err(|error| {
            EngineError::Certify(CertifyError::BadPublished {
                path: certificate.clone(),
                reason: format!("what this release spent is not known: {error}"),
            })
        })?;
        let Spent { n_removed, distance_bound, noise_std, mu_total, certified } = spent;
        let numbers = [distance_bound, noise_std, mu_total];
        if let Some(number) = numbers.into_iter().find(|number| !(*number >= 0.0 && number.is_finite())) {
            let reason = format!("what this release spent must be positive and finite, got `{number}`");
            return Err(CertifyError::BadPublished { path: certificate, reason }.into());
        }
        let (time, n_changes) = (None, None);
        let entry = ReleaseEntry { release, time, n_removed, distance_bound, certified, certificate: None, n_changes };
        found.push((entry, UpperBound::new(mu_total) * UpperBound::new(noise_std)));
    }
    Ok(found)
}
