//! Releases that were published.

use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension, params};

use super::Database;
use crate::error::EngineError;

/// One release.
#[derive(Clone, Copy, Debug, PartialEq)]
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
}

impl ReleaseEntry {
    pub(crate) fn insert(&self, tables: &Connection) -> rusqlite::Result<()> {
        let Self { release, time, n_removed, distance_bound, certified } = self;
        let insert = "INSERT OR REPLACE INTO releases (release, time, n_removed, distance_bound, certified)
                      VALUES (?1, ?2, ?3, ?4, ?5)";
        tables.prepare_cached(insert)?.execute(params![release, time, n_removed, distance_bound, certified])?;
        Ok(())
    }
}

impl Database {
    /// The latest release that is known.
    pub(crate) fn latest_release(&self) -> Result<Option<ReleaseEntry>, EngineError> {
        let select = "SELECT release, time, n_removed, distance_bound, certified FROM releases
                      ORDER BY release DESC LIMIT 1";
        self.ask(|c| {
            let entry = |row: &rusqlite::Row<'_>| {
                Ok(ReleaseEntry {
                    release: row.get(0)?,
                    time: row.get(1)?,
                    n_removed: row.get(2)?,
                    distance_bound: row.get(3)?,
                    certified: row.get(4)?,
                })
            };
            c.query_row(select, [], entry).optional()
        })
    }
}

/// Now, in seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}
