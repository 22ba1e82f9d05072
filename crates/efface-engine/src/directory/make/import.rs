//! Rows from a file into the segments and the index of a new directory, chunk by chunk.

use std::collections::BTreeSet;
use std::path::Path;

use efface_core::model::TrainError;
use efface_data::derived::{Counts, Preparation};
use efface_data::{
    ClassCollector, ClassWeights, Columns, FeatureOrder, IdDigest, IdKey, LabelCodec, RowLayout, RowTransform, Scale,
    Schema, StoredRows, Table, TableReader, encode_table,
};

use super::places::Places;
use super::row_sink::RowSink;
use super::{FilledRows, TrainProgress, chunk_rows};
use crate::directory::witness::{Memory, removed_in};
use crate::error::{ChangeError, EngineError};
use crate::history::{RowKeys, row_keys};
use crate::settings::fresh;

pub(super) struct Import<'a> {
    transform: RowTransform,
    /// Which columns constants are derived of, where some are.
    derived: Option<Vec<bool>>,
    is_classification: bool,
    weights: RowWeights,
    sink: RowSink<'a>,
    labels: ClassCollector,
    id_key: IdKey,
    places: Places,
    /// What was removed before and must not come back.
    removed: BTreeSet<IdDigest>,
    n_suppressed: usize,
}

/// As how many rows each counts.
pub(super) struct RowWeights {
    /// Whether rows may count other than once.
    pub(super) are_given: bool,
    pub(super) of_classes: ClassWeights,
}

pub(super) struct Imported {
    pub(super) filled: FilledRows,
    pub(super) features: Vec<String>,
    pub(super) codec: LabelCodec,
    pub(super) id_key: IdKey,
    pub(super) n_suppressed: usize,
}

impl<'a> Import<'a> {
    pub(super) fn new(
        directory: &'a Path,
        transform: RowTransform,
        derived: Option<Vec<bool>>,
        is_classification: bool,
        weights: RowWeights,
        memory_bytes: Option<u64>,
        known: Option<&Memory>,
    ) -> Result<Self, EngineError> {
        let key = fresh()?;
        Ok(Self {
            transform,
            derived,
            is_classification,
            weights,
            sink: RowSink::new(directory, transform.row_norm_bound(), memory_bytes)?,
            labels: ClassCollector::new(is_classification),
            id_key: known.map_or_else(|| IdKey::new(key), |known| known.key.clone()),
            places: Places::default(),
            removed: known.map_or(Ok(BTreeSet::new()), |known| removed_in(&known.path))?,
            n_suppressed: 0,
        })
    }

    /// Reads all rows. They are read again, by `columns` and `schema`, only to name an id that two of them have.
    pub(super) fn run(
        mut self,
        mut reader: Box<dyn TableReader>,
        (columns, schema): (&Columns, Option<&Schema>),
        report: &mut dyn FnMut(TrainProgress),
    ) -> Result<Imported, EngineError> {
        let features = reader.feature_names().to_vec();
        let max_rows = chunk_rows(features.len());
        let mut is_first = true;
        while let Some(chunk) = reader.next_chunk(max_rows)? {
            if std::mem::take(&mut is_first) {
                for remark in chunk.remarks(self.transform.scale) {
                    report(TrainProgress::Remark(remark));
                }
            }
            self.take(chunk)?;
            report(TrainProgress::Reading(reader.progress()));
        }
        drop(reader);
        let rows = self.sink.rows.as_mut().filter(|rows| !rows.is_empty()).ok_or(TrainError::NoRows)?;
        let (codec, mapping) = self.labels.finish()?;
        if let Some(class) = self.weights.of_classes.unknown_class(&codec) {
            let (class, known) = (class.to_owned(), codec.classes().join(", "));
            return Err(ChangeError::WeightOfNoClass { class, known }.into());
        }
        rows.relabel(&mapping)?;
        let filled = self.sink.finish(&self.removed);
        let mut filled = filled.map_err(|error| self.places.name(error, columns, schema))?;
        filled.rows.derive()?;
        let Self { id_key, n_suppressed, .. } = self;
        Ok(Imported { filled, features, codec, id_key, n_suppressed })
    }

    fn take(&mut self, chunk: Table) -> Result<(), EngineError> {
        let mut keys = row_keys(&self.id_key, chunk.ids(), chunk.subjects());
        let names = chunk.feature_names().to_vec();
        let is_kept = |keys: &RowKeys| !keys.is_among(|digest| self.removed.contains(&digest));
        let kept: Vec<bool> = keys.iter().map(is_kept).collect();
        self.places.push(chunk.origin(), &kept);
        let labels = self.labels.push_table(&chunk, |row| kept[row])?;
        let weights = match chunk.labels() {
            Some(labels) if !self.weights.of_classes.is_empty() => {
                Some(self.weights.of_classes.weigh(labels, chunk.row_weights())?)
            }
            _ => None,
        };
        let precision = self.sink.rows.as_ref().map_or(chunk.features().precision(), StoredRows::precision);
        let encoded = encode_table(chunk, &self.transform.kept(), None, FeatureOrder::AsRead, precision)?;
        let mut encoded = encoded.with_labels(labels)?;
        if let Some(weights) = weights {
            encoded = encoded.with_row_weights(weights)?;
        }
        self.n_suppressed += encoded.retain(&kept);
        let mut kept = kept.into_iter();
        keys.retain(|_| kept.next().unwrap_or(true));
        let layout = RowLayout::new(encoded.dim(), precision, self.weights.are_given);
        let derived = self.derived.clone().unwrap_or_else(|| vec![true; encoded.dim()]);
        let counts = || Counts::new(&derived, !self.is_classification);
        let is_derived = self.transform.scale == Scale::Auto;
        let preparation = is_derived.then(|| Preparation::new(counts(), self.transform.intercept));
        self.sink.lay_out(layout, preparation)?;
        self.sink.put(&encoded, &keys).map_err(|error| match error {
            EngineError::Rows(source) if source.overflowing_column().is_some() => {
                let column = source.overflowing_column().and_then(|column| names.get(column));
                ChangeError::TooManyTexts { column: column.cloned().unwrap_or_default() }.into()
            }
            other => other,
        })
    }
}
