//! Publishing: what a release costs and when it is refused, what mechanism `objective` covers, and what must never leave.

use efface_core::accounting::Extractor;
use efface_core::accounting::gaussian::{epsilon_at, gaussian_tail_factor, mu_limit};
use efface_core::loss::{Logistic, Squared};
use efface_core::model::{
    BudgetRule, Mechanism, Model, Outcome, ReleaseOutcome, TrainError, TrainingConfig, TrainingPlan,
};
use efface_core::noise::{NoiseLaw, NoiseSource};
use efface_core::removal::Change;
use efface_core::residual::Rung;
use efface_core::ridge::Ridge;
use efface_core::rows::RowStore;
use efface_testkit::{DoubleDouble, ReferenceLoss, Shape};

use crate::store::{Precision, TestStore};
use crate::world::{Draw, OBJECTIVE, World, fixed_noise, published, small_world};

#[test]
fn releases_are_accounted_by_the_squares_of_their_distances() {
    for law in [NoiseLaw::Gaussian, NoiseLaw::Gamma] {
        let scale = 0.5;
        let mut world = small_world(1, ReferenceLoss::Logistic, |config| {
            (config.law, config.noise_std, config.ridge) = (law, Some(scale), Ridge::PerRow(0.1));
        });
        let (mut squares, mut sum) = (DoubleDouble::ZERO, DoubleDouble::ZERO);
        for release in 1..=6 {
            let removed = world.some_rows(1);
            world.change(&removed, 0);
            world.model.settle_before_release(&world.store).expect("readable");
            let verified = world.model.claim().distance_bound;
            let claim = published(&mut world.model, &mut fixed_noise()).claim;
            let r = claim.distance_bound.get();
            // What is claimed is a number that the rows have no say in.
            assert!(r >= verified.get() && r == world.model.plan().claimed_distance(), "{r:e}");
            assert_eq!(claim.verified_distance, verified);
            squares += DoubleDouble::from_product(r, r);
            sum += r;
            assert_eq!((claim.release, claim.distance_bound.get(), claim.noise_std), (release, r, scale));
            let account = world.model.state().account;
            assert!(DoubleDouble::from(account.distance_squares.get()) >= squares);
            assert!(DoubleDouble::from(account.distances.get()) >= sum);
            let exact = match law {
                NoiseLaw::Gaussian => squares.sqrt() / scale,
                NoiseLaw::Gamma => sum / scale,
            };
            assert!(DoubleDouble::from(claim.mu_total.get()) >= exact);
            assert!(claim.mu_total.get() <= exact.to_f64() * (1.0 + 1e-14));
            assert!(DoubleDouble::from(claim.mu.get()) >= DoubleDouble::from(r) / scale);
            assert!(claim.mu_total.get() <= claim.mu_limit.get());
            let spent = match law {
                NoiseLaw::Gaussian => epsilon_at(claim.mu_total, 1e-4),
                NoiseLaw::Gamma => claim.mu_total.get(),
            };
            assert_eq!(claim.epsilon_spent, spent);
            assert!(claim.epsilon_spent <= claim.guarantee.epsilon);
        }
    }
}

#[test]
fn too_little_noise_is_refused_until_the_model_is_settled() {
    let mut world = small_world(2, ReferenceLoss::Logistic, |config| config.noise_std = Some(1e-7));
    let removed = world.some_rows(3);
    world.change(&removed, 0);
    assert!(world.model.should_settle_before_release());
    let before = world.model.state().account;
    let ReleaseOutcome::OutOfReach { distance, limit } = world.model.release(&mut fixed_noise()) else {
        panic!("published with noise of 1e-7");
    };
    assert!(distance.get() > limit.get());
    assert_eq!(world.model.state().account, before, "a refusal costs nothing");
    world.model.settle(&world.store, Some(1e-13)).expect("readable");
    let claim = published(&mut world.model, &mut fixed_noise()).claim;
    assert!(claim.mu_total.get() < claim.mu_limit.get() && claim.release == 1);
}

/// The promise is shared out evenly: so many releases fit as were asked for, and not one more.
#[test]
fn as_many_releases_are_made_as_were_asked_for() {
    for law in [NoiseLaw::Gaussian, NoiseLaw::Gamma] {
        for max_releases in [1, 2, 9] {
            let mut world = small_world(2, ReferenceLoss::Logistic, |config| {
                (config.law, config.max_releases) = (law, max_releases);
            });
            world.model.settle_before_release(&world.store).expect("readable");
            for _ in 0..max_releases {
                published(&mut world.model, &mut fixed_noise());
            }
            let refused = world.model.release(&mut fixed_noise());
            assert!(matches!(refused, ReleaseOutcome::BudgetExhausted { .. }), "{law:?}, {max_releases}");
        }
    }
}

/// What double precision cannot show is said at training, with settings that work.
#[test]
fn training_refuses_what_could_never_be_released_and_says_what_would_work() {
    for (l2_per_row, noise_std) in [(1e-2, 1e-12), (1e-12, 1e-3), (1e-10, 1e-6)] {
        let train = |l2_per_row: f64, noise_std: f64| {
            let draw = Draw::plain(8, ReferenceLoss::Logistic, 60, 4, Shape::Isotropic);
            let config =
                TrainingConfig { ridge: Ridge::PerRow(l2_per_row), noise_std: Some(noise_std), ..draw.config() };
            let world = World::train(draw, |_| {});
            TrainingPlan::new(config).expect("valid").train(&world.store, &mut fixed_noise(), &mut |_| {})
        };
        let Err(TrainError::OutOfReach { distance, limit, noise_std: enough, ridge: Ridge::PerRow(larger) }) =
            train(l2_per_row, noise_std)
        else {
            panic!("trained with l2 {l2_per_row:e} and noise {noise_std:e}");
        };
        assert!(distance > limit && enough > noise_std && larger > l2_per_row);
        assert!(train(l2_per_row, enough).is_ok(), "l2 {l2_per_row:e}, noise {enough:e}");
        assert!(train(larger, noise_std).is_ok(), "l2 {larger:e}, noise {noise_std:e}");
    }
}

/// A tolerance that was meant for training quickly must not stand in the way of a release.
#[test]
fn a_roughly_trained_model_is_settled_as_far_as_the_promise_asks() {
    for n_classes in [2, 3] {
        let mut draw = Draw::plain(4, ReferenceLoss::Logistic, 80, 5, Shape::Isotropic);
        draw.n_classes = n_classes;
        let mut world = World::train(draw, |config| config.gradient_tolerance = 0.5);
        assert!(world.model.should_settle_before_release());
        assert!(world.model.settle_before_release(&world.store).expect("readable") > 0);
        assert!(!world.model.should_settle_before_release());
        let claim = published(&mut world.model, &mut fixed_noise()).claim;
        assert_eq!(claim.distance_bound.get(), world.model.plan().claimed_distance());
        world.check_distance();
    }
}

#[test]
fn a_settled_model_with_the_default_noise_can_be_released_four_thousand_times() {
    let mut world = small_world(3, ReferenceLoss::Logistic, |_| {});
    world.model.settle(&world.store, None).expect("readable");
    assert!(!world.model.should_settle_before_release());
    let claim = published(&mut world.model, &mut fixed_noise()).claim;
    assert!(claim.mu.get() * 4_000_f64.sqrt() <= claim.mu_limit.get());
}

#[test]
fn a_private_extractor_is_added_to_every_claim() {
    let extractor = Extractor::per_row(0.3, 2e-5);
    for law in [NoiseLaw::Gaussian, NoiseLaw::Gamma] {
        let mut world = small_world(4, ReferenceLoss::Logistic, |config| {
            (config.extractor, config.law, config.noise_std) = (Some(extractor), law, Some(1.0));
        });
        let alone = world.model.plan().guarantee();
        let claim = published(&mut world.model, &mut fixed_noise()).claim;
        assert!(
            claim.guarantee.epsilon >= alone.epsilon + 0.3 && claim.guarantee.epsilon < alone.epsilon + 0.3 + 1e-15
        );
        assert!(claim.guarantee.delta >= alone.delta + 2e-5 && claim.guarantee.delta < alone.delta + 2e-5 + 1e-19);
        assert!(claim.epsilon_spent >= 0.3 && claim.epsilon_spent <= claim.guarantee.epsilon);
    }
    let mut exact = small_world(4, ReferenceLoss::Squared, |config| {
        (config.extractor, config.noise_std) = (Some(extractor), None);
    });
    let claim = published(&mut exact.model, &mut fixed_noise()).claim;
    assert_eq!((claim.guarantee, claim.epsilon_spent), (extractor.cost(), 0.3));
}

#[test]
fn a_model_without_rows_is_not_published() {
    for loss in [ReferenceLoss::Logistic, ReferenceLoss::Squared] {
        let mut world = small_world(8, loss, |_| {});
        let everything = world.store.present();
        let report = world.change(&everything, 0);
        assert!(!report.claim.distance_bound.is_finite(), "{loss:?}");
        let outcome = world.model.release(&mut fixed_noise());
        assert!(!matches!(outcome, ReleaseOutcome::Published(_)), "{loss:?}");
    }
}

#[test]
fn budgets_of_the_objective_mechanism_are_rounded_down() {
    for (sigma, epsilon, delta) in [(1.0, 1.0, 1e-4), (0.3, 0.1, 1e-6), (10.0, 3.0, 1e-2)] {
        let budget = |law: NoiseLaw, budget: BudgetRule| {
            let mut config = TrainingConfig::new(&Logistic, 0.01, Some(2));
            (config.mechanism, config.law) = (Mechanism::Objective { budget }, law);
            (config.noise_std, config.epsilon, config.delta) = (Some(sigma), epsilon, delta);
            TrainingPlan::new(config).expect("valid").removal_budget().expect("mechanism objective has one").get()
        };
        let product = DoubleDouble::from_product(sigma, epsilon);
        let printed = product / ((DoubleDouble::from(1.5) / delta).ln() * 2.0).sqrt();
        let cases = [
            (budget(NoiseLaw::Gaussian, BudgetRule::Paper), printed),
            (
                budget(NoiseLaw::Gaussian, BudgetRule::Analytic),
                DoubleDouble::from_product(sigma, mu_limit(epsilon, delta).get()),
            ),
            (budget(NoiseLaw::Gamma, BudgetRule::Paper), product),
            (budget(NoiseLaw::Gamma, BudgetRule::Analytic), product),
        ];
        for (computed, exact) in cases {
            assert!(DoubleDouble::from(computed) <= exact, "{computed} above {exact:?}");
            assert!(computed >= exact.to_f64() * (1.0 - 1e-14), "{computed} for {exact:?}");
        }
        // The printed rule is the smaller one wherever it is proved.
        assert!(epsilon > 1.0 || cases[0].0 < cases[1].0);
        assert!(gaussian_tail_factor(delta).get() > 1.0);
    }
}

#[test]
fn exact_and_release_plans_have_no_removal_budget() {
    let release = TrainingPlan::new(TrainingConfig::new(&Logistic, 0.01, Some(2))).expect("valid");
    assert!(release.removal_budget().is_none());
    let mut config = TrainingConfig::new(&Squared, 0.01, None);
    config.mechanism = OBJECTIVE;
    assert!(TrainingPlan::new(config).expect("valid").removal_budget().is_none());
}

#[test]
fn exceeding_the_budget_asks_for_retraining_and_retraining_starts_anew() {
    for law in [NoiseLaw::Gaussian, NoiseLaw::Gamma] {
        let configure = |config: &mut TrainingConfig| {
            (config.mechanism, config.law, config.noise_std) = (OBJECTIVE, law, Some(0.01));
        };
        let mut world = small_world(9, ReferenceLoss::Logistic, configure);
        assert_eq!(world.model.outcome(), Outcome::Done);
        let budget = world.model.removal_budget().expect("objective").get();
        let mut last = 0.0;
        let report = loop {
            let removed = world.some_rows(1);
            assert!(!removed.is_empty(), "the budget lasts longer than the rows");
            let report = world.change(&removed, 0);
            let spent = report.claim.gradient_residual.get();
            assert!(spent > last, "what was spent does not come back without settling");
            assert_eq!(report.outcome == Outcome::RetrainRequired, spent > budget);
            assert_eq!(report.outcome, world.model.outcome());
            last = spent;
            if report.outcome == Outcome::RetrainRequired {
                break report;
            }
            let claim = published(&mut world.model, &mut fixed_noise()).claim;
            assert!(claim.mu.get() <= claim.mu_limit.get() * (1.0 + 1e-14));
        };
        let ReleaseOutcome::RetrainRequired { spent, budget } = world.model.release(&mut fixed_noise()) else {
            panic!("published beyond the budget");
        };
        assert!(spent == report.claim.gradient_residual && spent.get() > budget.get());

        let plan = world.model.plan().clone();
        let mut noise = NoiseSource::danger_fixed_seed(77);
        let retrained = plan.train(&world.store, &mut noise, &mut |_| {}).expect("trainable").model;
        assert_eq!(retrained.outcome(), Outcome::Done);
        let perturbation = |model: &Model| model.state().fits[0].perturbation.clone();
        assert!(perturbation(&retrained) != perturbation(&world.model), "a fresh perturbation");
    }
}

#[test]
fn the_perturbed_model_is_published_as_it_is() {
    let mut world = small_world(11, ReferenceLoss::Logistic, |config| {
        (config.mechanism, config.noise_std) = (OBJECTIVE, Some(5.0));
    });
    let release = published(&mut world.model, &mut fixed_noise());
    assert_eq!(release.weights[0], *world.model.state().fits[0].weights);
    // ‖b‖ = ‖∇L(w)‖ up to the training residual: the perturbation is in the weights.
    let fit = &world.model.state().fits[0];
    let mut unperturbed = world.truth(fit);
    unperturbed.perturbation.clear();
    assert!(unperturbed.gradient_norm(&fit.weights) > 1.0);
}

#[test]
fn a_state_is_taken_back_only_by_the_plan_it_belongs_to() {
    let world = small_world(15, ReferenceLoss::Logistic, |_| {});
    let state = world.model.state().clone();
    let mut config = world.model.plan().config().clone();
    assert!(Model::from_state(world.model.plan().clone(), state.clone()).is_some());
    config.n_classes = Some(3);
    let other = TrainingPlan::new(config).expect("valid");
    assert!(Model::from_state(other, state.clone()).is_none());
    let mut cut = state;
    cut.fits[0].gradient = vec![0.0; 2].into();
    assert!(Model::from_state(world.model.plan().clone(), cut).is_none());
}

/// A store of longer rows than the model was told of is either refused or taken into account.
#[test]
fn longer_rows_than_declared_do_not_break_the_claim() {
    let short = TestStore::of(&vec![vec![0.01]; 4], &[1.0, 0.0, 1.0, 0.0]);
    let mut config = TrainingConfig::new(&Logistic, 1e-3, Some(2));
    config.bound = Some(Rung::PerRow);
    let plan = TrainingPlan::new(config).expect("valid");
    let mut model = plan.train(&short, &mut fixed_noise(), &mut |_| {}).expect("trainable").model;
    let mut rows = TestStore::empty(1, 8.0, Precision::Double);
    for place in 0..4 {
        rows.push(&short.row(place), short.label(place));
    }
    (0..40).for_each(|i| rows.push(&[8.0], f64::from(u8::from(i % 8 == 0))));
    let arriving = rows.batch(&(4..44).collect::<Vec<usize>>());
    assert!(arriving.row_norm_bound().get() > short.row_norm_bound().get());
    if model.change(&Change::add(&arriving), &rows).is_ok() {
        let fit = &model.state().fits[0];
        let truth = rows.reference(ReferenceLoss::Logistic, Ridge::PerRow(1e-3), Some(1));
        let (exact, claimed) = (truth.gradient_norm(&fit.weights), model.claim().gradient_residual.get());
        assert!(exact <= claimed, "the gradient is {exact:e}, claimed {claimed:e}");
    }
}
