//! Sums over rows: the same for any number of threads, any layout of blocks, and only over the rows that count; with
//! bounds on their rounding that hold against sums in double-double.

use efface_core::linalg::TrackedMatrix;
use efface_core::loss::{Logistic, Loss, Squared};
use efface_core::model::{Fit, Model, TrainError, TrainingConfig, TrainingPlan};
use efface_core::noise::NoiseSource;
use efface_core::predict::margins;
use efface_core::ridge::Ridge;
use efface_core::rows::{NegativeSampling, Point, Problem, RowCount, RowStore};
use efface_testkit::dense::{dot, norm};
use efface_testkit::{DoubleDouble, Reference, ReferenceLoss, Shape, random_problem};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;

use crate::store::{LAYOUTS, Layout, Precision, TestStore};
use crate::world::{Draw, World, unknown_part};

/// Rows with classes 0 and 1, every seventh removed.
fn store_of(seed: u64, n_rows: usize, dim: usize, layout: Layout, precision: Precision) -> TestStore {
    let problem = random_problem(seed, ReferenceLoss::Logistic, n_rows, dim, Shape::Isotropic);
    let mut store = TestStore::empty(dim, 1.000_001, precision).with_layout(layout);
    for (row, target) in problem.rows.iter().zip(&problem.targets) {
        store.push(row, f64::from(u8::from(*target > 0.0)));
    }
    (0..n_rows).step_by(7).for_each(|place| store.remove(place));
    store
}

fn weights_of(seed: u64, dim: usize, size: f64) -> Vec<f64> {
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    (0..dim).map(|_| size * rng.random_range(-1.0..1.0)).collect()
}

fn with_threads<T: Send>(n: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(n).build().expect("threads can be started").install(work)
}

/// Everything a store can sum, as bits.
fn all_sums(store: &TestStore) -> Vec<u64> {
    let dim = store.dim();
    let (first, second) = (weights_of(1, dim, 2.0), weights_of(2, dim, 0.1));
    let problem = Problem::one_vs_rest(1, Some(NegativeSampling { fraction: 0.6 }));
    let all = Problem::one_vs_rest(0, None);
    let points = [Point { problem: &problem, weights: &first }, Point { problem: &all, weights: &second }];
    let mut numbers = vec![store.counts(std::slice::from_ref(&problem)).expect("readable")[0].weight_sum.get()];
    for sum in store.gradients(&Logistic, &points).expect("readable") {
        numbers.extend([sum.count.n_rows as f64, sum.count.weight_sum.get(), sum.value]);
        numbers.extend(&*sum.gradient);
    }
    let mut matrices = store.curvature(&Logistic, &points).expect("readable");
    matrices.push(store.gram().expect("readable"));
    for matrix in matrices.into_iter().map(TrackedMatrix::from) {
        numbers.extend(&*matrix.parts().0);
        numbers.push(matrix.error().get());
    }
    let powers = &store.step_powers(&points).expect("readable")[0];
    numbers.extend([powers.count.n_rows as f64, powers.fourth_powers]);
    numbers.iter().map(|x| x.to_bits()).collect()
}

#[test]
fn sums_are_bit_identical_for_one_two_and_three_threads() {
    for (seed, layout) in (0..).zip(LAYOUTS) {
        for precision in [Precision::Single, Precision::Double] {
            for (n_rows, dim) in [(3000, 37), (700, 150), (5, 3)] {
                let store = store_of(seed, n_rows, dim, layout, precision);
                let alone = with_threads(1, || all_sums(&store));
                for threads in [2, 3] {
                    assert!(
                        with_threads(threads, || all_sums(&store)) == alone,
                        "{threads} threads, {layout:?}, {dim}"
                    );
                }
            }
        }
    }
}

/// The whole life of a model: a small one, and one large enough for a parallel factorization.
#[test]
fn models_are_bit_identical_for_one_two_and_three_threads() {
    for (n_rows, dim) in [(600, 20), (700, 300)] {
        let life = || {
            let draw = Draw::plain(11, ReferenceLoss::Logistic, n_rows, dim, Shape::Isotropic);
            let mut world = World::train(draw, |_| {});
            for step in 0..4 {
                let removed = world.some_rows(5);
                world.change(&removed, step);
            }
            world.model.settle(&world.store, None).expect("readable");
            let weights: Vec<u64> = world.model.state().fits[0].weights.iter().map(|x| x.to_bits()).collect();
            (weights, world.model.claim().distance_bound.get().to_bits())
        };
        let alone = with_threads(1, life);
        for threads in [2, 3] {
            assert!(with_threads(threads, life) == alone, "{threads} threads, {n_rows} rows of {dim}");
        }
    }
}

#[test]
fn any_layout_gives_the_same_sums_up_to_rounding() {
    let (n_rows, dim) = (900, 23);
    let weights = weights_of(3, dim, 3.0);
    let problem = Problem::one_vs_rest(1, None);
    let point = Point { problem: &problem, weights: &weights };
    for precision in [Precision::Single, Precision::Double] {
        let sums: Vec<_> = LAYOUTS
            .iter()
            .map(|layout| {
                let store = store_of(5, n_rows, dim, layout, precision);
                let gram = TrackedMatrix::from(store.gram().expect("readable"));
                (store.gradients(&Logistic, &[point]).expect("readable").swap_remove(0), gram)
            })
            .collect();
        for (sum, gram) in &sums[1..] {
            let (first, first_gram) = &sums[0];
            assert_eq!(sum.count, first.count);
            assert!((sum.value - first.value).abs() < 1e-12 * first.value);
            // At most 900 terms of size one, in double precision.
            assert!(sum.gradient.iter().zip(&*first.gradient).all(|(a, b)| (a - b).abs() < 1e-12));
            let (entries, first_entries) = (gram.parts().0, first_gram.parts().0);
            let squares = entries.iter().zip(&*first_entries).map(|(a, b)| (a - b).powi(2));
            let distance = squares.sum::<f64>().sqrt();
            assert!(distance <= gram.error().get() + first_gram.error().get());
        }
    }
}

#[test]
fn an_empty_store_sums_to_nothing() {
    for precision in [Precision::Single, Precision::Double] {
        let store = TestStore::empty(3, 1.0, precision);
        let problem = Problem::regression();
        let point = Point { problem: &problem, weights: &[1.0, 2.0, 3.0] };
        let sum = store.gradients(&Squared, &[point]).expect("readable").swap_remove(0);
        assert_eq!((sum.count, sum.value, sum.gradient), (RowCount::default(), 0.0, vec![0.0; 3].into()));
        assert_eq!(store.counts(std::slice::from_ref(&problem)).expect("readable")[0], RowCount::default());
        let mut matrices = store.curvature(&Squared, &[point]).expect("readable");
        matrices.push(store.gram().expect("readable"));
        for matrix in matrices.into_iter().map(TrackedMatrix::from) {
            assert!(matrix.parts().0.iter().all(|x| *x == 0.0) && matrix.error().get() == 0.0);
        }
        assert_eq!(store.step_powers(&[point]).expect("readable")[0].count.n_rows, 0);
        assert_eq!(margins(&store, &[vec![0.0; 3]]).expect("readable"), [Vec::<f64>::new()]);

        let plan = TrainingPlan::new(TrainingConfig::new(&Squared, 0.1, None)).expect("valid");
        let refused = plan.train(&store, &mut NoiseSource::danger_fixed_seed(0), &mut |_| {});
        assert!(matches!(refused, Err(TrainError::NoRows)));
    }
}

#[test]
fn removed_rows_do_not_count() {
    for layout in LAYOUTS {
        let store = store_of(7, 500, 9, layout, Precision::Double);
        let compact = store.batch(&store.present()).with_layout(layout);
        assert_eq!(store.n_rows(), 500 - 500_usize.div_ceil(7));
        assert_eq!(store.n_rows(), compact.n_rows());
        let weights = weights_of(8, 9, 2.0);
        for problem in
            [Problem::one_vs_rest(1, None), Problem::one_vs_rest(0, Some(NegativeSampling { fraction: 0.3 }))]
        {
            let point = Point { problem: &problem, weights: &weights };
            let sums = |store: &TestStore| store.gradients(&Logistic, &[point]).expect("readable").swap_remove(0);
            let (with, without) = (sums(&store), sums(&compact));
            assert_eq!(with.count, without.count);
            assert_eq!(store.counts(std::slice::from_ref(&problem)).expect("readable")[0], with.count);
            assert!((with.value - without.value).abs() < 1e-11);
            assert!(with.gradient.iter().zip(&*without.gradient).all(|(a, b)| (a - b).abs() < 1e-12));
            let powers = |store: &TestStore| store.step_powers(&[point]).expect("readable").swap_remove(0);
            assert_eq!(powers(&store).count, powers(&compact).count);
            assert!((powers(&store).fourth_powers / powers(&compact).fourth_powers - 1.0).abs() < 1e-12);
        }
    }
}

#[test]
fn sampled_negatives_are_the_ones_that_are_summed() {
    let dim = 6;
    let store = store_of(9, 2000, dim, LAYOUTS[3], Precision::Double);
    let weights = weights_of(10, dim, 1.0);
    for fraction in [0.1, 0.5, 1.0] {
        let problem = Problem::one_vs_rest(1, Some(NegativeSampling { fraction }));
        let takes_part = |place: &usize| problem.target(store.label(*place), store.selector(*place)).is_some();
        let chosen: Vec<usize> = store.present().into_iter().filter(takes_part).collect();
        let n_positive = chosen.iter().filter(|place| store.label(**place) == 1.0).count();
        let positives = store.present().into_iter().filter(|place| store.label(*place) == 1.0).count();
        assert_eq!(n_positive, positives, "every positive takes part");
        let (n_negative, negatives) = ((chosen.len() - n_positive) as f64, (store.n_rows() - positives) as f64);
        // Five standard deviations of a binomial count.
        let slack = 5.0 * (negatives * fraction * (1.0 - fraction)).sqrt();
        assert!((n_negative - fraction * negatives).abs() <= slack, "{n_negative} of {negatives} at {fraction}");

        assert_eq!(store.counts(std::slice::from_ref(&problem)).expect("readable")[0].n_rows, chosen.len());
        let point = Point { problem: &problem, weights: &weights };
        let sum = store.gradients(&Logistic, &[point]).expect("readable").swap_remove(0);
        assert_eq!(sum.count.n_rows, chosen.len());
        let exact =
            store.batch(&chosen).reference(ReferenceLoss::Logistic, Ridge::PerRow(0.0), Some(1)).gradient(&weights);
        assert!(sum.gradient.iter().zip(&exact).all(|(a, b)| (*b - *a).abs().to_f64() < 1e-12));
        // The choice moves with the row into a batch of its own.
        let batch = store.batch(&store.present()[100..140]);
        let alone = store.present()[100..140].iter().filter(|place| takes_part(place)).count();
        assert_eq!(batch.counts(std::slice::from_ref(&problem)).expect("readable")[0].n_rows, alone);
    }
}

/// The gradient measured at the given weights, with its error bound: a model of those weights is settled to a tolerance
/// that asks for no step.
fn measured_at(store: &TestStore, loss: &'static dyn Loss, l2_per_row: f64, weights: &[f64]) -> Fit {
    let n_classes = loss.is_classification().then_some(2);
    let mut config = TrainingConfig::new(loss, l2_per_row, n_classes);
    (config.max_matrix_dim, config.gradient_tolerance, config.noise_std) = (0, 1e300, Some(1.0));
    let plan = TrainingPlan::new(config).expect("valid");
    let trained = plan.train(store, &mut NoiseSource::danger_fixed_seed(0), &mut |_| {}).expect("trainable");
    let mut state = trained.model.state().clone();
    state.fits[0].weights = weights.to_vec().into();
    let mut model = Model::from_state(plan, state).expect("the same problem");
    model.settle(store, None).expect("readable");
    let fit = model.state().fits[0].clone();
    assert!(fit.weights[..] == *weights, "no step was asked for");
    fit
}

/// Rounding of the measured gradient against the exact one; returns bound over truth.
fn rounding_ratio(store: &TestStore, loss: &'static dyn Loss, l2_per_row: f64, weights: &[f64]) -> f64 {
    let (reference, positive) =
        if loss.is_classification() { (ReferenceLoss::Logistic, Some(1)) } else { (ReferenceLoss::Squared, None) };
    let fit = measured_at(store, loss, l2_per_row, weights);
    let exact = store.reference(reference, Ridge::PerRow(l2_per_row), positive).gradient(weights);
    let (error, bound) = (unknown_part(&fit, &exact).to_f64(), fit.gradient_error.get());
    assert!(error <= bound, "the gradient is off by {error:e}, bound {bound:e}");
    bound / error
}

/// n = 5000, d = 300, weights from nothing to 1e6 times a unit vector, both losses and precisions.
#[test]
fn rounding_of_a_long_gradient_is_bounded() {
    let (n_rows, dim) = (5000, 300);
    for (precision, layout) in [(Precision::Double, LAYOUTS[0]), (Precision::Single, LAYOUTS[4])] {
        let store = store_of(12, n_rows, dim, layout, precision);
        for size in [0.0, 1e-3, 1.0, 1e3, 1e6] {
            let weights = weights_of(13, dim, size);
            rounding_ratio(&store, &Logistic, 1e-3, &weights);
        }
        let ratio = rounding_ratio(&store, &Squared, 1e-3, &weights_of(13, dim, 1.0));
        assert!(ratio < 1e5, "a bound {ratio:e} times the truth says nothing");
    }
}

/// Sums whose roundings all point the same way, as near to the worst case as plain data get: equal rows, equal labels.
/// 400 stores; the bound stays within a factor of about a hundred of the truth, so it is tested for what it is.
#[test]
fn rounding_that_never_cancels_is_bounded() {
    let mut rng = ChaCha12Rng::seed_from_u64(14);
    let mut smallest = f64::INFINITY;
    for case in 0..400 {
        let n_rows = [3, 50, 257, 2000][case % 4];
        let dim = [1, 2, 5, 40][case / 4 % 4];
        let length = rng.random_range(0.5..1.0) / (dim as f64).sqrt();
        let row: Vec<f64> = vec![length; dim];
        let label = if case % 2 == 0 { 0.0 } else { 1.0 };
        let store = TestStore::of(&vec![row; n_rows], &vec![label; n_rows]).with_layout(LAYOUTS[case % LAYOUTS.len()]);
        let weights = vec![rng.random_range(-2.0..2.0); dim];
        let loss: &dyn Loss = if case % 3 == 0 { &Squared } else { &Logistic };
        smallest = smallest.min(rounding_ratio(&store, loss, 1e-3, &weights));
    }
    assert!(smallest < 100.0, "the smallest ratio of bound to truth is {smallest}");
}

#[test]
fn margins_of_rows_are_their_products_with_the_weights() {
    for (layout, precision) in LAYOUTS.iter().zip([Precision::Single, Precision::Double].into_iter().cycle()) {
        let store = store_of(15, 300, 70, layout, precision);
        let weights = [weights_of(16, 70, 1.0), weights_of(17, 70, 5.0)];
        let computed = margins(&store, &weights).expect("readable");
        for (weights, computed) in weights.iter().zip(computed) {
            assert_eq!(computed.len(), 300);
            for (place, margin) in computed.into_iter().enumerate() {
                let exact: DoubleDouble = dot(&store.row(place), weights);
                assert!((exact - margin).abs().to_f64() <= 1e-14 * norm(weights).to_f64());
            }
        }
    }
}

/// A row with a tiny product beside huge ones: the bound must follow the weights' size, not the gradient's.
#[test]
fn rounding_of_cancelling_margins_is_bounded() {
    let mut rng = ChaCha12Rng::seed_from_u64(18);
    for case in 0..200 {
        let dim = 2 + case % 60;
        let rows: Vec<Vec<f64>> = (0..20)
            .map(|_| {
                let half: Vec<f64> = (0..dim / 2).map(|_| rng.random_range(-1.0..1.0) / (dim as f64).sqrt()).collect();
                let mut row: Vec<f64> = half.iter().chain(&half).map(|x| x * (1.0 - 1e-9)).collect();
                row.resize(dim, 0.0);
                row
            })
            .collect();
        let labels: Vec<f64> = (0..20).map(|i| f64::from(i % 2)).collect();
        // The second half of the weights takes back what the first half adds, but for a rest of order one.
        let size = 10_f64.powi(rng.random_range(0..16));
        let mut weights: Vec<f64> = (0..dim / 2).map(|_| size * rng.random_range(-1.0..1.0)).collect();
        weights.extend(weights.clone().iter().map(|w| -w + rng.random_range(-1.0..1.0)));
        weights.resize(dim, 0.0);
        let store = TestStore::of(&rows, &labels).with_layout(LAYOUTS[case % LAYOUTS.len()]);
        rounding_ratio(&store, &Logistic, 1e-4, &weights);
    }
}

#[test]
fn the_reference_sees_the_rows_that_the_store_sums() {
    let store = store_of(19, 50, 4, LAYOUTS[1], Precision::Single);
    let reference: Reference = store.reference(ReferenceLoss::Logistic, Ridge::PerRow(0.5), Some(1));
    assert_eq!(reference.n_rows(), store.n_rows());
    assert_eq!(reference.rows[0], store.row(store.present()[0]));
}
