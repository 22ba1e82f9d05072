//! Models in memory against models of rows that are kept, and what they notice and refuse.

use std::sync::atomic::{AtomicBool, Ordering};

use efface_core::loss::{Logistic, Squared};
use efface_core::model::{BudgetRule, Mechanism, Model, TrainError, TrainingConfig, TrainingPlan};
use efface_core::noise::NoiseSource;
use efface_core::removal::Change;
use efface_core::rows::{Features, RowStore, StoreError};
use efface_data::{
    Columns, FeatureOrder, FeatureValues, LabelCodec, Labels, LookupError, MemoryRows, Origin, RawLabels, RowId,
    RowTransform, Scale, Table, TableParts, encode_table,
};

use super::*;
use efface_ledger::certificate::ReleasePolicy;

use crate::change_report::ChangeReport;
use crate::error::EngineError;
use crate::model_directory::ModelDirectory;
use crate::releases::ReleaseAnswer;
use crate::selection::Selection;
use crate::settings::RowNames;

mod altered;
mod keeping;
mod lending;

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
            columns: Columns::default(),
            row_names: RowNames::Ids,
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
