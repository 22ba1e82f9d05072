//! Passes over the rows: as many for ten classes as for one; and when one fails, the model is what it was.

use efface_core::loss::{Logistic, Squared};
use efface_core::model::{Mechanism, Model, TrainError, TrainingConfig, TrainingPlan};
use efface_core::noise::NoiseSource;
use efface_core::removal::Change;
use efface_core::residual::Rung;
use efface_core::rows::RowBlocks;
use efface_testkit::{ReferenceLoss, Shape, WatchedRows, random_problem};
use rand::RngExt;

use crate::store::TestStore;
use crate::world::{Draw, OBJECTIVE, World, fixed_noise};

const DIM: usize = 12;

/// Rows of ten classes, and the same with one class against the rest.
fn ten_classes(n_rows: usize) -> (TestStore, impl Fn(u32) -> TestStore) {
    let problem = random_problem(21, ReferenceLoss::Logistic, n_rows, DIM, Shape::Isotropic);
    let class = |row: &[f64]| (0..10).max_by(|a, b| row[*a].total_cmp(&row[*b])).unwrap_or(0) as f64;
    let labels: Vec<f64> = problem.rows.iter().map(|row| class(row)).collect();
    let one = {
        let (rows, labels) = (problem.rows.clone(), labels.clone());
        move |positive: u32| {
            let labels: Vec<f64> =
                labels.iter().map(|label| f64::from(u8::from(*label == f64::from(positive)))).collect();
            TestStore::of(&rows, &labels)
        }
    };
    (TestStore::of(&problem.rows, &labels), one)
}

/// Passes of training, of measuring, and of settling after 30 removals.
fn passes(rows: &TestStore, n_classes: u32, max_matrix_dim: usize) -> [f64; 3] {
    let mut config = TrainingConfig::new(&Logistic, 1e-3, Some(n_classes));
    (config.max_matrix_dim, config.gradient_tolerance, config.noise_std) = (max_matrix_dim, 1e-8, Some(0.1));
    let plan = TrainingPlan::new(config).expect("valid");
    let watched = WatchedRows::new(rows);
    let trained = plan.train(&watched, &mut fixed_noise(), &mut |_| {}).expect("trainable");
    assert_eq!(trained.iterations as f64, watched.n_passes(), "passes are counted as a stranger counts them");
    let training = watched.n_passes();

    let mut model = trained.model;
    let watched = WatchedRows::new(rows);
    model.measure(&watched).expect("readable");
    let measuring = watched.n_passes();

    let mut left = rows.clone();
    let gone: Vec<usize> = (0..30).map(|i| 7 * i).collect();
    let batch = rows.batch(&gone);
    for place in &gone {
        left.remove(*place);
    }
    model.change(&Change::remove(&batch), &left).expect("readable");
    let watched = WatchedRows::new(&left);
    let settled = model.settle(&watched, None).expect("readable");
    assert_eq!(settled.passes as f64, watched.n_passes(), "passes are counted as a stranger counts them");
    [training, measuring, watched.n_passes()]
}

#[test]
fn ten_classes_take_as_many_passes_as_one() {
    let (all, one) = ten_classes(3000);
    for max_matrix_dim in [0, 100] {
        let ten = passes(&all, 10, max_matrix_dim);
        let each: Vec<[f64; 3]> = (0..10).map(|class| passes(&one(class), 2, max_matrix_dim)).collect();
        for (what, ten) in ten.into_iter().enumerate() {
            let most = each.iter().map(|passes| passes[what]).fold(0.0, f64::max);
            assert!(ten <= most + 2.0, "{ten} passes for ten classes, {most} for one: operation {what}");
        }
        assert_eq!(ten[1], 1.0, "one pass measures all");
    }
}

/// Passes of one removal under each rung of the ladder, in its order.
fn passes_of_a_removal(rows: &TestStore, n_classes: u32) -> Vec<f64> {
    let gone: Vec<usize> = (0..30).map(|i| 7 * i).collect();
    let (batch, mut left) = (rows.batch(&gone), rows.clone());
    for place in &gone {
        left.remove(*place);
    }
    let passes = |rung: &Rung| {
        let mut config = TrainingConfig::new(&Logistic, 1e-3, Some(n_classes));
        (config.bound, config.noise_std) = (Some(*rung), Some(0.1));
        let plan = TrainingPlan::new(config).expect("valid");
        let mut model = plan.train(rows, &mut fixed_noise(), &mut |_| {}).expect("trainable").model;
        let watched = WatchedRows::new(&left);
        model.change(&Change::remove(&batch), &watched).expect("readable");
        assert_eq!(model.claim().rung, *rung);
        watched.n_passes()
    };
    Rung::LADDER.iter().map(passes).collect()
}

#[test]
fn a_removal_from_ten_classes_takes_as_many_passes_as_from_one() {
    let (all, one) = ten_classes(3000);
    let ten = passes_of_a_removal(&all, 10);
    assert_eq!(ten, passes_of_a_removal(&one(0), 2));
    // Rungs below `stale` form a Hessian; `per-row` forms one and reads the margins; `measured` reads the gradient.
    assert_eq!(ten, [1.0, 1.0, 1.0, 0.0, 2.0, 1.0]);
}

/// Everything that later steps and claims depend on, as bits.
fn bits(model: &Model) -> Vec<u64> {
    let state = model.state();
    let mut numbers = vec![state.design_norm_squared.get(), state.row_norm.get(), state.account.n_left as f64];
    numbers.extend([state.count.n_rows as f64, state.count.weight_sum.get()]);
    for fit in &state.fits {
        numbers.extend(fit.weights.iter().chain(&*fit.gradient));
        numbers.extend([fit.gradient_error.get(), fit.count.weight_sum.get()]);
        if let Some(dense) = &fit.curvature {
            numbers.extend(dense.anchor.iter().chain(&*dense.hessian.parts().0));
            numbers.push(dense.hessian.error().get());
        }
    }
    if let Some(gram) = &state.gram {
        numbers.extend(&*gram.parts().0);
        numbers.push(gram.error().get());
    }
    numbers.iter().map(|number| number.to_bits()).collect()
}

/// Calls `work` with rows that can be read 0, 1, 2, … times until it succeeds: after each error the model is bit for bit as
/// before. Returns how often it failed.
fn fails_without_a_trace<T, E>(
    model: &mut Model,
    rows: &dyn RowBlocks,
    work: impl Fn(&mut Model, &WatchedRows<'_>) -> Result<T, E>,
) -> usize {
    let (before, sums) = (bits(model), model.state().sums.clone());
    let mut n_failures = 0;
    while work(model, &WatchedRows::failing(rows, n_failures)).is_err() {
        n_failures += 1;
        assert!(n_failures < 1000 && bits(model) == before, "an error after {n_failures} passes left a trace");
        assert!(model.state().sums == sums);
    }
    n_failures
}

/// 24 worlds of several classes under both mechanisms and every rung, with and without a matrix.
#[test]
fn a_pass_that_fails_leaves_the_model_as_it_was() {
    let mut n_failures = [0; 3];
    for seed in 0..24 {
        let rung = Rung::LADDER[seed as usize % 6];
        let loss = if seed % 5 == 0 { ReferenceLoss::Squared } else { ReferenceLoss::Logistic };
        let draw = Draw { n_classes: 2 + seed as u32 % 3, ..Draw::any(9500 + seed, loss, 300) };
        let mut world = World::train(draw, |config| {
            config.bound = Some(rung);
            config.mechanism = if seed % 3 == 1 { OBJECTIVE } else { Mechanism::Release };
            if seed % 4 == 3 {
                (config.max_matrix_dim, config.gradient_tolerance) = (0, 1e-5);
            }
        });
        for _ in 0..3 {
            let gone = world.some_rows(1 + seed as usize % 20);
            let batch = world.store.batch(&gone);
            for place in &gone {
                world.store.remove(*place);
            }
            let rows = world.store.clone();
            // A batch that cannot be read.
            fails_without_a_trace(&mut world.model.clone(), &batch, |model, batch| {
                model.change(&Change::remove(batch), &rows)
            });
            n_failures[0] += fails_without_a_trace(&mut world.model, &rows, |model, rows| {
                model.change(&Change::remove(&batch), rows)
            });
            world.check_gradients();
            let mut model = world.model.clone();
            n_failures[1] += fails_without_a_trace(&mut model, &rows, |model, rows| model.measure(rows));
            fails_without_a_trace(&mut model, &rows, |model, rows| model.settle_before_release(rows));
            let tolerance = 10_f64.powi(world.rng.random_range(-11..-3));
            n_failures[2] +=
                fails_without_a_trace(&mut world.model, &rows, |model, rows| model.settle(rows, Some(tolerance)));
            world.check_gradients();
        }
        let plan = world.model.plan().clone();
        let rows = world.store.clone();
        fails_without_a_trace(&mut world.model, &rows, |model, rows| {
            let mut noise = NoiseSource::danger_fixed_seed(1);
            *model = plan.train_again(rows, &mut noise, &mut |_| {})?.model;
            Ok::<_, TrainError>(())
        });
        world.check_gradients();
    }
    assert!(n_failures.iter().all(|n| *n > 20), "{n_failures:?}");
}

#[test]
fn a_pass_that_fails_leaves_exact_sums_as_they_were() {
    let mut rows = random_store(400);
    let mut config = TrainingConfig::new(&Squared, 1e-2, None);
    config.noise_std = None;
    let plan = TrainingPlan::new(config).expect("valid");
    let mut model = plan.train(&rows, &mut fixed_noise(), &mut |_| {}).expect("trainable").model;
    for place in 0..60 {
        let batch = rows.batch(&[place, 100 + place]);
        (0..2).for_each(|part| rows.remove(100 * part + place));
        let left = rows.clone();
        let n = fails_without_a_trace(&mut model, &batch, |model, batch| model.change(&Change::remove(batch), &left));
        assert!((1..=2).contains(&n), "{n} passes over the batch");
        fails_without_a_trace(&mut model, &left, |model, rows| model.settle(rows, None));
    }
}

fn random_store(n_rows: usize) -> TestStore {
    let problem = random_problem(5, ReferenceLoss::Squared, n_rows, 4, Shape::Outlier);
    TestStore::of(&problem.rows, &problem.targets)
}
