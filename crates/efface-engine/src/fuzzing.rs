//! Entrances for fuzzing, not for users.
//!
//! A state file counts only when the database names its digest, and a witness only beside a model: through the public
//! interface a damaged one is refused before most of the code that reads it is reached, and each try takes a transaction.

use std::path::Path;

use efface_data::derived::Texts;

use crate::directory::database::Database;
use crate::directory::state_file::{StateFile, encode};
use crate::directory::witness::{Memory, removed_in};
use crate::error::EngineError;
use crate::settings::Settings;

/// Reads a state file of a model of these settings, and writes it again.
pub fn state_file(bytes: &[u8], settings: &Settings) -> Result<Vec<u8>, EngineError> {
    let path = Path::new("state");
    let file = StateFile::decode(path, bytes)?;
    let (stamp, preparation) = (file.stamp.clone(), file.preparation(settings, Texts::new()));
    let model = file.model(path, settings)?;
    Ok(encode(&stamp, &model, preparation.as_ref()).0.to_vec())
}

/// Reads a witness: its model, the number of changes, and that of ids and subjects removed. `None`: there is no file.
pub fn witness(path: &Path) -> Result<Option<(String, u64, usize)>, EngineError> {
    let Some(known) = Memory::recall(path)? else { return Ok(None) };
    let n_removed = removed_in(path)?.len();
    Ok(Some((known.model, known.latest.map_or(0, |told| told.n_changes), n_removed)))
}

/// The settings of a model directory.
pub fn settings(directory: &Path) -> Result<Settings, EngineError> {
    Database::open_to_read(directory)?.settings()
}
