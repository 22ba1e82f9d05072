//! Which row is where: from the keyed hashes of ids and subjects to positions and back. A look-up takes the same time
//! however many rows there are, and a position is never used again.

use efface_data::IdDigest;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, Row, params};

use super::Database;
use crate::error::EngineError;
use crate::history::RowKeys;

pub(crate) fn insert(tables: &Connection, position: usize, keys: &RowKeys) -> rusqlite::Result<()> {
    let mut insert = tables.prepare_cached("INSERT INTO rows (position, id, subject) VALUES (?1, ?2, ?3)")?;
    insert.execute(params![position, Key(keys.id), keys.subject.map(Key)])?;
    Ok(())
}

/// Takes a row out of the index; its bytes are still to be overwritten.
pub(crate) fn forget(tables: &Connection, position: usize) -> rusqlite::Result<()> {
    tables.prepare_cached("DELETE FROM rows WHERE position = ?1")?.execute([position])?;
    tables.prepare_cached("INSERT INTO gone (position, purged) VALUES (?1, 0)")?.execute([position])?;
    Ok(())
}

pub(crate) fn was_purged(tables: &Connection, position: usize) -> rusqlite::Result<()> {
    tables.prepare_cached("INSERT INTO gone (position, purged) VALUES (?1, 1)")?.execute([position])?;
    Ok(())
}

/// Notes that an id or a subject was removed and must not come back.
pub(crate) fn suppress(tables: &Connection, digest: IdDigest) -> rusqlite::Result<()> {
    tables.prepare_cached("INSERT OR IGNORE INTO suppressed (digest) VALUES (?1)")?.execute([Key(digest)])?;
    Ok(())
}

pub(crate) fn has_rows(tables: &Connection, subject: IdDigest) -> rusqlite::Result<bool> {
    tables.prepare_cached("SELECT 1 FROM rows WHERE subject = ?1 LIMIT 1")?.exists([Key(subject)])
}

/// Notes that everything that left has been overwritten.
pub(crate) fn purged(tables: &Connection, epochs: &[u64]) -> rusqlite::Result<()> {
    tables.execute("UPDATE gone SET purged = 1 WHERE purged = 0", [])?;
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

    pub(crate) fn is_suppressed(&self, digest: IdDigest) -> Result<bool, EngineError> {
        self.ask(|c| c.prepare_cached("SELECT 1 FROM suppressed WHERE digest = ?1")?.exists([Key(digest)]))
    }

    pub(crate) fn n_suppressed(&self) -> Result<usize, EngineError> {
        self.ask(|c| c.query_row("SELECT count(*) FROM suppressed", [], |row| row.get(0)))
    }

    /// Every id and subject that was removed, in the order of their digests.
    pub(crate) fn suppressed(&self) -> Result<Vec<IdDigest>, EngineError> {
        let digests = self.list("SELECT digest FROM suppressed ORDER BY digest", [])?;
        Ok(digests.into_iter().map(|Key(digest)| digest).collect())
    }

    pub(crate) fn gone(&self) -> Result<Vec<usize>, EngineError> {
        self.list("SELECT position FROM gone ORDER BY position", [])
    }

    pub(crate) fn unpurged(&self) -> Result<Vec<usize>, EngineError> {
        self.list("SELECT position FROM gone WHERE purged = 0 ORDER BY position", [])
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

struct Key(IdDigest);

impl ToSql for Key {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Blob(&self.0.0)))
    }
}

impl FromSql for Key {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let bytes = value.as_blob()?.try_into();
        bytes.map(|bytes| Self(IdDigest(bytes))).map_err(|_| FromSqlError::InvalidBlobSize {
            expected_size: IdDigest::BYTES,
            blob_size: value.as_blob().map_or(0, <[u8]>::len),
        })
    }
}
