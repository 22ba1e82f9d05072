//! Whether the parts of a directory belong together, looked at without changing anything: `status` says what the next
//! change will repair.

use std::path::Path;

use efface_data::StoredRows;

use super::Known;
use crate::directory::database::{Database, Head};
use crate::directory::files::ROWS;
use crate::directory::witness::Memory;
use crate::error::EngineError;

/// A writer that is at work may move on between two looks; after so many it is left in peace.
const ATTEMPTS: usize = 5;

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
    let (mut found, mut memory) = (Vec::new(), None);
    if let Some(witness) = database.witness()? {
        match Memory::recall(&witness) {
            Ok(Some(known)) if known.model == head.history.model => memory = Some(known),
            Ok(Some(_)) => found.push(format!("the witness {} is that of another model", witness.display())),
            Ok(None) => found.push(format!("the witness {} is missing", witness.display())),
            Err(error) => found.push(format!("the witness cannot be read: {error}")),
        }
    }
    match Known::gather(path, database, head, memory.as_ref()) {
        Ok(known) => found.extend(known.found.into_iter().map(String::from)),
        Err(error) => found.push(error.to_string()),
    }
    found.extend(rows(path, &database.epochs()?));
    Ok(found)
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
