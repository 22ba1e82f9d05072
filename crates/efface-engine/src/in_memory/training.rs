//! Training on rows that somebody else owns.

use std::collections::HashMap;
use std::ops::Range;

use efface_core::model::{Phase, TrainingConfig, TrainingPlan};
use efface_core::noise::NoiseSource;
use efface_data::{Columns, IdKey, LabelCodec, RowId, RowTransform};
use rayon::prelude::*;

use super::checks::check_weights;
use super::index::{RowIndex, numbered};
use super::rows::{LentRows, RowTable, precision_of};
use super::{MemoryModel, RowsError, SinceRelease};
use crate::error::EngineError;
use crate::model_directory::check_is_bounded;
use crate::settings::{RowNames, Settings};

/// What to train, on what.
pub struct MemoryRequest<'a> {
    /// The rows, which the same caller lends again later.
    pub rows: LentRows<'a>,
    /// One per row: the index of a class, or a number.
    pub labels: &'a [f64],
    /// One per row: as how many rows it counts; `None`: each counts once.
    pub row_weights: Option<&'a [f64]>,
    /// The most that a row may weigh, also of those that come later; without, every row counts once.
    pub max_row_weight: Option<f64>,
    /// One per row, all distinct; `None`: rows are numbered from 0.
    pub ids: Option<&'a [RowId]>,
    /// One per row: whose it is.
    pub subjects: Option<&'a [RowId]>,
    /// Names of the features.
    pub features: Vec<String>,
    /// The roles of the columns that all this came from, where it had names: `features` are those of the user's own.
    pub columns: Columns,
    /// What rows can be called by.
    pub row_names: RowNames,
    /// Names of the classes, or numbers.
    pub codec: LabelCodec,
    /// How rows are scaled.
    pub transform: RowTransform,
    /// Whether the radius of `transform` was chosen by looking at the rows: certificates say so.
    pub row_norm_from_rows: bool,
    /// What to train and promise. `n_classes` is filled in from the codec.
    pub config: TrainingConfig,
}

impl MemoryModel {
    /// Trains a model. The rows are read and not kept.
    pub fn train(
        request: MemoryRequest<'_>,
        noise: &mut NoiseSource,
        report: &mut dyn FnMut(Phase),
    ) -> Result<Self, EngineError> {
        let MemoryRequest { rows: lent, labels, row_weights, max_row_weight, ids, subjects, .. } = request;
        let MemoryRequest { features, columns, row_names, codec, transform, row_norm_from_rows, config, .. } = request;
        let n_classes = codec.classes().len();
        let config = TrainingConfig { n_classes: (n_classes > 0).then_some(n_classes as u32), ..config };
        let plan = TrainingPlan::new(config.clone())?;
        for (what, given) in [("ids", ids), ("subjects", subjects)] {
            if let Some(given) = given.filter(|given| given.len() != labels.len()) {
                return Err(RowsError::Count { what, found: given.len(), expected: labels.len() }.into());
            }
        }
        let (mut salt, mut key, mut name) = ([0; 32], [0; 32], [0; 16]);
        let mut randomness = NoiseSource::from_system()?;
        for bytes in [&mut salt[..], &mut key, &mut name] {
            randomness.fill(bytes);
        }
        let id_key = IdKey::new(key);
        let index = RowIndex::new(id_key.clone(), labels.len(), ids, subjects)?;
        let selectors = match ids {
            Some(ids) => selectors(ids, &salt),
            None => numbered_selectors(0..labels.len(), &salt),
        };
        let row_weights = check_weights(row_weights, labels.len(), max_row_weight)?;
        let rows = RowTable::new(&lent, labels, selectors, row_weights, transform, features.len(), n_classes)?;
        let trained = plan.train(&rows.view(&lent)?, noise, report)?;
        // Its owner may have written to what was read.
        rows.check_unchanged(&lent)?;
        check_is_bounded(&trained.model)?;
        let precision = precision_of(lent.features);
        Ok(Self {
            settings: Settings {
                config,
                features,
                columns,
                schema: None,
                transform,
                codec,
                precision,
                salt,
                max_row_weight,
                row_norm_from_rows,
                id_key,
                row_names,
            },
            model: trained.model,
            rows,
            index,
            name: hex::encode(name),
            iterations: trained.iterations,
            sequence: 0,
            n_removed: 0,
            n_suppressed: 0,
            requests: HashMap::new(),
            since: SinceRelease { is_stale: true, ..SinceRelease::default() },
            latest: None,
        })
    }

    /// Number of rows present.
    pub fn n_rows(&self) -> usize {
        self.rows.n_present
    }
}

/// A number per row that depends on its id and on `salt` only, by which rules choose rows.
pub(super) fn selectors(ids: &[RowId], salt: &[u8; 32]) -> Vec<u64> {
    ids.par_iter().with_min_len(256).map(|id| id.selector(salt)).collect()
}

/// The same for rows that are called by their positions.
pub(super) fn numbered_selectors(positions: Range<usize>, salt: &[u8; 32]) -> Vec<u64> {
    positions.into_par_iter().with_min_len(256).map(|i| numbered(i).selector(salt)).collect()
}
