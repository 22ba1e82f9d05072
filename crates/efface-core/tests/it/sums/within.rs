//! Rounding that is charged by what rows weigh together, beside sums in twice the precision.

use efface_core::linalg::TrackedMatrix;
use efface_core::loss::{Logistic, Loss, Squared};
use efface_core::rounding::UpperBound;
use efface_core::rows::{Point, Problem, RowStore};
use efface_testkit::dense::{dot, norm};
use efface_testkit::{DoubleDouble, ReferenceLoss, Shape, random_problem};

use crate::store::{Precision, TestStore};

/// Rows of all sizes up to a bound that few of them come near.
fn store(seed: u64, n_rows: usize, dim: usize) -> TestStore {
    let problem =
        random_problem(seed, ReferenceLoss::Logistic, n_rows, dim, Shape::ALL[seed as usize % Shape::ALL.len()]);
    let mut store = TestStore::empty(dim, 8.0, Precision::Double);
    for (i, row) in problem.rows.iter().enumerate() {
        let size = if i % 50 == 0 { 8.0 } else { 0.1_f64.powf(((i + seed as usize) % 5) as f64) };
        let row: Vec<f64> = row.iter().map(|x| 0.999 * size * x).collect();
        store.push(&row, (i % 2) as f64);
    }
    (0..n_rows).step_by(4).for_each(|i| store.weigh(i, 0.25 + (i % 7) as f64));
    store
}

fn exact_square_sum(store: &TestStore) -> DoubleDouble {
    store.present().into_iter().map(|i| dot(&store.row(i), &store.row(i)) * store.row_weight(i)).sum()
}

/// Σ s ℓ′(x·w) x.
fn exact_gradient(store: &TestStore, loss: ReferenceLoss, weights: &[f64]) -> Vec<DoubleDouble> {
    let mut sum = vec![DoubleDouble::ZERO; weights.len()];
    for i in store.present() {
        let row = store.row(i);
        let target = if loss == ReferenceLoss::Logistic { 2.0 * store.label(i) - 1.0 } else { store.label(i) };
        let slope = loss.slope(dot(&row, weights), target) * store.row_weight(i);
        sum.iter_mut().zip(&row).for_each(|(sum, x)| *sum += slope * *x);
    }
    sum
}

/// 80 stores, both losses: the bound covers what is rounded, is never worse than the one by the longest row, and is a good
/// deal better where most rows are short.
#[test]
fn rounding_is_charged_by_what_rows_weigh_together() {
    let mut best: f64 = 1.0;
    for seed in 0..80_u64 {
        let (n_rows, dim) = (1 + (seed as usize * 97) % 700, 1 + seed as usize % 30);
        let store = store(seed, n_rows, dim);
        let size = 10_f64.powi(seed as i32 % 6 - 3);
        let weights: Vec<f64> = (0..dim).map(|j| size * (1.3 * j as f64 + 0.2).cos()).collect();
        let known = TrackedMatrix::from(store.gram().expect("readable")).square_sum();
        let exact = exact_square_sum(&store).to_f64();
        // What is charged for rounding depends on the longest row that there may be: 8² · 8 for each.
        let most = 1.000_001 * exact + 1e-12 * 512.0 * n_rows as f64;
        assert!(known.get() >= exact && known.get() <= most, "{seed}: {} and {exact}", known.get());
        let cases: [(&dyn Loss, _, _); 2] = [
            (&Logistic, ReferenceLoss::Logistic, Problem::one_vs_rest(1, None)),
            (&Squared, ReferenceLoss::Squared, Problem::regression()),
        ];
        for (loss, reference, problem) in cases {
            let point = Point { problem: &problem, weights: &weights };
            let sum = store.gradients(loss, &[point]).expect("readable").swap_remove(0);
            let exact = exact_gradient(&store, reference, &weights);
            let off: Vec<f64> = sum.gradient.iter().zip(&exact).map(|(a, b)| (*b - *a).to_f64()).collect();
            let (within, by_longest) = (sum.error_within(loss, Some(known)), sum.error());
            assert!(norm(&off).to_f64() <= within.get(), "{seed}: {within:?}");
            assert!(within.get() <= by_longest.get());
            assert_eq!(sum.error_within(loss, None), by_longest);
            if n_rows > 100 {
                best = best.min(within.get() / by_longest.get());
            }
        }
    }
    assert!(best < 0.1, "never better than {best} times the bound by the longest row");
}

/// What was retracted has left its rounding, and its length is in no sum any more.
#[test]
fn sums_with_retracted_rows_are_charged_by_the_longest_row() {
    let (store, problem) = (store(3, 300, 6), Problem::one_vs_rest(1, None));
    let point = Point { problem: &problem, weights: &[0.3, -1.0, 2.0, 0.1, 0.0, 0.7] };
    let gradient = |rows: &TestStore| rows.gradients(&Logistic, &[point]).expect("readable").swap_remove(0);
    let mut sum = gradient(&store);
    sum.retract(&gradient(&store.batch(&[0, 50, 100]))).expect("the same point");
    let known = UpperBound::new(exact_square_sum(&store).to_f64());
    assert_eq!(sum.error_within(&Logistic, Some(known)), sum.error());
}
