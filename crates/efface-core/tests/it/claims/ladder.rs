//! The residual ladder: each rung against its formula, and the order of the rungs.

use efface_core::loss::Logistic;
use efface_core::model::{TrainingConfig, TrainingPlan};
use efface_core::removal::Change;
use efface_core::residual::{
    Constants, CurvatureChange, RemovalSize, Rung, StepNorms, data_dependent, measured, per_row, stale, step_norm,
    worst_case,
};
use efface_core::ridge::Ridge;
use efface_core::rounding::UpperBound;
use efface_core::rows::{Point, Problem, RowCount, WeightSum};
use efface_core::sums::{StepPowers, SumDepth};
use efface_testkit::{DoubleDouble, ReferenceLoss};
use rand::RngExt;

use crate::store::TestStore;
use crate::world::{Draw, World, fixed_noise, unknown_part};

/// Every rung against its formula in double-double: rounded up, by a few units only.
#[test]
fn rungs_are_their_formulas_rounded_up() {
    let (gamma, r, n, v, design, image, anchor) = (0.25, 0.75, 37.0, 0.013, 3.1, 0.029, 0.002);
    let change = CurvatureChange::new(&Logistic, Constants::Paper, UpperBound::new(r));
    let [step, spectral, step_image, distance] = [v, design, image, anchor].map(UpperBound::new);
    let norms = StepNorms { design: spectral, step, step_image };
    let exact = |factors: &[f64]| factors.iter().fold(DoubleDouble::ONE, |product, factor| product * *factor);
    let reach = DoubleDouble::from(anchor) + v;

    let (lambda, c, w, m) = (0.03, 0.9, 5.5, 4_usize);
    let (solver, hessian_error) = (1e-3, 1e-4);
    let removal = RemovalSize {
        changed: WeightSum::of_rows(m),
        remaining: WeightSum::of_rows(37),
        ridge: Ridge::PerRow(lambda),
        gradient_norm_bound: UpperBound::new(c),
        weights_norm: UpperBound::new(w),
        solver: UpperBound::new(solver),
        hessian_error: UpperBound::new(hessian_error),
    };
    let least_curvature = DoubleDouble::from_product(lambda, n) - hessian_error;
    let longest = ((DoubleDouble::from_product(lambda, w) + c) * m as f64 + solver) / least_curvature;

    // Margins of one rounded operation each, which puts them off by as much as the size of the step says.
    let error = 0.05;
    let powers = |depth| {
        let count = RowCount { n_rows: 3, weight_sum: WeightSum::of_rows(3) };
        let point = Point { problem: &Problem::regression(), weights: &[2.0 * error / f64::EPSILON] };
        let depth = SumDepth { margins: depth, accumulation: 3 };
        StepPowers::from_parts(&point, UpperBound::new(1.0), count, 1e-4 + 2e-4 + 3e-4, depth)
    };
    let fourth: DoubleDouble = [1e-4, 2e-4, 3e-4]
        .map(|t4| {
            let t = DoubleDouble::from(t4).sqrt().sqrt() + error;
            t * t * t * t
        })
        .into_iter()
        .sum();

    let cases = [
        (step_norm(&change, WeightSum::of_rows(37), step), exact(&[gamma, r, r, r, n, v, v]), 1e-14),
        (data_dependent(&change, &norms), exact(&[gamma, r, design, v, image]), 1e-14),
        (stale(&change, &norms, distance), exact(&[gamma, r, design, image]) * reach, 1e-14),
        (worst_case(&change, &removal), exact(&[gamma, r, r, r, n]) * longest * longest, 1e-14),
        // The triangle inequality in ℓ⁴ is not an equality here, and the sum is enlarged by one part in a million.
        (per_row(&change, spectral, &powers(1)), exact(&[gamma, design]) * fourth.sqrt(), 0.05),
        (per_row(&change, spectral, &powers(0)), exact(&[gamma, design]) * exact(&[6e-4]).sqrt(), 1e-6),
        (measured(&[3.0, 4.0], UpperBound::new(0.1)), DoubleDouble::from(5.0) + 0.1, 1e-14),
    ];
    for (place, (bound, exact, slack)) in cases.into_iter().enumerate() {
        assert!(DoubleDouble::from(bound.get()) >= exact, "case {place}: {bound:?} for {exact:?}");
        assert!(bound.get() <= exact.to_f64() * (1.0 + slack), "case {place}: {bound:?} for {exact:?}");
    }
}

/// With ‖w‖ = C/λ, g = 0 and R = 1 the worst case is Theorem 1 as printed, `4 γ C² m² / (λ² (n−m))`.
#[test]
fn worst_case_is_the_printed_one_at_its_assumptions() {
    let change = CurvatureChange::new(&Logistic, Constants::Paper, UpperBound::new(1.0));
    let (lambda, m, n_remaining) = (1e-3, 100, 11_882);
    let removal = RemovalSize {
        changed: WeightSum::of_rows(m),
        remaining: WeightSum::of_rows(n_remaining),
        ridge: Ridge::PerRow(lambda),
        gradient_norm_bound: UpperBound::new(1.0),
        weights_norm: UpperBound::new(1.0 / lambda),
        solver: UpperBound::ZERO,
        hessian_error: UpperBound::ZERO,
    };
    let printed = 4.0 * 0.25 * (m as f64).powi(2) / (lambda * lambda * n_remaining as f64);
    assert!((worst_case(&change, &removal).get() / printed - 1.0).abs() < 1e-12);
    // 8.4e5 is the number that the theory quotes for MNIST.
    assert!((printed / 8.4e5 - 1.0).abs() < 0.01, "{printed:e}");
}

/// Paper constants are γ = 1/4 and no factor ½: 2 · 0.25 / 0.0962 = 5.196 times the tight bound.
#[test]
fn printed_constants_cost_their_known_factor() {
    let [design, step, step_image] = [3.5, 0.01, 0.02].map(UpperBound::new);
    let norms = StepNorms { design, step, step_image };
    let bound =
        |constants| data_dependent(&CurvatureChange::new(&Logistic, constants, UpperBound::new(1.0)), &norms).get();
    let factor = bound(Constants::Paper) / bound(Constants::Tight);
    assert!((factor - 3.0 * 3.0_f64.sqrt()).abs() < 1e-12, "{factor}");
}

#[test]
fn stale_curvature_at_its_anchor_is_the_data_dependent_rung() {
    for constants in [Constants::Tight, Constants::Paper] {
        let change = CurvatureChange::new(&Logistic, constants, UpperBound::new(0.75));
        let [design, step, step_image] = [3.5, 0.01, 0.02].map(UpperBound::new);
        let norms = StepNorms { design, step, step_image };
        let (fresh, anchored) = (data_dependent(&change, &norms).get(), stale(&change, &norms, UpperBound::ZERO).get());
        assert!((fresh / anchored - 1.0).abs() < 1e-14, "{fresh:e} {anchored:e}");
        assert!(stale(&change, &norms, UpperBound::new(1e-3)).get() > anchored);
    }
}

/// 400 worlds, one step each by every rung from the same state.
#[test]
fn rungs_are_ordered_and_the_exact_residual_is_below_all() {
    for seed in 6000..6400 {
        let mut draw = Draw::any(seed, ReferenceLoss::Logistic, 20 + seed as usize % 80);
        draw.constant_column = false;
        let mut trained = World::train(draw, |config| config.gradient_tolerance = 1e-12);
        let n_removed = trained.rng.random_range(1..=10);
        let removed = trained.some_rows(n_removed);
        for constants in [Constants::Tight, Constants::Paper] {
            let step = |rung: Rung| {
                let mut world = trained.replanned(|config| {
                    (config.bound, config.constants) = (Some(rung), constants);
                });
                world.change(&removed, 0);
                world
            };
            // Steps and what they charge besides the rung are the same; the error bounds differ by the rung alone.
            let [worst_case, step_norm, data_dependent, per_row] =
                [Rung::WorstCase, Rung::StepNorm, Rung::DataDependent, Rung::PerRow].map(step);
            let fit = |world: &World| world.model.state().fits[0].clone();
            assert!(fit(&worst_case).weights == fit(&per_row).weights);
            let exact = unknown_part(&fit(&per_row), &per_row.truth(&fit(&per_row)).gradient(&fit(&per_row).weights));
            let bounds = [&per_row, &data_dependent, &step_norm, &worst_case].map(|w| fit(w).gradient_error.get());
            assert!(exact.to_f64() <= bounds[0], "{exact:?} {bounds:?} {draw:?}");
            for pair in bounds.windows(2) {
                // Rungs may be equal in exact arithmetic (one feature): each adds slack of its own, in parts per million.
                assert!(pair[0] <= pair[1] * (1.0 + 1e-5), "{exact:?} {bounds:?} removed {}: {draw:?}", removed.len());
            }
        }
    }
}

/// Rows of one feature and norm R, most of which leave at once: all rungs meet, and none may overtake another because it
/// still counts rows that left.
#[test]
fn rungs_stay_ordered_when_most_rows_leave() {
    for n_removed in [1, 30, 60] {
        let rows: Vec<Vec<f64>> = (0..64).map(|i| vec![if i % 3 == 0 { -1.0 } else { 1.0 }]).collect();
        let labels: Vec<f64> = (0..64).map(|i| f64::from(u8::from(i % 5 < 2))).collect();
        let store = TestStore::of(&rows, &labels);
        let errors = [Rung::PerRow, Rung::DataDependent, Rung::StepNorm, Rung::WorstCase].map(|rung| {
            let mut config = TrainingConfig::new(&Logistic, 0.1, Some(2));
            config.bound = Some(rung);
            let plan = TrainingPlan::new(config).expect("valid");
            let trained = plan.train(&store, &mut fixed_noise(), &mut |_| {}).expect("trainable");
            let (mut model, mut left) = (trained.model, store.clone());
            let leaving = store.batch(&(0..n_removed).collect::<Vec<usize>>());
            (0..n_removed).for_each(|place| left.remove(place));
            model.change(&Change::remove(&leaving), &left).expect("readable");
            model.state().fits[0].gradient_error.get()
        });
        assert!(errors.windows(2).all(|pair| pair[0] <= pair[1] * (1.0 + 1e-5)), "{n_removed} removed: {errors:?}");
    }
}
