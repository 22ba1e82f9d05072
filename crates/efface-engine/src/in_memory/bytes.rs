//! A model in memory as bytes: secret state and rows, for whoever carries them from one process to another.
//!
//! ```text
//! magic (8): "EFFMEM-", version ("1") | sections: length (u64), bytes | SHA-256 of all before (32)        integers and numbers little-endian
//!
//! header: JSON · state: as in a state file · features · labels · selectors · present · row weights · ids · subjects
//! ```
//!
//! Rows stand at their positions, those that left as zeros. Ids and subjects are keyed hashes; row weights, ids and subjects
//! are empty where there are none. These bytes are no durable form: a model directory is.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use efface_data::{FeatureValues, IdDigest, Precision};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::checks::check_weights;
use super::index::RowIndex;
use super::rows::{LentRows, RowTable};
use super::{MemoryModel, MemoryRelease, SinceRelease};
use crate::database::Chain;
use crate::error::EngineError;
use crate::past::AnsweredRequest;
use crate::settings::Settings;
use crate::state_file::{self, Stamp, StateFile};

const MAGIC: &[u8; 8] = b"EFFMEM-1";
const DIGEST_BYTES: usize = 32;

#[derive(Serialize, Deserialize)]
struct Header {
    settings: Settings,
    name: String,
    iterations: usize,
    sequence: u64,
    n_removed: usize,
    n_suppressed: usize,
    requests: Vec<AnsweredRequest>,
    since: SinceRelease,
    latest: Option<MemoryRelease>,
}

impl MemoryModel {
    /// The whole model with its rows: as secret as they are.
    ///
    /// # Panics
    ///
    /// Never: the header is made of plain structures.
    pub fn to_bytes(&self, lent: &LentRows<'_>) -> Result<Zeroizing<Vec<u8>>, EngineError> {
        let header = Header {
            settings: self.settings.clone(),
            name: self.name.clone(),
            iterations: self.iterations,
            sequence: self.sequence,
            n_removed: self.n_removed,
            n_suppressed: self.n_suppressed,
            requests: self.requests.values().cloned().collect(),
            since: self.since.clone(),
            latest: self.latest.clone(),
        };
        let header = Zeroizing::new(serde_json::to_vec(&header).expect("plain structures with string keys"));
        let stamp =
            Stamp { model: self.name.clone(), generation: 0, sequence: self.sequence, chain: Chain::start(&self.name) };
        let removed: Vec<IdDigest> = self.index.removed().collect();
        let (state, _) = state_file::encode(&stamp, &removed, &self.model);
        let features = self.rows.read(lent, |rows| Ok(rows.features_before_scaling()))?;
        let table = &self.rows;
        let labels = Zeroizing::new(table.labels.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>());
        let weights = table.row_weights.iter().flatten().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
        let selectors = table.selectors.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
        let present = table.present.iter().map(|present| u8::from(*present)).collect::<Vec<u8>>();
        let (ids, subjects) = self.index.digests_by_position();
        let flat = |digests: &[IdDigest]| digests.iter().flat_map(|digest| digest.0).collect::<Vec<u8>>();
        let (ids, subjects) = (flat(ids), flat(subjects));
        let sections = [&header[..], &state, &features, &labels, &selectors, &present, &weights, &ids, &subjects];
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

    /// A model from its bytes, and the rows that are to be lent to it from now on.
    pub fn from_bytes(bytes: &[u8]) -> Result<(Self, FeatureValues), EngineError> {
        let mut sections = Sections::of(bytes)?;
        let header: Header = serde_json::from_slice(sections.next()?).map_err(|error| damaged(&error.to_string()))?;
        let settings = header.settings;
        let source = Path::new(SOURCE);
        let state = StateFile::decode(source, sections.next()?)?;
        let removed = state.suppressed.clone();
        let model = state.model(source, &settings)?;
        let features = match settings.precision {
            Precision::F32 => FeatureValues::F32(numbers(sections.next()?, f32::from_le_bytes)?),
            Precision::F64 => FeatureValues::F64(numbers(sections.next()?, f64::from_le_bytes)?),
        };
        let labels = numbers(sections.next()?, f64::from_le_bytes)?;
        let selectors = numbers(sections.next()?, u64::from_le_bytes)?;
        let present: Vec<bool> = sections.next()?.iter().map(|byte| *byte != 0).collect();
        let weights = numbers(sections.next()?, f64::from_le_bytes)?;
        let ids = numbers(sections.next()?, IdDigest)?;
        let subjects = numbers(sections.next()?, IdDigest)?;
        let n_positions = labels.len();
        let fits = |n: usize| n == n_positions;
        let fits_or_none = |n: usize| n == n_positions || n == 0;
        if ![selectors.len(), present.len()].into_iter().all(fits)
            || ![weights.len(), ids.len(), subjects.len()].into_iter().all(fits_or_none)
        {
            return Err(damaged("its parts are of different lengths"));
        }
        // Checked, and kept also where all of them are 1.
        check_weights(
            Some(&weights).filter(|weights| !weights.is_empty()).map(Vec::as_slice),
            n_positions,
            settings.max_row_weight,
        )?;
        let row_weights = (!weights.is_empty()).then_some(weights);
        let n_classes = settings.n_classes();
        if settings.config.n_classes.map_or(0, |n| n as usize) != n_classes {
            return Err(damaged("its classes are not those that it was trained on"));
        }
        let n_features = settings.features.len();
        let go_on = AtomicBool::new(false);
        let lent = LentRows { features: features.slice(0..features.len()), cancel: &go_on };
        let mut rows =
            RowTable::new(&lent, &labels, selectors, row_weights, settings.transform, n_features, n_classes)?;
        if model.dim() != rows.dim() {
            let (found, expected) = (rows.dim(), model.dim());
            return Err(damaged(&format!("rows of {found} values for {expected} weights")));
        }
        let gone: Vec<usize> = (0..n_positions).filter(|position| !present[*position]).collect();
        rows.set_present(&gone, false);
        if (rows.n_present, rows.weight_sum) != (model.state().count.n_rows, model.state().count.weight_sum) {
            return Err(damaged("its rows are not those that the state counts"));
        }
        let index = RowIndex::restore(settings.id_key.clone(), ids, subjects, &present, removed);
        let model = Self {
            model,
            rows,
            index,
            name: header.name,
            iterations: header.iterations,
            sequence: header.sequence,
            n_removed: header.n_removed,
            n_suppressed: header.n_suppressed,
            requests: header.requests.into_iter().map(|request| (request.id.clone(), request)).collect(),
            since: header.since,
            latest: header.latest,
            settings,
        };
        Ok((model, features))
    }
}

/// How errors name what they are about.
const SOURCE: &str = "the bytes of a model";

fn damaged(what: &str) -> EngineError {
    EngineError::BadState { path: SOURCE.into(), reason: format!("damaged: {what}") }
}

/// The sections of bytes whose magic and digest are right.
struct Sections<'a>(&'a [u8]);

impl<'a> Sections<'a> {
    fn of(bytes: &'a [u8]) -> Result<Self, EngineError> {
        let (name, version) = MAGIC.split_at(MAGIC.len() - 1);
        match bytes.strip_prefix(name).and_then(|rest| rest.first()) {
            None => return Err(damaged("they do not begin with the magic bytes")),
            Some(found) if [*found] != *version => {
                let (found, known) = (found.escape_ascii(), version.escape_ascii());
                let reason = format!("version {found} is unknown; this program reads version {known}");
                return Err(EngineError::BadState { path: SOURCE.into(), reason });
            }
            Some(_) => {}
        }
        let content = bytes.len().checked_sub(DIGEST_BYTES).filter(|content| *content >= MAGIC.len());
        let (content, digest) = bytes.split_at(content.ok_or_else(|| damaged("they end too early"))?);
        if Sha256::digest(content).as_slice() != digest {
            return Err(damaged("their checksum does not match"));
        }
        Ok(Self(&content[MAGIC.len()..]))
    }

    fn next(&mut self) -> Result<&'a [u8], EngineError> {
        let early = || damaged("they end too early");
        let (len, rest) = self.0.split_first_chunk::<8>().ok_or_else(early)?;
        let len = usize::try_from(u64::from_le_bytes(*len)).map_err(|_| early())?;
        let (section, rest) = rest.split_at_checked(len).ok_or_else(early)?;
        self.0 = rest;
        Ok(section)
    }
}

/// A section as numbers of `N` bytes each.
fn numbers<T, const N: usize>(bytes: &[u8], read: impl Fn([u8; N]) -> T) -> Result<Vec<T>, EngineError> {
    match bytes.as_chunks::<N>() {
        (chunks, []) => Ok(chunks.iter().map(|chunk| read(*chunk)).collect()),
        _ => Err(damaged("a number is cut short")),
    }
}
