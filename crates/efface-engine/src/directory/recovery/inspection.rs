//! Whether the parts of a directory belong together, looked at without changing anything: `status` says what the next
//! change will repair.

use std::path::Path;
use std::time::Duration;

use efface_data::StoredRows;

use super::Known;
use crate::directory::certify::publication::release_folders;
use crate::directory::database::{Database, Head};
use crate::directory::files::{CERTIFICATE_FILE, MODEL_FILE, RELEASES, ROWS};
use crate::directory::witness::Memory;
use crate::error::EngineError;
use crate::status::OldPart;

/// A writer that is at work may move on between two looks, or be about to tell the witness; after so many it is left in
/// peace.
const ATTEMPTS: usize = 5;

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(10);

pub(in crate::directory) fn out_of_step(path: &Path, database: &Database) -> Result<Vec<String>, EngineError> {
    let mut before = None;
    for _ in 0..ATTEMPTS {
        let head = database.head()?;
        let found = look(path, database, &head)?;
        // The same twice, at the same head: nobody is at work.
        if found.is_empty() || before == Some((head.clone(), found.clone())) {
            return Ok(found);
        }
        before = Some((head, found));
        std::thread::sleep(PAUSE);
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
        Ok(known) => found.extend(known.found.into_iter().map(|part| part.in_words().into())),
        Err(error) => found.push(error.to_string()),
    }
    let is_behind = |memory: Memory| memory.latest.is_none_or(|told| told.is_before(head));
    found.extend(memory.is_some_and(is_behind).then(|| "the witness is older than the directory".into()));
    found.extend(rows(path, &database.epochs()?, head.generation));
    found.extend((!head.unnamed.is_empty()).then(|| "removals that a release covers are not known".into()));
    found.extend(latest_release(path, database)?);
    Ok(found)
}

/// No segment is older than the database says, and none is of a later checkpoint. One that is of the latest and newer than
/// the database says is at the end of that checkpoint.
fn rows(path: &Path, expected: &[u64], generation: u64) -> Option<String> {
    match StoredRows::epochs_in(&path.join(ROWS), expected.len()) {
        Ok(found) if found.iter().zip(expected).any(|(found, expected)| found < expected) => {
            Some(OldPart::Rows.in_words().into())
        }
        Ok(found) if found.iter().any(|epoch| *epoch > generation) => {
            Some("the database is older than the row segments".into())
        }
        Ok(_) => None,
        Err(error) => Some(format!("row segments cannot be read: {error}")),
    }
}

/// The latest release is there, if it was signed here: whoever looks for a model would find one from before it.
fn latest_release(path: &Path, database: &Database) -> Result<Option<String>, EngineError> {
    let latest = database.latest_release()?.filter(|latest| latest.certificate.is_some());
    let missing = latest.filter(|latest| {
        let (_, folder) = release_folders(path, latest.release);
        [MODEL_FILE, CERTIFICATE_FILE].iter().all(|file| !folder.join(file).exists())
    });
    Ok(missing.map(|latest| format!("release {} is not in {RELEASES}/", latest.release)))
}
