//! The database of a model directory: what is known of the rows, and what was asked for. No id in clear, no feature.
//!
//! | table | holds |
//! |---|---|
//! | `settings` | one JSON value per key: the settings, the head, the status, what was repaired |
//! | `rows` | position → keyed hashes of the row's id and its subject; only rows that are present |
//! | `gone` | positions of rows that left: a bit each, in chunks |
//! | `unpurged` | those of them whose bytes have still to be overwritten |
//! | `intents` | changes since the latest checkpoint: positions that left, positions that came |
//! | `requests` | answers by request id |
//! | `request_cells` | keyed hashes of the rows that requests added, until a row leaves |
//! | `releases` | what was published, when, and what it spent |
//! | `suppressed` | keyed hashes of the ids and subjects that were removed, numbered from 1 |
//! | `segments` | the epoch that the header of each row segment must show |
//! | `ledger` | the entries of the log |
//! | `ledger_hashes` | the hashes of its perfect subtrees |
//! | `touched` | keyed hashes of the people whose rows left or changed since the latest release |

mod head;
pub(crate) mod index;
mod journal;
pub(crate) mod ledger;
mod releases;

pub(crate) use head::{Chain, Head, UnnamedRemoval, put};
pub(crate) use journal::Intent;
pub(crate) use ledger::LedgerHead;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::FromSql;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Params, TransactionBehavior};

use crate::directory::files;
use crate::error::{ChangeError, EngineError, OpenError, StorageError};

pub(crate) struct Database {
    /// There until it is dropped.
    connection: Option<Connection>,
    path: PathBuf,
    /// Who opened it: SQLite's connections do not survive a fork.
    process: u32,
}

pub(crate) type Tables<'a> = rusqlite::Transaction<'a>;

/// What the tables look like. Written into the file's `user_version`.
const VERSION: i64 = 1;

const TABLES: &str = "
    CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE rows (position INTEGER PRIMARY KEY, id BLOB NOT NULL, subject BLOB) STRICT;
    CREATE TABLE gone (chunk INTEGER PRIMARY KEY, bits BLOB NOT NULL) STRICT;
    CREATE TABLE unpurged (position INTEGER PRIMARY KEY) STRICT;
    CREATE TABLE intents (change INTEGER PRIMARY KEY, removed BLOB NOT NULL, added_from INTEGER NOT NULL,
                          added_to INTEGER NOT NULL, texts TEXT NOT NULL) STRICT;
    CREATE TABLE requests (request TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, answer TEXT NOT NULL,
                           change INTEGER NOT NULL) STRICT;
    CREATE TABLE request_cells (request TEXT PRIMARY KEY, fingerprint TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE releases (release INTEGER PRIMARY KEY, time INTEGER, n_removed INTEGER NOT NULL,
                           certified INTEGER NOT NULL, certificate TEXT, n_changes INTEGER) STRICT;
    CREATE TABLE suppressed (number INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE) STRICT;
    CREATE TABLE segments (segment INTEGER PRIMARY KEY, epoch INTEGER NOT NULL) STRICT;
    CREATE TABLE ledger (log TEXT NOT NULL, position INTEGER NOT NULL, change INTEGER, leaf TEXT NOT NULL,
                         PRIMARY KEY (log, position)) STRICT, WITHOUT ROWID;
    CREATE TABLE ledger_hashes (log TEXT NOT NULL, position INTEGER NOT NULL, hash BLOB NOT NULL,
                                PRIMARY KEY (log, position)) STRICT, WITHOUT ROWID;
    CREATE TABLE touched (digest BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;
    CREATE INDEX ledger_by_change ON ledger (change) WHERE change IS NOT NULL;
    CREATE INDEX requests_by_change ON requests (change);
    PRAGMA user_version = 1;
";

/// Indexes of the rows, made once all rows are there: sorting them is faster than finding a place for each.
const INDEXES: &str = "
    CREATE UNIQUE INDEX rows_by_id ON rows (id);
    CREATE INDEX rows_by_subject ON rows (subject) WHERE subject IS NOT NULL;
";

/// How long a writer waits for a reader that is in the way of shortening the write-ahead log, and the other way round.
const PATIENCE: Duration = Duration::from_secs(10);

/// The log can be cut by the next checkpoint as well: it holds no id in clear and no feature.
const SHORT_PATIENCE: Duration = Duration::from_millis(200);

impl Database {
    /// Makes a database without rows, to be filled and then [finished](Self::finish_import). Until then a crash may
    /// leave anything: the directory has no name yet.
    pub(crate) fn create(directory: &Path) -> Result<Self, EngineError> {
        let path = directory.join(files::DATABASE);
        // Made here, so that it is never readable by others.
        files::private_options().create_new(true).open(&path).map_err(EngineError::io(&path))?;
        let database = Self::of(efface_pages::create(&path), path)?;
        database.run("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;")?;
        database.run(TABLES)?;
        database.run("BEGIN")?;
        Ok(database)
    }

    pub(crate) fn finish_import(self) -> Result<Self, EngineError> {
        self.run(INDEXES).map_err(|error| match self.first_repeated_id() {
            Ok(Some((first, second))) => EngineError::Change(ChangeError::RepeatedId { first, second }),
            _ => error,
        })?;
        self.run("COMMIT; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(TRUNCATE);")?;
        let path = self.path.clone();
        drop(self);
        std::fs::File::open(&path).and_then(|file| file.sync_all()).map_err(EngineError::io(&path))?;
        Self::open_at(path)
    }

    pub(crate) fn open(directory: &Path) -> Result<Self, EngineError> {
        Self::open_at(directory.join(files::DATABASE))
    }

    fn open_at(path: PathBuf) -> Result<Self, EngineError> {
        let database = Self::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        database.run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")?;
        database.check_version()?;
        Ok(database)
    }

    /// Opens the database of a model directory for reading, beside a writer or in a directory that cannot be written.
    pub(crate) fn open_to_read(directory: &Path) -> Result<Self, EngineError> {
        let path = directory.join(files::DATABASE);
        let database = Self::connect(path.clone(), OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        if database.check_version().is_ok() {
            return Ok(database);
        }
        // Without the right to make the log's index beside it, a database can still be read as a file that nobody changes.
        match Self::open_unchanging(directory)? {
            Some(fallback) if fallback.check_version().is_ok() => Ok(fallback),
            _ => database.check_version().map(|()| database),
        }
    }

    /// The same where nobody changes it meanwhile: no file is made beside it, unless a crash left changes in its log.
    pub(crate) fn open_still(directory: &Path) -> Result<Self, EngineError> {
        match Self::open_unchanging(directory)? {
            Some(database) => database.check_version().map(|()| database),
            None => Self::open_to_read(directory),
        }
    }

    /// As a file that nobody changes, if all of it is in that file: what is in the log would be overlooked.
    fn open_unchanging(directory: &Path) -> Result<Option<Self>, EngineError> {
        let (path, log) = (directory.join(files::DATABASE), directory.join(format!("{}-wal", files::DATABASE)));
        if std::fs::metadata(log).is_ok_and(|log| log.len() > 0) {
            return Ok(None);
        }
        let uri = format!("file:{}?immutable=1", files::percent_encoded(&path));
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        Self::new(efface_pages::open(uri, flags), path).map(Some)
    }

    fn connect(path: PathBuf, flags: OpenFlags) -> Result<Self, EngineError> {
        Self::of(efface_pages::open(&path, flags), path)
    }

    fn new(connection: rusqlite::Result<Connection>, path: PathBuf) -> Result<Self, EngineError> {
        let connection = Some(connection.map_err(failed(&path))?);
        Ok(Self { connection, path, process: std::process::id() })
    }

    fn of(connection: rusqlite::Result<Connection>, path: PathBuf) -> Result<Self, EngineError> {
        let database = Self::new(connection, path)?;
        database.ask(|c| c.busy_timeout(PATIENCE))?;
        database.run("PRAGMA secure_delete = ON; PRAGMA trusted_schema = OFF;")?;
        Ok(database)
    }

    fn check_version(&self) -> Result<(), EngineError> {
        let version: i64 = self.ask(|c| c.query_row("PRAGMA user_version", [], |row| row.get(0)))?;
        if version == VERSION {
            return Ok(());
        }
        let reason = format!("database version {version} is unknown; this program reads version {VERSION}");
        Err(OpenError::BadState { path: self.path.clone(), reason }.into())
    }

    /// Runs `change` as one durable transaction: all of it, or nothing.
    pub(crate) fn commit<T>(
        &mut self,
        change: impl FnOnce(&Tables<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, EngineError> {
        self.check_process()?;
        let connection = self.connection.as_mut().ok_or(StorageError::Damaged)?;
        let done = connection.transaction_with_behavior(TransactionBehavior::Immediate).and_then(|tables| {
            let done = change(&tables)?;
            tables.commit()?;
            Ok(done)
        });
        done.map_err(failed(&self.path))
    }

    pub(crate) fn ask<T>(&self, question: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, EngineError> {
        self.check_process()?;
        question(self.connection.as_ref().ok_or(StorageError::Damaged)?).map_err(failed(&self.path))
    }

    /// A handle belongs to the process that opened it.
    pub(crate) fn check_process(&self) -> Result<(), EngineError> {
        if self.process == std::process::id() {
            return Ok(());
        }
        Err(StorageError::OtherProcess { process: self.process }.into())
    }

    /// The first column of every row that is found.
    fn list<T: FromSql>(&self, select: &str, parameters: impl Params) -> Result<Vec<T>, EngineError> {
        self.ask(|c| c.prepare_cached(select)?.query_map(parameters, |row| row.get(0))?.collect())
    }

    /// The first column of the first one.
    fn first<T: FromSql>(&self, select: &str, parameters: impl Params) -> Result<Option<T>, EngineError> {
        self.ask(|c| c.prepare_cached(select)?.query_row(parameters, |row| row.get(0)).optional())
    }

    /// Writes the log into the database and cuts it to nothing, so that no old page is left in it. A reader can be in
    /// the way; then the next checkpoint does it.
    pub(crate) fn truncate_log(&self) -> Result<(), EngineError> {
        self.ask(|c| {
            c.busy_timeout(SHORT_PATIENCE)?;
            let truncated = c.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            c.busy_timeout(PATIENCE)?;
            truncated
        })
    }

    /// What does not fit together in the tables and their indexes, if anything.
    pub(crate) fn inconsistency(&self) -> Result<Option<String>, EngineError> {
        let found: Option<String> = self.first("PRAGMA integrity_check(1)", [])?;
        Ok(found.filter(|found| found != "ok"))
    }

    fn run(&self, statements: &str) -> Result<(), EngineError> {
        self.ask(|c| c.execute_batch(statements))
    }

    fn first_repeated_id(&self) -> Result<Option<(usize, usize)>, EngineError> {
        let repeated = "SELECT min(position), max(position) FROM rows GROUP BY id HAVING count(*) > 1
                        ORDER BY 2 LIMIT 1";
        self.ask(|c| {
            let mut statement = c.prepare(repeated)?;
            let mut found = statement.query([])?;
            found.next()?.map(|row| Ok((row.get(0)?, row.get(1)?))).transpose()
        })
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // To close a connection that another process has would change its files behind its back.
        if self.process != std::process::id() {
            std::mem::forget(self.connection.take());
        }
    }
}

fn failed(path: &Path) -> impl FnOnce(rusqlite::Error) -> EngineError {
    let path = path.to_path_buf();
    move |source| {
        EngineError::Storage(if efface_pages::is_damage(&source) {
            StorageError::DamagedDatabase { path }
        } else {
            StorageError::Database { path, source: Box::new(source) }
        })
    }
}
