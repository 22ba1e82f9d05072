//! Models in memory: against models of rows that are kept, beside directories, and what they notice and refuse.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use efface_core::loss::Logistic;
use efface_core::model::{Measured, Model, TrainingConfig, TrainingPlan};
use efface_core::noise::NoiseSource;
use efface_core::rows::Features;
use efface_data::derived::Texts;
use efface_data::{
    ClassWeights, Columns, FeatureOrder, FeatureValues, LabelCodec, Labels, LentRows, LentTable, LentVault,
    LookupError, MemoryRows, Origin, RawLabels, RowId, RowTransform, RowsError, Scale, Table, TableParts, Vault,
    encode_table,
};
use serde_json::Value;

use super::{MemoryModel, MemoryRequest};
use crate::Place;
use crate::directory::ModelDirectory;
use crate::error::EngineError;
use crate::life::{ChangeReport, Life, Missing, ReleaseAnswer, ReleaseReport, Selection, SettleReport};
use crate::settings::RowNames;

mod against_kept;
mod both_worlds;
mod bytes;
mod interrupted;
mod keeping;
mod lending;
mod requests;

const N_FEATURES: usize = 5;
const N_ROWS: usize = 700;

static GO_ON: AtomicBool = AtomicBool::new(false);

static NO_TEXTS: Texts = Texts::new();

/// Rows of two or three classes, in double precision.
struct Sample {
    values: Vec<f64>,
    labels: Vec<f64>,
    transform: RowTransform,
    n_classes: usize,
}

impl Sample {
    fn new(scale: Scale, intercept: bool, n_classes: usize) -> Self {
        let mut state = 9_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 11) as f64) * 2f64.powi(-53) * 0.8 - 0.4
        };
        let values: Vec<f64> = (0..N_ROWS * N_FEATURES).map(|_| next()).collect();
        let class = |row: &[f64]| (((row[0] + row[1] + 0.8) / 1.6 * n_classes as f64) as usize).min(n_classes - 1);
        let labels = values.chunks(N_FEATURES).map(|row| class(row) as f64).collect();
        Self { values, labels, transform: RowTransform { scale, intercept }, n_classes }
    }

    /// Rows of two classes, scaled to length 1, with an intercept.
    fn usual() -> Self {
        Self::new(Scale::Unit, true, 2)
    }

    fn codec(&self) -> LabelCodec {
        LabelCodec::Classes((0..self.n_classes).map(|class| class.to_string()).collect())
    }

    fn config(&self) -> TrainingConfig {
        TrainingConfig::new(&Logistic, 1e-3, Some(self.n_classes as u32))
    }

    fn request(&self) -> MemoryRequest<'_> {
        MemoryRequest {
            rows: LentRows { features: Features::F64(&self.values), cancel: &GO_ON },
            texts: &NO_TEXTS,
            labels: &self.labels,
            row_weights: None,
            class_weights: ClassWeights::default(),
            max_row_weight: None,
            ids: None,
            subjects: None,
            features: (0..N_FEATURES).map(|i| format!("x{i}")).collect(),
            schema: None,
            columns: Columns::default(),
            row_names: RowNames::Ids,
            codec: self.codec(),
            transform: self.transform,
            row_norm_from_rows: false,
            outside_scope: Vec::new(),
            config: self.config(),
        }
    }

    fn train(&self) -> Held {
        trained(self.request())
    }

    /// Some of its rows as new rows are given: without ids and subjects.
    fn parts(&self, rows: &[usize]) -> TableParts {
        let values = rows.iter().flat_map(|row| &self.values[row * N_FEATURES..(row + 1) * N_FEATURES]);
        let origin = Origin::new("rows");
        let labels = RawLabels::Numbers(rows.iter().map(|row| self.labels[*row]).collect());
        TableParts {
            feature_names: (0..N_FEATURES).map(|i| format!("x{i}")).collect(),
            features: FeatureValues::F64(values.copied().collect()),
            labels: Some(Labels::new(labels, origin.clone(), None)),
            ids: None,
            subjects: None,
            row_weights: None,
            origin,
            texts: None,
        }
    }

    /// The same rows, kept in memory.
    fn kept(&self, rows: &[usize], narrow: bool) -> MemoryRows {
        let mut parts = self.parts(rows);
        if let (true, FeatureValues::F64(values)) = (narrow, &parts.features) {
            parts.features = FeatureValues::F32(values.iter().map(|x| *x as f32).collect());
        }
        let precision = parts.features.precision();
        let table = Table::new(parts).expect("valid");
        let encoded =
            encode_table(table, &self.transform, Some(&self.codec()), FeatureOrder::AsRead, precision).expect("valid");
        MemoryRows::of_encoded(encoded, &efface_data::IdKey::new([0; 32]))
    }

    /// A model of some of these rows, trained without an engine.
    fn train_kept(&self, rows: &[usize], narrow: bool) -> (Model, MemoryRows) {
        let rows = self.kept(rows, narrow);
        let plan = TrainingPlan::new(self.config()).expect("valid");
        (plan.train(&rows, &mut NoiseSource::danger_fixed_seed(1), &mut |_| {}).expect("trainable").model, rows)
    }
}

/// A model, what is known of its rows, and the rows, which are lent to every call.
struct Held {
    model: MemoryModel,
    table: LentTable,
    values: FeatureValues,
}

impl Held {
    fn from_bytes(bytes: &[u8]) -> Result<Self, EngineError> {
        let (model, table, values) = MemoryModel::from_bytes(bytes)?;
        Ok(Self { model, table, values })
    }

    fn bytes(&mut self) -> Result<Vec<u8>, EngineError> {
        let (model, vault) = self.lend(&GO_ON);
        Ok(model.to_bytes(&vault)?.to_vec())
    }

    /// The model, and its rows until work is to stop.
    fn lend<'a>(&'a mut self, cancel: &'a AtomicBool) -> (&'a mut MemoryModel, LentVault<'a>) {
        let lent = LentRows { features: self.values.slice(0..self.values.len()), cancel };
        (&mut self.model, LentVault::new(&mut self.table, lent).expect("of the same shape"))
    }

    fn live<T>(&mut self, operation: impl FnOnce(&mut Life<'_>) -> Result<T, EngineError>) -> Result<T, EngineError> {
        let (model, mut vault) = self.lend(&GO_ON);
        model.live(&mut vault, operation)
    }

    fn remove(&mut self, selection: &Selection) -> Result<ChangeReport, EngineError> {
        self.live(|life| life.remove(selection, None, Missing::Refuse))
    }

    fn remove_as(&mut self, request_id: &str, selection: &Selection) -> Result<ChangeReport, EngineError> {
        self.live(|life| life.remove(selection, Some(request_id), Missing::Refuse))
    }

    fn add(&mut self, rows: TableParts) -> Result<ChangeReport, EngineError> {
        self.live(|life| life.add_table(rows, None))
    }

    fn correct(&mut self, rows: TableParts) -> Result<ChangeReport, EngineError> {
        self.live(|life| life.correct_table(rows, None))
    }

    fn settle(&mut self) -> Result<SettleReport, EngineError> {
        self.live(|life| life.settle(None))
    }

    fn influences(&mut self, ids: Option<&[RowId]>) -> Result<Vec<f64>, EngineError> {
        self.live(|life| life.influences(ids))
    }

    fn try_release(&mut self) -> Result<ReleaseAnswer, EngineError> {
        self.live(|life| life.release(&mut randomness()))
    }

    #[track_caller]
    fn release(&mut self) -> ReleaseReport {
        published(self.try_release().expect("readable"))
    }

    /// What its latest certificate says.
    fn certificate(&self) -> Value {
        serde_json::from_str(&self.model.latest_release().expect("released").certificate).expect("JSON")
    }

    /// Moves into a folder.
    fn keep(&mut self, folder: &Path) -> Result<ModelDirectory, EngineError> {
        let (model, vault) = self.lend(&GO_ON);
        model.keep(&vault, Place { out: folder.join("model"), ..Place::default() })
    }

    /// What the model leaves on its rows, measured anew.
    fn measure(&mut self) -> Measured {
        let (model, vault) = self.lend(&GO_ON);
        let rows: &dyn Vault = &vault;
        rows.sum(|rows| model.model.measure(rows)).expect("unchanged").expect("readable")
    }

    /// The values of a row, for somebody who writes to them.
    fn row_mut(&mut self, row: usize) -> &mut [f64] {
        let FeatureValues::F64(values) = &mut self.values else { panic!("in double precision") };
        &mut values[row * N_FEATURES..(row + 1) * N_FEATURES]
    }
}

#[expect(clippy::needless_pass_by_value, reason = "tests write their request in place")]
fn try_train(request: MemoryRequest<'_>) -> Result<Held, EngineError> {
    let values = FeatureValues::from(request.rows.features);
    let (model, table) = MemoryModel::train(&request, &mut NoiseSource::danger_fixed_seed(1), &mut |_| {})?;
    Ok(Held { model, table, values })
}

fn trained(request: MemoryRequest<'_>) -> Held {
    try_train(request).expect("trainable")
}

fn refused(request: MemoryRequest<'_>) -> EngineError {
    try_train(request).err().expect("must be refused")
}

/// A place for a directory.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn randomness() -> NoiseSource {
    NoiseSource::from_system().expect("randomness")
}

#[track_caller]
fn published(answer: ReleaseAnswer) -> ReleaseReport {
    match answer {
        ReleaseAnswer::Published(report) => report,
        _ => panic!("refused: {answer:?}"),
    }
}

fn ids(ids: impl IntoIterator<Item = i64>) -> Selection {
    Selection::Ids(ids.into_iter().map(RowId::Integer).collect())
}

/// An id for every row of a sample.
fn names() -> Vec<RowId> {
    (0..N_ROWS).map(|i| RowId::parse(&format!("row-{i}"))).collect()
}

/// A person for every four rows of a sample.
fn people() -> Vec<RowId> {
    (0..N_ROWS).map(|i| RowId::parse(&format!("person-{}", i / 4))).collect()
}

/// All rows of the person whose row this is.
fn person_of(row: usize) -> Selection {
    Selection::Subjects(vec![people()[row].clone()])
}

fn is_removed(error: &EngineError) -> bool {
    matches!(error, EngineError::Lookup(LookupError::AlreadyRemoved { .. }))
}

fn has_changed(error: &EngineError, row: usize) -> bool {
    matches!(error, EngineError::InMemory(RowsError::Changed { row: found }) if *found == row)
}

fn weights(model: &Model) -> Vec<Vec<f64>> {
    model.state().fits.iter().map(|fit| fit.weights.to_vec()).collect()
}

fn distance(a: &Model, b: &Model) -> f64 {
    let (a, b) = (weights(a).concat(), weights(b).concat());
    a.iter().zip(&b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

/// Both are within what they claim of the same weights, if both tell the truth of the same rows.
#[track_caller]
fn assert_near(a: &Model, b: &Model) {
    let claimed = a.claim().distance_bound.get() + b.claim().distance_bound.get();
    let found = distance(a, b);
    assert!(found <= claimed, "{found:e} apart, at most {claimed:e}");
}
