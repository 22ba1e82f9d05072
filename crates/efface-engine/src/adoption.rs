//! Adoption: a model that was trained in memory, and has lived there, gets a directory and goes on living in it.
//!
//! Nothing is trained. The rows are written as they are, at the positions that they have, and what was removed and
//! released before is carried over: the directory continues the account and lets no removed row come back.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use efface_core::model::Model;
use efface_core::rows::{RowCount, RowStore};
use efface_data::{Columns, EncodedRows, IdDigest, IdKey, LabelCodec, Precision, RowLayout, RowTransform};
use efface_ledger::certificate::ReleasePolicy;

use crate::database::RowKeys;
use crate::error::EngineError;
use crate::import::row_keys;
use crate::memory;
use crate::model_directory::{ModelDirectory, OpenOptions, check_is_bounded, in_words};
use crate::new_directory::{Beginning, NewDirectory};
use crate::past::AdoptedPast;
use crate::row_sink::RowSink;
use crate::settings::{RowNames, Settings};

/// A model in memory, and where its directory is made.
pub struct AdoptRequest<'a> {
    /// The model. Its configuration becomes that of the directory, what its releases have spent stays spent.
    pub model: Model,
    /// Its rows, those present, in the order of their positions.
    pub rows: Box<dyn Iterator<Item = Result<AdoptedRows, EngineError>> + 'a>,
    /// Number of positions, those of removed rows included.
    pub n_positions: usize,
    /// Names of the features, in the model's order, without the intercept.
    pub features: Vec<String>,
    /// The roles of columns in files of rows to come.
    pub columns: Columns,
    /// What rows can be called by.
    pub row_names: RowNames,
    /// How rows are scaled.
    pub transform: RowTransform,
    /// How labels become numbers.
    pub codec: LabelCodec,
    /// Precision in which rows are kept: that in which the model has them.
    pub precision: Precision,
    /// Salt of the selectors.
    pub salt: [u8; 32],
    /// Key of the hashes in `suppressed`, and of all others.
    pub id_key: IdKey,
    /// The most that a row may weigh; `None`: every row counts once.
    pub max_row_weight: Option<f64>,
    /// Whether the bound on the length of rows was taken from the rows.
    pub row_norm_from_rows: bool,
    /// Ids and subjects that were removed and must not come back.
    pub suppressed: Vec<IdDigest>,
    /// What happened to it so far.
    pub past: AdoptedPast,
    /// When releases are made.
    pub policy: ReleasePolicy,
    /// The key that signs certificates; `None`: one of the directory's own.
    pub key: Option<PathBuf>,
    /// A file elsewhere that remembers what was removed. Must not exist.
    pub witness: Option<PathBuf>,
    /// Rows are held in memory up to so many bytes; `None`: a quarter of the machine's memory.
    pub memory_bytes: Option<u64>,
    /// Where the model directory is made. Must not exist.
    pub out: PathBuf,
}

/// Some of the rows of a model in memory.
#[derive(Debug)]
pub struct AdoptedRows {
    /// As the model has them: scaled, with labels as numbers, ids, subjects and weights.
    pub rows: EncodedRows,
    /// One per row, ascending, also from one chunk to the next.
    pub positions: Vec<usize>,
    /// What rows are found by, where nobody has their ids in clear any more; `None`: the ids and subjects in `rows`.
    pub found_by: Option<FoundBy>,
}

/// What rows are found by, in the place of ids.
#[derive(Debug)]
pub struct FoundBy {
    /// One per row, under the key of the request.
    pub ids: Vec<IdDigest>,
    /// One per row, where rows belong to somebody.
    pub subjects: Option<Vec<IdDigest>>,
    /// One per row, under the salt of the request.
    pub selectors: Vec<u64>,
}

impl FoundBy {
    fn keys(&self) -> Vec<RowKeys> {
        let subject = |i: usize| self.subjects.as_ref().and_then(|subjects| subjects.get(i)).copied();
        self.ids.iter().enumerate().map(|(i, id)| RowKeys { id: *id, subject: subject(i) }).collect()
    }
}

impl ModelDirectory {
    /// Makes a directory of a model in memory, aside first: a killed process leaves no half of one under its name.
    ///
    /// One pass over the rows measures what the model leaves on them. Rows that it was not trained on, or more than it
    /// claims, are an error.
    /// It is open, and was never without a lock: nobody else can have begun another life with it.
    pub fn adopt(request: AdoptRequest<'_>) -> Result<Self, EngineError> {
        let new = NewDirectory {
            out: request.out.clone(),
            key: request.key.clone(),
            witness: request.witness.clone(),
            policy: request.policy,
        };
        let options = OpenOptions { memory_bytes: request.memory_bytes, ..OpenOptions::default() };
        let ((), lock) = new.make(|aside, known| match (known, &request.witness) {
            (Some(_), Some(witness)) => Err(EngineError::Exists { path: witness.clone() }),
            _ => Ok((request.fill(aside)?, ())),
        })?;
        let opened = Self::open_locked(&new.out, lock, &options);
        if opened.is_err() {
            // Best effort: the model in memory lives on, and must be the only one.
            let _ = fs::remove_dir_all(&new.out);
            let _ = new.witness.as_ref().map(fs::remove_file);
        }
        opened
    }
}

impl AdoptRequest<'_> {
    fn fill(self, aside: &Path) -> Result<Beginning, EngineError> {
        let model = self.model;
        check_is_bounded(&model)?;
        let settings = Settings {
            config: model.plan().config().clone(),
            features: self.features,
            columns: self.columns,
            schema: None,
            transform: self.transform,
            codec: self.codec,
            precision: self.precision,
            salt: self.salt,
            max_row_weight: self.max_row_weight,
            row_norm_from_rows: self.row_norm_from_rows,
            id_key: self.id_key,
            row_names: self.row_names,
        };
        let dim = settings.transform.model_dim(settings.features.len());
        let layout = match settings.max_row_weight {
            None => RowLayout::new(dim, settings.precision),
            Some(_) => RowLayout::weighted(dim, settings.precision),
        };
        let memory_bytes = self.memory_bytes.unwrap_or_else(memory::default_bytes);
        let mut sink = RowSink::new(aside, settings.transform.row_norm_bound(), memory_bytes, settings.salt)?;
        sink.lay_out(layout)?;
        for chunk in self.rows {
            put(&mut sink, &settings, &chunk?)?;
        }
        let n_positions = sink.n_positions();
        let n_left = self.n_positions.checked_sub(n_positions);
        let beyond = || EngineError::AdoptedPosition { position: n_positions - 1, limit: self.n_positions };
        sink.skip(n_left.ok_or_else(beyond)?)?;
        let (rows, database) = sink.finish(&self.suppressed)?;
        check_rows_are_those_of(&model, &settings, &rows)?;
        Ok(Beginning { settings, rows, database, model, past: self.past })
    }
}

/// Writes a chunk, runs of consecutive positions together.
fn put(sink: &mut RowSink<'_>, settings: &Settings, chunk: &AdoptedRows) -> Result<(), EngineError> {
    let AdoptedRows { rows, positions, found_by } = chunk;
    rows.row_weights().unwrap_or_default().iter().try_for_each(|weight| settings.check_row_weight(*weight))?;
    let (keys, selectors) = match found_by {
        None => (row_keys(&settings.id_key, rows.ids(), rows.subjects()), rows.selectors(&settings.salt)),
        Some(found_by) => (found_by.keys(), found_by.selectors.clone()),
    };
    let counts = [positions.len(), keys.len(), selectors.len()];
    if let Some(found) = counts.into_iter().find(|count| *count != rows.n_rows()) {
        return Err(efface_data::AppendError::Count { what: "positions or ids", found, expected: rows.n_rows() }.into());
    }
    let mut start = 0;
    for run in positions.chunk_by(|a, b| b.checked_sub(*a) == Some(1)) {
        let n_before = sink.n_positions();
        let n_skipped = run[0].checked_sub(n_before);
        sink.skip(n_skipped.ok_or_else(|| EngineError::AdoptedPosition { position: run[0], limit: n_before })?)?;
        let taken = start..start + run.len();
        start = taken.end;
        if taken.len() == rows.n_rows() {
            sink.put_selected(rows, &keys, &selectors)?;
        } else {
            sink.put_selected(&rows.part(taken.clone()), &keys[taken.clone()], &selectors[taken])?;
        }
    }
    Ok(())
}

/// Fails closed: what the model claims must be true of the rows that it will be judged by.
fn check_rows_are_those_of(model: &Model, settings: &Settings, rows: &dyn RowStore) -> Result<(), EngineError> {
    let foreign = |reason| Err(EngineError::ForeignRows { reason });
    let dim = settings.transform.model_dim(settings.features.len());
    if model.dim() != dim {
        return foreign(format!("the model has {} weights per problem, its rows have {dim} values", model.dim()));
    }
    let found = RowCount { n_rows: rows.n_rows(), weight_sum: rows.weight_sum() };
    let expected = model.state().count;
    if found != expected {
        return foreign(format!("there are {} where the model counts {}", in_words(found), in_words(expected)));
    }
    let (least, claimed) = (model.measure(rows)?.residual_at_least.get(), model.claim().gradient_residual.get());
    if least <= claimed {
        return Ok(());
    }
    foreign(format!("the model leaves a gradient of at least {least:e} on them, and claims {claimed:e}"))
}

/// Shape only: rows and keys stay out of logs.
impl fmt::Debug for AdoptRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shape = f.debug_struct("AdoptRequest");
        shape.field("n_positions", &self.n_positions).field("out", &self.out).finish_non_exhaustive()
    }
}
