//! The rows of a model in memory for whoever keeps them from now on, scaled as a model directory keeps them.

use efface_core::model::Model;
use efface_core::rows::RowStore;
use efface_data::{EncodedRows, IdDigest};

use super::MemoryModel;
use super::rows::LentRows;
use super::view::Batch;
use crate::error::EngineError;

/// Rows that are present, with what they are known by. Ids are keyed hashes: nobody has kept them in clear.
pub struct KeptRows {
    /// Scaled features, labels and weights; without ids.
    pub rows: EncodedRows,
    /// One per row, as rules that choose rows take it.
    pub selectors: Vec<u64>,
    /// One per row.
    pub ids: Vec<IdDigest>,
    /// One per row, where rows belong to somebody.
    pub subjects: Option<Vec<IdDigest>>,
}

impl MemoryModel {
    /// The rows present in the order of their positions, at most `max_rows` at a time. Whoever gets them is inside the trust
    /// boundary.
    pub fn kept_rows<'a>(
        &'a self,
        lent: &LentRows<'a>,
        max_rows: usize,
    ) -> Result<impl Iterator<Item = Result<KeptRows, EngineError>> + use<'a>, EngineError> {
        self.rows.check_unchanged(lent)?;
        let view = self.rows.view(lent)?;
        let mut positions = (0..self.rows.len()).filter(|position| self.rows.present[*position]).peekable();
        Ok(std::iter::from_fn(move || {
            positions.peek()?;
            let chunk: Vec<usize> = positions.by_ref().take(max_rows.max(1)).collect();
            Some(self.kept(&chunk, view.batch(&chunk)))
        }))
    }

    /// Ids and subjects that were removed on request, as keyed hashes.
    pub fn removed_digests(&self) -> impl Iterator<Item = IdDigest> {
        self.index.removed()
    }

    /// The secret model itself. Whoever gets it is inside the trust boundary.
    pub fn secret_model(&self) -> &Model {
        &self.model
    }

    fn kept(&self, positions: &[usize], mut batch: Batch) -> Result<KeptRows, EngineError> {
        let keys = positions.iter().map(|position| self.index.keys_at(*position));
        let (ids, subjects): (Vec<_>, Vec<_>) = keys.map(|keys| (keys.id, keys.subject)).unzip();
        let (features, labels) = batch.take_rows();
        let rows = EncodedRows::new(batch.dim(), features, labels, batch.row_norm_bound())?;
        let rows = match self.settings.max_row_weight {
            Some(_) => rows.with_row_weights(std::mem::take(&mut batch.row_weights))?,
            None => rows,
        };
        let selectors = std::mem::take(&mut batch.selectors);
        Ok(KeptRows { rows, selectors, ids, subjects: subjects.into_iter().collect() })
    }
}
