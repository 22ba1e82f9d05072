//! Exact sums: a model after removals is bit for bit the one that never saw the rows.

use efface_core::loss::Squared;
use efface_core::model::{Model, ReleaseOutcome, TrainError, TrainingConfig, TrainingPlan};
use efface_core::removal::Change;
use efface_core::residual::Rung;
use efface_core::rows::RowStore;
use efface_testkit::{DoubleDouble, Reference, ReferenceLoss};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::store::{LAYOUTS, Precision, TestStore};
use crate::world::{fixed_noise, published};

/// A table that nobody prepared: one-hot columns, columns of very different sizes, zeros, an intercept, weights.
struct RandomTable {
    rows: Vec<Vec<f64>>,
    labels: Vec<f64>,
    row_weights: Vec<f64>,
    n_classes: Option<u32>,
    precision: Precision,
}

impl RandomTable {
    fn new(seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let (n_rows, n_numbers, n_categories) =
            (random.random_range(20..400), random.random_range(1..6), random.random_range(0..12));
        let sizes: Vec<f64> = (0..n_numbers).map(|_| 10f64.powi(random.random_range(-9..9))).collect();
        let n_classes = [None, Some(2), Some(3), Some(5)][random.random_range(0..4)];
        let weighted = random.random_bool(0.4);
        let mut rows = Vec::new();
        for _ in 0..n_rows {
            let mut row: Vec<f64> = sizes.iter().map(|size| size * number(&mut random)).collect();
            // A long tail: the last categories have one row or none.
            let category = (n_categories as f64 * random.random::<f64>().powi(3)) as usize;
            row.extend((0..n_categories).map(|k| f64::from(u8::from(k == category))));
            row.push(1.0);
            rows.push(row);
        }
        let label = |i: usize, random: &mut ChaCha8Rng| match n_classes {
            None => 1e3 * number(random),
            Some(n) => (i as u32 % n).into(),
        };
        let labels = (0..n_rows).map(|i| label(i, &mut random)).collect();
        let row_weights = (0..n_rows).map(|_| if weighted { 3.0 * random.random::<f64>() } else { 1.0 }).collect();
        let precision = if random.random_bool(0.3) { Precision::Single } else { Precision::Double };
        Self { rows, labels, row_weights, n_classes, precision }
    }

    fn store(&self, indices: impl IntoIterator<Item = usize>, layout: usize) -> TestStore {
        let mut store = TestStore::empty(self.rows[0].len(), 1e300, self.precision).with_layout(LAYOUTS[layout % 5]);
        for i in indices {
            store.push(&self.rows[i], self.labels[i]);
            store.weigh(store.n_places() - 1, self.row_weights[i]);
        }
        store
    }

    fn train(&self, rows: &TestStore) -> Model {
        let plan = TrainingPlan::new(TrainingConfig::new(&Squared, 1e-3, self.n_classes)).expect("valid");
        plan.train(rows, &mut fixed_noise(), &mut |_| {}).expect("trainable").model
    }
}

/// Numbers with a long tail, and zeros.
fn number(random: &mut impl Rng) -> f64 {
    if random.random_bool(0.1) { 0.0 } else { (random.random::<f64>() - 0.5) / (random.random::<f64>() + 1e-3) }
}

fn bits(model: &mut Model, rows: &TestStore) -> Vec<Vec<u64>> {
    model.settle_before_release(rows).expect("readable");
    let release = published(model, &mut fixed_noise());
    release.weights.iter().map(|weights| weights.iter().map(|w| w.to_bits()).collect()).collect()
}

/// The figure: 20 of 20 default ridge classifiers and 19 of 40 ridges were told apart by one look.
#[test]
fn weights_after_removals_and_additions_are_those_of_retraining_to_the_last_bit() {
    let (mut told_apart, mut passes, mut removals) = (0, 0, 0);
    for seed in 0..200 {
        let table = RandomTable::new(seed);
        let mut random = ChaCha8Rng::seed_from_u64(1_000 + seed);
        let n_rows = table.rows.len();
        let n_start = n_rows - random.random_range(0..n_rows / 4);
        let mut rows = table.store(0..n_start, seed as usize);
        let threads = rayon::ThreadPoolBuilder::new().num_threads(1 + seed as usize % 2).build().expect("threads");
        let mut model = threads.install(|| table.train(&rows));
        let mut present: Vec<usize> = (0..n_start).collect();
        for _ in 0..random.random_range(1..6) {
            let added = n_rows.min(rows.n_places() + random.random_range(0..20));
            let new: Vec<usize> = (rows.n_places()..added).collect();
            let n_removed = random.random_range(1..(present.len() / 8).max(2));
            let removed: Vec<usize> =
                (0..n_removed).map(|_| present.swap_remove(random.random_range(0..present.len()))).collect();
            let (leaving, arriving) = (rows.batch(&removed), table.store(new.iter().copied(), seed as usize));
            for i in &removed {
                rows.remove(*i);
            }
            for i in &new {
                rows.push(&table.rows[*i], table.labels[*i]);
                rows.weigh(*i, table.row_weights[*i]);
            }
            present.extend(&new);
            let added = (arriving.n_rows() > 0).then_some(&arriving as &dyn RowStore);
            model.change(&Change { removed: Some(&leaving), added }, &rows).expect("readable");
            removals += 1;
            passes += usize::from(model.should_settle_before_release());
        }
        // In another order and other blocks, as another day would have it.
        present.reverse();
        let never_there = table.store(present.iter().copied(), seed as usize + 1);
        let other = rayon::ThreadPoolBuilder::new().num_threads(2 - seed as usize % 2).build().expect("threads");
        let mut retrained = other.install(|| table.train(&never_there));
        let claim = model.claim();
        assert_eq!((claim.distance_bound.get(), claim.gradient_residual.get(), claim.rung), (0.0, 0.0, Rung::Exact));
        told_apart += usize::from(bits(&mut model, &rows) != bits(&mut retrained, &never_there));
        assert_eq!(model.state().sums, retrained.state().sums, "seed {seed}");
    }
    assert_eq!(told_apart, 0);
    assert!(passes > 0 && passes < removals / 2, "{passes} of {removals} changes moved the grid");
}

/// A category that only the removed person had: its coefficient was 1e-15 after the removal, and 0 after retraining.
#[test]
fn a_category_that_nobody_else_had_leaves_nothing() {
    let mut rows = TestStore::empty(3, 10.0, Precision::Double);
    for i in 0..30 {
        rows.push(&[f64::from(i) / 7.0, f64::from(u8::from(i == 4)), 1.0], f64::from(i).sin());
    }
    let plan = TrainingPlan::new(TrainingConfig::new(&Squared, 1e-3, None)).expect("valid");
    let mut model = plan.train(&rows, &mut fixed_noise(), &mut |_| {}).expect("trainable").model;
    assert!(model.weights()[0][1].abs() > 0.01);
    let batch = rows.batch(&[4]);
    rows.remove(4);
    model.change(&Change::remove(&batch), &rows).expect("readable");
    assert!(!model.should_settle_before_release(), "a column that is empty again takes no pass");
    let release = published(&mut model, &mut fixed_noise());
    assert_eq!(release.weights[0][1], 0.0);
    assert_eq!((release.claim.guarantee.epsilon, release.claim.guarantee.delta), (0.0, 0.0));
}

/// Against the minimiser in double-double, of the rows as they are: the grid moves weights by little.
#[test]
fn weights_are_the_minimiser() {
    for seed in 0..30 {
        let mut table = RandomTable::new(seed);
        (table.n_classes, table.precision) = (None, Precision::Double);
        let n = table.rows.len();
        table.labels = (0..n).map(|i| (i as f64).sin()).collect();
        for row in &mut table.rows {
            // Sizes that double-double solves without scaling.
            for x in row {
                *x = x.clamp(-1.0, 1.0);
            }
        }
        let model = table.train(&table.store(0..n, 0));
        let reference = Reference {
            loss: ReferenceLoss::Squared,
            l2_per_row: 1e-3,
            total_ridge: 0.0,
            rows: table.rows.clone(),
            targets: table.labels.clone(),
            row_weights: model_weights(&table),
            perturbation: Vec::new(),
        };
        let distance = reference.distance(&model.weights()[0]);
        let size: DoubleDouble = model.weights()[0].iter().map(|w| DoubleDouble::from_product(*w, *w)).sum();
        assert!(distance <= 1e-8 * (1.0 + size.to_f64().sqrt()), "seed {seed}: {distance:e} from the minimiser");
    }
}

fn model_weights(table: &RandomTable) -> Vec<f64> {
    let store = table.store(0..table.rows.len(), 0);
    (0..store.n_places()).map(|i| store.row_weight(i)).collect()
}

#[test]
fn sums_that_are_not_those_of_the_rows_are_found() {
    let table = RandomTable::new(3);
    let mut rows = table.store(0..table.rows.len(), 0);
    let model = table.train(&rows);
    assert_eq!(model.measure(&rows).expect("readable").claim.distance_bound.get(), 0.0);
    rows.weigh(7, 0.5);
    assert!(!model.measure(&rows).expect("readable").claim.distance_bound.is_finite());
}

#[test]
fn settings_without_exact_weights_are_refused() {
    let table = RandomTable::new(5);
    let rows = table.store(0..table.rows.len(), 0);
    let config = TrainingConfig::new(&Squared, 1e-3, table.n_classes);
    let train = |config| TrainingPlan::new(config).expect("valid").train(&rows, &mut fixed_noise(), &mut |_| {});
    let wide = train(TrainingConfig { max_matrix_dim: 1, ..config.clone() });
    assert!(matches!(wide, Err(TrainError::TooWide { limit: 1, .. })));
    // Two equal columns, and hardly a ridge.
    let twice = TestStore::of(&[vec![0.5, 0.5], vec![0.25, 0.25]], &[1.0, 0.0]);
    let plan = TrainingPlan::new(TrainingConfig::new(&Squared, 1e-300, None)).expect("valid");
    let singular = plan.train(&twice, &mut fixed_noise(), &mut |_| {});
    assert!(matches!(singular, Err(TrainError::Singular { .. })));
}

#[test]
fn releases_of_exact_models_spend_nothing() {
    let table = RandomTable::new(8);
    let rows = table.store(0..table.rows.len(), 0);
    let mut model = table.train(&rows);
    for k in 1..=3 {
        let ReleaseOutcome::Published(release) = model.release(&mut fixed_noise()) else { panic!("refused") };
        let claim = release.claim;
        assert_eq!((claim.release, claim.mu_total.get(), claim.epsilon_spent, claim.noise_std), (k, 0.0, 0.0, 0.0));
    }
}
