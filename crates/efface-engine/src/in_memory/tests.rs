//! Models in memory against models of rows that are kept, and what they notice and refuse.

use std::sync::atomic::{AtomicBool, Ordering};

use efface_core::loss::{Logistic, Squared};
use efface_core::model::{BudgetRule, Mechanism, Model, TrainError, TrainingConfig, TrainingPlan};
use efface_core::noise::NoiseSource;
use efface_core::removal::Change;
use efface_core::rows::{Features, RowStore, StoreError};
use efface_data::{
    FeatureOrder, FeatureValues, LabelCodec, Labels, LookupError, MemoryRows, Origin, RawLabels, RowId, RowTransform,
    Scale, Table, TableParts, encode_table,
};

use super::*;
use efface_ledger::certificate::ReleasePolicy;

use crate::change_report::ChangeReport;
use crate::error::EngineError;
use crate::model_directory::ModelDirectory;
use crate::releases::ReleaseAnswer;
use crate::selection::Selection;

const N_FEATURES: usize = 5;
const N_ROWS: usize = 700;

static GO_ON: AtomicBool = AtomicBool::new(false);

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

    fn codec(&self) -> LabelCodec {
        LabelCodec::Classes((0..self.n_classes).map(|class| class.to_string()).collect())
    }

    fn config(&self) -> TrainingConfig {
        TrainingConfig::new(&Logistic, 1e-3, Some(self.n_classes as u32))
    }

    fn lent(&self) -> LentRows<'_> {
        LentRows { features: Features::F64(&self.values), cancel: &GO_ON }
    }

    fn request(&self) -> MemoryRequest<'_> {
        MemoryRequest {
            rows: self.lent(),
            labels: &self.labels,
            row_weights: None,
            max_row_weight: None,
            ids: None,
            subjects: None,
            features: (0..N_FEATURES).map(|i| format!("x{i}")).collect(),
            codec: self.codec(),
            transform: self.transform,
            row_norm_from_rows: false,
            config: self.config(),
        }
    }

    fn train(&self) -> MemoryModel {
        trained(self.request())
    }

    /// The same rows, kept in memory.
    fn kept(&self, rows: &[usize], narrow: bool) -> MemoryRows {
        let values: Vec<f64> =
            rows.iter().flat_map(|row| &self.values[row * N_FEATURES..(row + 1) * N_FEATURES]).copied().collect();
        let features = if narrow {
            FeatureValues::F32(values.iter().map(|x| *x as f32).collect())
        } else {
            FeatureValues::F64(values)
        };
        let origin = Origin::new("rows");
        let labels = RawLabels::Numbers(rows.iter().map(|row| self.labels[*row]).collect());
        let precision = features.precision();
        let parts = TableParts {
            feature_names: (0..N_FEATURES).map(|i| format!("x{i}")).collect(),
            features,
            labels: Some(Labels::new(labels, origin.clone(), None)),
            ids: None,
            subjects: None,
            origin,
        };
        let table = Table::new(parts).expect("valid");
        let encoded =
            encode_table(table, &self.transform, Some(&self.codec()), FeatureOrder::AsRead, precision).expect("valid");
        MemoryRows::of_encoded(encoded, &[0; 32])
    }

    fn train_kept(&self, narrow: bool) -> (Model, MemoryRows) {
        let rows = self.kept(&(0..N_ROWS).collect::<Vec<_>>(), narrow);
        let plan = TrainingPlan::new(self.config()).expect("valid");
        (plan.train(&rows, &mut NoiseSource::danger_fixed_seed(1), &mut |_| {}).expect("trainable").model, rows)
    }
}

fn trained(request: MemoryRequest<'_>) -> MemoryModel {
    MemoryModel::train(request, &mut NoiseSource::danger_fixed_seed(1), &mut |_| {}).expect("trainable")
}

fn ids(ids: impl IntoIterator<Item = i64>) -> Selection {
    Selection::Ids(ids.into_iter().map(RowId::Integer).collect())
}

fn weights(model: &Model) -> Vec<Vec<f64>> {
    model.state().fits.iter().map(|fit| fit.weights.to_vec()).collect()
}

fn distance(a: &Model, b: &Model) -> f64 {
    let (a, b) = (weights(a).concat(), weights(b).concat());
    a.iter().zip(&b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

fn samples() -> Vec<Sample> {
    let scales = [Scale::Unit, Scale::None, Scale::Clip { radius: 0.5 }, Scale::Within { radius: 2.0 }];
    let mut samples: Vec<Sample> = scales.iter().map(|scale| Sample::new(*scale, false, 2)).collect();
    samples.extend(scales.iter().map(|scale| Sample::new(*scale, true, 3)));
    samples
}

#[test]
fn lent_rows_lead_to_the_bits_that_kept_ones_lead_to() {
    for sample in samples() {
        let mut model = sample.train();
        let (mut kept, mut rows) = sample.train_kept(false);
        assert_eq!(weights(&model.model), weights(&kept), "{}", sample.transform.scale);

        for gone in [vec![3], vec![255, 256, 699, 0]] {
            let named = ids(gone.iter().map(|row| i64::try_from(*row).expect("small")));
            let report = model.remove(&sample.lent(), &named, None, false).expect("removable");
            let batch = rows.batch(&gone).expect("present");
            rows.remove(&gone).expect("present");
            let expected = kept.change(&Change::remove(&batch), &rows).expect("readable");
            assert_eq!(report.distance_bound, expected.claim.distance_bound);
            assert_eq!(weights(&model.model), weights(&kept), "{}", sample.transform.scale);
        }
        model.settle(&sample.lent(), None).expect("settled");
        kept.settle(&rows, None).expect("settled");
        assert_eq!(weights(&model.model), weights(&kept), "{}", sample.transform.scale);
        let influence = model.influence(&sample.lent(), None).expect("readable");
        assert_eq!(influence, kept.influences(&rows).expect("readable"));
        assert_eq!((influence[3], influence.len()), (0.0, N_ROWS));
    }
}

#[test]
fn single_precision_is_scaled_as_it_is_when_kept() {
    for sample in samples() {
        let narrow: Vec<f32> = sample.values.iter().map(|x| *x as f32).collect();
        let rows = LentRows { features: Features::F32(&narrow), cancel: &GO_ON };
        let model = trained(MemoryRequest { rows, ..sample.request() });
        assert_eq!(weights(&model.model), weights(&sample.train_kept(true).0), "{}", sample.transform.scale);
    }
}

#[test]
fn adding_and_correcting_lead_where_training_does() {
    let sample = Sample::new(Scale::Unit, true, 2);
    let (first, last) = sample.values.split_at(600 * N_FEATURES);
    let (first_labels, last_labels) = sample.labels.split_at(600);
    let lent = LentRows { features: Features::F64(first), cancel: &GO_ON };
    let mut model = trained(MemoryRequest { rows: lent, labels: first_labels, ..sample.request() });
    let new = NewRows { features: Features::F64(last), labels: last_labels, row_weights: None, subjects: None };
    let report = model.add(&lent, new, None).expect("new");
    assert_eq!((report.n_rows, report.n_changed, report.n_suppressed), (N_ROWS, 100, 0));

    // A row that is wrong and then put right again, once lent and once added.
    let wrong: Vec<f64> = (0..2 * N_FEATURES).map(|i| i as f64 - 3.0).collect();
    let named: Vec<RowId> = [10, 650].map(RowId::Integer).into();
    for values in
        [&wrong[..], &[&first[10 * N_FEATURES..11 * N_FEATURES], &last[50 * N_FEATURES..51 * N_FEATURES]].concat()]
    {
        let labels = [sample.labels[10], sample.labels[650]];
        let new = NewRows { features: Features::F64(values), labels: &labels, row_weights: None, subjects: None };
        model.correct(&lent, &named, new).expect("present");
        let whole = sample.train();
        model.settle(&lent, None).expect("settled");
        let apart = distance(&model.model, &whole.model);
        assert_eq!(apart < 1e-8, values != &wrong[..], "{apart}");
    }
}

#[test]
fn a_row_that_changed_since_training_is_noticed() {
    let mut sample = Sample::new(Scale::Unit, true, 2);
    let mut model = sample.train();
    model.remove(&sample.lent(), &ids([7]), None, false).expect("removable");
    // A row that left may be anything, even no number.
    sample.values[7 * N_FEATURES] = f64::NAN;
    model.settle(&sample.lent(), None).expect("settled");
    sample.values[400 * N_FEATURES + 2] += 1e-12;
    let changed = |error: EngineError| matches!(error, EngineError::InMemory(RowsError::Changed { row: 400 }));
    assert!(changed(model.settle(&sample.lent(), None).expect_err("noticed")));
    assert!(changed(model.remove(&sample.lent(), &ids([3, 400]), None, false).expect_err("noticed")));
    let noise = &mut NoiseSource::danger_fixed_seed(1);
    assert!(changed(model.retrain(&sample.lent(), noise, &mut |_| {}).expect_err("noticed")));
    model.remove(&sample.lent(), &ids([3]), None, false).expect("another row");
    assert!(changed(model.release(&sample.lent(), noise).expect_err("noticed")));
    let short = LentRows { features: Features::F64(&sample.values[N_FEATURES..]), cancel: &GO_ON };
    let error = model.settle(&short, None).expect_err("noticed");
    assert!(matches!(error, EngineError::InMemory(RowsError::OtherRows { .. })), "{error}");
}

#[test]
fn work_stops_when_asked_to_and_leaves_the_model_as_it_was() {
    let sample = Sample::new(Scale::Unit, true, 2);
    let stop = AtomicBool::new(true);
    let stopped = LentRows { cancel: &stop, ..sample.lent() };
    let error = MemoryModel::train(
        MemoryRequest { rows: stopped, ..sample.request() },
        &mut NoiseSource::danger_fixed_seed(1),
        &mut |_| {},
    );
    let is_interrupted = |error: &EngineError| match error {
        EngineError::InMemory(RowsError::Interrupted(_)) => true,
        EngineError::Store(StoreError(source)) | EngineError::Train(TrainError::Store(StoreError(source))) => {
            source.is::<Interrupted>()
        }
        _ => false,
    };
    assert!(is_interrupted(&error.expect_err("stopped")));
    stop.store(false, Ordering::Relaxed);
    let request = MemoryRequest { rows: stopped, ..sample.request() };
    let error = MemoryModel::train(request, &mut NoiseSource::danger_fixed_seed(1), &mut |_| {
        stop.store(true, Ordering::Relaxed);
    })
    .expect_err("stopped after the first pass");
    assert!(matches!(error, EngineError::Train(TrainError::Store(_))) && is_interrupted(&error), "{error}");

    // Mechanism `objective` reads all rows to remove one.
    let mechanism = Mechanism::Objective { budget: BudgetRule::Analytic };
    let config = TrainingConfig { mechanism, ..sample.config() };
    let mut model = trained(MemoryRequest { config, ..sample.request() });
    let (before, status) = (weights(&model.model), model.status());
    assert!(is_interrupted(&model.remove(&stopped, &ids([5]), None, false).expect_err("stopped")));
    assert!(is_interrupted(&model.settle(&stopped, None).expect_err("stopped")));
    assert_eq!(weights(&model.model), before);
    assert_eq!((model.status().n_rows, model.status().n_removed), (status.n_rows, 0));
    stop.store(false, Ordering::Relaxed);
    model.remove(&stopped, &ids([5]), None, false).expect("still there");
}

#[test]
fn what_cannot_be_removed_is_refused_and_changes_nothing() {
    let sample = Sample::new(Scale::Unit, true, 2);
    let mut model = sample.train();
    model.remove(&sample.lent(), &ids([3]), Some("ticket"), false).expect("removable");
    let before = weights(&model.model);
    let mut refused =
        |selection: &Selection| model.remove(&sample.lent(), selection, None, false).expect_err("refused");
    assert!(matches!(refused(&ids([3])), EngineError::Lookup(LookupError::AlreadyRemoved { .. })));
    assert!(matches!(refused(&ids([700])), EngineError::Lookup(LookupError::Unknown { .. })));
    assert!(matches!(refused(&ids([-1])), EngineError::Lookup(LookupError::Unknown { .. })));
    assert!(matches!(refused(&ids([4, 5, 4])), EngineError::Lookup(LookupError::Repeated { .. })));
    assert!(matches!(refused(&ids([])), EngineError::NothingNamed));
    assert!(matches!(refused(&Selection::Subjects(vec![RowId::parse("ada")])), EngineError::NoSubjects));
    let all_but_3 = ids((0..700).filter(|row| *row != 3));
    assert!(matches!(refused(&all_but_3), EngineError::LastRow { n_removed: 699, n_rows: 699 }));
    let class_1 = (0_i64..).zip(&sample.labels).filter(|(row, label)| *row != 3 && **label == 1.0).map(|(row, _)| row);
    assert!(matches!(refused(&ids(class_1)), EngineError::LastOfClass { .. }));
    assert_eq!((weights(&model.model), model.n_rows()), (before, 699));

    let again = model.remove(&sample.lent(), &ids([3]), Some("ticket"), false).expect("the same request");
    assert!(again.repeated);
    let reused = model.remove(&sample.lent(), &ids([4]), Some("ticket"), false).expect_err("refused");
    assert!(matches!(reused, EngineError::RequestReused { .. }));
    let skipped = model.remove(&sample.lent(), &ids([3, 4, 4, 900]), None, true).expect("one is there");
    assert_eq!((skipped.n_changed, skipped.n_missing), (1, 2));
}

#[test]
fn ids_and_subjects_are_found_and_those_removed_do_not_come_back() {
    let sample = Sample::new(Scale::Unit, true, 2);
    let names: Vec<RowId> = (0..N_ROWS).map(|i| RowId::parse(&format!("row-{i}"))).collect();
    let people: Vec<RowId> = (0..N_ROWS).map(|i| RowId::parse(&format!("person-{}", i / 4))).collect();
    let mut model = trained(MemoryRequest { ids: Some(&names), subjects: Some(&people), ..sample.request() });
    let lent = sample.lent();
    let person = |i: usize| Selection::Subjects(vec![people[i].clone()]);
    assert_eq!(model.remove(&lent, &Selection::Ids(names[8..9].to_vec()), None, false).expect("there").n_changed, 1);
    assert_eq!(model.remove(&lent, &person(8), None, false).expect("the other three").n_changed, 3);
    let error = model.remove(&lent, &person(8), None, false).expect_err("gone");
    assert!(matches!(error, EngineError::Lookup(LookupError::AlreadyRemoved { .. })), "{error}");

    // One is of a person who left, one was there and is gone, one is new.
    let features = Features::F64(&sample.values[..3 * N_FEATURES]);
    let new = NewRows { features, labels: &sample.labels[..3], row_weights: None, subjects: None };
    let (ids, subjects) =
        ([RowId::parse("new-1"), names[9].clone(), RowId::parse("new-2")], [8, 100, 100].map(|i| people[i].clone()));
    let error = model.add(&lent, new, Some(&ids)).expect_err("nobody's");
    assert!(matches!(error, EngineError::InMemory(RowsError::NoSubjects)), "{error}");
    let new = NewRows { subjects: Some(&subjects), ..new };
    let error = model.add(&lent, new, None).expect_err("nameless");
    assert!(matches!(error, EngineError::InMemory(RowsError::NoIds)), "{error}");
    let report = model.add(&lent, new, Some(&ids)).expect("one is new");
    assert_eq!((report.n_changed, report.n_suppressed, report.n_rows), (1, 2, N_ROWS - 3));
    let error =
        model.add(&lent, new, Some(&[names[0].clone(), names[1].clone(), names[2].clone()])).expect_err("there");
    assert!(matches!(error, EngineError::Append(efface_data::AppendError::AlreadyPresent { .. })), "{error}");
    assert_eq!(model.remove(&lent, &person(100), None, false).expect("five rows now").n_changed, 5);

    let error = trained_twice(&sample, &names);
    assert!(matches!(error, EngineError::RepeatedId { first: 0, second: 9 }), "{error}");
}

fn trained_twice(sample: &Sample, names: &[RowId]) -> EngineError {
    let mut names = names.to_vec();
    names[9] = names[0].clone();
    let request = MemoryRequest { ids: Some(&names), ..sample.request() };
    MemoryModel::train(request, &mut NoiseSource::danger_fixed_seed(1), &mut |_| {}).expect_err("refused")
}

#[test]
fn a_release_says_what_it_claims_and_that_nobody_signed() {
    let sample = Sample::new(Scale::Unit, true, 2);
    let mut model = sample.train();
    assert!(model.is_stale() && model.latest().is_none());
    for (release, n_removed) in [(1, 0), (2, 2)] {
        if n_removed > 0 {
            model.remove(&sample.lent(), &ids([1, 2]), Some("ticket"), false).expect("removable");
            assert!(model.is_stale());
        }
        let made =
            model.release(&sample.lent(), &mut NoiseSource::from_system().expect("randomness")).expect("readable");
        assert!(matches!(made, ReleaseMade::Published { settle_passes } if (settle_passes > 0) == (n_removed > 0)));
        assert!(!model.is_stale());
        let latest = model.latest().expect("released");
        let certificate: serde_json::Value = serde_json::from_str(&latest.certificate).expect("JSON");
        assert_eq!(certificate["signed"], false);
        assert_eq!((&certificate["release"], &certificate["n_removed"]), (&release.into(), &n_removed.into()));
        assert_eq!((&certificate["certified"], &certificate["rung"]), (&true.into(), &"measured".into()));
        assert_eq!(certificate["since_previous"]["n_people"], n_removed);
        assert!(certificate["epsilon_spent"].as_f64() < Some(1.0) && certificate.get("key_id").is_none());
        let published: serde_json::Value = serde_json::from_str(&latest.model).expect("JSON");
        assert_eq!(published["weights"][0], latest.weights[0][0]);
        // Noise of a thousandth, six standard deviations.
        let secret = &weights(&model.model)[0];
        assert!(secret.iter().zip(&latest.weights[0]).all(|(secret, public)| (secret - public).abs() < 6e-3));
    }
    let covered = &serde_json::from_str::<serde_json::Value>(&model.latest().expect("released").certificate)
        .expect("JSON")["requests"][0];
    assert_eq!((&covered["id"], &covered["n_rows"]), (&"ticket".into(), &2.into()));
    let status = model.status();
    assert_eq!((status.n_releases, status.n_removed, status.n_removed_since_release), (2, 2, 0));
}

#[test]
fn a_row_of_weight_two_counts_as_two_rows() {
    let sample = Sample::new(Scale::Unit, true, 2);
    let mut row_weights = vec![1.0; N_ROWS];
    row_weights[17] = 2.0;
    row_weights[18] = 0.0;
    let request = || MemoryRequest { row_weights: Some(&row_weights), max_row_weight: Some(2.0), ..sample.request() };
    let mut weighted = trained(request());
    let doubled: Vec<usize> = (0..N_ROWS).filter(|row| *row != 18).chain([17]).collect();
    let rows = sample.kept(&doubled, false);
    let plan = TrainingPlan::new(sample.config()).expect("valid");
    let noise = &mut NoiseSource::danger_fixed_seed(1);
    let expected = plan.train(&rows, noise, &mut |_| {}).expect("trainable").model;
    assert!(distance(&weighted.model, &expected) < 1e-9);
    assert_eq!(weighted.model.state().count.weight_sum, rows.weight_sum());

    // Gone, as two rows go.
    weighted.remove(&sample.lent(), &ids([17]), None, false).expect("removable");
    weighted.settle(&sample.lent(), None).expect("settled");
    let rows = sample.kept(&(0..N_ROWS).filter(|row| *row != 17 && *row != 18).collect::<Vec<_>>(), false);
    let expected = plan.train(&rows, noise, &mut |_| {}).expect("trainable").model;
    assert!(distance(&weighted.model, &expected) < 1e-9);

    row_weights[5] = 2.5;
    let request = MemoryRequest { row_weights: Some(&row_weights), max_row_weight: Some(2.0), ..sample.request() };
    let error = MemoryModel::train(request, noise, &mut |_| {}).expect_err("too heavy");
    assert!(matches!(error, EngineError::InMemory(RowsError::Weight { row: 5, .. })), "{error}");
    let request = MemoryRequest { row_weights: Some(&row_weights), ..sample.request() };
    let error = MemoryModel::train(request, noise, &mut |_| {}).expect_err("no weights were announced");
    assert!(matches!(error, EngineError::Unweighted { .. }), "{error}");
}

#[test]
fn rows_and_labels_that_cannot_be_used_are_named() {
    let mut sample = Sample::new(Scale::None, false, 2);
    let message = |sample: &Sample| {
        let trained = MemoryModel::train(sample.request(), &mut NoiseSource::danger_fixed_seed(1), &mut |_| {});
        trained.expect_err("refused").to_string()
    };
    sample.labels[12] = 2.0;
    assert_eq!(message(&sample), "row 12: label `2` is not the index of one of 2 classes");
    sample.labels[12] = 1.0;
    sample.values[30 * N_FEATURES + 4] = f64::INFINITY;
    assert_eq!(message(&sample), "row 30: features must be finite, got `inf`");
    sample.values[30 * N_FEATURES + 4] = 3.0;
    assert!(message(&sample).starts_with("row 30: row norm is 3"), "{}", message(&sample));
    sample.labels.pop();
    assert_eq!(message(&sample), "699 labels for 700 rows");
    let config = TrainingConfig { n_classes: None, ..TrainingConfig::new(&Squared, 1e-3, None) };
    sample.labels = vec![f64::NAN; N_ROWS];
    let request = MemoryRequest { config, codec: LabelCodec::Numeric, ..sample.request() };
    let error = MemoryModel::train(request, &mut NoiseSource::danger_fixed_seed(1), &mut |_| {}).expect_err("refused");
    assert_eq!(error.to_string(), "row 0: labels must be finite numbers, got `NaN`");
}

#[test]
fn scores_are_those_of_the_published_model() {
    let sample = Sample::new(Scale::Unit, true, 3);
    let model = sample.train();
    let weights = weights(&model.model);
    let found = scores(Features::F64(&sample.values), N_FEATURES, &sample.transform, &weights).expect("valid");
    let kept = sample.kept(&(0..N_ROWS).collect::<Vec<_>>(), false);
    let expected = efface_core::predict::margins(&kept, &weights).expect("readable");
    for (i, row) in found.chunks_exact(3).enumerate() {
        assert_eq!(row, [expected[0][i], expected[1][i], expected[2][i]]);
    }
    let norm = |row: &[f64]| row.iter().map(|x| x * x).sum::<f64>().sqrt();
    let longest = sample.values.chunks(N_FEATURES).map(norm).fold(0.0, f64::max);
    let bound = longest_row(Features::F64(&sample.values), N_FEATURES).expect("finite");
    assert!(bound >= longest && bound < longest * (1.0 + 1e-12));
}

#[test]
fn a_model_comes_back_from_its_bytes_with_its_rows_and_its_history() {
    let sample = Sample::new(Scale::Unit, true, 3);
    let names: Vec<RowId> = (0..N_ROWS).map(|i| RowId::parse(&format!("row-{i}"))).collect();
    let people: Vec<RowId> = (0..N_ROWS).map(|i| RowId::parse(&format!("person-{}", i / 4))).collect();
    let row_weights: Vec<f64> = (0..N_ROWS).map(|i| 0.5 + (i % 3) as f64).collect();
    let request = MemoryRequest {
        ids: Some(&names),
        subjects: Some(&people),
        row_weights: Some(&row_weights),
        max_row_weight: Some(4.0),
        ..sample.request()
    };
    let (mut model, lent) = (trained(request), sample.lent());
    let features = Features::F64(&sample.values[..N_FEATURES]);
    let new =
        NewRows { features, labels: &sample.labels[..1], row_weights: Some(&[3.5]), subjects: Some(&people[..1]) };
    model.add(&lent, new, Some(&[RowId::parse("new")])).expect("new");
    model.correct(&lent, &names[5..6], NewRows { subjects: None, ..new }).expect("there");
    let noise = &mut NoiseSource::danger_fixed_seed(1);
    model.release(&lent, noise).expect("readable");
    model.remove(&lent, &Selection::Subjects(people[8..9].to_vec()), Some("ticket"), false).expect("removable");

    let bytes = model.to_bytes(&lent).expect("unchanged");
    let (mut restored, rows) = MemoryModel::from_bytes(&bytes).expect("whole");
    let own = LentRows { features: rows.slice(0..rows.len()), cancel: &GO_ON };
    assert_eq!(weights(&restored.model), weights(&model.model));
    assert_eq!(restored.latest().map(|latest| &latest.certificate), model.latest().map(|latest| &latest.certificate));
    let status = |model: &MemoryModel| serde_json::to_string(&model.status()).expect("plain");
    assert_eq!(status(&restored), status(&model));
    for (model, lent) in [(&mut model, &lent), (&mut restored, &own)] {
        assert!(
            model
                .remove(lent, &Selection::Subjects(people[8..9].to_vec()), Some("ticket"), false)
                .expect("known")
                .repeated
        );
        let error = model.remove(lent, &Selection::Ids(names[8..9].to_vec()), None, false).expect_err("gone");
        assert!(matches!(error, EngineError::Lookup(LookupError::AlreadyRemoved { .. })), "{error}");
        // The first person has one row more than the others.
        assert_eq!(
            model.remove(lent, &Selection::Subjects(people[..1].to_vec()), None, false).expect("five").n_changed,
            5
        );
        model.settle(lent, None).expect("settled");
    }
    // The factor that preconditions the steps is formed anew, so they agree up to what settling leaves.
    assert!(distance(&restored.model, &model.model) < 1e-9);

    let mut damaged = bytes.to_vec();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    for bytes in [&damaged[..], &bytes[..bytes.len() - 1], &bytes[..20], &[]] {
        assert!(matches!(MemoryModel::from_bytes(bytes), Err(EngineError::BadState { .. })));
    }
}

#[test]
fn a_model_moves_into_a_directory_and_goes_on_there() {
    for (named, weighted) in [(false, false), (true, true)] {
        let sample = Sample::new(Scale::Unit, true, 2);
        let row_weights: Vec<f64> = (0..N_ROWS).map(|i| 0.5 + (i % 3) as f64).collect();
        let names: Vec<RowId> = (0..N_ROWS).map(|i| RowId::parse(&format!("row-{i}"))).collect();
        let people: Vec<RowId> = (0..N_ROWS).map(|i| RowId::parse(&format!("person-{}", i / 4))).collect();
        let request = MemoryRequest {
            row_weights: weighted.then_some(&row_weights),
            max_row_weight: weighted.then_some(4.0),
            ids: named.then_some(&names),
            subjects: named.then_some(&people),
            ..sample.request()
        };
        let id = |i: usize| if named { names[i].clone() } else { super::index::numbered(i) };
        let (mut model, lent) = (trained(request), sample.lent());
        model.release(&lent, &mut NoiseSource::danger_fixed_seed(1)).expect("readable");
        model.remove(&lent, &Selection::Ids(vec![id(0), id(300)]), None, false).expect("removable");

        let folder = tempfile::tempdir().expect("a temporary folder");
        let options = KeepOptions { out: folder.path().join("model"), ..KeepOptions::default() };
        let mut directory = model.keep(&lent, options.clone()).expect("writable");
        let error = model.keep(&lent, options.clone()).err().expect("taken");
        assert!(matches!(error, EngineError::Exists { .. }), "{error}");
        assert_eq!(weights(directory.audit_material().model), weights(&model.model));
        let status = directory.status().expect("readable");
        assert_eq!((status.n_rows, status.n_removed, status.n_releases), (N_ROWS - 2, 2, 1));

        let error = directory.remove(&Selection::Ids(vec![id(300)]), None).expect_err("gone");
        assert!(matches!(error, EngineError::Lookup(LookupError::AlreadyRemoved { .. })), "{error}");
        let gone = if named { Selection::Subjects(people[8..9].to_vec()) } else { Selection::Ids(vec![id(8), id(9)]) };
        directory.remove(&gone, None).expect("removable");
        model.remove(&lent, &gone, None, false).expect("removable");
        directory.settle(None).expect("settled");
        model.settle(&lent, None).expect("settled");
        assert!(distance(directory.audit_material().model, &model.model) < 1e-9);
        let (kept, lent) = (directory.influences(None).expect("rows"), model.influence(&lent, None).expect("rows"));
        assert!(kept.iter().zip(&lent).all(|(a, b)| (a - b).abs() < 1e-9) && kept.len() == lent.len());
    }
}

#[test]
fn what_happened_since_the_latest_release_is_certified_after_the_move() {
    let sample = Sample::new(Scale::Unit, true, 2);
    let lent = sample.lent();
    let noise = &mut NoiseSource::from_system().expect("randomness");
    let mut model = sample.train();
    model.remove(&lent, &ids([3]), Some("early"), false).expect("removable");
    model.release(&lent, noise).expect("readable");
    let answer = model.remove(&lent, &ids([7]), Some("ticket"), false).expect("removable");
    let again = NewRows {
        features: Features::F64(&sample.values[..2 * N_FEATURES]),
        labels: &sample.labels[..2],
        row_weights: None,
        subjects: None,
    };
    model
        .correct(
            &lent,
            &[RowId::Integer(7 + 1)],
            NewRows { features: Features::F64(&sample.values[..N_FEATURES]), labels: &[0.0], ..again },
        )
        .expect("there");
    model.add(&lent, again, Some(&[RowId::Integer(3), RowId::parse("new")])).expect("one of them is new");

    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = KeepOptions { out: folder.path().join("model"), ..KeepOptions::default() };
    let mut directory = model.keep(&lent, options.clone()).expect("writable");
    let error = ModelDirectory::open(&options.out).err().expect("the one that was returned has the lock");
    assert!(matches!(error, EngineError::Locked { .. }), "{error}");
    let status = directory.status().expect("readable");
    assert_eq!((status.n_people_since_release, status.n_removed, status.n_suppressed), (2, 2, 1));
    assert!(status.released.is_some());

    // Asked again, requests get the answers that they got in memory.
    for (request, row) in [("early", 3), ("ticket", 7)] {
        assert!(directory.remove(&ids([row]), Some(request)).expect("known").repeated, "{request}");
    }
    let repeated = directory.remove(&ids([7]), Some("ticket")).expect("known");
    assert_eq!(ChangeReport { repeated: false, ..repeated }, answer);
    let error = directory.remove(&ids([9]), Some("ticket")).expect_err("another row");
    assert!(matches!(error, EngineError::RequestReused { .. }), "{error}");

    // Two people left or changed: a policy that asks for three holds the release back.
    let policy = ReleasePolicy { min_removals: Some(3), every_seconds: None };
    directory.set_policy(policy).expect("writable");
    assert!(matches!(directory.release(noise, None).expect("readable"), ReleaseAnswer::HeldBack(_)));
    directory.set_policy(ReleasePolicy { every_seconds: Some(1_000_000), ..policy }).expect("writable");
    assert!(matches!(directory.release(noise, None).expect("readable"), ReleaseAnswer::HeldBack(_)));
    directory.set_policy(ReleasePolicy::default()).expect("writable");
    let claims = released(&mut directory);
    let since = &claims["since_previous"];
    assert_eq!(
        (&since["release"], &since["n_people"], &since["exposure"]),
        (&1.into(), &2.into(), &"several-together".into())
    );
    let counts = ["n_removed", "n_corrected", "n_added"].map(|name| since[name].as_u64());
    assert_eq!((counts, &claims["n_removed"]), ([Some(1); 3], &2.into()));
    let requests = claims["requests"].as_array().expect("a list");
    assert_eq!((requests.len(), &requests[0]["id"], &requests[0]["change"]), (1, &"ticket".into(), &2.into()));
    assert_eq!(directory.verify(true).expect("readable").verdict, efface_ledger::verify::Verdict::Valid);
    let certified = directory.certify_request("ticket", &folder.path().join("request.json")).expect("writable");
    assert_eq!(certified.release, Some(2));
}

#[test]
fn one_person_who_left_before_the_move_is_one_person_after_it() {
    let sample = Sample::new(Scale::Unit, true, 2);
    let lent = sample.lent();
    let noise = &mut NoiseSource::from_system().expect("randomness");
    for n_left in [0, 1] {
        let mut model = sample.train();
        model.release(&lent, noise).expect("readable");
        if n_left > 0 {
            model.remove(&lent, &ids([7]), None, false).expect("removable");
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        let options = KeepOptions { out: folder.path().join("model"), ..KeepOptions::default() };
        let mut directory = model.keep(&lent, options).expect("writable");
        let claims = released(&mut directory);
        let since = &claims["since_previous"];
        let counts = ["release", "n_people", "n_removed"].map(|name| since[name].as_u64());
        assert_eq!(counts, [Some(1), Some(n_left), Some(n_left)]);
        assert_eq!(since["exposure"], ["nobody-left", "one-person"][n_left as usize]);
        assert_eq!(claims["requests"].as_array().map(Vec::len), Some(n_left as usize));
    }
}

/// What is certified of a release that is made now.
fn released(directory: &mut ModelDirectory) -> serde_json::Value {
    let noise = &mut NoiseSource::from_system().expect("randomness");
    let ReleaseAnswer::Published(report) = directory.release(noise, None).expect("writable") else {
        panic!("must be published")
    };
    let text = std::fs::read(report.certificate).expect("written");
    let envelope = efface_ledger::envelope::Envelope::parse(&text).expect("signed");
    let mut statement: serde_json::Value = serde_json::from_slice(envelope.unverified_payload()).expect("JSON");
    statement["predicate"].take()
}

#[test]
fn rows_that_cannot_be_added_leave_the_index_as_it_was() {
    let sample = Sample::new(Scale::Within { radius: 2.0 }, true, 2);
    let (mut model, lent) = (sample.train(), sample.lent());
    let long = [9.0; N_FEATURES];
    let new = NewRows { features: Features::F64(&long), labels: &[1.0], row_weights: None, subjects: None };
    let error = model.add(&lent, new, Some(&[RowId::parse("new")])).expect_err("too long");
    assert!(matches!(error, EngineError::InMemory(RowsError::Scale { .. })), "{error}");
    // Rows are still numbered: one without an id can join them.
    let good = NewRows { features: Features::F64(&sample.values[..N_FEATURES]), ..new };
    model.add(&lent, good, None).expect("numbered on");
    let position = |model: &MemoryModel, id: RowId| model.index.position_of(&id, &model.rows.present);
    assert_eq!(position(&model, RowId::Integer(N_ROWS as i64)), Some(N_ROWS));
    // And from the first one that has an id of its own, all have.
    model.add(&lent, good, Some(&[RowId::parse("new")])).expect("new");
    assert_eq!(position(&model, RowId::parse("new")), Some(N_ROWS + 1));
    assert_eq!(position(&model, RowId::Integer(N_ROWS as i64)), Some(N_ROWS));
    assert!(matches!(model.add(&lent, good, None), Err(EngineError::InMemory(RowsError::NoIds))));
}

#[test]
fn subjects_of_rows_that_come_to_a_model_without_are_refused() {
    let sample = Sample::new(Scale::Unit, true, 2);
    let (mut model, lent) = (sample.train(), sample.lent());
    let new = NewRows {
        features: Features::F64(&sample.values[..N_FEATURES]),
        labels: &[1.0],
        row_weights: None,
        subjects: Some(&[RowId::Integer(1)]),
    };
    assert!(matches!(model.add(&lent, new, None), Err(EngineError::NoSubjects)));
    assert_eq!(model.n_rows(), N_ROWS);
}

#[test]
fn rows_are_checked_again_after_they_were_read() {
    let sample = Sample::new(Scale::Unit, true, 2);
    let model = sample.train();
    let stop = AtomicBool::new(false);
    let lent = LentRows { cancel: &stop, ..sample.lent() };
    // A check that stops when it is asked to tells that there is one.
    let read = model.rows.read(&lent, |rows| {
        stop.store(true, Ordering::Relaxed);
        Ok(rows.n_rows())
    });
    assert!(matches!(read, Err(EngineError::InMemory(RowsError::Interrupted(_)))), "{read:?}");
    let mut changed = sample.values.clone();
    changed[400 * N_FEATURES] += 1.0;
    let lent = LentRows { features: Features::F64(&changed), cancel: &GO_ON };
    let read = model.rows.read(&lent, |_| -> Result<(), _> { panic!("rows that changed are not read") });
    assert!(matches!(read, Err(EngineError::InMemory(RowsError::Changed { row: 400 }))), "{read:?}");
}

#[test]
fn the_influence_of_some_rows_asks_nothing_of_the_others() {
    let sample = Sample::new(Scale::Unit, true, 2);
    let model = sample.train();
    let before = model.influence(&sample.lent(), Some(&[RowId::Integer(3)])).expect("unchanged");
    let mut changed = sample.values.clone();
    changed[400 * N_FEATURES] += 1.0;
    let lent = LentRows { features: Features::F64(&changed), cancel: &GO_ON };
    assert_eq!(model.influence(&lent, Some(&[RowId::Integer(3)])).expect("this one is unchanged"), before);
    for ids in [None, Some(&[RowId::Integer(400)][..])] {
        assert!(matches!(model.influence(&lent, ids), Err(EngineError::InMemory(RowsError::Changed { row: 400 }))));
    }
}

#[test]
fn a_subject_of_very_many_rows_is_removed_in_one_go() {
    // Row by row this would be 2·10¹⁰ comparisons.
    let n_rows = 200_000;
    let people: Vec<RowId> = (0..n_rows as i64).map(|i| RowId::Integer(i % 100 / 99)).collect();
    let key = efface_data::IdKey::new([1; 32]);
    let mut index = super::index::RowIndex::new(key, n_rows, None, Some(&people)).expect("distinct");
    let mut present = vec![true; n_rows];
    let first = index.positions_of_subjects(&people[..1], &present).expect("there");
    assert_eq!(first.len(), n_rows / 100 * 99);
    index.remove(&first[1..]);
    first[1..].iter().for_each(|row| present[*row] = false);
    assert_eq!(index.positions_of_subjects(&people[..1], &present).expect("one is left"), first[..1]);
    index.remove(&first[..1]);
    present[first[0]] = false;
    let gone = index.positions_of_subjects(&people[..1], &present);
    assert!(matches!(gone, Err(EngineError::Lookup(LookupError::AlreadyRemoved { .. }))), "{gone:?}");
    assert_eq!(index.positions_of_subjects(&people[99..100], &present).expect("there").len(), n_rows / 100);
}

#[test]
fn divisors_are_kept_only_where_rows_are_divided() {
    let sample = Sample::new(Scale::Within { radius: 2.0 }, true, 2);
    let (mut model, lent) = (sample.train(), sample.lent());
    assert!(model.rows.divisors.is_empty());
    let new = NewRows {
        features: Features::F64(&sample.values[..N_FEATURES]),
        labels: &[1.0],
        row_weights: None,
        subjects: None,
    };
    model.add(&lent, new, None).expect("numbered on");
    model.correct(&lent, &[RowId::Integer(3)], new).expect("there");
    assert!(model.rows.divisors.is_empty());

    // Clipped rows: none of those trained on, and one that comes later.
    let sample = Sample::new(Scale::Clip { radius: 1.0 }, true, 2);
    let (mut model, lent) = (sample.train(), sample.lent());
    assert!(model.rows.divisors.is_empty());
    let long = [3.0; N_FEATURES];
    let clipped = NewRows { features: Features::F64(&long), ..new };
    model.add(&lent, clipped, None).expect("numbered on");
    model.correct(&lent, &[RowId::Integer(3)], clipped).expect("there");
    model.add(&lent, new, None).expect("numbered on");
    let divided = |model: &MemoryModel| -> Vec<usize> {
        (0..model.rows.len()).filter(|row| !model.rows.divisors.get(*row).is_one()).collect()
    };
    assert_eq!(divided(&model), [3, N_ROWS]);
    model.settle(&lent, None).expect("settled");
    model.remove(&lent, &ids([3]), None, false).expect("there");
    assert_eq!(divided(&model), [N_ROWS]);
}

#[test]
fn whose_row_it_was_is_forgotten_with_the_row() {
    let sample = Sample::new(Scale::Unit, true, 2);
    let names: Vec<RowId> = (0..N_ROWS).map(|i| RowId::parse(&format!("row-{i}"))).collect();
    let people: Vec<RowId> = (0..N_ROWS).map(|i| RowId::parse(&format!("person-{}", i / 4))).collect();
    let request = MemoryRequest { ids: Some(&names), subjects: Some(&people), ..sample.request() };
    let (mut model, lent) = (trained(request), sample.lent());
    let whose = |model: &MemoryModel, row: usize| {
        let (ids, subjects) = model.index.digests_by_position();
        (ids[row], subjects[row])
    };
    let (id, subject) = whose(&model, 8);
    model.remove(&lent, &Selection::Ids(names[8..9].to_vec()), None, false).expect("there");
    let nobody = IdDigest([0; IdDigest::BYTES]);
    assert_eq!(whose(&model, 8), (nobody, nobody));
    // The person has other rows, the row must not come back.
    assert!(model.index.is_removed(id) && !model.index.is_removed(subject));
    model.remove(&lent, &Selection::Subjects(people[8..9].to_vec()), None, false).expect("there");
    assert!(model.index.is_removed(subject));
}

#[test]
fn weights_and_a_bound_that_tell_of_the_rows_are_outside_the_scope() {
    let sample = Sample::new(Scale::Within { radius: 2.0 }, true, 2);
    // They add up to the number of rows, and to another one as soon as a row leaves.
    let balanced: Vec<f64> = (0..N_ROWS).map(|i| 0.5 + (i % 2) as f64).collect();
    let has =
        |claims: &serde_json::Value, tag: &str| claims["outside_scope"].as_array().expect("tags").contains(&tag.into());
    for (weighted, from_rows) in [(false, false), (true, true)] {
        let request = MemoryRequest {
            row_weights: weighted.then_some(&balanced),
            max_row_weight: weighted.then_some(2.0),
            row_norm_from_rows: from_rows,
            ..sample.request()
        };
        let (mut model, lent) = (trained(request), sample.lent());
        let folder = tempfile::tempdir().expect("a temporary folder");
        model.release(&lent, &mut NoiseSource::from_system().expect("randomness")).expect("readable");
        let claims: serde_json::Value =
            serde_json::from_str(&model.latest().expect("released").certificate).expect("JSON");
        let options = KeepOptions { out: folder.path().join("model"), ..KeepOptions::default() };
        let mut directory = model.keep(&lent, options).expect("writable");
        let signed = released(&mut directory);
        for claims in [claims, signed] {
            let sum = claims.get("weight_sum").map(|sums| sums[0].as_f64());
            assert_eq!(sum, weighted.then_some(Some(N_ROWS as f64)));
            assert_eq!((has(&claims, "row-weights"), has(&claims, "row-norm-bound")), (weighted, from_rows));
        }
        assert_eq!(directory.verify(true).expect("readable").verdict, efface_ledger::verify::Verdict::Valid);
    }
}

/// Bytes whose digest is right whatever is in them.
fn with_digest(mut bytes: Vec<u8>) -> Vec<u8> {
    use sha2::{Digest, Sha256};

    let content = bytes.len() - 32;
    let digest = Sha256::digest(&bytes[..content]);
    bytes[content..].copy_from_slice(&digest);
    bytes
}

/// A model of few rows, with something of everything in it, and its bytes.
fn small_model() -> Vec<u8> {
    let (n_rows, n_features) = (24, 2);
    let values: Vec<f64> = (0..n_rows * n_features).map(|i| ((i * 7 % 11) as f64 - 5.0) / 16.0).collect();
    let labels: Vec<f64> = (0..n_rows).map(|i| (i % 3) as f64).collect();
    let row_weights: Vec<f64> = (0..n_rows).map(|i| 0.5 + (i % 2) as f64).collect();
    let people: Vec<RowId> = (0..n_rows as i64).map(|i| RowId::Integer(i / 2)).collect();
    let lent = LentRows { features: Features::F64(&values), cancel: &GO_ON };
    let mut model = trained(MemoryRequest {
        rows: lent,
        labels: &labels,
        row_weights: Some(&row_weights),
        max_row_weight: Some(2.0),
        ids: Some(&people.iter().zip(0..).map(|(_, i)| RowId::Integer(i)).collect::<Vec<_>>()),
        subjects: Some(&people),
        features: vec!["a".into(), "b".into()],
        codec: LabelCodec::Classes(["x", "y", "z"].map(String::from).to_vec()),
        transform: RowTransform { scale: Scale::Within { radius: 1.0 }, intercept: true },
        row_norm_from_rows: true,
        config: TrainingConfig::new(&Logistic, 1e-1, Some(3)),
    });
    model.release(&lent, &mut NoiseSource::danger_fixed_seed(1)).expect("readable");
    model.remove(&lent, &ids([4]), Some("ticket"), false).expect("removable");
    model.to_bytes(&lent).expect("unchanged").to_vec()
}

#[test]
fn bytes_that_were_altered_are_refused_or_read_but_do_not_panic() {
    let bytes = small_model();
    MemoryModel::from_bytes(&bytes).expect("whole");
    assert_eq!(with_digest(bytes.clone()), bytes);
    for position in 0..bytes.len() - 32 {
        for bit in [0, 3, 7] {
            let mut altered = bytes.clone();
            altered[position] ^= 1 << bit;
            if let Ok((mut model, rows)) = MemoryModel::from_bytes(&with_digest(altered)) {
                // What is read can be worked with.
                let lent = LentRows { features: rows.slice(0..rows.len()), cancel: &GO_ON };
                drop(model.remove(&lent, &ids([7]), None, true));
                model.status();
            }
        }
    }
    for len in 0..bytes.len() {
        let cut = &bytes[..len];
        assert!(matches!(MemoryModel::from_bytes(cut), Err(EngineError::BadState { .. })));
        if len > 40 {
            assert!(MemoryModel::from_bytes(&with_digest(cut.to_vec())).is_err(), "{len}");
        }
    }
}

/// Bytes with another text in their header.
fn with_text(bytes: &[u8], text: &str, other: &str) -> Vec<u8> {
    let at = bytes.windows(text.len()).position(|part| part == text.as_bytes()).expect("in the header");
    let mut altered = [&bytes[..at], other.as_bytes(), &bytes[at + text.len()..]].concat();
    let len = u64::from_le_bytes(bytes[8..16].try_into().expect("eight bytes"));
    let len = len + other.len() as u64 - text.len() as u64;
    altered[8..16].copy_from_slice(&len.to_le_bytes());
    with_digest(altered)
}

#[test]
fn bytes_whose_parts_do_not_belong_together_are_refused() {
    let bytes = small_model();
    let refused = |text: &str, other: &str| {
        MemoryModel::from_bytes(&with_text(&bytes, text, other)).expect_err("must be refused").to_string()
    };
    let narrow = refused(r#""intercept":true"#, r#""intercept":false"#);
    assert!(narrow.ends_with("damaged: rows of 2 values for 3 weights"), "{narrow}");
    let fewer = refused(r#"["x","y","z"]"#, r#"["x","y"]"#);
    assert!(fewer.ends_with("damaged: its classes are not those that it was trained on"), "{fewer}");
    let light = refused(r#""max_row_weight":2.0"#, r#""max_row_weight":1.0"#);
    assert!(light.ends_with("its weight must be at least 0 and at most 1, got `1.5`"), "{light}");
    refused(r#"["a","b"]"#, r#"["a"]"#);
    refused(r#"["a","b"]"#, "[]");
}
