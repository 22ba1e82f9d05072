//! Bounds dominate truth: after every step of random lives of models, what is claimed is at least what is true.

use efface_core::loss::Logistic;
use efface_core::model::{Mechanism, TrainingConfig, TrainingPlan};
use efface_core::noise::NoiseLaw;
use efface_core::removal::Change;
use efface_core::residual::{Constants, Rung};
use efface_core::ridge::Ridge;
use efface_testkit::dense::{dot, norm, solve_positive_definite};
use efface_testkit::{Reference, ReferenceLoss, Shape};
use rand::RngExt;

use crate::store::TestStore;
use crate::world::{Draw, OBJECTIVE, World, fixed_noise, unknown_part};

const LOSSES: [ReferenceLoss; 2] = [ReferenceLoss::Logistic, ReferenceLoss::Squared];

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

/// 8 worlds of so many features that removed rows are listed, and folded into the matrices by blocks: 60 changes of 1 to 3
/// rows, some of them arrivals.
#[test]
fn removals_that_are_listed_dominate_truth() {
    for seed in 600..608 {
        let loss = LOSSES[seed as usize % 2];
        let shape = Shape::ALL[seed as usize % Shape::ALL.len()];
        let weighted = seed % 4 < 2;
        let draw = Draw { weighted, ..Draw::plain(seed, loss, 250, [130, 200][seed as usize % 2], shape) };
        let mut world = World::train(draw, |_| {});
        for step in 0..60 {
            world.random_change(3);
            world.check_gradients();
            if step % 20 == 13 {
                world.check_design();
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

/// A world of up to 200 rows whose weights grow large (λ down to 1e-7), trained as far as rounding allows.
fn world_at_the_floor(seed: u64, loss: ReferenceLoss) -> World {
    let n_rows = 10 + (seed as usize * 37) % 191;
    World::train(Draw::any(seed, loss, n_rows), |config| {
        config.ridge = config.ridge.times([1.0, 1e-3][seed as usize % 2]);
        config.gradient_tolerance = 1e-15;
        // So much that every model can be released.
        (config.noise_std, config.max_releases) = (Some(1.0), 1);
    })
}

/// The hardest test of the rounding bounds: the true gradient is as small as rounding lets it be. 2 × 300 worlds, three
/// changes with a settling after each.
#[test]
fn settled_claims_hold_where_only_rounding_is_left() {
    for loss in LOSSES {
        for seed in 3000..3300 {
            let mut world = world_at_the_floor(seed, loss);
            world.check_gradients();
            for _ in 0..3 {
                world.random_change(3);
                let tolerance = [1e-15, 1e-13, 1e-9][seed as usize % 3];
                let settled = world.model.settle(&world.store, Some(tolerance)).expect("readable");
                assert_eq!(settled.claim.rung, Rung::Measured);
                world.check_gradients();
                world.check_distance();
                // The error charged is that of the arithmetic: a hundred units of what is added up.
                let fit = &world.model.state().fits[0];
                let (r, w) = (world.draw.row_norm, norm(&fit.weights).to_f64());
                let slopes = sum_of_slopes(&world.truth(fit), &fit.weights);
                let n = fit.count.weight_sum;
                let scale = r * slopes + (n.get() * r * r + world.model.plan().config().ridge.over(n)) * w;
                let charged = fit.gradient_error.get();
                assert!(charged <= 50.0 * f64::EPSILON * scale, "{charged:e} of {scale:e}: {:?}", world.draw);
            }
        }
    }
}

/// 2 × 300 worlds. Settling goes on until the residual is within the tolerance, or no larger than its own rounding error,
/// wherever an instant removal has thrown the weights.
#[test]
fn settling_reaches_its_tolerance_or_the_rounding_floor() {
    let mut stuck = Vec::new();
    for loss in LOSSES {
        for seed in 3000..3300 {
            let mut world = world_at_the_floor(seed, loss);
            for _ in 0..3 {
                world.random_change(3);
                let settled = world.model.settle(&world.store, Some(1e-9)).expect("readable");
                let floor = 2.0 * world.model.state().fits[0].gradient_error.get() * (1.0 + 1e-9);
                let reached = settled.claim.gradient_residual.get();
                if reached > floor.max(1e-9) {
                    stuck.push((loss, seed, reached, floor));
                    break;
                }
            }
        }
    }
    assert!(stuck.is_empty(), "{} of 600 models are stuck (seed, residual, floor): {stuck:?}", stuck.len());
}

/// 40 worlds of 3 to 5 classes, half of them with a fraction of the negatives: squares of the problems' residuals and distances add up to the joint claim.
#[test]
fn joint_claims_of_several_classes_dominate_truth() {
    for seed in 4000..4040 {
        let n_classes = 3 + (seed % 3) as u32;
        let draw = Draw { n_classes, ..Draw::any(seed, ReferenceLoss::Logistic, 60) };
        let mechanism = if seed % 2 == 0 { OBJECTIVE } else { Mechanism::Release };
        let mut world = World::train(draw, |config| {
            config.mechanism = mechanism;
            config.negatives = (seed % 4 < 2).then_some(0.4);
        });
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

/// 24 models of a few rows that thousands join without a step: what is left to charge is the arrivals' own rounding.
#[test]
fn rounding_of_rows_that_arrive_is_charged() {
    for case in 0..24 {
        let dim = [1, 2, 40][case % 3];
        let length = (0.51 + 0.02 * case as f64) / (dim as f64).sqrt();
        let mut rows = TestStore::of(&vec![vec![length; dim]; 3], &[0.0, 1.0, 0.0]);
        let mut config = TrainingConfig::new(&Logistic, 1e-3, Some(2));
        config.max_matrix_dim = 0;
        let plan = TrainingPlan::new(config).expect("valid");
        let trained = plan.train(&rows, &mut fixed_noise(), &mut |_| {}).expect("trainable");
        let mut model = trained.model;
        for _ in 0..2000 {
            rows.push(&vec![length; dim], f64::from(u8::from(case % 2 == 0)));
        }
        let arriving = rows.batch(&(3..2003).collect::<Vec<usize>>());
        model.change(&Change::add(&arriving), &rows).expect("readable");
        let fit = &model.state().fits[0];
        let exact = rows.reference(ReferenceLoss::Logistic, Ridge::PerRow(1e-3), Some(1)).gradient(&fit.weights);
        let (error, bound) = (unknown_part(fit, &exact).to_f64(), fit.gradient_error.get());
        assert!(error <= bound, "the gradient is off by {error:e}, bound {bound:e}");
    }
}

/// 60 worlds, 40 changes: removal under the squared loss is exact up to rounding, however often it happens.
#[test]
fn squared_loss_leaves_rounding_only() {
    for seed in 7000..7060 {
        let mut world = World::train(Draw::any(seed, ReferenceLoss::Squared, 200), |_| {});
        // The heaviest row weighs a thousand.
        let heaviest = if world.draw.weighted { 1e3 } else { 1.0 };
        for step in 0..40 {
            let report = world.random_change(6);
            let reached = report.claim.gradient_residual.get();
            assert!(reached <= 2e-9 * heaviest, "{reached:e}: {:?}", world.draw);
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
            let positive = (loss == ReferenceLoss::Logistic).then_some(1);
            // What the rows bring to the gradient, their share of the ridge included.
            let delta = world
                .store
                .batch(&places)
                .reference(loss, Ridge::PerRow(truth.l2_per_row), positive)
                .gradient(&fit.weights);
            let step = solve_positive_definite(&truth.hessian(&fit.weights), &delta);
            let exact = norm(&step.expect("positive definite")).to_f64();
            // Rows of norm 1e-6 leave steps near the rounding error of the gradient.
            assert!((estimate - exact).abs() < 1e-3 * exact + 1e-14, "{estimate:e} for {exact:e}: {:?}", world.draw);
        }
    }
}

/// 2 × 40 worlds, some with several classes and few negatives, some without a matrix, in every block layout.
#[test]
fn influences_are_the_influence_of_each_row() {
    for loss in LOSSES {
        for seed in 8100..8140 {
            let mut draw = Draw::any(seed, loss, if seed % 5 == 0 { 600 } else { 60 });
            if seed % 2 == 0 && loss == ReferenceLoss::Logistic {
                draw.n_classes = 4;
            }
            let mut world = World::train(draw, |config| {
                config.negatives = (seed % 4 == 0).then_some(0.4);
                config.max_matrix_dim = if seed % 3 == 0 { 0 } else { 100 };
            });
            let gone = world.some_rows(5);
            world.change(&gone, 0);
            assert_eq!(world.model.state().fits[0].curvature.is_none(), seed % 3 == 0);
            let all = world.model.influences(&world.store).expect("readable");
            assert_eq!(all.len(), world.store.n_places());
            assert!(gone.iter().all(|place| all[*place] == 0.0));
            for place in world.store.present() {
                let alone = world.model.influence(&world.store.batch(&[place])).expect("readable");
                assert!((all[place] - alone).abs() <= 1e-9 * alone, "{:e} for {alone:e}: {draw:?}", all[place]);
            }
        }
    }
}

/// 20 worlds: a problem that no removed row takes part in keeps its fit to the bit, and all claims hold.
#[test]
fn problems_without_a_changed_row_are_left_alone() {
    let mut untouched = 0;
    for seed in 8200..8220 {
        let draw = Draw { n_classes: 4, ..Draw::any(seed, ReferenceLoss::Logistic, 80) };
        let mut world = World::train(draw, |config| config.negatives = Some(0.3));
        for _ in 0..10 {
            let removed = world.some_rows(1);
            let (label, selector) = (world.store.label(removed[0]), world.store.selector(removed[0]));
            let before = world.model.state().fits.clone();
            let report = world.change(&removed, 0);
            assert_eq!(report.claim.rung, Rung::Stale);
            for (before, after) in before.iter().zip(&world.model.state().fits) {
                if before.problem.target(label, selector).is_none() {
                    untouched += 1;
                    assert_eq!((&before.weights, before.count.n_rows), (&after.weights, after.count.n_rows));
                    assert_eq!((&before.gradient, before.gradient_error), (&after.gradient, after.gradient_error));
                }
            }
            world.check_gradients();
        }
        world.check_distance();
    }
    assert!(untouched > 200, "only {untouched} fits had nothing to do");
}

/// Four problems, ten changes, one thread and three: the same bits.
#[test]
fn problems_step_alike_on_any_number_of_threads() {
    let live = |n_threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().expect("threads");
        pool.install(|| {
            let draw = Draw { n_classes: 4, dim: 12, ..Draw::any(8300, ReferenceLoss::Logistic, 300) };
            let mut world = World::train(draw, |config| config.negatives = Some(0.5));
            let claims: Vec<_> = (0..10).map(|_| world.random_change(5).claim).collect();
            let influences = world.model.influences(&world.store).expect("readable");
            let fits = &world.model.state().fits;
            (claims, influences, fits.iter().map(|fit| fit.weights.clone()).collect::<Vec<_>>())
        })
    };
    assert!(live(1) == live(3));
}

/// Shapes in which bounds are nearly reached: one feature, all rows alike.
#[test]
fn claims_hold_where_bounds_are_tight() {
    for shape in Shape::ALL {
        for (seed, n_rows) in (9000..).zip([3, 4, 8, 64]) {
            let mut world = World::train(Draw::plain(seed, ReferenceLoss::Logistic, n_rows, 1, shape), |config| {
                config.ridge = Ridge::PerRow(1e-4);
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
    let examples = truth.rows.iter().zip(&truth.targets).zip(&truth.row_weights);
    examples.map(|((row, target), s)| (truth.loss.slope(dot(row, weights), *target).abs() * *s).to_f64()).sum()
}
