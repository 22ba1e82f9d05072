//! State files of version 1, in which the index of the rows was part of the header. Read to be upgraded, never written.

use std::collections::BTreeMap;
use std::path::Path;

use efface_core::model::Model;
use efface_data::{IdDigest, IdKey, RowId};
use serde::Deserialize;

use super::{ModelHeader, array, content, damaged, prefix};
use crate::database::PastRequest;
use crate::error::EngineError;
use crate::settings::Settings;

/// Everything that was kept of a model besides its rows.
pub(crate) struct Snapshot {
    pub(crate) settings: Settings,
    pub(crate) model: Model,
    pub(crate) index: RowIndex,
}

/// What was known of the rows: who they were, and which were gone.
#[derive(Deserialize)]
pub(crate) struct RowIndex {
    /// One per position; `None`: removed.
    pub(crate) ids: Vec<Option<RowId>>,
    /// One per position.
    pub(crate) subjects: Vec<Option<RowId>>,
    pub(crate) removed: RemovedIds,
    pub(crate) n_removed: usize,
    pub(crate) n_removed_at_release: usize,
    /// Answers by request id.
    pub(crate) requests: BTreeMap<String, PastRequest>,
}

/// Keyed hashes of ids that were removed.
#[derive(Deserialize)]
pub(crate) struct RemovedIds {
    pub(crate) key: IdKey,
    pub(crate) digests: Vec<IdDigest>,
}

#[derive(Deserialize)]
struct Header {
    settings: serde_json::Map<String, serde_json::Value>,
    index: RowIndex,
    #[serde(flatten)]
    model: ModelHeader,
}

const VERSION: u32 = 1;
const PREFIX_BYTES: usize = 8 + 4 + 2 * 8;

pub(crate) fn decode(path: &Path, bytes: &[u8]) -> Result<Snapshot, EngineError> {
    let prefix = prefix(path, bytes, VERSION, PREFIX_BYTES)?;
    let [header_len, numbers_len] = [12, 20].map(|at| u64::from_le_bytes(array(&prefix[at..])) as usize);
    let content = content(path, bytes, &[PREFIX_BYTES, header_len, numbers_len])?;
    let (header, numbers) = content[PREFIX_BYTES..].split_at(header_len);
    let header: Header = serde_json::from_slice(header).map_err(|error| damaged(path, &error.to_string()))?;
    let Header { mut settings, index, model } = header;
    if index.ids.len() != index.subjects.len() {
        return Err(damaged(path, "its parts do not fit each other"));
    }
    // The key was kept beside the hashes.
    settings.insert("id_key".into(), String::from(index.removed.key.clone()).into());
    let settings: Settings =
        serde_json::from_value(settings.into()).map_err(|error| damaged(path, &error.to_string()))?;
    let model = model.restore(path, &settings, numbers)?;
    Ok(Snapshot { settings, model, index })
}
