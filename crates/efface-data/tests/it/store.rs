//! Rows in memory: lookups, removal, counts. What they share with other stores is in `conformance`.

use efface_core::linalg::TrackedMatrix;
use efface_core::loss::Logistic;
use efface_core::rows::{NegativeSampling, Point, Problem, RowStore, Sign};
use efface_core::statistic::GradientSum;
use efface_data::{AppendError, IdKind, LookupError, MemoryRows, Precision, RowId};

use crate::samples::{empty, encoded, noise, store};

const DIM: usize = 7;

/// The gradient at a fixed point, and the Gram matrix.
fn sums(store: &MemoryRows) -> (GradientSum, Vec<f64>) {
    let weights = noise(99, store.dim());
    let problem = Problem::one_vs_rest(1, Some(NegativeSampling { fraction: 0.7 }));
    let point = Point { problem: &problem, weights: &weights };
    let gradient = store.gradients(&Logistic, &[point]).expect("in memory").remove(0);
    let mut gram = TrackedMatrix::zeros(store.dim());
    store.add_gram(Sign::Add, &mut gram).expect("in memory");
    (gradient, gram.parts().0.to_vec())
}

fn assert_close(a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len());
    for (x, y) in a.iter().zip(b) {
        assert!((x - y).abs() <= tolerance * (1.0 + x.abs()), "{x} and {y}");
    }
}

fn integers(ids: &[i64]) -> Vec<RowId> {
    ids.iter().copied().map(RowId::Integer).collect()
}

#[test]
fn single_precision_sums_agree_with_double_precision_ones() {
    let (single, double) = (store(3000, DIM, Precision::F32), store(3000, DIM, Precision::F64));
    let (a, b) = (sums(&single), sums(&double));
    assert_eq!(a.0.n_rows, b.0.n_rows);
    assert_close(&a.0.gradient, &b.0.gradient, 3000.0 * 1e-7);
    assert_close(&a.1, &b.1, 1e-6);
    assert_ne!(a.1, b.1);
}

#[test]
fn a_removed_row_is_not_to_be_found() {
    let mut store = store(300, DIM, Precision::F64);
    store.remove(&[255]).expect("present");
    assert!(store.row(255).is_none() && store.label(255).is_none() && store.id(255).is_none());
    assert!(!store.is_present(255) && store.is_present(254) && !store.is_present(300));
}

#[test]
fn a_batch_has_the_same_rows_labels_and_selectors() {
    let store = store(300, DIM, Precision::F32);
    let batch = store.batch(&[299, 5]).expect("present");
    for (i, position) in [299, 5].into_iter().enumerate() {
        assert_eq!(batch.row(i), store.row(position));
        assert_eq!(batch.label(i), store.label(position));
        assert_eq!(batch.id(i), store.id(position));
        assert_eq!(batch.subject(i), store.subject(position));
    }
    // A rule that looks at selectors chooses the same rows in a batch as in the whole.
    let all: Vec<usize> = (0..300).collect();
    assert_eq!(sums(&store.batch(&all).expect("present")), sums(&store));
    assert!(store.batch(&[5, 5]).is_err() && store.batch(&[300]).is_err());
}

#[test]
fn rows_are_found_by_id_and_by_subject() {
    let mut store = store(20, DIM, Precision::F64);
    assert_eq!(store.positions_of(&integers(&[7, 2])).expect("present"), [7, 2]);
    let anna = [RowId::parse("s1")];
    assert_eq!(store.positions_of_subjects(&anna).expect("present"), [4, 5, 6, 7]);
    let row = |id: i64| (IdKind::Row, RowId::Integer(id));
    let (kind, id) = row(20);
    assert_eq!(store.positions_of(&integers(&[1, 20])), Err(LookupError::Unknown { kind, id }));
    let (kind, id) = row(3);
    assert_eq!(store.positions_of(&integers(&[3, 1, 3])), Err(LookupError::Repeated { kind, id }));

    store.remove(&[5]).expect("present");
    assert_eq!(store.positions_of_subjects(&anna).expect("present"), [4, 6, 7]);
    let (kind, id) = row(5);
    assert_eq!(store.positions_of(&integers(&[5])), Err(LookupError::AlreadyRemoved { kind, id }));
    assert_eq!(store.remove(&[4, 5]), Err(LookupError::NotPresent { position: 5, len: 20 }));
    assert_eq!(store.n_rows(), 19);

    store.remove(&[4, 6, 7]).expect("present");
    let (kind, id) = (IdKind::Subject, anna[0].clone());
    assert_eq!(store.positions_of_subjects(&anna), Err(LookupError::AlreadyRemoved { kind, id }));
    let error = store.positions_of_subjects(&[RowId::parse("s9")]).expect_err("unknown").to_string();
    assert_eq!(error, "unknown subject id `s9`");
}

#[test]
fn an_id_that_is_present_or_was_removed_cannot_be_added() {
    let mut store = store(10, DIM, Precision::F64);
    let id = RowId::Integer(9);
    let refused = store.append(encoded(9, 2, DIM, Precision::F64));
    assert!(matches!(refused, Err(AppendError::AlreadyPresent { id: found }) if found == id));
    store.remove(&[9]).expect("present");
    let refused = store.append(encoded(9, 2, DIM, Precision::F64));
    assert!(matches!(refused, Err(AppendError::WasRemoved { id: found }) if found == id));
    assert_eq!((store.len(), store.n_rows()), (10, 9));
    assert_eq!(store.append(encoded(10, 2, DIM, Precision::F64)).expect("new ids"), 10..12);
    // A subject may come back.
    assert_eq!(store.positions_of_subjects(&[RowId::parse("s2")]).expect("present"), [8, 10, 11]);
}

#[test]
fn a_corrected_row_comes_back_under_its_id() {
    let mut store = store(10, DIM, Precision::F64);
    store.remove_to_replace(&[9]).expect("present");
    assert!(store.removed().is_empty());
    assert_eq!(store.append(encoded(9, 1, DIM, Precision::F64)).expect("free id"), 10..11);
    assert_eq!(store.positions_of(&integers(&[9])).expect("present"), [10]);
}

#[test]
fn rows_of_another_shape_are_refused() {
    let mut store = empty(DIM, Precision::F64);
    let wider = store.append(encoded(0, 1, DIM + 1, Precision::F64)).expect_err("too wide").to_string();
    assert_eq!(wider, "rows have 9 model features, the store has 8");
    let single = store.append(encoded(0, 1, DIM, Precision::F32)).expect_err("single").to_string();
    assert_eq!(single, "rows are encoded as f32, the store keeps f64");
}

#[test]
fn classes_are_counted_through_additions_and_removals() {
    let mut store = store(10, DIM, Precision::F64);
    assert_eq!(store.class_counts(4), [4, 3, 3, 0]);
    store.remove(&[0, 1]).expect("present");
    assert_eq!(store.class_counts(3), [3, 2, 3]);
    store.append(encoded(10, 3, DIM, Precision::F64)).expect("new ids");
    assert_eq!(store.class_counts(3), [4, 3, 4]);
    assert_eq!(store.batch(&[2, 5]).expect("present").class_counts(3), [0, 0, 2]);
}

#[test]
fn a_debug_print_shows_no_row_and_no_id() {
    let store = store(3, DIM, Precision::F64);
    assert_eq!(format!("{store:?}"), "MemoryRows { n_rows: 3, dim: 8, precision: F64, .. }");
    assert!(store.memory_bytes() >= 3 * 8 * 8);
}
