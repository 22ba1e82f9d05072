//! Releases that were published.

use rusqlite::{Connection, params};

use super::Database;
use crate::error::EngineError;
use crate::history::ReleaseEntry;

impl ReleaseEntry {
    pub(crate) fn insert(&self, tables: &Connection) -> rusqlite::Result<()> {
        let Self { release, time, n_removed, certified, certificate, n_changes } = self;
        let insert = "INSERT OR REPLACE INTO releases
                      (release, time, n_removed, certified, certificate, n_changes)
                      VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let values = params![release, time, n_removed, certified, certificate, n_changes];
        tables.prepare_cached(insert)?.execute(values)?;
        Ok(())
    }
}

impl Database {
    pub(crate) fn latest_release(&self) -> Result<Option<ReleaseEntry>, EngineError> {
        Ok(self.releases("ORDER BY release DESC LIMIT 1", None)?.pop())
    }

    /// Releases that know nothing of the rows that a change took out, the first one first.
    pub(crate) fn releases_after(&self, change: u64) -> Result<Vec<ReleaseEntry>, EngineError> {
        self.releases("WHERE n_changes >= ?1 ORDER BY release", Some(change))
    }

    pub(crate) fn release(&self, release: usize) -> Result<Option<ReleaseEntry>, EngineError> {
        Ok(self.releases("WHERE release = ?1", Some(release as u64))?.pop())
    }

    fn releases(&self, which: &str, parameter: Option<u64>) -> Result<Vec<ReleaseEntry>, EngineError> {
        let select =
            format!("SELECT release, time, n_removed, certified, certificate, n_changes FROM releases {which}");
        self.ask(|c| {
            let entry = |row: &rusqlite::Row<'_>| {
                Ok(ReleaseEntry {
                    release: row.get(0)?,
                    time: row.get(1)?,
                    n_removed: row.get(2)?,
                    certified: row.get(3)?,
                    certificate: row.get(4)?,
                    n_changes: row.get(5)?,
                })
            };
            c.prepare(&select)?.query_map(rusqlite::params_from_iter(parameter), entry)?.collect()
        })
    }
}
