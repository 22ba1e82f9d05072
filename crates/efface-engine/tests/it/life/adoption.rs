//! A model that was trained in memory and has lived there gets a directory: it goes on as it was, with its rows, what they
//! weigh, what was removed and what was released.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use efface_core::loss;
use efface_core::model::{TrainingConfig, TrainingPlan};
use efface_core::removal::Change;
use efface_core::rows::{Features, RowCount, RowStore, WeightSum};
use efface_data::derived::Texts;
use efface_data::{
    ClassWeights, Columns, FeatureOrder, FeatureValues, LabelCodec, Labels, LentRows, LentTable, LentVault, MemoryRows,
    Origin, Precision, RawLabels, RowId, RowTransform, Scale, Table, TableParts, encode_table,
};
use efface_engine::{
    ChangeError, EngineError, Life, MemoryModel, MemoryRequest, Missing, ModelDirectory, Place, RowNames, RowSource,
    Selection, Status, StorageError,
};
use efface_ledger::verify::{CheckOutcome, Verdict};

use crate::models::{Folder, certificate, check, features, ids, published, randomness, subjects, table};

const TRANSFORM: RowTransform = RowTransform { scale: Scale::Within { radius: 2.0 }, intercept: true };
const N: usize = 60;
/// Rows that leave while the model is in memory.
const GONE: [usize; 4] = [3, 4, 17, 59];

static GO_ON: AtomicBool = AtomicBool::new(false);

fn codec() -> LabelCodec {
    LabelCodec::Classes(vec!["0".into(), "1".into()])
}

fn label(i: usize) -> f64 {
    let [a, b, c] = features(i);
    f64::from(u8::from(a + b - 0.5 * c + 0.2 * features(i + 7)[0] > 0.0))
}

fn name(i: usize) -> RowId {
    RowId::parse(&format!("row-{i}"))
}

fn person(i: usize) -> RowId {
    RowId::parse(&format!("person-{}", i / 4))
}

/// Rows of `models::table` as parts, with ids and subjects as there.
fn parts(rows: &[usize]) -> TableParts {
    let origin = Origin::new("memory");
    let labels = RawLabels::Numbers(rows.iter().map(|i| label(*i)).collect());
    TableParts {
        feature_names: ["a", "b", "c"].map(String::from).to_vec(),
        features: FeatureValues::F64(rows.iter().flat_map(|i| features(*i)).collect()),
        labels: Some(Labels::new(labels, origin.clone(), None)),
        ids: Some(rows.iter().map(|i| name(*i)).collect()),
        subjects: Some(rows.iter().map(|i| person(*i)).collect()),
        row_weights: None,
        origin,
        texts: None,
    }
}

fn weight(i: usize) -> f64 {
    (i % 4) as f64 * 0.7 + 0.1
}

/// The same rows, kept in memory.
fn kept(rows: &[usize], weighted: bool) -> MemoryRows {
    let table = Table::new(parts(rows)).expect("valid");
    let encoded = encode_table(table, &TRANSFORM, Some(&codec()), FeatureOrder::AsRead, Precision::F64).expect("valid");
    let row_weights = rows.iter().map(|i| if weighted { weight(*i) } else { 1.0 }).collect();
    MemoryRows::of_encoded(
        encoded.with_row_weights(row_weights).expect("one per row"),
        &efface_data::IdKey::new([7; 32]),
    )
}

fn config() -> TrainingConfig {
    TrainingConfig::new(&loss::Logistic, 1e-2, Some(2))
}

/// A model in memory, and its rows.
struct Lent {
    model: MemoryModel,
    table: LentTable,
    values: Vec<f64>,
}

impl Lent {
    /// A model of these rows, which weigh so much and at most so much.
    fn train(rows: &[usize], row_weights: Option<&[f64]>, max_row_weight: Option<f64>, named: bool) -> Self {
        let values: Vec<f64> = rows.iter().flat_map(|i| features(*i)).collect();
        let labels: Vec<f64> = rows.iter().map(|i| label(*i)).collect();
        let (names, people): (Vec<_>, Vec<_>) = rows.iter().map(|i| (name(*i), person(*i))).unzip();
        let request = MemoryRequest {
            rows: LentRows { features: Features::F64(&values), cancel: &GO_ON },
            texts: &Texts::new(),
            labels: &labels,
            row_weights,
            class_weights: ClassWeights::default(),
            max_row_weight,
            ids: named.then_some(&names),
            subjects: named.then_some(&people),
            features: ["a", "b", "c"].map(String::from).to_vec(),
            schema: None,
            columns: Columns {
                label: Some("y".into()),
                id: Some("id".into()),
                subject: Some("who".into()),
                ..Columns::default()
            },
            row_names: RowNames::Ids,
            codec: codec(),
            transform: TRANSFORM,
            row_norm_from_rows: false,
            outside_scope: Vec::new(),
            config: config(),
        };
        let (model, table) = MemoryModel::train(&request, &mut randomness(), &mut |_| {}).expect("trainable");
        Self { model, table, values }
    }

    /// The first rows, with weights or without.
    fn new(weighted: bool) -> Self {
        let (rows, row_weights): (Vec<usize>, Vec<f64>) = (0..N).map(|i| (i, weight(i))).unzip();
        Self::train(&rows, weighted.then_some(&row_weights), weighted.then_some(4.0), true)
    }

    /// The same after a removal, a release and another removal; some of those who left are sent away when they come back.
    fn after_a_life(weighted: bool) -> Self {
        let mut lent = Self::new(weighted);
        lent.remove(&GONE[..2]);
        let released = published(lent.live(|life| life.release(&mut randomness())).expect("readable"));
        assert_eq!(released.release, 1);
        lent.remove(&GONE[2..]);
        let back = lent.live(|life| life.add_table(parts(&GONE[..3]), None)).expect("readable");
        assert_eq!((back.n_changed, back.n_suppressed), (0, 3));
        lent
    }

    fn vault(&mut self) -> (&mut MemoryModel, LentVault<'_>) {
        let lent = LentRows { features: Features::F64(&self.values), cancel: &GO_ON };
        (&mut self.model, LentVault::new(&mut self.table, lent).expect("of the same shape"))
    }

    fn live<T>(&mut self, operation: impl FnOnce(&mut Life<'_>) -> Result<T, EngineError>) -> Result<T, EngineError> {
        let (model, mut vault) = self.vault();
        model.live(&mut vault, operation)
    }

    fn remove(&mut self, rows: &[usize]) {
        let gone = Selection::Ids(rows.iter().map(|i| name(*i)).collect());
        self.live(|life| life.remove(&gone, None, Missing::Refuse)).expect("there");
    }

    fn keep(&mut self, out: PathBuf) -> Result<ModelDirectory, EngineError> {
        let (model, vault) = self.vault();
        model.keep(&vault, Place { out, ..Place::default() })
    }

    /// Moves into a folder of its own.
    fn moved(&mut self) -> Folder {
        let folder = Folder::new();
        drop(self.keep(folder.model()).expect("writable"));
        folder
    }
}

#[test]
fn a_model_in_a_directory_is_the_one_that_was_in_memory() {
    for weighted in [false, true] {
        let mut lent = Lent::after_a_life(weighted);
        let folder = lent.moved();
        let directory = folder.open();
        assert!(directory.repairs_at_opening().is_empty());
        let (ours, theirs) = (lent.model.view().status().expect("known"), directory.view().status().expect("readable"));
        assert_eq!((ours.n_rows, ours.n_left, ours.n_releases), (theirs.n_rows, theirs.n_left, theirs.n_releases));
        assert_eq!(
            (ours.distance_bound, ours.rung, ours.mu_total),
            (theirs.distance_bound, theirs.rung, theirs.mu_total)
        );
        let material = directory.audit_material();
        let count = RowCount { n_rows: material.rows.n_rows(), weight_sum: material.rows.weight_sum() };
        assert_eq!((count, lent.table.count()), (material.model.state().count, count));
        assert_eq!((directory.n_rows(), directory.n_releases()), (N - GONE.len(), 1));
        let status = Status::read(folder.model()).expect("readable");
        assert_eq!((status.n_removed, status.n_suppressed, status.n_people_since_release), (GONE.len(), 3, 2));
        // Nothing of a row that left is in the directory, and everything is checked.
        let report = directory.verify(true).expect("readable");
        assert_eq!(report.verdict, Verdict::Valid, "{report:?}");
    }
}

#[test]
fn a_model_that_moved_lives_on() {
    for weighted in [false, true] {
        let folder = Lent::after_a_life(weighted).moved();
        let mut directory = folder.open();
        let already = directory.remove(&ids(&["row-3"]), None).expect_err("left in memory").to_string();
        assert_eq!(already, "row id `row-3` has already been removed");
        directory.remove(&ids(&["row-20", "row-21"]), Some("ticket-1")).expect("removable");
        directory.remove(&subjects(&["person-2"]), None).expect("removable");
        // The intents are replayed where there was no checkpoint.
        drop(directory);
        let mut directory = folder.open();
        let n_left = N - GONE.len() - 2 - 4;
        assert_eq!(directory.n_rows(), n_left);
        let report = directory.live(|life| life.add_table(parts(&[3, 70, 71]), None)).expect("addable");
        assert_eq!((report.n_rows, report.n_suppressed), (n_left + 2, 1));
        directory.settle(None).expect("readable");
        let released = published(directory.release(&mut randomness(), None).expect("writable"));
        assert_eq!(released.release, 2);
        let claims = certificate(&released.certificate);
        assert_eq!(claims["since_previous"]["release"], 1);
        assert_eq!((&claims["n_removed"], &claims["since_previous"]["n_removed"]), (&10.into(), &8.into()));
        assert_eq!(claims["since_previous"]["n_people"], 4);
        assert_eq!(claims["scale"], "within:2");
        let count = directory.audit_material().model.state().count;
        let weight_sum = claims.get("weight_sum").map(|sum| sum.as_f64().expect("a number"));
        assert_eq!(weight_sum, weighted.then(|| count.weight_sum.get()));
        let checked = check(&folder, &released.certificate);
        assert!(checked.is_genuine(), "{checked:?}");
        let report = directory.verify(true).expect("readable");
        assert_eq!(report.verdict, Verdict::Valid, "{report:?}");
        let failed = report.checks.iter().filter(|check| check.outcome == CheckOutcome::Failed).count();
        assert_eq!(failed, 0);
        directory.close().expect("writable");

        // The same weights as a model that never had those that left.
        let left = [0, 1, 2].into_iter().chain(5..8).chain(12..17).chain([18, 19]).chain(22..59);
        let left = kept(&left.collect::<Vec<_>>(), weighted);
        assert_eq!(left.n_rows(), n_left);
        let plan = TrainingPlan::new(config()).expect("valid");
        let mut fresh = plan.train(&left, &mut randomness(), &mut |_| {}).expect("trainable").model;
        fresh.change(&Change::add(&kept(&[70, 71], false)), &left).expect("in memory");
        let directory = folder.open();
        let settled = directory.audit_material();
        let distance = settled.model.claim().distance_bound.get() + fresh.claim().distance_bound.get();
        let (ours, theirs) = (&settled.model.state().fits[0].weights, &fresh.state().fits[0].weights);
        let apart = ours.iter().zip(theirs.iter()).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        assert!(apart <= distance, "{apart:e} apart, at most {distance:e}");
        assert_eq!(fresh.state().count, settled.model.state().count);
    }
}

#[test]
fn rows_that_come_have_the_weights_that_they_are_given() {
    let folder = Lent::after_a_life(true).moved();
    let mut directory = folder.open();
    let sum = |directory: &ModelDirectory| directory.audit_material().rows.weight_sum();
    let before = sum(&directory);
    // From a file: once each.
    directory.add(&RowSource::of(folder.write("more.csv", table(80..83)))).expect("addable");
    assert_eq!(sum(&directory), before + WeightSum::of_rows(3));
    // From memory: as given.
    directory.live(|life| life.add_table(parts(&[90, 91]), Some(vec![0.25, 2.0]))).expect("addable");
    let after = before + WeightSum::of_rows(3) + WeightSum::of_row(2.25);
    assert_eq!(sum(&directory), after);
    // Corrected: as before, from a file and from memory, unless another weight is given.
    directory.correct(&RowSource::of(folder.write("right.csv", table(90..92)))).expect("correctable");
    let mut right = parts(&[5, 6]);
    right.subjects = None;
    directory.live(|life| life.correct_table(right.clone(), None)).expect("correctable");
    assert_eq!(sum(&directory), after);
    directory.live(|life| life.correct_table(parts(&[91]), Some(vec![3.0]))).expect("correctable");
    assert_eq!(sum(&directory), after + WeightSum::of_row(1.0));
    directory.close().expect("writable");
    let mut directory = folder.open();
    assert_eq!(sum(&directory), after + WeightSum::of_row(1.0));
    let state = directory.audit_material().model.state().count;
    assert_eq!(state, RowCount { n_rows: directory.n_rows(), weight_sum: sum(&directory) });
    // A row stays with its subject.
    let report = directory.remove(&subjects(&["person-1"]), None).expect("removable");
    assert_eq!(report.n_rows, 61 - 3);

    let heavy =
        directory.live(|life| life.add_table(parts(&[95]), Some(vec![4.5]))).expect_err("too heavy").to_string();
    assert_eq!(heavy, "row weight 4.5 given, but the limit of this model is 4");
    let negative =
        directory.live(|life| life.add_table(parts(&[95]), Some(vec![-1.0]))).expect_err("negative").to_string();
    assert!(negative.starts_with("row weights must be from 0 to"), "{negative}");
    right.ids = None;
    assert!(matches!(
        directory.live(|life| life.correct_table(right, None)),
        Err(EngineError::Change(ChangeError::NoIdNamed { .. }))
    ));
}

#[test]
fn rows_of_a_model_without_weights_count_once() {
    let folder = Folder::with_model();
    let mut directory = folder.open();
    let error =
        directory.live(|life| life.add_table(parts(&[70]), Some(vec![2.0]))).expect_err("no weights").to_string();
    assert_eq!(error, "row weight 2 given, but this model was trained without row weights");
    directory.live(|life| life.add_table(parts(&[70]), Some(vec![1.0]))).expect("it counts once");
    assert_eq!(directory.n_rows(), 61);
}

#[test]
fn a_model_of_light_rows_takes_none_that_counts_once() {
    // Every second row counts for nothing, the others half.
    let (all, light): (Vec<usize>, Vec<f64>) = (0..N).map(|i| (i, (i % 2) as f64 / 2.0)).unzip();
    let folder = Lent::train(&all, Some(&light), Some(0.5), true).moved();
    let error = folder.open().add(&RowSource::of(folder.write("more.csv", table(80..81)))).expect_err("too heavy");
    assert_eq!(error.to_string(), "row weight 1 given, but the limit of this model is 0.5");
    // Rows that count for nothing may stay, but not alone.
    let heavy = Selection::Ids((0..N).filter(|i| i % 2 == 1).map(name).collect());
    let error = folder.open().remove(&heavy, None).expect_err("nothing is left").to_string();
    assert_eq!(error, "removing 30 rows would leave only rows of weight 0");
}

#[test]
fn rows_without_ids_are_numbered_on_from_the_positions_of_the_model() {
    let mut lent = Lent::train(&(0..N).collect::<Vec<_>>(), None, None, false);
    let gone = Selection::Ids(GONE.map(RowId::numbered).to_vec());
    lent.live(|life| life.remove(&gone, None, Missing::Refuse)).expect("there");
    let folder = lent.moved();
    let mut directory = folder.open();
    let new = TableParts { ids: None, subjects: None, ..parts(&[70]) };
    let report = directory.live(|life| life.add_table(new, None)).expect("addable");
    assert_eq!((report.n_rows, report.n_suppressed), (N - GONE.len() + 1, 0));
    directory.remove(&ids(&["60"]), None).expect("the row that came is number 60");
    let already = directory.remove(&ids(&["59"]), None).expect_err("left in memory").to_string();
    assert_eq!(already, "row id `59` has already been removed");
}

#[test]
fn influences_are_those_of_the_model_in_memory() {
    let mut lent = Lent::after_a_life(true);
    let folder = lent.moved();
    let mut directory = folder.open();
    let all = directory.live(|life| life.influences(None)).expect("readable");
    // Estimates: in memory the factor is still that of a few more rows.
    for (found, expected) in all.iter().zip(lent.live(|life| life.influences(None)).expect("in memory")) {
        assert!((found - expected).abs() <= 0.2 * expected, "{found} and {expected}");
    }
    assert_eq!(all.len(), N);
    assert!(GONE.iter().all(|position| all[*position] == 0.0) && all[0] > 0.0);
    let some = directory.live(|life| life.influences(Some(&[58, 5].map(name)))).expect("readable");
    for (found, expected) in some.iter().zip([all[58], all[5]]) {
        assert!((found - expected).abs() <= 1e-12 * expected, "{found} and {expected}");
    }
    assert!(directory.live(|life| life.influences(Some(&[name(3)]))).is_err());
}

#[test]
fn rows_that_are_not_those_of_the_model_are_refused_and_leave_nothing_behind() {
    let folder = Folder::new();
    let refused = |kept: Result<ModelDirectory, EngineError>| {
        let error = kept.err().expect("must be refused").to_string();
        assert_eq!(std::fs::read_dir(folder.path("")).expect("a folder").count(), 0, "nothing is left");
        error
    };
    let mut lent = Lent::after_a_life(true);
    // A row that left may be anything.
    lent.values[GONE[0] * 3] = f64::NAN;
    lent.values[20 * 3] += 1.0;
    let changed = refused(lent.keep(folder.model()));
    assert!(changed.starts_with("row 20 has changed since the model was trained on it"), "{changed}");
    lent.values[20 * 3] = features(20)[0];

    // Rows of another model: heavier ones, as many of the same weight, and too few.
    let in_place_of = |other: &mut Lent| {
        let (_, vault) = other.vault();
        refused(lent.model.keep(&vault, Place { out: folder.model(), ..Place::default() }))
    };
    let all: Vec<usize> = (0..N).collect();
    let row_weights: Vec<f64> = (0..N).map(weight).collect();
    let weigh = in_place_of(&mut Lent::train(&all, Some(&[1.5; N]), Some(4.0), true));
    assert!(weigh.starts_with("these are not the rows of the model: there are 60 rows of weight 90 where"), "{weigh}");
    let others: Vec<usize> = all.iter().map(|i| i + 400).collect();
    let mut others = Lent::train(&others, Some(&row_weights), Some(4.0), true);
    others.remove(&GONE.map(|i| i + 400));
    let foreign = in_place_of(&mut others);
    assert!(foreign.contains("the model leaves a gradient of at least"), "{foreign}");
    let fewer = in_place_of(&mut Lent::train(&all[..N - 5], Some(&row_weights[..N - 5]), Some(4.0), true));
    assert!(fewer.contains("there are 55 rows of weight"), "{fewer}");

    drop(lent.keep(folder.model()).expect("its own rows"));
}

#[test]
fn a_model_that_moves_can_have_a_witness() {
    let mut lent = Lent::after_a_life(false);
    let folder = Folder::new();
    let (model, vault) = lent.vault();
    let options = |out| Place { out, witness: Some(folder.path("witness")), ..Place::default() };
    drop(model.keep(&vault, options(folder.model())).expect("writable"));
    folder.copy("backup");
    let mut directory = folder.open();
    directory.remove(&ids(&["row-30"]), None).expect("removable");
    directory.close().expect("writable");
    // A directory that is restored as a whole is told by its witness what was removed.
    std::fs::remove_dir_all(folder.model()).expect("there");
    std::fs::rename(folder.path("backup"), folder.model()).expect("there");
    let directory = folder.open();
    assert_eq!(directory.n_rows(), N - GONE.len() - 1);
    assert!(!directory.repairs_at_opening().is_empty());
    drop(directory);
    let again = model.keep(&vault, options(folder.path("other")));
    assert!(matches!(again, Err(EngineError::Storage(StorageError::Exists { .. }))));
    assert!(!folder.path("other").exists());
}
