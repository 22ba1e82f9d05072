//! Adoption: a model that was trained in memory, and has lived there, gets a directory and goes on living in it.
//!
//! Nothing is trained. The rows are written as they are, at the positions that they have, and what was removed and
//! released before is carried over: the directory continues the account and lets no removed row come back.

use std::fs;

use efface_core::model::Model;
use efface_core::rows::{RowCount, RowStore};
use efface_data::derived::Preparation;
use efface_data::{IdDigest, RowLayout, Vault};

use super::row_sink::RowSink;
use super::{FilledRows, NewDirectory, Place, chunk_rows};
use crate::directory::{ModelDirectory, OpenOptions};
use crate::error::{ChangeError, EngineError, StorageError};
use crate::history::Kept;
use crate::life::{Keeper, Past, check_is_bounded, in_words};

pub(crate) struct Adopted<'a> {
    pub(crate) of: Kept<'a>,
    pub(crate) rows: &'a dyn Vault,
    pub(crate) keeper: &'a dyn Keeper,
    pub(crate) removed: Vec<IdDigest>,
    pub(crate) past: &'a Past,
}

impl ModelDirectory {
    /// Makes a directory of a model in memory, aside first: a killed process leaves no half of one under its name.
    ///
    /// One pass over the rows measures what the model leaves on them. Rows that it was not trained on, or more than it
    /// claims, are an error. The directory is open, and was never without a lock: nobody else can have begun another
    /// life with it.
    pub(crate) fn adopt(adopted: &Adopted<'_>, place: Place) -> Result<Self, EngineError> {
        let (out, witness) = (place.out.clone(), place.witness.clone());
        let new = NewDirectory::prepare(place)?;
        if let (Some(_), Some(path)) = (new.known()?, &witness) {
            return Err(StorageError::Exists { path: path.clone() }.into());
        }
        let filled = adopted.fill(&new)?;
        let lock = new.finish(filled, adopted.of.settings, adopted.of.model, adopted.past)?;
        let opened = Self::open_locked(&out, lock, &OpenOptions::default());
        if opened.is_err() {
            // Best effort: the model in memory lives on, and must be the only one.
            let _ = fs::remove_dir_all(&out);
            let _ = witness.map(fs::remove_file);
        }
        opened
    }
}

impl Adopted<'_> {
    fn fill(&self, new: &NewDirectory) -> Result<FilledRows, EngineError> {
        let Kept { settings, model, preparation } = self.of;
        check_is_bounded(model)?;
        check_count(model, self.rows.sum(|rows| rows.row_count())?)?;
        let dim = settings.transform.kept().model_dim(settings.features.len());
        let layout = RowLayout::new(dim, settings.precision, settings.max_row_weight.is_some());
        let mut sink = RowSink::new(&new.aside, settings.transform.row_norm_bound(), None)?;
        sink.lay_out(layout, preparation.map(Preparation::emptied))?;
        let n_positions = self.rows.n_positions();
        let present: Vec<usize> = (0..n_positions).filter(|position| self.rows.is_present(*position)).collect();
        for chunk in present.chunks(chunk_rows(dim)) {
            for run in chunk.chunk_by(|a, b| a + 1 == *b) {
                sink.skip(run[0] - sink.n_positions())?;
                let rows = self.rows.kept_batch(run)?.into_encoded()?;
                let rows = match settings.max_row_weight {
                    Some(_) if rows.row_weights().is_none() => rows.with_row_weights(vec![1.0; run.len()])?,
                    _ => rows,
                };
                sink.put(&rows, &self.keeper.keys_at(run)?)?;
            }
        }
        sink.skip(n_positions - sink.n_positions())?;
        let mut filled = sink.finish(&self.removed)?;
        // The model's own constants: rows that left since it was trained may have changed those that follow.
        if let Some(preparation) = preparation {
            filled.rows.encode_by(preparation.encoder().constants().clone());
        }
        check_rows_are_those_of(model, &filled.rows)?;
        Ok(filled)
    }
}

/// Fails closed: what the model claims must be true of the rows that it will be judged by.
fn check_rows_are_those_of(model: &Model, rows: &dyn RowStore) -> Result<(), EngineError> {
    let foreign = |reason| Err(ChangeError::ForeignRows { reason }.into());
    if model.dim() != rows.dim() {
        let (found, dim) = (model.dim(), rows.dim());
        return foreign(format!("the model has {found} weights per problem, its rows have {dim} values"));
    }
    let (least, claimed) = (model.measure(rows)?.residual_at_least.get(), model.claim().gradient_residual.get());
    if least <= claimed {
        return Ok(());
    }
    foreign(format!("the model leaves a gradient of at least {least:e} on them, and claims {claimed:e}"))
}

fn check_count(model: &Model, found: RowCount) -> Result<(), EngineError> {
    let expected = model.state().count;
    if found == expected {
        return Ok(());
    }
    let reason = format!("there are {} where the model counts {}", in_words(found), in_words(expected));
    Err(ChangeError::ForeignRows { reason }.into())
}
