//! `state/removed`: who was removed, beside the state that no longer knows them. Should the database turn out to be an old
//! one, the removals are not lost.
//!
//! ```text
//! "EFFREMVD" (8) | version (u32) | (keyed hash of an id or subject (16) | CRC-32 of its number and itself (4)) …   little-endian
//! ```
//!
//! The order is that of the database, so a checkpoint appends what is new since the one before, whatever the past. All that
//! stands here was removed by a change that counts; what a checkpoint that was cut short appended did, too.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use efface_data::IdDigest;

use super::database::Database;
use super::files::{self, REMOVED, STATES};
use crate::error::{EngineError, OpenError};

/// Brings the list up to what the database has, of which it had the first `n_listed` at the latest checkpoint.
pub(crate) fn append(directory: &Path, database: &Database, n_listed: usize) -> Result<(), EngineError> {
    let path = place(directory);
    let (found, expected) = (len(&path)?, bytes_of(n_listed));
    if found.is_none_or(|found| found < expected) {
        return write(directory, &database.suppressed_after(0)?);
    }
    let new = database.suppressed_after(n_listed)?;
    if found == Some(expected) && new.is_empty() {
        return Ok(());
    }
    let failed = EngineError::io(&path);
    let written = files::private_options().open(&path).and_then(|mut file| {
        file.set_len(expected)?;
        file.seek(SeekFrom::End(0))?;
        file.write_all(&records(&new, n_listed))?;
        file.sync_all()
    });
    written.map_err(failed)
}

/// Writes the whole list anew.
pub(crate) fn write(directory: &Path, removed: &[IdDigest]) -> Result<(), EngineError> {
    let bytes = [&MAGIC[..], &VERSION.to_le_bytes(), &records(removed, 0)].concat();
    files::replace(&place(directory), &bytes)
}

/// Whether more are listed than so many. What a crash left of an append that was not finished does not count.
pub(crate) fn has_more_than(directory: &Path, n_known: usize) -> Result<bool, EngineError> {
    let path = place(directory);
    let Some(mut file) = files::if_there(File::open(&path), &path)? else { return Ok(false) };
    let mut next = Vec::new();
    file.seek(SeekFrom::Start(bytes_of(n_known)))
        .and_then(|_| file.take(RECORD_BYTES).read_to_end(&mut next))
        .map_err(EngineError::io(&path))?;
    Ok(<&[u8; RECORD_BYTES as usize]>::try_from(&next[..]).is_ok_and(|next| digest_in(n_known, next).is_some()))
}

/// All that are listed. What a crash left of an append that was not finished does not count: records of which none is whole,
/// and part of one.
pub(crate) fn read(directory: &Path) -> Result<BTreeSet<IdDigest>, EngineError> {
    let path = place(directory);
    let Some(bytes) = files::if_there(fs::read(&path), &path)? else { return Ok(BTreeSet::new()) };
    let bad = |reason: String| EngineError::Open(OpenError::BadState { path: path.clone(), reason });
    let header = bytes.strip_prefix(MAGIC).and_then(|rest| rest.split_first_chunk());
    let (version, records) = header.ok_or_else(|| bad("it is not a list of removed ids".into()))?;
    if *version != VERSION.to_le_bytes() {
        let found = u32::from_le_bytes(*version);
        return Err(bad(format!("version {found} is unknown; this program reads version {VERSION}")));
    }
    let (records, _) = records.as_chunks::<{ RECORD_BYTES as usize }>();
    let mut digests = records.iter().enumerate().map(|(number, bytes)| digest_in(number, bytes));
    let listed = digests.by_ref().map_while(|digest| digest).collect();
    if digests.any(|digest| digest.is_some()) {
        return Err(bad("the list of removed ids is damaged: a checksum does not match".into()));
    }
    Ok(listed)
}

fn digest_in(number: usize, bytes: &[u8; RECORD_BYTES as usize]) -> Option<IdDigest> {
    let digest = IdDigest(*bytes.first_chunk()?);
    (record(number, digest) == *bytes).then_some(digest)
}

const MAGIC: &[u8; 8] = b"EFFREMVD";
const VERSION: u32 = 1;
const HEADER_BYTES: u64 = 12;
const RECORD_BYTES: u64 = IdDigest::BYTES as u64 + 4;

pub(crate) fn place(directory: &Path) -> PathBuf {
    directory.join(STATES).join(REMOVED)
}

fn len(path: &Path) -> Result<Option<u64>, EngineError> {
    Ok(files::if_there(fs::metadata(path), path)?.map(|file| file.len()))
}

fn bytes_of(n_listed: usize) -> u64 {
    HEADER_BYTES + RECORD_BYTES * n_listed as u64
}

fn records(digests: &[IdDigest], first: usize) -> Vec<u8> {
    digests.iter().zip(first..).flat_map(|(digest, number)| record(number, *digest)).collect()
}

/// One that stands in the place of another does not match.
fn record(number: usize, digest: IdDigest) -> [u8; RECORD_BYTES as usize] {
    let mut record = [0; RECORD_BYTES as usize];
    let (start, end) = record.split_at_mut(IdDigest::BYTES);
    start.copy_from_slice(&digest.0);
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&(number as u64).to_le_bytes());
    checksum.update(&digest.0);
    end.copy_from_slice(&checksum.finalize().to_le_bytes());
    record
}
