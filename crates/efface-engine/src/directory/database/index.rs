//! Which row is where: from the keyed hashes of ids and subjects to positions and back. A look-up takes the same time
//! however many rows there are, and a position is never used again.

use std::collections::BTreeMap;

use efface_data::{IdDigest, PositionSet};
use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::Database;
use crate::error::EngineError;
use crate::history::RowKeys;

pub(crate) fn insert(tables: &Connection, position: usize, keys: &RowKeys) -> rusqlite::Result<()> {
    let mut insert = tables.prepare_cached("INSERT INTO rows (position, id, subject) VALUES (?1, ?2, ?3)")?;
    insert.execute(params![position, Key(keys.id), keys.subject.map(Key)])?;
    Ok(())
}

/// Takes rows out of the index; their bytes are still to be overwritten.
pub(crate) fn forget(tables: &Connection, positions: &[usize]) -> rusqlite::Result<()> {
    let mut delete = tables.prepare_cached("DELETE FROM rows WHERE position = ?1")?;
    let mut insert = tables.prepare_cached("INSERT INTO unpurged (position) VALUES (?1)")?;
    for position in positions {
        delete.execute([position])?;
        insert.execute([position])?;
    }
    have_gone(tables, positions.iter().copied())
}

/// Notes positions that hold no row any more.
pub(crate) fn have_gone(tables: &Connection, positions: impl IntoIterator<Item = usize>) -> rusqlite::Result<()> {
    let new: PositionSet = positions.into_iter().collect();
    let mut select = tables.prepare_cached("SELECT bits FROM gone WHERE chunk = ?1")?;
    let mut replace = tables.prepare_cached("INSERT OR REPLACE INTO gone (chunk, bits) VALUES (?1, ?2)")?;
    for chunk in new.chunks() {
        let mut bits = new.chunk(chunk);
        if let Some(known) = select.query_row([chunk], |row| row.get::<_, Bits>(0)).optional()? {
            bits.iter_mut().zip(known).for_each(|(bits, known)| *bits |= known);
        }
        replace.execute(params![chunk, bits])?;
    }
    Ok(())
}

/// Notes that an id or a subject was removed and must not come back. Says whether that is new.
pub(crate) fn suppress(tables: &Connection, digest: IdDigest) -> rusqlite::Result<bool> {
    let insert = "INSERT OR IGNORE INTO suppressed (digest) VALUES (?1)";
    Ok(tables.prepare_cached(insert)?.execute([Key(digest)])? > 0)
}

pub(crate) fn has_rows(tables: &Connection, subject: IdDigest) -> rusqlite::Result<bool> {
    tables.prepare_cached("SELECT 1 FROM rows WHERE subject = ?1 LIMIT 1")?.exists([Key(subject)])
}

/// Notes that everything that left has been overwritten.
pub(crate) fn purged(tables: &Connection, epochs: &[u64]) -> rusqlite::Result<()> {
    tables.execute("DELETE FROM unpurged", [])?;
    stamped(tables, epochs)
}

/// Notes what the segments' headers show now.
pub(crate) fn stamped(tables: &Connection, epochs: &[u64]) -> rusqlite::Result<()> {
    let mut insert = tables.prepare_cached(
        "INSERT INTO segments (segment, epoch) VALUES (?1, ?2) ON CONFLICT (segment) DO UPDATE SET epoch = ?2",
    )?;
    for (segment, epoch) in epochs.iter().enumerate() {
        insert.execute(params![segment, epoch])?;
    }
    tables.execute("DELETE FROM segments WHERE segment >= ?1", [epochs.len()])?;
    Ok(())
}

impl Database {
    pub(crate) fn position_of(&self, id: IdDigest) -> Result<Option<usize>, EngineError> {
        self.first("SELECT position FROM rows WHERE id = ?1", [Key(id)])
    }

    pub(crate) fn positions_of_subject(&self, subject: IdDigest) -> Result<Vec<usize>, EngineError> {
        self.list("SELECT position FROM rows WHERE subject = ?1 ORDER BY position", [Key(subject)])
    }

    pub(crate) fn has_subjects(&self) -> Result<bool, EngineError> {
        self.ask(|c| c.prepare_cached("SELECT 1 FROM rows WHERE subject IS NOT NULL LIMIT 1")?.exists([]))
    }

    pub(crate) fn keys_at(&self, positions: &[usize]) -> Result<Vec<RowKeys>, EngineError> {
        self.ask(|c| {
            let mut select = c.prepare_cached("SELECT id, subject FROM rows WHERE position = ?1")?;
            positions.iter().map(|position| select.query_row([position], keys)).collect()
        })
    }

    /// The ids of the rows at `n_positions` positions from `first` on.
    pub(crate) fn ids_from(&self, first: usize, n_positions: usize) -> Result<BTreeMap<usize, IdDigest>, EngineError> {
        self.ask(|c| {
            let mut select =
                c.prepare_cached("SELECT position, id FROM rows WHERE position >= ?1 AND position < ?2")?;
            let found = select.query_map([first, first + n_positions], |row| {
                let Key(id) = row.get(1)?;
                Ok((row.get(0)?, id))
            })?;
            found.collect()
        })
    }

    pub(crate) fn is_suppressed(&self, digest: IdDigest) -> Result<bool, EngineError> {
        self.ask(|c| c.prepare_cached("SELECT 1 FROM suppressed WHERE digest = ?1")?.exists([Key(digest)]))
    }

    /// How many ids and subjects have been removed: none is ever taken out again, so it is the latest number.
    pub(crate) fn n_suppressed(&self) -> Result<usize, EngineError> {
        Ok(self.first("SELECT max(number) FROM suppressed", [])?.flatten().unwrap_or(0))
    }

    /// The ids and subjects that were removed after the first `n_known` of them, in that order.
    pub(crate) fn suppressed_after(&self, n_known: usize) -> Result<Vec<IdDigest>, EngineError> {
        let digests = self.list("SELECT digest FROM suppressed WHERE number > ?1 ORDER BY number", [n_known])?;
        Ok(digests.into_iter().map(|Key(digest)| digest).collect())
    }

    /// Positions below `n_positions` that hold no row any more.
    pub(crate) fn gone(&self, n_positions: usize) -> Result<PositionSet, EngineError> {
        self.ask(|c| {
            let mut gone = PositionSet::default();
            let mut select = c.prepare_cached("SELECT chunk, bits FROM gone WHERE chunk <= ?1")?;
            let mut chunks = select.query([n_positions / PositionSet::CHUNK_POSITIONS])?;
            while let Some(row) = chunks.next()? {
                gone.insert_chunk(row.get(0)?, &row.get(1)?);
            }
            Ok(gone)
        })
    }

    pub(crate) fn unpurged(&self) -> Result<Vec<usize>, EngineError> {
        self.list("SELECT position FROM unpurged ORDER BY position", [])
    }

    /// What the header of each row segment must show.
    pub(crate) fn epochs(&self) -> Result<Vec<u64>, EngineError> {
        self.list("SELECT epoch FROM segments ORDER BY segment", [])
    }
}

fn keys(row: &Row<'_>) -> rusqlite::Result<RowKeys> {
    let Key(id) = row.get(0)?;
    let subject: Option<Key> = row.get(1)?;
    Ok(RowKeys { id, subject: subject.map(|Key(subject)| subject) })
}

type Bits = [u8; PositionSet::CHUNK_BYTES];

struct Key(IdDigest);

impl ToSql for Key {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Blob(&self.0.0)))
    }
}

impl FromSql for Key {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        <[u8; IdDigest::BYTES]>::column_result(value).map(|bytes| Self(IdDigest(bytes)))
    }
}
