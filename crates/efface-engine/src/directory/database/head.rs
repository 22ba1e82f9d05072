//! What the database says of the model as a whole.

use efface_core::model::ReleaseAccount;
use efface_data::derived::Texts;
use rusqlite::{Connection, params};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Database, Intent, LedgerHead};
use crate::clock;
use crate::error::{EngineError, OpenError};
use crate::history::{History, Kept, RowKeys};
use crate::settings::Settings;
use crate::status::{OldPart, Repair, Status};

/// Where a model directory stands. Changes with every commit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Head {
    pub(crate) history: History,
    pub(crate) chain: Chain,
    /// The latest checkpoint; its state file belongs to this head less the intents.
    pub(crate) generation: u64,
    /// SHA-256 of that file.
    pub(crate) state: String,
    /// Of the ids and subjects removed by then, so many are in `state/removed`: all.
    pub(crate) n_listed: usize,
    /// Positions that count, those of rows that left included.
    pub(crate) n_positions: usize,
    pub(crate) account: ReleaseAccount,
    pub(crate) ledger: LedgerHead,
    /// Removals that a certificate speaks of and the directory does not know: it was restored, the release was not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) unnamed: Vec<UnnamedRemoval>,
}

/// A removal of which nothing is known but what a certificate says: how many rows, and a commitment to them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UnnamedRemoval {
    pub(crate) change: u64,
    pub(crate) n_rows: usize,
    pub(crate) rows: String,
}

impl UnnamedRemoval {
    /// Whether it was the removal of these rows, in this order.
    pub(crate) fn is_of(&self, settings: &Settings, removed: &[RowKeys]) -> bool {
        let change = settings.logged_change(self.change, removed.len(), removed, None);
        change.rows.as_ref() == Some(&self.rows)
    }
}

/// A hash over all changes of the rows so far: two histories with equal chains are the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Chain(pub(crate) String);

impl Chain {
    pub(crate) fn start(model: &str) -> Self {
        Self(hex::encode(Sha256::new().chain_update(b"efface-model").chain_update(model).finalize()))
    }

    /// The chain after one more change.
    ///
    /// ```text
    /// SHA-256(chain ‖ n_removed ‖ (position ‖ id)… ‖ added_from ‖ added_to ‖ id…)      integers: u64, little-endian
    /// ```
    pub(crate) fn after(&self, intent: &Intent, removed: &[RowKeys], added: &[RowKeys]) -> Self {
        let mut hasher = Sha256::new().chain_update(&self.0).chain_update((removed.len() as u64).to_le_bytes());
        for (position, keys) in intent.removed.iter().zip(removed) {
            hasher.update((*position as u64).to_le_bytes());
            hasher.update(keys.id.0);
        }
        for end in [intent.added.start, intent.added.end] {
            hasher.update((end as u64).to_le_bytes());
        }
        for keys in added {
            hasher.update(keys.id.0);
        }
        Self(hex::encode(hasher.finalize()))
    }
}

impl Head {
    /// Up to this change the directory knows every removal.
    pub(crate) fn complete_until(&self) -> u64 {
        let first = self.unnamed.iter().map(|removal| removal.change.saturating_sub(1)).min();
        self.history.n_changes.min(first.unwrap_or(u64::MAX))
    }

    /// The status of the model, as far as it is known without the tables.
    pub(crate) fn status(&self, of: Kept<'_>) -> Status {
        let LedgerHead { size: log_size, policy, .. } = self.ledger;
        let (key_id, revoked) = (self.ledger.key_id.clone(), self.ledger.revoked.clone());
        Status { policy, revoked, key_id, log_size, ..Status::of(of, &self.history) }
    }
}

impl Database {
    pub(crate) fn head(&self) -> Result<Head, EngineError> {
        self.required("head")
    }

    pub(crate) fn settings(&self) -> Result<Settings, EngineError> {
        self.required("settings")
    }

    pub(crate) fn status(&self) -> Result<Status, EngineError> {
        self.required("status")
    }

    /// What was repaired so far, oldest first.
    pub(crate) fn repairs(&self) -> Result<Vec<Repair>, EngineError> {
        Ok(self.value("repairs")?.unwrap_or_default())
    }

    /// Rows that were found to be damaged and are still there.
    pub(crate) fn damaged(&self) -> Result<Vec<usize>, EngineError> {
        let noted: Vec<usize> = self.value("damaged")?.unwrap_or_default();
        let mut present = Vec::new();
        for position in noted {
            present.extend(self.first::<usize>("SELECT position FROM rows WHERE position = ?1", [position])?);
        }
        Ok(present)
    }

    /// The texts that are categories of a column, by their hashes.
    pub(crate) fn texts(&self) -> Result<Texts, EngineError> {
        Ok(self.value("texts")?.unwrap_or_default())
    }

    /// What was repaired so far, and one more.
    pub(crate) fn repairs_and(
        &self,
        found: Vec<OldPart>,
        n_removed_again: usize,
        n_lost: usize,
    ) -> Result<Vec<Repair>, EngineError> {
        let mut repairs = self.repairs()?;
        repairs.push(Repair { time: clock::now(), found, n_removed_again, n_lost });
        Ok(repairs)
    }

    pub(crate) fn witness(&self) -> Result<Option<std::path::PathBuf>, EngineError> {
        self.value("witness")
    }

    pub(crate) fn set_witness(&mut self, path: &std::path::Path) -> Result<(), EngineError> {
        self.commit(|tables| put(tables, "witness", &path))
    }

    /// Where the key that signs is; `None`: in the directory itself.
    pub(crate) fn key(&self) -> Result<Option<std::path::PathBuf>, EngineError> {
        self.value("key")
    }

    fn required<T: DeserializeOwned>(&self, key: &str) -> Result<T, EngineError> {
        self.value(key)?.ok_or_else(|| self.bad(format!("the database has no `{key}`")))
    }

    fn value<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, EngineError> {
        let text: Option<String> = self.first("SELECT value FROM settings WHERE key = ?1", [key])?;
        text.map(|text| serde_json::from_str(&text).map_err(|error| self.bad(format!("`{key}`: {error}")))).transpose()
    }

    pub(super) fn bad(&self, reason: String) -> EngineError {
        EngineError::Open(OpenError::BadState { path: self.path.clone(), reason })
    }
}

pub(crate) fn put(tables: &Connection, key: &str, value: &impl Serialize) -> rusqlite::Result<()> {
    let text = serde_json::to_string(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    let insert = "INSERT INTO settings (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2";
    tables.prepare_cached(insert)?.execute(params![key, text])?;
    Ok(())
}
