//! Models of lent rows against models of the same rows kept, and against trainings on what is left.

use efface_core::removal::Change;
use efface_core::rows::RowStore;
use efface_data::{Scaling, longest_row, scores};

use super::*;

fn samples() -> Vec<Sample> {
    let scales = [Scale::Unit, Scale::None, Scale::Clip { radius: 0.5 }, Scale::Within { radius: 2.0 }];
    let mut samples: Vec<Sample> = scales.iter().map(|scale| Sample::new(*scale, false, 2)).collect();
    samples.extend(scales.iter().map(|scale| Sample::new(*scale, true, 3)));
    samples
}

fn all() -> Vec<usize> {
    (0..N_ROWS).collect()
}

#[test]
fn lent_rows_lead_to_the_bits_that_kept_ones_lead_to() {
    for sample in samples() {
        let mut held = sample.train();
        let (mut kept, mut rows) = sample.train_kept(&all(), false);
        let assert_same = |held: &Held, kept: &Model| {
            assert_eq!(weights(&held.model.model), weights(kept), "{}", sample.transform.scale);
        };
        assert_same(&held, &kept);
        for mut gone in [vec![3], vec![255, 256, 699, 0]] {
            let named = Selection::Ids(gone.iter().map(|row| RowId::numbered(*row)).collect());
            let report = held.remove(&named).expect("removable");
            gone.sort_unstable();
            let batch = rows.batch(&gone).expect("present");
            rows.remove(&gone).expect("present");
            let expected = kept.change(&Change::remove(&batch), &rows).expect("readable");
            assert_eq!(report.distance_bound, expected.claim.distance_bound);
            assert_same(&held, &kept);
        }
        held.settle().expect("settled");
        kept.settle(&rows, None).expect("settled");
        assert_same(&held, &kept);
        let influences = held.influences(None).expect("readable");
        assert_eq!(influences, kept.influences(&rows).expect("readable"));
        assert_eq!((influences[3], influences.len()), (0.0, N_ROWS));
    }
}

#[test]
fn single_precision_is_scaled_as_it_is_when_kept() {
    for sample in samples() {
        let narrow: Vec<f32> = sample.values.iter().map(|x| *x as f32).collect();
        let rows = LentRows { features: Features::F32(&narrow), cancel: &GO_ON };
        let held = trained(MemoryRequest { rows, ..sample.request() });
        let (kept, _) = sample.train_kept(&all(), true);
        assert_eq!(weights(&held.model.model), weights(&kept), "{}", sample.transform.scale);
    }
}

#[test]
fn adding_and_correcting_lead_where_training_does() {
    let sample = Sample::usual();
    let whole = sample.train();
    let rows = LentRows { features: Features::F64(&sample.values[..600 * N_FEATURES]), cancel: &GO_ON };
    let mut held = trained(MemoryRequest { rows, labels: &sample.labels[..600], ..sample.request() });
    let report = held.add(sample.parts(&(600..N_ROWS).collect::<Vec<_>>())).expect("new");
    assert_eq!((report.n_rows, report.n_changed, report.n_suppressed), (N_ROWS, 100, 0));

    // Two rows that are wrong and then put right again, one of them lent and one added.
    let right = TableParts { ids: Some([10, 650].map(RowId::Integer).into()), ..sample.parts(&[10, 650]) };
    let wrong = FeatureValues::F64((0..2 * N_FEATURES).map(|i| i as f64 - 3.0).collect());
    for (rows, is_right) in [(TableParts { features: wrong, ..right.clone() }, false), (right, true)] {
        held.correct(rows).expect("present");
        held.settle().expect("settled");
        let apart = distance(&held.model.model, &whole.model.model);
        assert_eq!(apart < 1e-8, is_right, "{apart}");
    }
    // Corrected rows stand behind the others, and where they stood there is nobody.
    let influences = held.influences(None).expect("readable");
    assert_eq!((influences.len(), influences[10], influences[650]), (N_ROWS + 4, 0.0, 0.0));
    let named = held.influences(Some(&[RowId::Integer(10)])).expect("there")[0];
    assert!((influences[N_ROWS + 2] - named).abs() <= 1e-12 * named, "{named}");
}

#[test]
fn a_row_of_weight_two_counts_as_two_rows() {
    let sample = Sample::usual();
    let mut row_weights = vec![1.0; N_ROWS];
    (row_weights[17], row_weights[18]) = (2.0, 0.0);
    let weighted = |row_weights, max_row_weight| MemoryRequest { row_weights, max_row_weight, ..sample.request() };
    let mut held = trained(weighted(Some(&row_weights), Some(2.0)));
    let doubled: Vec<usize> = (0..N_ROWS).filter(|row| *row != 18).chain([17]).collect();
    let (expected, rows) = sample.train_kept(&doubled, false);
    assert!(distance(&held.model.model, &expected) < 1e-9);
    assert_eq!(held.model.model.state().count.weight_sum, rows.weight_sum());

    // Gone, as two rows go.
    held.remove(&ids([17])).expect("removable");
    held.settle().expect("settled");
    let left: Vec<usize> = (0..N_ROWS).filter(|row| *row != 17 && *row != 18).collect();
    assert!(distance(&held.model.model, &sample.train_kept(&left, false).0) < 1e-9);

    let mut heavier = row_weights.clone();
    heavier[5] = 2.5;
    let heavy = refused(weighted(Some(&heavier), Some(2.0)));
    assert!(matches!(heavy, EngineError::InMemory(RowsError::Weight { row: 5, .. })), "{heavy}");
    let unannounced = refused(weighted(Some(&heavier), None));
    assert!(matches!(unannounced, EngineError::InMemory(RowsError::Unweighted { .. })), "{unannounced}");
}

#[test]
fn scores_are_those_of_the_published_model() {
    let sample = Sample::new(Scale::Unit, true, 3);
    let weights = weights(&sample.train().model.model);
    let found =
        scores(Features::F64(&sample.values), N_FEATURES, Scaling::ByRow(&sample.transform), &weights).expect("valid");
    let kept = sample.kept(&all(), false);
    let expected = efface_core::predict::margins(&kept, &weights).expect("readable");
    for (i, row) in found.chunks_exact(3).enumerate() {
        assert_eq!(row, [expected[0][i], expected[1][i], expected[2][i]]);
    }
    let norm = |row: &[f64]| row.iter().map(|x| x * x).sum::<f64>().sqrt();
    let longest = sample.values.chunks(N_FEATURES).map(norm).fold(0.0, f64::max);
    let bound = longest_row(Features::F64(&sample.values), N_FEATURES).expect("finite");
    assert!(bound >= longest && bound < longest * (1.0 + 1e-12));
}
