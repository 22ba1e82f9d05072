//! Bounds dominate truth: after every step of random lives of models, what is claimed is at least what is true.

use efface_core::loss::Logistic;
use efface_core::model::{BudgetRule, Mechanism};
use efface_core::noise::NoiseLaw;
use efface_core::residual::{Constants, CurvatureChange, Rung, StepNorms, data_dependent, stale};
use efface_core::rounding::UpperBound;
use efface_testkit::dense::{dot, norm, solve_positive_definite};
use efface_testkit::reference::removal_gradient;
use efface_testkit::{Reference, ReferenceLoss, Shape};
use rand::RngExt;

use crate::world::{Draw, World, unknown_part};

const LOSSES: [ReferenceLoss; 2] = [ReferenceLoss::Logistic, ReferenceLoss::Squared];

const OBJECTIVE: Mechanism = Mechanism::Objective { budget: BudgetRule::Analytic };

/// 2 × 60 worlds of 250 rows, 100 changes each, never settled: curvature as stale as it gets.
#[test]
fn instant_removals_dominate_truth_at_any_depth() {
    for loss in LOSSES {
        for seed in 0..60 {
            let mut world = World::train(Draw::any(seed, loss, 250), |_| {});
            for step in 0..100 {
                world.random_change(if seed % 4 == 0 { 12 } else { 2 });
                world.check_gradients();
                if step % 33 == 0 {
                    world.check_distance();
                    world.check_design();
                }
            }
        }
    }
}

/// 2 losses × 6 rungs × 2 sets of constants × 4 laws and mechanisms × 6 seeds: 576 worlds, 8 changes of 1 to 50 rows.
#[test]
fn every_rung_dominates_truth_under_both_mechanisms() {
    let mechanisms = [
        (Mechanism::Release, NoiseLaw::Gaussian),
        (Mechanism::Release, NoiseLaw::Gamma),
        (OBJECTIVE, NoiseLaw::Gaussian),
        (OBJECTIVE, NoiseLaw::Gamma),
    ];
    let mut seed = 1000;
    for loss in LOSSES {
        for rung in Rung::LADDER {
            for constants in [Constants::Tight, Constants::Paper] {
                for (mechanism, law) in mechanisms {
                    for _ in 0..6 {
                        seed += 1;
                        let mut world = World::train(Draw::any(seed, loss, 200), |config| {
                            (config.bound, config.constants) = (Some(rung), constants);
                            (config.mechanism, config.law) = (mechanism, law);
                            config.noise_std = Some(10_f64.powi((seed % 4) as i32 - 2));
                        });
                        world.check_gradients();
                        for step in 0..8 {
                            let report = world.random_change(50);
                            assert_eq!(report.claim.rung, rung);
                            world.check_gradients();
                            if step == 5 {
                                world.check_distance();
                            }
                        }
                        world.check_design();
                    }
                }
            }
        }
    }
}

/// 2 × 60 worlds that change, settle and change again, at random.
#[test]
fn settling_in_between_keeps_claims_above_truth() {
    for loss in LOSSES {
        for seed in 2000..2060 {
            let mechanism = if seed % 3 == 0 { OBJECTIVE } else { Mechanism::Release };
            let mut world = World::train(Draw::any(seed, loss, 60), |config| config.mechanism = mechanism);
            for step in 0..25 {
                if world.rng.random_bool(0.3) {
                    let tolerance = 10_f64.powi(world.rng.random_range(-14..-2));
                    world.model.settle(&world.store, Some(tolerance)).expect("readable");
                } else {
                    world.random_change(5);
                }
                world.check_gradients();
                if step % 8 == 0 {
                    world.check_distance();
                    world.check_design();
                }
            }
        }
    }
}

/// The hardest test of the rounding bounds: the true gradient is as small as rounding lets it be. 2 × 300 worlds of up to
/// 200 rows, weights up to 1e6 (λ down to 1e-7), three changes with a settling after each.
#[test]
fn settled_claims_hold_where_only_rounding_is_left() {
    for loss in LOSSES {
        for seed in 3000..3300 {
            let n_rows = 10 + (seed as usize * 37) % 191;
            let mut world = World::train(Draw::any(seed, loss, n_rows), |config| {
                config.l2_per_row *= [1.0, 1e-3][seed as usize % 2];
                config.gradient_tolerance = 1e-15;
            });
            for _ in 0..3 {
                world.random_change(3);
                let tolerance = [1e-15, 1e-13, 1e-9][seed as usize % 3];
                let settled = world.model.settle(&world.store, Some(tolerance)).expect("readable");
                assert_eq!(settled.claim.rung, Rung::Measured);
                world.check_gradients();
                world.check_distance();
                let fit = &world.model.state().fits[0];
                // At the floor, a gradient no larger than its own rounding error is all that can be asked for.
                let floor = 2.0 * fit.gradient_error.get() * (1.0 + 1e-9);
                let reached = settled.claim.gradient_residual.get();
                assert!(reached <= tolerance.max(floor), "{reached:e}, floor {floor:e}: {:?}", world.draw);
                // And the floor is that of the arithmetic: a few hundred units of what is added up.
                let (r, w) = (world.draw.row_norm, norm(&fit.weights).to_f64());
                let slopes = sum_of_slopes(&world.truth(fit), &fit.weights);
                let scale = r * slopes + fit.n_rows as f64 * (r * r + world.model.plan().config().l2_per_row) * w;
                assert!(floor <= 100.0 * f64::EPSILON * scale, "floor {floor:e} of {scale:e}: {:?}", world.draw);
            }
        }
    }
}

/// 40 worlds of 3 to 5 classes: squares of the problems' residuals and distances add up to the joint claim.
#[test]
fn joint_claims_of_several_classes_dominate_truth() {
    for seed in 4000..4040 {
        let n_classes = 3 + (seed % 3) as u32;
        let draw = Draw { n_classes, ..Draw::any(seed, ReferenceLoss::Logistic, 60) };
        let mechanism = if seed % 2 == 0 { OBJECTIVE } else { Mechanism::Release };
        let mut world = World::train(draw, |config| config.mechanism = mechanism);
        for step in 0..12 {
            world.random_change(4);
            if step % 5 == 4 {
                world.model.settle(&world.store, None).expect("readable");
            }
            world.check_gradients();
            if step % 4 == 0 {
                world.check_distance();
            }
        }
    }
}

/// 2 × 20 worlds without a matrix: no step is taken, and the gradient that the rows leave behind is claimed.
#[test]
fn removal_without_a_matrix_claims_the_gradient_it_leaves() {
    for loss in LOSSES {
        for seed in 5000..5020 {
            let mut world = World::train(Draw::any(seed, loss, 40), |config| {
                config.max_matrix_dim = 0;
                config.gradient_tolerance = 1e-6;
            });
            for step in 0..6 {
                let weights = world.model.state().fits[0].weights.clone();
                let report = world.random_change(3);
                assert_eq!(report.claim.rung, Rung::NoStep);
                assert!(weights == world.model.state().fits[0].weights, "no step moves no weight");
                world.check_gradients();
                if step % 2 == 0 {
                    world.model.settle(&world.store, Some(1e-7)).expect("readable");
                    world.check_gradients();
                    world.check_distance();
                }
            }
        }
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

/// 60 worlds, 40 changes: removal under the squared loss is exact up to rounding, however often it happens.
#[test]
fn squared_loss_leaves_rounding_only() {
    for seed in 7000..7060 {
        let mut world = World::train(Draw::any(seed, ReferenceLoss::Squared, 200), |_| {});
        for step in 0..40 {
            let report = world.random_change(6);
            let reached = report.claim.gradient_residual.get();
            assert!(reached <= 1e-9 * world.draw.row_norm.max(1.0).powi(2), "{reached:e}: {:?}", world.draw);
            world.check_gradients();
            if step % 20 == 0 {
                world.check_distance();
                assert!(
                    world.truth(&world.model.state().fits[0]).distance(&world.model.state().fits[0].weights) < 1e-8
                );
            }
        }
    }
}

/// 2 × 30 worlds.
#[test]
fn influence_is_the_length_of_the_newton_step() {
    for loss in LOSSES {
        for seed in 8000..8030 {
            let mut world = World::train(Draw::any(seed, loss, 50), |config| config.gradient_tolerance = 1e-12);
            let places = world.some_rows(3);
            let estimate = world.model.influence(&world.store.batch(&places)).expect("readable");
            let fit = &world.model.state().fits[0];
            let truth = world.truth(fit);
            let of_class = |label: f64| if label == 1.0 { 1.0 } else { -1.0 };
            let target = |place: &usize| match loss {
                ReferenceLoss::Squared => world.store.label(*place),
                ReferenceLoss::Logistic => of_class(world.store.label(*place)),
            };
            let rows: Vec<Vec<f64>> = places.iter().map(|place| world.store.row(*place)).collect();
            let targets: Vec<f64> = places.iter().map(target).collect();
            let delta = removal_gradient(loss, truth.l2_per_row, &rows, &targets, &fit.weights);
            let step = solve_positive_definite(&truth.hessian(&fit.weights), &delta);
            let exact = norm(&step.expect("positive definite")).to_f64();
            assert!((estimate / exact - 1.0).abs() < 1e-3, "{estimate:e} for {exact:e}: {:?}", world.draw);
        }
    }
}

/// Shapes in which bounds are nearly reached: one feature, all rows alike.
#[test]
fn claims_hold_where_bounds_are_tight() {
    for shape in Shape::ALL {
        for (seed, n_rows) in (9000..).zip([3, 4, 8, 64]) {
            let mut world = World::train(Draw::plain(seed, ReferenceLoss::Logistic, n_rows, 1, shape), |config| {
                config.l2_per_row = 1e-4;
                config.bound = Some(Rung::PerRow);
            });
            for _ in 0..(n_rows - 2).min(10) {
                let removed = world.some_rows(1);
                world.change(&removed, 0);
                world.check_gradients();
                world.check_distance();
            }
        }
    }
}

/// Σ |ℓ′|.
fn sum_of_slopes(truth: &Reference, weights: &[f64]) -> f64 {
    let examples = truth.rows.iter().zip(&truth.targets);
    examples.map(|(row, target)| truth.loss.slope(dot(row, weights), *target).abs().to_f64()).sum()
}
