//! The log of a model: what happened, in order, and the hashes that proofs are made of.
//!
//! A directory may have had several logs: when entries of one are lost, as by an old backup, another one begins, so that
//! no two checkpoints of one log ever contradict each other.

use efface_ledger::certificate::ReleasePolicy;
use efface_ledger::entry::Entry;
use efface_ledger::merkle::{self, Hash, HashStore, TreeError};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};

use super::Database;
use crate::error::EngineError;
use crate::history::History;
use crate::life::LoggedEntry;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LedgerHead {
    /// A random name that tells this log from others of the same model; empty before the first entry.
    pub(crate) log: String,
    pub(crate) size: u64,
    pub(crate) key_id: String,
    pub(crate) policy: ReleasePolicy,
    pub(crate) revoked: Vec<usize>,
}

/// Name of a log of a model in its checkpoints.
pub(crate) fn origin(model: &str, log: &str) -> String {
    format!("efface/{model}/{log}")
}

pub(crate) fn append(tables: &Connection, head: &mut LedgerHead, entry: &Entry) -> rusqlite::Result<()> {
    let leaf = entry.to_leaf();
    let store = StoredHashes { tables, log: &head.log };
    let hashes = merkle::append(&store, head.size, merkle::leaf_hash(leaf.as_bytes())).map_err(read_error)?;
    let insert = "INSERT INTO ledger (log, position, change, leaf) VALUES (?1, ?2, ?3, ?4)";
    tables.prepare_cached(insert)?.execute(params![head.log, head.size, entry.event.change(), leaf])?;
    let mut insert = tables.prepare_cached("INSERT INTO ledger_hashes (log, position, hash) VALUES (?1, ?2, ?3)")?;
    for (position, hash) in (merkle::first_hash_index(head.size)..).zip(&hashes) {
        insert.execute(params![head.log, position, hash])?;
    }
    head.size += 1;
    Ok(())
}

/// Enters the changes of an earlier log that no release covers yet once more: the next release speaks of them.
pub(crate) fn carry_over(tables: &Connection, head: &mut LedgerHead, earlier: &str) -> rusqlite::Result<()> {
    let select = "SELECT leaf FROM ledger WHERE log = ?1 AND change > coalesce(
                  (SELECT n_changes FROM releases ORDER BY release DESC LIMIT 1), 0) ORDER BY position";
    let leaves: Vec<String> =
        tables.prepare(select)?.query_map([earlier], |row| row.get(0))?.collect::<Result<_, _>>()?;
    // What is not understood stays where it was.
    let mut entries = leaves.iter().filter_map(|leaf| Entry::from_leaf(leaf));
    entries.try_for_each(|entry| append(tables, head, &entry))
}

/// Notes whose rows left or changed, each once until the next release, and counts those who are new.
pub(crate) fn touch(
    tables: &Connection,
    history: &mut History,
    people: impl Iterator<Item = efface_data::IdDigest>,
) -> rusqlite::Result<()> {
    let mut insert = tables.prepare_cached("INSERT OR IGNORE INTO touched (digest) VALUES (?1)")?;
    for digest in people {
        history.n_people += insert.execute([&digest.0[..]])?;
    }
    Ok(())
}

/// Counts one of those whose rows left or changed, if there are any, and forgets the others: who of them left before a
/// release that was lost sight of is not known, and to be alone between two releases is the worst that can be.
pub(crate) fn count_one(tables: &Connection, history: &mut History) -> rusqlite::Result<()> {
    tables.execute("DELETE FROM touched WHERE digest > (SELECT min(digest) FROM touched)", [])?;
    history.n_people = history.n_people.min(1);
    Ok(())
}

/// Begins to count anew.
pub(crate) fn untouch(tables: &Connection, history: &mut History) -> rusqlite::Result<()> {
    history.n_people = 0;
    tables.execute("DELETE FROM touched", []).map(drop)
}

pub(crate) struct StoredHashes<'a> {
    pub(crate) tables: &'a Connection,
    pub(crate) log: &'a str,
}

impl HashStore for StoredHashes<'_> {
    type Error = rusqlite::Error;

    fn hash(&self, index: u64) -> rusqlite::Result<Hash> {
        let select = "SELECT hash FROM ledger_hashes WHERE log = ?1 AND position = ?2";
        self.tables.prepare_cached(select)?.query_row(params![self.log, index], |row| row.get(0))
    }
}

impl Database {
    /// The changes in a log beyond the first `changes` of the model.
    pub(crate) fn changes_after(&self, log: &str, changes: u64) -> Result<Vec<LoggedEntry>, EngineError> {
        let select = "SELECT position, leaf FROM ledger WHERE change > ?2 AND log = ?1 ORDER BY position";
        let leaves: Vec<(u64, String)> = self.ask(|c| {
            c.prepare_cached(select)?.query_map(params![log, changes], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })?;
        leaves.into_iter().map(|(position, leaf)| self.logged(position, &leaf)).collect()
    }

    pub(crate) fn visit_leaves(&self, log: &str, mut visit: impl FnMut(u64, &str)) -> Result<(), EngineError> {
        let select = "SELECT position, leaf FROM ledger WHERE log = ?1 ORDER BY position";
        self.visit(select, log, |row| {
            visit(row.get(0)?, row.get_ref(1)?.as_str()?);
            Ok(())
        })
    }

    pub(crate) fn visit_hashes(&self, log: &str, mut visit: impl FnMut(u64, Hash)) -> Result<(), EngineError> {
        let select = "SELECT position, hash FROM ledger_hashes WHERE log = ?1 ORDER BY position";
        self.visit(select, log, |row| {
            visit(row.get(0)?, row.get(1)?);
            Ok(())
        })
    }

    fn visit(
        &self,
        select: &str,
        log: &str,
        mut visit: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
    ) -> Result<(), EngineError> {
        self.ask(|c| {
            let mut select = c.prepare(select)?;
            let mut rows = select.query([log])?;
            while let Some(row) = rows.next()? {
                visit(row)?;
            }
            Ok(())
        })
    }

    /// The entry of a change, and the log it is in: `log`, or else an earlier one.
    pub(crate) fn entry_of_change(&self, log: &str, change: u64) -> Result<Option<(String, LoggedEntry)>, EngineError> {
        let select = "SELECT log, position, leaf FROM ledger WHERE change = ?2 ORDER BY log = ?1 DESC LIMIT 1";
        let found: Option<(String, u64, String)> = self.ask(|c| {
            let mut select = c.prepare_cached(select)?;
            select.query_row(params![log, change], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).optional()
        })?;
        found.map(|(log, position, leaf)| Ok((log, self.logged(position, &leaf)?))).transpose()
    }

    fn logged(&self, position: u64, leaf: &str) -> Result<LoggedEntry, EngineError> {
        let entry = Entry::from_leaf(leaf).ok_or_else(|| self.bad(format!("entry {position} of the log: {leaf}")))?;
        Ok(LoggedEntry { position, entry })
    }
}

pub(crate) fn read_error(error: TreeError<rusqlite::Error>) -> rusqlite::Error {
    match error {
        TreeError::Store(error) => error,
        other => rusqlite::Error::ToSqlConversionFailure(other.to_string().into()),
    }
}
