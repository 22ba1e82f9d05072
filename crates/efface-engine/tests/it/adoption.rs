//! A model that was trained in memory and has lived there gets a directory: it goes on as it was, with its rows, what they
//! weigh, what was removed and what was released.

use std::path::PathBuf;

use efface_core::loss;
use efface_core::model::{Model, ReleaseOutcome, TrainingConfig, TrainingPlan};
use efface_core::noise::NoiseSource;
use efface_core::removal::Change as Step;
use efface_core::rows::{RowCount, RowStore, WeightSum};
use efface_data::{
    Columns, EncodedRows, FeatureOrder, FeatureValues, IdKey, IdKind, LabelCodec, Labels, MemoryRows, Origin,
    Precision, RawLabels, RowId, RowTransform, Scale, Table, TableParts, encode_table,
};
use efface_engine::{
    AdoptRequest, AdoptedPast, AdoptedRelease, AdoptedRows, EngineError, ModelDirectory, ReleasePolicy, RowNames,
    RowSource, Selection, Status,
};
use efface_ledger::entry::{Change, Entry, Event};
use efface_ledger::verify::{CheckOutcome, Verdict};

use crate::models::{Folder, certificate, check, features, ids, published, randomness, table};

const TRANSFORM: RowTransform = RowTransform { scale: Scale::Within { radius: 2.0 }, intercept: true };
const SALT: [u8; 32] = [7; 32];
const N: usize = 60;
/// Rows that leave while the model is in memory.
const GONE: [usize; 4] = [3, 4, 17, 59];

fn id_key() -> IdKey {
    IdKey::new([9; 32])
}

fn codec() -> LabelCodec {
    LabelCodec::Classes(vec!["0".into(), "1".into()])
}

/// Rows of `models::table` as parts, with ids and subjects as there.
fn parts(rows: &[usize]) -> TableParts {
    let label = |i: usize| {
        let [a, b, c] = features(i);
        f64::from(u8::from(a + b - 0.5 * c + 0.2 * features(i + 7)[0] > 0.0))
    };
    let origin = Origin::new("memory");
    let labels = RawLabels::Numbers(rows.iter().map(|i| label(*i)).collect());
    TableParts {
        feature_names: ["a", "b", "c"].map(String::from).to_vec(),
        features: FeatureValues::F64(rows.iter().flat_map(|i| features(*i)).collect()),
        labels: Some(Labels::new(labels, origin.clone(), None)),
        ids: Some(rows.iter().map(|i| RowId::parse(&format!("row-{i}"))).collect()),
        subjects: Some(rows.iter().map(|i| RowId::parse(&format!("person-{}", i / 4))).collect()),
        origin,
    }
}

fn weight(i: usize) -> f64 {
    (i % 4) as f64 * 0.7 + 0.1
}

fn encoded(rows: &[usize], weighted: bool) -> EncodedRows {
    let table = Table::new(parts(rows)).expect("valid");
    let encoded = encode_table(table, &TRANSFORM, Some(&codec()), FeatureOrder::AsRead, Precision::F64).expect("valid");
    if weighted {
        encoded.with_row_weights(rows.iter().map(|i| weight(*i)).collect()).expect("one per row")
    } else {
        encoded
    }
}

fn config() -> TrainingConfig {
    TrainingConfig::new(&loss::Logistic, 1e-2, Some(2))
}

fn train(rows: &MemoryRows) -> Model {
    let plan = TrainingPlan::new(config()).expect("valid");
    plan.train(rows, &mut randomness(), &mut |_| {}).expect("trainable").model
}

/// A model in memory after a removal, a release and another removal.
struct Life {
    model: Model,
    rows: MemoryRows,
    weighted: bool,
}

impl Life {
    fn new(weighted: bool) -> Self {
        let all: Vec<usize> = (0..N).collect();
        let rows = MemoryRows::of_encoded(encoded(&all, weighted), &SALT);
        let mut life = Self { model: train(&rows), rows, weighted };
        life.remove(&GONE[..2]);
        life.model.settle_before_release(&life.rows).expect("in memory");
        let released = life.model.release(&mut NoiseSource::from_system().expect("randomness"));
        assert!(matches!(released, ReleaseOutcome::Published(_)), "{released:?}");
        life.remove(&GONE[2..]);
        life
    }

    fn remove(&mut self, positions: &[usize]) {
        let leaving = self.rows.batch(positions).expect("present");
        self.rows.remove(positions).expect("present");
        self.model.change(&Step::remove(&leaving), &self.rows).expect("in memory");
    }

    /// The rows present, seven positions at a time.
    fn chunks(&self) -> impl Iterator<Item = Result<AdoptedRows, EngineError>> + 'static {
        let present: Vec<usize> = (0..N).filter(|position| self.rows.is_present(*position)).collect();
        let weighted = self.weighted;
        let chunks: Vec<Vec<usize>> = present.chunks(7).map(<[usize]>::to_vec).collect();
        chunks
            .into_iter()
            .map(move |positions| Ok(AdoptedRows { rows: encoded(&positions, weighted), positions, found_by: None }))
    }

    fn request(&self, out: PathBuf) -> AdoptRequest<'static> {
        let suppressed = GONE.map(|i| id_key().digest(IdKind::Row, &RowId::parse(&format!("row-{i}"))));
        AdoptRequest {
            model: self.model.clone(),
            rows: Box::new(self.chunks()),
            n_positions: N,
            features: ["a", "b", "c"].map(String::from).to_vec(),
            columns: Columns {
                label: Some("y".into()),
                id: Some("id".into()),
                subject: Some("who".into()),
                ..Columns::default()
            },
            row_names: RowNames::Ids,
            transform: TRANSFORM,
            codec: codec(),
            precision: Precision::F64,
            salt: SALT,
            id_key: id_key(),
            max_row_weight: self.weighted.then_some(4.0),
            row_norm_from_rows: false,
            suppressed: suppressed.to_vec(),
            past: past(),
            policy: ReleasePolicy::default(),
            key: None,
            witness: None,
            memory_bytes: None,
            out,
        }
    }

    fn adopt(&self) -> Folder {
        let folder = Folder::new();
        ModelDirectory::adopt(self.request(folder.model())).expect("adoptable");
        folder
    }
}

/// What a `Life` went through: rows of two people left before its release, and of two others after it.
fn past() -> AdoptedPast {
    let release =
        AdoptedRelease { release: 1, time: 9, n_removed: 2, distance_bound: 0.0, certified: true, n_changes: 1 };
    let removal = Change { change: 2, n_rows: 2, rows: None, request: None };
    AdoptedPast {
        n_removed: GONE.len(),
        n_suppressed: 3,
        latest_release: Some(release),
        changes: vec![Entry::new("2026-01-01T00:00:00Z", Event::Removal(removal))],
        people: [4, 14].map(|i| id_key().digest(IdKind::Subject, &RowId::parse(&format!("person-{i}")))).to_vec(),
        answers: Vec::new(),
    }
}

#[test]
fn an_adopted_model_is_the_one_that_was_in_memory() {
    for weighted in [false, true] {
        let life = Life::new(weighted);
        let folder = life.adopt();
        let directory = folder.open();
        assert!(directory.mended_at_opening().is_empty());
        let (ours, theirs) = (life.model.state(), directory.audit_material().model.state());
        assert_eq!((ours.count, ours.account), (theirs.count, theirs.account));
        assert_eq!(ours.fits[0].weights.to_vec(), theirs.fits[0].weights.to_vec());
        assert_eq!(ours.fits[0].count, theirs.fits[0].count);
        assert_eq!(life.model.claim(), directory.audit_material().model.claim());
        assert_eq!(directory.audit_material().rows.weight_sum(), life.rows.weight_sum());
        assert_eq!((directory.n_rows(), directory.n_releases()), (N - GONE.len(), 1));
        let status = Status::read(folder.model()).expect("readable");
        assert_eq!((status.n_removed, status.n_suppressed, status.n_people_since_release), (GONE.len(), 3, 2));
        let flag = folder.read("model/rows/000000.rows")[56];
        assert_eq!(flag, u8::from(weighted));
        // Nothing of a row that left is in the directory, and everything is checked.
        let report = directory.verify(true).expect("readable");
        assert_eq!(report.verdict, Verdict::Valid, "{report:?}");
    }
}

#[test]
fn an_adopted_model_lives_on() {
    for weighted in [false, true] {
        let folder = Life::new(weighted).adopt();
        let mut directory = folder.open();
        let already = directory.remove(&ids(&["row-3"]), None).expect_err("left in memory").to_string();
        assert_eq!(already, "row id `row-3` has already been removed");
        directory.remove(&ids(&["row-20", "row-21"]), Some("ticket-1")).expect("removable");
        directory.remove(&Selection::Subjects(vec![RowId::parse("person-2")]), None).expect("removable");
        // The journal is replayed where there was no checkpoint.
        drop(directory);
        let mut directory = folder.open();
        let n_left = N - GONE.len() - 2 - 4;
        assert_eq!(directory.n_rows(), n_left);
        let report = directory.add_table(parts(&[3, 70, 71]), None).expect("addable");
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
        let memory = MemoryRows::of_encoded(encoded(&left.collect::<Vec<_>>(), weighted), &SALT);
        assert_eq!(memory.n_rows(), n_left);
        let mut fresh = train(&memory);
        let late = MemoryRows::of_encoded(encoded(&[70, 71], false), &SALT);
        fresh.change(&Step { removed: None, added: Some(&late) }, &memory).expect("in memory");
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
    let folder = Life::new(true).adopt();
    let mut directory = folder.open();
    let sum = |directory: &ModelDirectory| directory.audit_material().rows.weight_sum();
    let before = sum(&directory);
    // From a file: once each.
    directory.add(&RowSource::of(&folder.write("more.csv", table(80..83)))).expect("addable");
    assert_eq!(sum(&directory), before + WeightSum::of_rows(3));
    // From memory: as given.
    directory.add_table(parts(&[90, 91]), Some(vec![0.25, 2.0])).expect("addable");
    let after = before + WeightSum::of_rows(3) + WeightSum::of_row(2.25);
    assert_eq!(sum(&directory), after);
    // Corrected: as before, from a file and from memory, unless another weight is given.
    directory.correct(&RowSource::of(&folder.write("right.csv", table(90..92)))).expect("correctable");
    let mut right = parts(&[5, 6]);
    right.subjects = None;
    directory.correct_table(right.clone(), None).expect("correctable");
    assert_eq!(sum(&directory), after);
    directory.correct_table(parts(&[91]), Some(vec![3.0])).expect("correctable");
    assert_eq!(sum(&directory), after + WeightSum::of_row(1.0));
    directory.close().expect("writable");
    let mut directory = folder.open();
    assert_eq!(sum(&directory), after + WeightSum::of_row(1.0));
    let state = directory.audit_material().model.state().count;
    assert_eq!(state, RowCount { n_rows: directory.n_rows(), weight_sum: sum(&directory) });
    // A row stays with its subject.
    let report = directory.remove(&Selection::Subjects(vec![RowId::parse("person-1")]), None).expect("removable");
    assert_eq!(report.n_rows, 61 - 3);

    let heavy = directory.add_table(parts(&[95]), Some(vec![4.5])).expect_err("too heavy").to_string();
    assert_eq!(heavy, "a row weighs 4.5, the limit of this model is 4");
    let negative = directory.add_table(parts(&[95]), Some(vec![-1.0])).expect_err("negative").to_string();
    assert!(negative.starts_with("row weights must be from 0 to"), "{negative}");
    right.ids = None;
    assert!(matches!(directory.correct_table(right, None), Err(EngineError::NoIdNamed { .. })));
}

#[test]
fn rows_of_a_model_without_weights_count_once() {
    let folder = Folder::with_model();
    let mut directory = folder.open();
    let error = directory.add_table(parts(&[70]), Some(vec![2.0])).expect_err("no weights").to_string();
    assert_eq!(error, "a row weighs 2, and every row of this model counts once");
    directory.add_table(parts(&[70]), Some(vec![1.0])).expect("it counts once");
    assert_eq!(directory.n_rows(), 61);
    let light = Folder::new();
    let request = AdoptRequest { max_row_weight: Some(3.0), ..Life::new(true).request(light.model()) };
    ModelDirectory::adopt(request).expect("no row is heavier");
}

#[test]
fn a_model_of_light_rows_takes_none_that_counts_once() {
    let rows = MemoryRows::of_encoded(light(&(0..N).collect::<Vec<_>>()), &SALT);
    let life = Life { model: train(&rows), rows, weighted: true };
    let folder = Folder::new();
    let all: Vec<usize> = (0..N).collect();
    let chunk = AdoptedRows { rows: light(&all), positions: all, found_by: None };
    let request = AdoptRequest {
        rows: Box::new(std::iter::once(Ok(chunk))),
        max_row_weight: Some(0.5),
        suppressed: Vec::new(),
        past: AdoptedPast::default(),
        ..life.request(folder.model())
    };
    ModelDirectory::adopt(request).expect("adoptable");
    let error = folder.open().add(&RowSource::of(&folder.write("more.csv", table(80..81)))).expect_err("too heavy");
    assert_eq!(error.to_string(), "a row weighs 1, the limit of this model is 0.5");
    // Rows that count for nothing may stay, but not alone.
    let heavy: Vec<RowId> = (0..N).filter(|i| i % 2 == 1).map(|i| RowId::parse(&format!("row-{i}"))).collect();
    let error = folder.open().remove(&Selection::Ids(heavy), None).expect_err("nothing is left").to_string();
    assert_eq!(error, "removing 30 rows would leave rows that weigh nothing");
}

/// Every second row counts for nothing, the others half.
fn light(rows: &[usize]) -> EncodedRows {
    encoded(rows, false).with_row_weights(rows.iter().map(|i| (i % 2) as f64 / 2.0).collect()).expect("one per row")
}

#[test]
fn rows_without_ids_are_numbered_on_from_the_positions_of_the_model() {
    let life = Life::new(false);
    let folder = Folder::new();
    let numbered = |positions: Vec<usize>| {
        let mut parts = parts(&positions);
        parts.ids = Some(positions.iter().map(|i| RowId::parse(&i.to_string())).collect());
        parts.subjects = None;
        let table = Table::new(parts).expect("valid");
        let rows = encode_table(table, &TRANSFORM, Some(&codec()), FeatureOrder::AsRead, Precision::F64);
        Ok(AdoptedRows { rows: rows.expect("valid"), positions, found_by: None })
    };
    let present: Vec<usize> = (0..N).filter(|position| !GONE.contains(position)).collect();
    let suppressed = GONE.map(|i| id_key().digest(IdKind::Row, &RowId::parse(&i.to_string())));
    let request = AdoptRequest {
        rows: Box::new(std::iter::once(numbered(present))),
        columns: Columns::default(),
        suppressed: suppressed.to_vec(),
        ..life.request(folder.model())
    };
    ModelDirectory::adopt(request).expect("adoptable");
    let mut directory = folder.open();
    let mut new = parts(&[70]);
    (new.ids, new.subjects) = (None, None);
    let report = directory.add_table(new, None).expect("addable");
    assert_eq!((report.n_rows, report.n_suppressed), (N - GONE.len() + 1, 0));
    directory.remove(&ids(&["60"]), None).expect("the row that came is number 60");
}

#[test]
fn influences_are_those_of_the_model_in_memory() {
    let life = Life::new(true);
    let folder = life.adopt();
    let directory = folder.open();
    let all = directory.influences(None).expect("readable");
    // Estimates: in memory the factor is still that of a few more rows.
    for (found, expected) in all.iter().zip(life.model.influences(&life.rows).expect("in memory")) {
        assert!((found - expected).abs() <= 0.2 * expected, "{found} and {expected}");
    }
    assert_eq!(all.len(), N);
    assert!(GONE.iter().all(|position| all[*position] == 0.0) && all[0] > 0.0);
    let some = [RowId::parse("row-58"), RowId::parse("row-5")];
    let some = directory.influences(Some(&some)).expect("readable");
    for (found, expected) in some.iter().zip([all[58], all[5]]) {
        assert!((found - expected).abs() <= 1e-12 * expected, "{found} and {expected}");
    }
    assert!(directory.influences(Some(&[RowId::parse("row-3")])).is_err());
}

#[test]
fn rows_that_are_not_those_of_the_model_are_refused_and_leave_nothing_behind() {
    let life = Life::new(true);
    let folder = Folder::new();
    let refused = |request: AdoptRequest<'_>| {
        let error = ModelDirectory::adopt(request).err().expect("must be refused").to_string();
        assert!(!folder.model().exists());
        assert_eq!(std::fs::read_dir(folder.path("")).expect("a folder").count(), 0, "nothing is left");
        error
    };
    let request = || life.request(folder.model());
    let fewer = refused(AdoptRequest { rows: Box::new(life.chunks().skip(1)), ..request() });
    assert!(fewer.starts_with("these are not the rows of the model: there are 49 rows of weight"), "{fewer}");
    let twice = refused(AdoptRequest { rows: Box::new(life.chunks().chain(life.chunks())), ..request() });
    assert_eq!(twice, "a row stands at position 0: positions ascend and end before 59");
    let cut = refused(AdoptRequest { n_positions: 58, ..request() });
    assert_eq!(cut, "a row stands at position 58: positions ascend and end before 58");
    let unweighted = refused(AdoptRequest { max_row_weight: None, ..request() });
    assert!(unweighted.ends_with("and every row of this model counts once"), "{unweighted}");
    let heavy = refused(AdoptRequest { max_row_weight: Some(2.0), ..request() });
    assert!(heavy.ends_with("the limit of this model is 2"), "{heavy}");
    // As many rows of the same weight, but others.
    let others = life.chunks().map(|chunk| {
        let AdoptedRows { positions, .. } = chunk?;
        let others: Vec<usize> = positions.iter().map(|i| i + 400).collect();
        let weights = positions.iter().map(|i| weight(*i)).collect();
        Ok(AdoptedRows { rows: encoded(&others, false).with_row_weights(weights)?, positions, found_by: None })
    });
    let foreign = refused(AdoptRequest { rows: Box::new(others), ..request() });
    assert!(foreign.contains("the model leaves a gradient of at least"), "{foreign}");
    let failing = life.chunks().take(2).chain(std::iter::once(Err(EngineError::NothingNamed)));
    assert_eq!(refused(AdoptRequest { rows: Box::new(failing), ..request() }), EngineError::NothingNamed.to_string());
}

#[test]
fn an_adopted_model_can_have_a_witness() {
    let life = Life::new(false);
    let folder = Folder::new();
    let witness = folder.path("witness");
    let request = || AdoptRequest { witness: Some(witness.clone()), ..life.request(folder.model()) };
    ModelDirectory::adopt(request()).expect("adoptable");
    folder.copy("backup");
    let mut directory = folder.open();
    directory.remove(&ids(&["row-30"]), None).expect("removable");
    directory.close().expect("writable");
    // A directory that is restored as a whole is told by its witness what was removed.
    std::fs::remove_dir_all(folder.model()).expect("there");
    std::fs::rename(folder.path("backup"), folder.model()).expect("there");
    let directory = folder.open();
    assert_eq!(directory.n_rows(), N - GONE.len() - 1);
    assert!(!directory.mended_at_opening().is_empty());
    drop(directory);
    let again = AdoptRequest { out: folder.path("other"), ..request() };
    assert!(matches!(ModelDirectory::adopt(again), Err(EngineError::Exists { .. })));
}
