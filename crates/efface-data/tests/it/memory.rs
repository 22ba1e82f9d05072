//! Rows in memory: batches, removal, counts. What they share with other stores is in `conformance`.

use efface_core::linalg::TrackedMatrix;
use efface_core::loss::Logistic;
use efface_core::rounding::UpperBound;
use efface_core::rows::{NegativeSampling, Point, Problem, RowStore};
use efface_core::sums::GradientSum;
use efface_data::{AppendError, FeatureValues, LookupError, MemoryRows, Precision};

use crate::samples::{contents, encoded, key, noise, store};

const DIM: usize = 7;

/// The gradient at a fixed point, and the Gram matrix.
fn sums(store: &MemoryRows) -> (GradientSum, Vec<f64>) {
    let weights = noise(99, store.dim());
    let problem = Problem::one_vs_rest(1, Some(NegativeSampling { fraction: 0.7 }));
    let point = Point { problem: &problem, weights: &weights };
    let gradient = store.gradients(&Logistic, &[point]).expect("in memory").remove(0);
    let gram = TrackedMatrix::from(store.gram().expect("in memory"));
    (gradient, gram.parts().0.to_vec())
}

fn assert_close(a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len());
    for (x, y) in a.iter().zip(b) {
        assert!((x - y).abs() <= tolerance * (1.0 + x.abs()), "{x} and {y}");
    }
}

#[test]
fn single_precision_sums_agree_with_double_precision_ones() {
    let (single, double) = (store(3000, DIM, Precision::F32), store(3000, DIM, Precision::F64));
    let (a, b) = (sums(&single), sums(&double));
    assert_eq!(a.0.count, b.0.count);
    assert_close(&a.0.gradient, &b.0.gradient, 3000.0 * 1e-7);
    assert_close(&a.1, &b.1, 1e-6);
    assert_ne!(a.1, b.1);
}

#[test]
fn a_removed_row_is_not_to_be_found() {
    let mut store = store(300, DIM, Precision::F64);
    store.remove(&[255]).expect("present");
    assert!(store.row(255).is_none() && store.label(255).is_none());
    assert!(!store.is_present(255) && store.is_present(254) && !store.is_present(300));
}

#[test]
fn a_batch_has_the_same_rows_labels_and_selectors() {
    let store = store(300, DIM, Precision::F32);
    let batch = store.batch(&[299, 5]).expect("present");
    for (i, position) in [299, 5].into_iter().enumerate() {
        assert_eq!(batch.row(i), store.row(position));
        assert_eq!(batch.label(i), store.label(position));
    }
    // A rule that looks at selectors chooses the same rows in a batch as in the whole.
    let all: Vec<usize> = (0..300).collect();
    assert_eq!(sums(&store.batch(&all).expect("present")), sums(&store));
    assert!(store.batch(&[5, 5]).is_err() && store.batch(&[300]).is_err());
}

#[test]
fn removal_is_refused_as_a_whole() {
    let mut store = store(20, DIM, Precision::F64);
    store.remove(&[5]).expect("present");
    for (wrong, position) in [(&[4, 5][..], 5), (&[4, 20], 20), (&[4, 3, 4], 4), (&[usize::MAX], usize::MAX)] {
        assert_eq!(store.remove(wrong), Err(LookupError::NotPresent { position, len: 20 }));
        assert_eq!((store.len(), store.n_rows(), store.is_present(4)), (20, 19, true));
    }
}

#[test]
fn classes_are_counted_through_removals() {
    let mut store = store(10, DIM, Precision::F64);
    assert_eq!(store.class_counts(4), [4, 3, 3, 0]);
    assert_eq!(store.class_counts(2), [4, 3]);
    store.remove(&[0, 1]).expect("present");
    assert_eq!(store.class_counts(3), [3, 2, 3]);
    assert_eq!(store.batch(&[2, 5]).expect("present").class_counts(3), [0, 0, 2]);
}

#[test]
fn labels_that_are_no_class_are_not_counted() {
    let labels = vec![-1.0, 0.5, 1.0, 1e300, f64::from(u32::MAX)];
    let rows = encoded(0, 5, DIM, Precision::F64).with_labels(labels).expect("one per row");
    let mut store = MemoryRows::of_encoded(rows, &key());
    assert_eq!(store.class_counts(3), [0, 1, 0]);
    store.remove(&[0, 1, 2, 3, 4]).expect("present");
    assert_eq!(store.class_counts(3), [0, 0, 0]);
}

#[test]
fn selectors_depend_on_the_salt() {
    let rows = || encoded(0, 3, DIM, Precision::F64);
    assert_eq!(contents(&MemoryRows::of_encoded(rows(), &key())), contents(&store(3, DIM, Precision::F64)));
    assert_ne!(
        contents(&MemoryRows::of_encoded(rows(), &efface_data::IdKey::new([4; 32]))),
        contents(&store(3, DIM, Precision::F64))
    );
}

#[test]
fn a_debug_print_shows_no_row_and_no_id() {
    let store = store(3, DIM, Precision::F64);
    assert_eq!(format!("{store:?}"), "MemoryRows { n_rows: 3, dim: 8, precision: F64, .. }");
    assert!(store.memory_bytes() >= 3 * 8 * 8);
}

#[test]
fn rows_are_made_of_parts_that_fit_each_other() {
    let bound = UpperBound::new(1.0);
    let made = |values: usize, selectors: usize, weights: Option<Vec<f64>>| {
        MemoryRows::new(2, bound, FeatureValues::F64(vec![0.1; values]), vec![0.0; 3], vec![7; selectors], weights)
    };
    let rows = made(6, 3, Some(vec![0.5; 3])).expect("they fit");
    assert_eq!((rows.n_rows(), rows.weight_sum().get(), rows.row(2)), (3, 1.5, Some(vec![0.1, 0.1])));
    let refused = |made: Result<MemoryRows, AppendError>| made.expect_err("they do not fit").to_string();
    assert_eq!(refused(made(5, 3, None)), "5 values for 3 rows");
    assert_eq!(refused(made(6, 2, None)), "2 selectors for 3 rows");
    assert_eq!(refused(made(6, 3, Some(vec![]))), "0 row weights for 3 rows");
}
