//! Files of a model directory: where they are, and how they are replaced as a whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

pub(crate) use efface_data::files::{percent_encoded, private_options};

use crate::directory::certify::signing::OWN_KEY;
use crate::directory::lock::{LOCK, WriterLock};
use crate::error::{EngineError, StorageError};

pub(crate) const DATABASE: &str = "efface.db";
pub(crate) const ROWS: &str = "rows";
pub(crate) const STATES: &str = "state";
pub(crate) const RELEASES: &str = "releases";

const PARTIAL: &str = ".partial";

pub(crate) fn state_path(directory: &Path, generation: u64) -> PathBuf {
    directory.join(STATES).join(generation.to_string())
}

pub(crate) fn state_generations(directory: &Path) -> Result<Vec<u64>, EngineError> {
    numbers_in(&directory.join(STATES))
}

/// The names in a folder that are numbers, ascending; none where there is no such folder.
pub(crate) fn numbers_in<T: FromStr + Ord>(folder: &Path) -> Result<Vec<T>, EngineError> {
    let entries = if_there(fs::read_dir(folder), folder)?.into_iter().flatten();
    let mut numbers: Vec<T> = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// What was found at a path; `None`: nothing is there.
pub(crate) fn if_there<T>(found: io::Result<T>, path: &Path) -> Result<Option<T>, EngineError> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(StorageError::Io { path: path.into(), source }.into()),
    }
}

/// Removes every state file but the one of `generation`, and what was left half written.
pub(crate) fn remove_other_states(directory: &Path, generation: u64) -> Result<(), EngineError> {
    let states = directory.join(STATES);
    let kept = state_path(directory, generation);
    let mut removed = false;
    for entry in fs::read_dir(&states).map_err(EngineError::io(&states))? {
        let path = entry.map_err(EngineError::io(&states))?.path();
        if path != kept {
            fs::remove_file(&path).map_err(EngineError::io(&path))?;
            removed = true;
        }
    }
    if removed { sync_directory(&states) } else { Ok(()) }
}

/// Replaces `path` by `bytes`: written aside, synced, renamed, and the directory synced. After a crash at any point the
/// file is the old one or the new one.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), EngineError> {
    let aside = with_suffix(path, PARTIAL);
    let written = write_synced(&aside, bytes).and_then(|()| {
        fs::rename(&aside, path).map_err(EngineError::io(path))?;
        sync_parent(path)
    });
    if written.is_err() {
        // Best effort: the file is not part of the model, and the next write replaces it.
        let _ = fs::remove_file(&aside);
    }
    written
}

/// Writes a new private file and returns once it is on the disk.
pub(crate) fn write_synced(path: &Path, bytes: &[u8]) -> Result<(), EngineError> {
    let failed = || EngineError::io(path);
    // Not into what somebody else put there, a link or a file that others can read.
    if_there(fs::remove_file(path), path)?;
    let mut file = private_options().create_new(true).open(path).map_err(failed())?;
    file.write_all(bytes).map_err(failed())?;
    file.sync_all().map_err(failed())
}

/// Makes an empty file where [`publish`] writes first: a folder that is missing or not writable is noticed here.
pub(crate) fn reserve(path: &Path) -> Result<(), EngineError> {
    // With the usual permissions: what is published is meant to be read.
    File::create(aside(path)).map(drop).map_err(EngineError::io(path))
}

/// Writes a new file with the usual permissions, whole or not at all: what is published is meant to be read.
pub(crate) fn publish(path: &Path, bytes: &[u8]) -> Result<(), EngineError> {
    let aside = aside(path);
    let written = fs::write(&aside, bytes)
        .and_then(|()| File::open(&aside)?.sync_all())
        .and_then(|()| fs::rename(&aside, path))
        .map_err(EngineError::io(path));
    if written.is_err() {
        // Best effort: it is nothing without its name.
        let _ = fs::remove_file(&aside);
    }
    written.and_then(|()| sync_parent(path))
}

/// Returns once the directory that holds `path` is on the disk.
pub(crate) fn sync_parent(path: &Path) -> Result<(), EngineError> {
    efface_data::files::sync_parent(path).map_err(EngineError::io(path))
}

pub(crate) fn sync_directory(path: &Path) -> Result<(), EngineError> {
    efface_data::files::sync_directory(path).map_err(EngineError::io(path))
}

/// Removes what killed trainings of the same model left aside, at whatever point they were killed. One that is still at
/// work holds the lock of its part.
pub(crate) fn remove_abandoned(out: &Path) {
    let Some(name) = out.file_name().and_then(|name| name.to_str()) else { return };
    let prefix = format!("{name}{PARTIAL}-");
    let Ok(entries) = fs::read_dir(parent(out)) else { return };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let number = name.to_str().and_then(|name| name.strip_prefix(&prefix));
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let ours = number.is_some_and(is_number) && is_folder && is_left_by_training(&path);
        // Locked as well where there was no lock yet: a training that has just begun makes its directory again.
        if ours && let Ok(_lock) = WriterLock::acquire(&path, Duration::ZERO) {
            // Best effort: it is not a model, and nothing depends on it.
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// Whether there is nothing in a folder but what a training puts there before its model has a name.
fn is_left_by_training(folder: &Path) -> bool {
    let all = |folder: &Path, known: &dyn Fn(&str) -> bool| {
        let Ok(mut entries) = fs::read_dir(folder) else { return false };
        entries.all(|entry| entry.is_ok_and(|entry| entry.file_name().to_str().is_some_and(known)))
    };
    let holds = |name: &str, known: &dyn Fn(&str) -> bool| {
        let inside = folder.join(name);
        !inside.exists() || all(&inside, known)
    };
    let is_database = |name: &str| {
        let suffix = name.strip_prefix(DATABASE);
        suffix.is_some_and(|suffix| ["", "-wal", "-shm", "-journal"].contains(&suffix))
    };
    let is_key = |name: &str| {
        let name = name.strip_suffix(PARTIAL).unwrap_or(name);
        name.strip_suffix(".pub").unwrap_or(name) == OWN_KEY
    };
    all(folder, &|name| [LOCK, ROWS, STATES, RELEASES].contains(&name) || is_database(name) || is_key(name))
        && holds(ROWS, &|name| name.strip_suffix(".rows").is_some_and(is_number))
        && holds(STATES, &|name| is_number(name.strip_suffix(PARTIAL).unwrap_or(name)))
        && holds(RELEASES, &|_| false)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

pub(crate) fn make_private_directory(path: &Path) -> Result<(), EngineError> {
    efface_data::files::make_private_directory(path).map_err(EngineError::io(path))
}

pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(suffix);
    path.with_file_name(name)
}

/// Where something is written by this process until it is whole.
pub(crate) fn aside(path: &Path) -> PathBuf {
    with_suffix(path, &format!("{PARTIAL}-{}", std::process::id()))
}

pub(crate) fn make_private(file: &File, path: &Path) -> Result<(), EngineError> {
    efface_data::files::make_private(file).map_err(EngineError::io(path))
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
