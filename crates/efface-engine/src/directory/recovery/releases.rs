//! Releases that are there under their names and that the account does not count, as after an old backup: their
//! certificates tell what they spent.

use std::fs;
use std::path::Path;

use efface_core::rounding::UpperBound;
use efface_ledger::envelope::Envelope;
use serde::Deserialize;

use super::note;
use crate::directory::ModelDirectory;
use crate::directory::certify::log::{NewLog, restart};
use crate::directory::certify::publication::{CERTIFICATE_FILE, MODEL_FILE, release_folders};
use crate::directory::database::{Mending, ledger};
use crate::directory::files::RELEASES;
use crate::error::{CertifyError, EngineError};
use crate::life::{Kept, ReleaseEntry};

impl ModelDirectory {
    /// Counts releases that are there under their names and not in the account: it was restored, they were not.
    pub(in crate::directory) fn count_found_releases(&mut self) -> Result<(), EngineError> {
        let found = uncounted(&self.keeper.path, self.keeper.head.account.n_releases)?;
        if found.is_empty() {
            return Ok(());
        }
        let mut account = self.keeper.head.account;
        for FoundRelease { entry, total_distance } in &found {
            let (distance, total) = (UpperBound::new(entry.distance_bound), *total_distance);
            account.n_releases = entry.release;
            // Some in between may be gone: the total of the certificate counts them too.
            account.distance_squares = (account.distance_squares + distance.squared()).max(total.squared());
            account.distances = (account.distances + distance).max(total);
            account.certified &= entry.certified;
        }
        let mended = note(&self.keeper.database, "releases were newer than the database", 0, 0)?;
        let log = NewLog::new(&self.keeper.head.history.model, self.keeper.head.history.n_changes)?;
        self.model.set_account(account);
        let of = Kept { settings: &self.settings, model: &self.model };
        self.keeper.commit_state(of, |tables, head| {
            head.history.is_stale = true;
            found.iter().try_for_each(|found| found.entry.insert(tables))?;
            restart(tables, head, &log)?;
            ledger::count_one(tables, &mut head.history)?;
            Mending::write_all(&mended, tables)
        })
    }
}

/// A release that is there under its name and that the account does not count, as its certificate tells of it.
struct FoundRelease {
    entry: ReleaseEntry,
    /// Upper bound of what all releases up to this one have spent together, in units of the distance: μ_total · s.
    total_distance: UpperBound,
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
fn uncounted(path: &Path, n_releases: usize) -> Result<Vec<FoundRelease>, EngineError> {
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
        found.push(FoundRelease { entry, total_distance: UpperBound::new(mu_total) * UpperBound::new(noise_std) });
    }
    Ok(found)
}
