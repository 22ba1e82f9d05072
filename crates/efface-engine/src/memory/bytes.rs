//! A model in memory as bytes: secret state and rows, for whoever carries them from one process to another of the same
//! version.
//!
//! ```text
//! magic (8): "EFFMEM-" and the version | sections: length (u64), bytes | SHA-256 of all before (32)        integers little-endian
//!
//! header: JSON · state: as in a state file · rows · ids · subjects
//! ```
//!
//! Ids and subjects are keyed hashes, none where rows are numbered or belong to nobody. These bytes are no durable form: a
//! model directory is.

use std::path::Path;

use efface_data::{FeatureValues, IdDigest, LentTable, LentVault};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::MemoryModel;
use super::index::RowIndex;
use super::keeper::MemoryKeeper;
use crate::directory::database::Chain;
use crate::directory::state_file::{self, Stamp, StateFile};
use crate::error::{EngineError, OpenError};
use crate::life::{Keeper, LatestRelease, Past};
use crate::published::PublishedModel;
use crate::settings::Settings;

const MAGIC: &[u8; 8] = b"EFFMEM-1";
const DIGEST_BYTES: usize = 32;

#[derive(Serialize, Deserialize)]
struct Header {
    settings: Settings,
    iterations: usize,
    past: Past,
    /// The latest release and its certificate.
    latest: Option<(PublishedModel, String)>,
}

impl MemoryModel {
    /// The whole model with its rows: as secret as they are.
    #[expect(clippy::missing_panics_doc, reason = "the header is made of plain structures")]
    pub fn to_bytes(&self, rows: &LentVault<'_>) -> Result<Zeroizing<Vec<u8>>, EngineError> {
        self.keeper.check_usable()?;
        let latest = self.keeper.latest.clone().map(|latest| (latest.model, latest.certificate));
        let past = self.keeper.past.clone();
        let header = Header { settings: self.settings.clone(), iterations: self.iterations, past, latest };
        let header = Zeroizing::new(serde_json::to_vec(&header).expect("plain structures with string keys"));
        let history = &self.keeper.past.history;
        let (generation, chain) = (0, Chain::start(&history.model));
        let stamp = Stamp { model: history.model.clone(), generation, n_changes: history.n_changes, chain };
        let (state, _) = state_file::encode(&stamp, &self.keeper.index.removed(), &self.model);
        let rows = rows.to_bytes()?;
        let (ids, subjects) = self.keeper.index.digests_by_position();
        let flat = |digests: &[IdDigest]| digests.iter().flat_map(|digest| digest.0).collect::<Vec<u8>>();
        let sections = [&header[..], &state, &rows, &flat(ids), &flat(subjects)];
        let len = MAGIC.len() + sections.iter().map(|section| 8 + section.len()).sum::<usize>() + DIGEST_BYTES;
        let mut bytes = Zeroizing::new(Vec::with_capacity(len));
        bytes.extend(MAGIC);
        for section in sections {
            bytes.extend((section.len() as u64).to_le_bytes());
            bytes.extend(section);
        }
        let digest = Sha256::digest(&*bytes);
        bytes.extend(digest);
        Ok(bytes)
    }

    /// A model from its bytes, with what is known of its rows, and the rows that are to be lent to it from now on.
    pub fn from_bytes(bytes: &[u8]) -> Result<(Self, LentTable, FeatureValues), EngineError> {
        let [header, state, rows, ids, subjects] = sections(bytes)?;
        let header: Header = serde_json::from_slice(header).map_err(|error| damaged(&error.to_string()))?;
        let Header { settings, iterations, past, latest } = header;
        let source = Path::new(SOURCE);
        let state = StateFile::decode(source, state)?;
        let removed = state.suppressed.clone();
        let model = state.model(source, &settings)?;
        if settings.config.n_classes.map_or(0, |n| n as usize) != settings.n_classes() {
            return Err(damaged("its classes are not those that it was trained on"));
        }
        let (table, lent) = LentTable::from_bytes(rows, settings.row_spec(), settings.precision)?;
        if model.dim() != table.dim() {
            let (found, expected) = (table.dim(), model.dim());
            return Err(damaged(&format!("rows of {found} values for {expected} weights")));
        }
        if table.count() != model.state().count {
            return Err(damaged("its rows are not those that the state counts"));
        }
        let (ids, subjects) = (digests(ids)?, digests(subjects)?);
        if ![ids.len(), subjects.len()].into_iter().all(|n| n == 0 || n == table.n_positions()) {
            return Err(damaged("its parts are of different lengths"));
        }
        let present = (0..table.n_positions()).map(|position| table.is_present(position)).collect();
        let index = RowIndex::restore(settings.id_key.clone(), ids, subjects, present, removed);
        let latest = latest.map(|(model, certificate)| LatestRelease { model, certificate });
        let keeper = MemoryKeeper { index, past, latest, unpurged: Vec::new(), has_given_up: false };
        Ok((Self { settings, model, keeper, iterations }, table, lent))
    }
}

/// How errors name what they are about.
const SOURCE: &str = "the bytes of a model";

fn damaged(what: &str) -> EngineError {
    EngineError::Open(OpenError::BadState { path: SOURCE.into(), reason: format!("damaged: {what}") })
}

/// The sections of bytes whose magic and digest are right.
fn sections(bytes: &[u8]) -> Result<[&[u8]; 5], EngineError> {
    let early = || damaged("they end too early");
    let (name, version) = MAGIC.split_at(MAGIC.len() - 1);
    match bytes.strip_prefix(name).and_then(|rest| rest.first()) {
        None => return Err(damaged("they do not begin with the magic bytes")),
        Some(found) if [*found] != *version => {
            let (found, known) = (found.escape_ascii(), version.escape_ascii());
            let reason = format!("version {found} is unknown; this program reads version {known}");
            return Err(OpenError::BadState { path: SOURCE.into(), reason }.into());
        }
        Some(_) => {}
    }
    let content = bytes.len().checked_sub(DIGEST_BYTES).filter(|content| *content >= MAGIC.len());
    let (content, digest) = bytes.split_at(content.ok_or_else(early)?);
    if Sha256::digest(content).as_slice() != digest {
        return Err(damaged("their checksum does not match"));
    }
    let (mut rest, mut sections) = (&content[MAGIC.len()..], [&[][..]; 5]);
    for section in &mut sections {
        let (len, behind) = rest.split_first_chunk::<8>().ok_or_else(early)?;
        let len = usize::try_from(u64::from_le_bytes(*len)).map_err(|_| early())?;
        (*section, rest) = behind.split_at_checked(len).ok_or_else(early)?;
    }
    Ok(sections)
}

fn digests(bytes: &[u8]) -> Result<Vec<IdDigest>, EngineError> {
    match bytes.as_chunks() {
        (chunks, []) => Ok(chunks.iter().map(|chunk| IdDigest(*chunk)).collect()),
        _ => Err(damaged("a digest is cut short")),
    }
}
