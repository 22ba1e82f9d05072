//! Releases that were published.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, params};

use super::Database;
use crate::error::EngineError;

/// One release.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReleaseEntry {
    /// k.
    pub(crate) release: usize,
    /// When it was published, in seconds since 1970; as far as it is known.
    pub(crate) time: Option<u64>,
    /// Rows removed on request before it.
    pub(crate) n_removed: usize,
    /// r, as claimed: what the account adds up.
    pub(crate) distance_bound: f64,
    /// Whether its randomness was unpredictable.
    pub(crate) certified: bool,
    /// SHA-256 of the payload of its certificate; none where that is not known, or it was not signed.
    pub(crate) certificate: Option<String>,
    /// Changes of the rows before it; none where that is not known.
    pub(crate) sequence: Option<u64>,
}

impl ReleaseEntry {
    pub(crate) fn insert(&self, tables: &Connection) -> rusqlite::Result<()> {
        let Self { release, time, n_removed, distance_bound, certified, certificate, sequence } = self;
        let insert = "INSERT OR REPLACE INTO releases
                      (release, time, n_removed, distance_bound, certified, certificate, sequence)
                      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        let values = params![release, time, n_removed, distance_bound, certified, certificate, sequence];
        tables.prepare_cached(insert)?.execute(values)?;
        Ok(())
    }
}

impl Database {
    /// The latest release that is known.
    pub(crate) fn latest_release(&self) -> Result<Option<ReleaseEntry>, EngineError> {
        Ok(self.releases("ORDER BY release DESC LIMIT 1", None)?.pop())
    }

    /// Releases that know nothing of the rows that a change took out, the first one first.
    pub(crate) fn releases_after(&self, change: u64) -> Result<Vec<ReleaseEntry>, EngineError> {
        self.releases("WHERE sequence >= ?1 ORDER BY release", Some(change))
    }

    /// Release k.
    pub(crate) fn release(&self, release: usize) -> Result<Option<ReleaseEntry>, EngineError> {
        Ok(self.releases("WHERE release = ?1", Some(release as u64))?.pop())
    }

    fn releases(&self, which: &str, parameter: Option<u64>) -> Result<Vec<ReleaseEntry>, EngineError> {
        let select = format!(
            "SELECT release, time, n_removed, distance_bound, certified, certificate, sequence FROM releases {which}"
        );
        self.ask(|c| {
            let entry = |row: &rusqlite::Row<'_>| {
                Ok(ReleaseEntry {
                    release: row.get(0)?,
                    time: row.get(1)?,
                    n_removed: row.get(2)?,
                    distance_bound: row.get(3)?,
                    certified: row.get(4)?,
                    certificate: row.get(5)?,
                    sequence: row.get(6)?,
                })
            };
            c.prepare(&select)?.query_map(rusqlite::params_from_iter(parameter), entry)?.collect()
        })
    }
}

/// Now, in seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// A time in seconds since 1970, as certificates write it: RFC 3339 in UTC.
pub(crate) fn timestamp(seconds: u64) -> String {
    // Beyond the year 9999 there is no such form; no clock is there yet.
    const LATEST: u64 = 253_402_300_799;
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(seconds.min(LATEST))).to_string()
}
