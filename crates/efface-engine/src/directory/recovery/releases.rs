//! Releases that are there under their names and that the account does not count, as after an old backup: their
//! certificates tell what they spent.

use std::fs;
use std::path::Path;

use efface_core::rounding::UpperBound;
use efface_ledger::envelope::Envelope;
use serde::Deserialize;

use super::Known;
use crate::directory::certify::publication::release_folders;
use crate::directory::database::{Head, UnnamedRemoval};
use crate::directory::files::{self, CERTIFICATE_FILE, MODEL_FILE, RELEASES};
use crate::error::{CertifyError, EngineError};
use crate::history::ReleaseEntry;
use crate::status::OldPart;

impl Known {
    /// Looks at releases that are there under their names and that the database does not count: it was restored, they were not.
    pub(super) fn ask_releases(&mut self, path: &Path, head: &Head) -> Result<(), EngineError> {
        let n_counted = self.account.n_releases;
        let numbers = files::numbers_in(&path.join(RELEASES))?;
        for release in numbers.into_iter().filter(|release| *release > head.account.n_releases) {
            let (_, folder) = release_folders(path, release);
            let certificate = folder.join(CERTIFICATE_FILE);
            if !certificate.exists() && !folder.join(MODEL_FILE).exists() {
                continue;
            }
            let bad = |reason| EngineError::Certify(CertifyError::BadPublished { path: certificate.clone(), reason });
            let text = fs::read(&certificate).map_err(EngineError::io(&certificate))?;
            let spent =
                spent_of(&text).map_err(|error| bad(format!("what this release spent is not known: {error}")))?;
            let Spent { n_removed, distance_bound, noise_std, mu_total, certified, requests } = spent;
            let mut numbers = [distance_bound, noise_std, mu_total].into_iter();
            if let Some(number) = numbers.find(|number| !(*number >= 0.0 && number.is_finite())) {
                return Err(bad(format!("what this release spent must be positive and finite, got `{number}`")));
            }
            // What all releases up to this one have spent together, in units of the distance: some in between may be gone.
            let (distance, total) =
                (UpperBound::new(distance_bound), UpperBound::new(mu_total) * UpperBound::new(noise_std));
            // A state of another time may have counted it already.
            if release > n_counted {
                let account = &mut self.account;
                account.n_releases = release;
                account.distance_squares = (account.distance_squares + distance.squared()).max(total.squared());
                account.distances = (account.distances + distance).max(total);
                account.certified &= certified;
            }
            self.unnamed.extend(
                requests.into_iter().filter_map(|Covered { change, n_rows, rows }| {
                    Some(UnnamedRemoval { change, n_rows, rows: rows? })
                }),
            );
            let (time, n_changes, certificate) = (None, None, None);
            self.releases.push(ReleaseEntry { release, time, n_removed, certified, certificate, n_changes });
        }
        if self.account.n_releases > n_counted {
            self.found.push(OldPart::Releases);
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct Spent {
    n_removed: usize,
    distance_bound: f64,
    noise_std: f64,
    mu_total: f64,
    certified: bool,
    requests: Vec<Covered>,
}

#[derive(Deserialize)]
struct Covered {
    change: u64,
    n_rows: usize,
    rows: Option<String>,
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
