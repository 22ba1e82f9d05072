//! Changes since the latest checkpoint, and requests that were answered.

use std::ops::Range;

use efface_data::derived::Texts;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::Database;
use crate::error::EngineError;
use crate::life::PastRequest;

/// One change of the rows: enough to take its step again after a crash, because the bytes of rows that left are
/// overwritten only after the next checkpoint, and rows that came are written before the intent is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Intent {
    pub(crate) change: u64,
    /// Positions of rows that leave.
    pub(crate) removed: Vec<usize>,
    /// Positions of rows that come.
    pub(crate) added: Range<usize>,
    /// The texts in them, where they are kept raw.
    pub(crate) texts: Texts,
}

impl Intent {
    pub(crate) fn insert(&self, tables: &Connection) -> rusqlite::Result<()> {
        let removed: Vec<u8> = self.removed.iter().flat_map(|position| (*position as u64).to_le_bytes()).collect();
        let texts = serde_json::to_string(&self.texts)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        let insert = "INSERT INTO intents (change, removed, added_from, added_to, texts) VALUES (?1, ?2, ?3, ?4, ?5)";
        let Range { start, end } = self.added;
        tables.prepare_cached(insert)?.execute(params![self.change, removed, start, end, texts])?;
        Ok(())
    }
}

impl PastRequest {
    pub(crate) fn insert(&self, tables: &Connection, request_id: &str) -> rusqlite::Result<()> {
        let answer = serde_json::to_string(&self.report)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        let insert = "INSERT INTO requests (request, fingerprint, answer, change) VALUES (?1, ?2, ?3, ?4)";
        tables.prepare_cached(insert)?.execute(params![request_id, self.fingerprint, answer, self.change])?;
        if let Some(cells) = &self.cells {
            let insert = "INSERT INTO request_cells (request, fingerprint) VALUES (?1, ?2)";
            tables.prepare_cached(insert)?.execute(params![request_id, cells])?;
        }
        Ok(())
    }

    /// Forgets what stood in the new rows of all requests: some of them may be rows that leave.
    pub(crate) fn forget_cells(tables: &Connection) -> rusqlite::Result<()> {
        tables.prepare_cached("DELETE FROM request_cells")?.execute([])?;
        Ok(())
    }
}

impl Database {
    pub(crate) fn intents(&self) -> Result<Vec<Intent>, EngineError> {
        self.ask(|c| {
            let mut select =
                c.prepare("SELECT change, removed, added_from, added_to, texts FROM intents ORDER BY change")?;
            let intents = select.query_map([], |row| {
                let removed: Vec<u8> = row.get(1)?;
                let (positions, _) = removed.as_chunks::<8>();
                let texts: String = row.get(4)?;
                Ok(Intent {
                    change: row.get(0)?,
                    removed: positions.iter().map(|bytes| u64::from_le_bytes(*bytes) as usize).collect(),
                    added: row.get(2)?..row.get(3)?,
                    texts: serde_json::from_str(&texts).unwrap_or_default(),
                })
            })?;
            intents.collect()
        })
    }

    pub(crate) fn request_of_change(&self, change: u64) -> Result<Option<String>, EngineError> {
        self.first("SELECT request FROM requests WHERE change = ?1", [change])
    }

    pub(crate) fn past_request(&self, request_id: &str) -> Result<Option<PastRequest>, EngineError> {
        let select = "SELECT change, requests.fingerprint, request_cells.fingerprint, answer
                      FROM requests LEFT JOIN request_cells USING (request) WHERE request = ?1";
        let found: Option<(u64, String, Option<String>, String)> = self.ask(|c| {
            let mut select = c.prepare_cached(select)?;
            let parts = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
            select.query_row([request_id], parts).optional()
        })?;
        let Some((change, fingerprint, cells, answer)) = found else { return Ok(None) };
        let report = serde_json::from_str(&answer)
            .map_err(|error| self.bad(format!("the answer to request `{request_id}`: {error}")))?;
        Ok(Some(PastRequest { change, fingerprint, cells, report }))
    }
}
