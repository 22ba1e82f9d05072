//! Whether the parts of a directory belong together, looked at without changing anything: what an old backup brought
//! back is told before the next change mends it.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use efface_data::StoredRows;
use zeroize::Zeroizing;

use super::state::is_later;
use crate::directory::database::{Database, Head};
use crate::directory::files::{self, ROWS};
use crate::directory::state_file::{DIGEST_BYTES, StateFile};
use crate::directory::witness::Memory;
use crate::error::EngineError;

/// A writer that is at work may move on between two looks; after so many it is left in peace.
const ATTEMPTS: usize = 5;

/// What is not as the database says.
pub(in crate::directory) fn out_of_step(path: &Path, database: &Database) -> Result<Vec<String>, EngineError> {
    for _ in 0..ATTEMPTS {
        let head = database.head()?;
        let found = look(path, database, &head)?;
        if found.is_empty() || database.head()? == head {
            return Ok(found);
        }
    }
    Ok(Vec::new())
}

fn look(path: &Path, database: &Database, head: &Head) -> Result<Vec<String>, EngineError> {
    let witness = database.witness()?;
    let found = [
        state(path, head),
        rows(path, &database.epochs()?),
        witness.and_then(|witness| memory(&witness, database, head).transpose()).transpose()?,
    ];
    Ok(found.into_iter().flatten().collect())
}

/// The state that the database names is the newest one there is. Its content is checked when it is opened.
fn state(path: &Path, head: &Head) -> Option<String> {
    let generations = files::state_generations(path).unwrap_or_default();
    let later = |generation: &u64| {
        let file = files::state_path(path, *generation);
        let bytes = fs::read(&file).map(Zeroizing::new).ok();
        let state = bytes.and_then(|bytes| StateFile::decode(&file, &bytes).ok());
        state.is_some_and(|state| state.stamp.model == head.history.model && is_later(&state, head))
    };
    if generations.iter().filter(|generation| **generation > head.generation).any(later) {
        return Some("the database is older than the state".into());
    }
    if digest_of(&files::state_path(path, head.generation)).is_ok_and(|digest| digest == head.state) {
        return None;
    }
    Some(
        if generations.is_empty() {
            "the state is missing"
        } else {
            "the state is not the one that the database names"
        }
        .into(),
    )
}

/// The digest at the end of a state file.
fn digest_of(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut digest = [0; DIGEST_BYTES];
    let at = file.metadata()?.len().checked_sub(DIGEST_BYTES as u64).ok_or(io::ErrorKind::UnexpectedEof)?;
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(&mut digest)?;
    Ok(hex::encode(digest))
}

/// No segment is older than the database says. One that is newer is at the end of a checkpoint.
fn rows(path: &Path, expected: &[u64]) -> Option<String> {
    match StoredRows::epochs_in(&path.join(ROWS), expected.len()) {
        Ok(found) if found.iter().zip(expected).any(|(found, expected)| found < expected) => {
            Some("row segments are older than the database".into())
        }
        Ok(_) => None,
        Err(error) => Some(format!("row segments cannot be read: {error}")),
    }
}

/// The witness is there and knows no more than the database.
fn memory(witness: &Path, database: &Database, head: &Head) -> Result<Option<String>, EngineError> {
    let memory = match Memory::recall(witness) {
        Ok(Some(memory)) => memory,
        Ok(None) => return Ok(Some(format!("the witness {} is missing", witness.display()))),
        Err(error) => return Ok(Some(format!("the witness cannot be read: {error}"))),
    };
    if memory.model != head.history.model {
        return Ok(Some(format!("the witness {} is that of another model", witness.display())));
    }
    let forgot = memory.knows_more_of(&head.ledger);
    if memory.chain == head.chain && memory.account == head.account && !forgot {
        return Ok(None);
    }
    let mut behind =
        forgot || memory.n_changes > head.history.n_changes || memory.account.n_releases > head.account.n_releases;
    for digest in &memory.suppressed {
        behind = behind || !database.is_suppressed(*digest)?;
    }
    Ok(behind.then(|| "the directory is older than its witness".into()))
}
