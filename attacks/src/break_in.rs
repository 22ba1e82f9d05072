//! What somebody does who has the model directory itself: editing the database and the state file behind the engine's back.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use efface_ledger::entry::Entry;
use efface_ledger::key::SigningKey;
use rusqlite::{Connection, OpenFlags, params};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::forgery::{Issuer, tree};

/// A model directory, broken into.
pub(crate) struct BreakIn {
    path: PathBuf,
    database: Connection,
}

impl BreakIn {
    pub(crate) fn new(path: &Path) -> anyhow::Result<Self> {
        Ok(Self {
            path: path.into(),
            database: efface_pages::open(path.join("efface.db"), OpenFlags::SQLITE_OPEN_READ_WRITE)?,
        })
    }

    /// The victim's own key and log, in the hands of an insider.
    pub(crate) fn insider(&self) -> anyhow::Result<Issuer> {
        Ok(Issuer { key: SigningKey::read(&self.path.join("signing.key"), None)?, leaves: self.leaves()? })
    }

    /// What the log says.
    pub(crate) fn leaves(&self) -> anyhow::Result<Vec<String>> {
        let mut select = self.database.prepare("SELECT leaf FROM ledger ORDER BY position")?;
        let leaves = select.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        Ok(leaves)
    }

    /// Edits the text of one entry, and nothing else.
    pub(crate) fn edit_leaf(&self, position: u64, leaf: &str) -> anyhow::Result<()> {
        self.run("UPDATE ledger SET leaf = ?2 WHERE position = ?1", params![position, leaf])
    }

    /// Takes one entry out, and nothing else.
    pub(crate) fn delete_leaf(&self, position: u64) -> anyhow::Result<()> {
        self.run("DELETE FROM ledger WHERE position = ?1", [position])
    }

    /// Puts another log in the place of the old one, with hashes and size that fit it.
    pub(crate) fn rewrite_log(&self, leaves: &[String]) -> anyhow::Result<()> {
        let mut head = self.head()?;
        let log = head["ledger"]["log"].as_str().context("the log's name")?.to_owned();
        self.database.execute_batch("DELETE FROM ledger; DELETE FROM ledger_hashes;")?;
        for (position, leaf) in (0_u64..).zip(leaves) {
            let change = Entry::from_leaf(leaf).and_then(|entry| entry.event.change());
            let insert = "INSERT INTO ledger (log, position, change, leaf) VALUES (?1, ?2, ?3, ?4)";
            self.run(insert, params![log, position, change, leaf])?;
        }
        for (position, hash) in (0_u64..).zip(tree(leaves)?) {
            let insert = "INSERT INTO ledger_hashes (log, position, hash) VALUES (?1, ?2, ?3)";
            self.run(insert, params![log, position, hash])?;
        }
        head["ledger"]["size"] = leaves.len().into();
        self.set_head(&head)
    }

    /// Makes the database name another certificate of a release, or none.
    pub(crate) fn rename_certificate(&self, release: usize, digest: Option<&str>) -> anyhow::Result<()> {
        self.run("UPDATE releases SET certificate = ?2 WHERE release = ?1", params![release, digest])
    }

    /// Replaces a file of a release.
    pub(crate) fn replace(&self, release: usize, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
        Ok(fs::write(self.path.join("releases").join(release.to_string()).join(name), bytes)?)
    }

    /// Deletes a file of a release.
    pub(crate) fn delete(&self, release: usize, name: &str) -> anyhow::Result<()> {
        Ok(fs::remove_file(self.path.join("releases").join(release.to_string()).join(name))?)
    }

    /// Writes into the secret state that nothing at all is left of the gradient.
    pub(crate) fn understate_residual(&self) -> anyhow::Result<()> {
        self.edit_state(|header, numbers| {
            header["fits"][0]["gradient_error"] = 0.0.into();
            // What is not measured would be measured before it is published.
            header["rung"] = "measured".into();
            // The weights come first, the known part of their gradient second.
            let dim = header["dim"].as_u64().unwrap_or_default() as usize;
            numbers[8 * dim..16 * dim].fill(0);
        })
    }

    /// Makes state and database forget the latest release and what it spent, and deletes its files.
    pub(crate) fn forget_release(&self, release: usize) -> anyhow::Result<()> {
        self.edit_account(|account| {
            account["n_releases"] = (release - 1).into();
            account["distances"] = 0.0.into();
            account["distance_squares"] = 0.0.into();
        })?;
        self.run("DELETE FROM releases WHERE release = ?1", [release])?;
        Ok(fs::remove_dir_all(self.path.join("releases").join(release.to_string()))?)
    }

    /// Makes state and database forget that rows have left.
    pub(crate) fn forget_who_left(&self) -> anyhow::Result<()> {
        self.edit_account(|account| account["n_left"] = 0.into())
    }

    fn edit_account(&self, edit: impl Fn(&mut Value)) -> anyhow::Result<()> {
        let mut head = self.head()?;
        edit(&mut head["account"]);
        self.set_head(&head)?;
        self.edit_state(|header, _| edit(&mut header["account"]))
    }

    /// Edits the scalars and the numbers of the secret state, with digests that fit, so that the engine believes it.
    /// `docs/design/state-file.md` has the layout.
    fn edit_state(&self, edit: impl FnOnce(&mut Value, &mut [u8])) -> anyhow::Result<()> {
        let mut head = self.head()?;
        let file = self.path.join("state").join(head["generation"].to_string());
        let bytes = fs::read(&file)?;
        let size = |at: usize| bytes[at..].first_chunk().map(|len| u64::from_le_bytes(*len) as usize);
        let header_len = size(12).context("a state")?;
        let (header, numbers) = bytes[28..bytes.len() - 32].split_at(header_len);
        let mut header: Value = serde_json::from_slice(header)?;
        let mut numbers = numbers.to_vec();
        edit(&mut header["model"], &mut numbers);
        let header = serde_json::to_vec(&header)?;
        let mut forged = bytes[..12].to_vec();
        for part in [&header[..], &numbers] {
            forged.extend((part.len() as u64).to_le_bytes());
        }
        forged.extend([&header[..], &numbers].concat());
        let digest = Sha256::digest(&forged);
        forged.extend(digest);
        fs::write(&file, forged)?;
        head["state"] = hex::encode(digest).into();
        self.set_head(&head)
    }

    fn head(&self) -> anyhow::Result<Value> {
        let select = "SELECT value FROM settings WHERE key = 'head'";
        let text: String = self.database.query_row(select, [], |row| row.get(0))?;
        Ok(serde_json::from_str(&text)?)
    }

    fn set_head(&self, head: &Value) -> anyhow::Result<()> {
        self.run("UPDATE settings SET value = ?1 WHERE key = 'head'", [head.to_string()])
    }

    fn run(&self, statement: &str, parameters: impl rusqlite::Params) -> anyhow::Result<()> {
        self.database.execute(statement, parameters)?;
        Ok(())
    }
}
