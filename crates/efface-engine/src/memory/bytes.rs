//! A model in memory as bytes: secret state and rows, for whoever carries them from one process to another of the same
//! version.
//!
//! Sections: header (JSON) · state (as in a state file) · removed · rows · ids · subjects.
//!
//! Removed ids, ids and subjects are keyed hashes, none where rows are numbered or belong to nobody. These bytes are no durable form: a
//! model directory is.

use std::path::Path;

use efface_data::derived::Texts;
use efface_data::{FeatureValues, IdDigest, LentTable, LentVault, Vault};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::MemoryModel;
use super::index::RowIndex;
use super::keeper::MemoryKeeper;
use crate::directory::database::Chain;
use crate::directory::state_file::{self, Stamp, StateFile};
use crate::error::EngineError;
use crate::life::{Keeper, LatestRelease, Past};
use crate::sealed::Seal;
use crate::settings::Settings;

const SEAL: Seal = Seal { magic: b"EFFMEMRY", version: 1, name: "model" };

#[derive(Serialize, Deserialize)]
struct Header {
    settings: Settings,
    iterations: usize,
    past: Past,
    latest: Option<LatestRelease>,
    /// The texts that are categories of columns, by their hashes.
    #[serde(default)]
    texts: Texts,
}

impl MemoryModel {
    /// The whole model with its rows: as secret as they are.
    #[expect(clippy::missing_panics_doc, reason = "the header is made of plain structures")]
    pub fn to_bytes(&self, rows: &LentVault<'_>) -> Result<Zeroizing<Vec<u8>>, EngineError> {
        self.keeper.check_usable()?;
        let (past, latest) = (self.keeper.past.clone(), self.keeper.latest.clone());
        let texts = rows.preparation().map(|preparation| preparation.counts().texts()).unwrap_or_default();
        let header = Header { settings: self.settings.clone(), iterations: self.iterations, past, latest, texts };
        let header = Zeroizing::new(serde_json::to_vec(&header).expect("plain structures with string keys"));
        let history = &self.keeper.past.history;
        let (generation, chain) = (0, Chain::start(&history.model));
        let stamp = Stamp {
            model: history.model.clone(),
            generation,
            n_changes: history.n_changes,
            complete_until: history.n_changes,
            chain,
            n_removed: 0,
        };
        let (state, _) = state_file::encode(&stamp, &self.model, rows.preparation());
        let rows = rows.to_bytes()?;
        let (ids, subjects) = self.keeper.index.digests_by_position();
        let flat = |digests: &[IdDigest]| digests.iter().flat_map(|digest| digest.0).collect::<Vec<u8>>();
        let removed = flat(&self.keeper.index.removed());
        Ok(SEAL.close([&header, &state, &removed, &rows, &flat(ids), &flat(subjects)]).0)
    }

    /// A model from its bytes, with what is known of its rows, and the rows that are to be lent to it from now on.
    pub fn from_bytes(bytes: &[u8]) -> Result<(Self, LentTable, FeatureValues), EngineError> {
        let [header, state, removed, rows, ids, subjects] = SEAL.open(Path::new(SOURCE), bytes)?;
        let header: Header = serde_json::from_slice(header).map_err(|error| damaged(&error.to_string()))?;
        let Header { settings, iterations, past, latest, texts } = header;
        let source = Path::new(SOURCE);
        let state = StateFile::decode(source, state)?;
        let preparation = state.preparation(&settings, texts);
        let model = state.model(source, &settings)?;
        if settings.config.n_classes.map_or(0, |n| n as usize) != settings.n_classes() {
            return Err(damaged("its classes are not those that it was trained on"));
        }
        let (table, lent) = LentTable::from_bytes(rows, settings.row_spec(), settings.precision, preparation)?;
        if model.dim() != table.dim() {
            let (found, expected) = (table.dim(), model.dim());
            return Err(damaged(&format!("rows of {found} values for {expected} weights")));
        }
        if table.count() != model.state().count {
            return Err(damaged("its rows are not those that the state counts"));
        }
        let (removed, ids, subjects) = (digests(removed)?, digests(ids)?, digests(subjects)?);
        if ![ids.len(), subjects.len()].into_iter().all(|n| n == 0 || n == table.n_positions()) {
            return Err(damaged("its parts are of different lengths"));
        }
        let present = (0..table.n_positions()).map(|position| table.is_present(position)).collect();
        let index = RowIndex::restore(settings.id_key.clone(), ids, subjects, present, removed);
        let keeper = MemoryKeeper { index, past, latest, unpurged: Vec::new(), has_given_up: false };
        Ok((Self { settings, model, keeper, iterations }, table, lent))
    }
}

const SOURCE: &str = "the bytes of a model";

fn damaged(what: &str) -> EngineError {
    SEAL.damaged(Path::new(SOURCE), what)
}

fn digests(bytes: &[u8]) -> Result<Vec<IdDigest>, EngineError> {
    match bytes.as_chunks() {
        (chunks, []) => Ok(chunks.iter().map(|chunk| IdDigest(*chunk)).collect()),
        _ => Err(damaged("a digest is cut short")),
    }
}
