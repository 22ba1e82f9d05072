//! Rows from a file into the segments and the index of a new directory, chunk by chunk.

use std::path::Path;

use efface_core::noise::NoiseSource;
use efface_data::{
    ClassCollector, FeatureOrder, IdDigest, IdKey, IdKind, LabelCodec, Remark, RowId, RowLayout, RowTransform, Scale,
    StoredRows, Table, TableReader, encode_table,
};

use crate::database::{Database, RowKeys};
use crate::error::EngineError;
use crate::row_sink::RowSink;
use crate::training::TrainProgress;
use crate::witness::Memory;

/// A directory that is being filled.
pub(crate) struct Import<'a> {
    transform: RowTransform,
    sink: RowSink<'a>,
    labels: ClassCollector,
    id_key: IdKey,
    /// What was removed before and must not come back.
    known: Option<Memory>,
    n_suppressed: usize,
}

/// Rows that have been read.
pub(crate) struct Imported {
    pub(crate) rows: StoredRows,
    pub(crate) database: Database,
    pub(crate) features: Vec<String>,
    pub(crate) codec: LabelCodec,
    pub(crate) salt: [u8; 32],
    pub(crate) id_key: IdKey,
    pub(crate) n_suppressed: usize,
}

/// Bytes of features that are read at a time.
const CHUNK_BYTES: usize = 8 << 20;

impl<'a> Import<'a> {
    pub(crate) fn new(
        directory: &'a Path,
        transform: RowTransform,
        is_classification: bool,
        memory_bytes: u64,
        known: Option<Memory>,
    ) -> Result<Self, EngineError> {
        let (mut salt, mut key) = ([0; 32], [0; 32]);
        let mut randomness = NoiseSource::from_system()?;
        randomness.fill(&mut salt);
        randomness.fill(&mut key);
        Ok(Self {
            transform,
            sink: RowSink::new(directory, transform.row_norm_bound(), memory_bytes, salt)?,
            labels: ClassCollector::new(is_classification),
            id_key: known.as_ref().map_or_else(|| IdKey::new(key), |known| known.key.clone()),
            known,
            n_suppressed: 0,
        })
    }

    /// Reads everything.
    pub(crate) fn run(
        mut self,
        mut reader: Box<dyn TableReader>,
        report: &mut dyn FnMut(TrainProgress),
    ) -> Result<Imported, EngineError> {
        let features = reader.feature_names().to_vec();
        let max_rows = (CHUNK_BYTES / (8 * features.len().max(1))).clamp(256, 65_536);
        let mut is_first = true;
        while let Some(chunk) = reader.next_chunk(max_rows)? {
            if std::mem::take(&mut is_first) {
                let is_scaled = matches!(self.transform.scale, Scale::Unit | Scale::Clip { .. });
                let matters = |remark: &Remark| is_scaled || !matches!(remark, Remark::OneColumnRules { .. });
                chunk.remarks().into_iter().filter(matters).for_each(|remark| report(TrainProgress::Remark(remark)));
            }
            self.take(chunk)?;
            report(TrainProgress::Reading(reader.progress()));
        }
        drop(reader);
        let Some(rows) = self.sink.rows() else {
            return Err(efface_core::model::TrainError::NoRows.into());
        };
        let (codec, mapping) = self.labels.finish()?;
        rows.relabel(&mapping)?;
        let salt = *self.sink.salt();
        let (rows, database) = self.sink.finish(self.known.iter().flat_map(|known| &known.suppressed))?;
        Ok(Imported { rows, database, features, codec, salt, id_key: self.id_key, n_suppressed: self.n_suppressed })
    }

    fn take(&mut self, chunk: Table) -> Result<(), EngineError> {
        let mut keys = row_keys(&self.id_key, chunk.ids(), chunk.subjects());
        let kept: Vec<bool> = match &self.known {
            None => vec![true; keys.len()],
            Some(known) => {
                keys.iter().map(|keys| !keys.is_among(|digest| known.suppressed.contains(&digest))).collect()
            }
        };
        let labels = self.labels.push_table(&chunk, |row| kept[row])?;
        let precision = self.sink.precision().unwrap_or(chunk.features().precision());
        let encoded = encode_table(chunk, &self.transform, None, FeatureOrder::AsRead, precision)?;
        let mut encoded = encoded.with_labels(labels)?;
        self.n_suppressed += encoded.retain(&kept);
        let mut kept = kept.into_iter();
        keys.retain(|_| kept.next().unwrap_or(true));
        self.sink.lay_out(RowLayout::new(encoded.dim(), precision))?;
        self.sink.put(&encoded, &keys)
    }
}

/// Under what rows will be found.
pub(crate) fn row_keys(key: &IdKey, ids: &[RowId], subjects: Option<&[RowId]>) -> Vec<RowKeys> {
    let subject = |i: usize| subjects.map(|subjects| key.digest(IdKind::Subject, &subjects[i]));
    let ids = ids.iter().enumerate();
    ids.map(|(i, id)| RowKeys { id: key.digest(IdKind::Row, id), subject: subject(i) }).collect()
}

impl RowKeys {
    /// Whether the row or its subject is among some digests.
    pub(crate) fn is_among(&self, contains: impl Fn(IdDigest) -> bool) -> bool {
        contains(self.id) || self.subject.is_some_and(contains)
    }
}
