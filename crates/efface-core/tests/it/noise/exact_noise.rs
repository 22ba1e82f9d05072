//! Exact noise: the rounded normal law as drawn through the public interface, against the law in double-double, and
//! what the lattice means for a model's releases.
//!
//! Each law is tested on a million draws with a fixed seed. With correct code a comparison raises a false alarm with
//! probability 1e-6. `examples/normal_law.rs` does the same for as many draws as one likes.

use efface_core::model::{Mechanism, Model, PlanError, ReleaseOutcome, TrainingConfig, TrainingPlan};
use efface_core::noise::lattice::Lattice;
use efface_core::noise::normal::RoundedNormal;
use efface_core::noise::{NoiseArithmetic, NoiseLaw, NoiseSource};
use efface_testkit::ReferenceLoss;
use efface_testkit::counts::{chi_square, count_tail};
use efface_testkit::dyadic::Dyadic;
use efface_testkit::rounded_normal::RoundedNormalLaw;

use crate::world::{OBJECTIVE, World, fixed_noise, published, small_world};

const FALSE_ALARM_RATE: f64 = 1e-6;
const N: u64 = 1_000_000;

/// σ and the width of the cells that draws are counted in.
const CASES: [(f64, i128); 6] =
    [(0.3, 1), (1.5, 1), (7.25, 1), (1234.567, 50), (1_234_567_890.125, 50_000_000), (1.3e25, 1 << 79)];

/// Draws of `round(σ·ξ)`. The lattice has steps of 2⁻²⁰, and the noise is that much smaller.
fn draws(std: f64, seed: u64) -> Vec<i128> {
    let lattice = Lattice::new(-20).expect("in range");
    let law = RoundedNormal::new(std * lattice.step(), lattice).expect("in range");
    let mut source = NoiseSource::danger_fixed_seed(seed);
    (0..N).map(|_| law.sample(&mut source).expect("far below the limit")).collect()
}

/// The least chance of what was counted, over χ² and the tails, if `std` is the truth.
fn chance(draws: &[i128], std: f64, width: i128) -> f64 {
    let mut sorted = draws.to_vec();
    sorted.sort_unstable();
    let below = |j: i128| sorted.partition_point(|draw| *draw < j) as u64;
    let law = RoundedNormalLaw { std };
    let limit = ((8.0 * std) as i128 / width + 1) * width;
    let mut least = law.test(N, width, limit, |first, last| below(last + 1) - below(first)).p_value;
    for sigmas in [1.0, 2.0, 3.0, 4.0, 4.5, 5.0] {
        let from = ((sigmas * std).ceil() as i128).max(1);
        let p = law.beyond(from).to_f64();
        let (left, right) = (below(1 - from), N - below(from));
        least = least.min(count_tail(left + right, N, p));
        least = least.min(count_tail(left, N, 0.5 * p)).min(count_tail(right, N, 0.5 * p));
    }
    least
}

#[test]
fn draws_follow_the_rounded_normal_law_in_cells_and_tails() {
    for (seed, (std, width)) in CASES.into_iter().enumerate() {
        let chance = chance(&draws(std, seed as u64), std, width);
        assert!(chance > FALSE_ALARM_RATE, "σ = {std}: {chance:e}");
    }
}

/// The comparison above notices a spoiled sampler: one whose σ is a percent off, one that is shifted by half a
/// step, one that cuts its tails at three standard deviations, and one whose negative draws are a little too rare.
#[test]
fn a_spoiled_sampler_fails_the_comparison() {
    for (seed, (std, width)) in CASES.into_iter().enumerate() {
        let draws = draws(std, seed as u64);
        for wrong in [0.99, 1.01] {
            let chance = chance(&draws, std * wrong, width);
            assert!(chance < FALSE_ALARM_RATE, "σ = {std} taken for {wrong} times that: {chance:e}");
        }
        let three = (3.0 * std) as i128;
        let cut: Vec<i128> = draws.iter().map(|j| (*j).clamp(-three, three)).collect();
        assert!(std < 1.0 || chance(&cut, std, width) < FALSE_ALARM_RATE, "σ = {std} without tails");
        let lopsided: Vec<i128> =
            draws.iter().enumerate().map(|(i, j)| if i % 50 == 0 { j.abs() } else { *j }).collect();
        assert!(std < 1.0 || chance(&lopsided, std, width) < FALSE_ALARM_RATE, "σ = {std} with too few below zero");
    }
    // Rounded down instead of to the nearest: half a step too low.
    let down: Vec<i128> = draws(2.0 * 7.25, 9).iter().map(|j| j.div_euclid(2)).collect();
    assert!(chance(&down, 7.25, 1) < FALSE_ALARM_RATE);
}

#[test]
fn signs_are_fair_whatever_the_size() {
    for (seed, (std, _)) in CASES.into_iter().enumerate() {
        let draws = draws(std, 20 + seed as u64);
        for least in [1, (std as i128).max(1), (2.0 * std) as i128 + 1] {
            let far = draws.iter().filter(|j| j.abs() >= least).count() as u64;
            let positive = draws.iter().filter(|j| **j >= least).count() as u64;
            assert!(count_tail(positive, far, 0.5) > FALSE_ALARM_RATE, "σ = {std}: {positive} of {far} positive");
        }
    }
}

/// Where σ is large, the last digits of a draw are as good as uniform.
#[test]
fn the_last_digits_of_draws_are_uniform() {
    for (seed, std) in [1e6, 1.3e12, 1.3e25].into_iter().enumerate() {
        let mut counts = [0_u64; 256];
        for j in draws(std, 30 + seed as u64) {
            counts[j.rem_euclid(256) as usize] += 1;
        }
        let test = chi_square(&counts, &[1.0 / 256.0; 256]);
        assert!(test.p_value > FALSE_ALARM_RATE, "σ = {std}: {test:?}");
    }
}

#[test]
fn successive_draws_are_independent() {
    let law = RoundedNormalLaw { std: 1.5 };
    let draws = draws(1.5, 40);
    let class = |j: i128| (j.clamp(-3, 3) + 3) as usize;
    let mut probabilities: Vec<f64> = (-2..=2).map(|j| law.between(j, j).to_f64()).collect();
    let tail = 0.5 * law.beyond(3).to_f64();
    probabilities.insert(0, tail);
    probabilities.push(tail);
    for lag in [1, 2, 7] {
        // Pairs that do not overlap, so that the cells are those of one multinomial draw.
        let mut counts = vec![0_u64; 49];
        draws.chunks_exact(2 * lag).for_each(|block| {
            (0..lag).for_each(|i| counts[7 * class(block[i]) + class(block[i + lag])] += 1);
        });
        let pairs: Vec<f64> = probabilities.iter().flat_map(|p| probabilities.iter().map(move |q| p * q)).collect();
        let test = chi_square(&counts, &pairs);
        assert!(test.p_value > FALSE_ALARM_RATE, "lag {lag}: {test:?}");
    }
}

#[test]
fn released_weights_are_multiples_of_the_step_that_is_claimed() {
    for (n_classes, noise_std) in [(2, 1e-3), (3, 0.7), (2, 1e100), (3, 1e-9)] {
        let mut world = small_world(1, ReferenceLoss::Logistic, |config| {
            (config.n_classes, config.noise_std, config.gradient_tolerance) = (Some(n_classes), Some(noise_std), 1e-13);
        });
        let release = published(&mut world.model, &mut fixed_noise());
        let step = release.claim.lattice_step.expect("Gaussian noise is exact");
        assert_eq!(step.log2().fract(), 0.0, "{step:e} is a power of two");
        let n_weights = release.weights.concat().len();
        for weight in release.weights.concat() {
            assert!(Dyadic::from_f64(weight).times_power_of_two(-(step.log2() as isize)).is_integer(), "{weight:e}");
        }
        let charge = release.claim.rounding_charge.get();
        let exact = (n_weights as f64).sqrt() * step;
        assert!(charge >= exact && charge <= exact * (1.0 + 1e-15), "{charge:e} for {exact:e}");
        assert!(charge <= 1e-12 * world.model.plan().claimed_distance());
        assert!(release.claim.distance_bound.get() >= release.claim.verified_distance.get() + charge);
    }
}

/// The step is a function of the plan and of the number of weights: two models of the same shape share it.
#[test]
fn the_step_does_not_depend_on_the_rows() {
    let step = |seed: u64, n_removed: usize| {
        let mut world = small_world(seed, ReferenceLoss::Logistic, |_| {});
        let removed = world.some_rows(n_removed);
        world.change(&removed, 0);
        world.model.settle(&world.store, None).expect("readable");
        let release = published(&mut world.model, &mut fixed_noise());
        let n_weights = release.weights.concat().len();
        let lattice = world.model.plan().lattice(n_weights).expect("exact");
        assert_eq!(release.claim.lattice_step, Some(lattice.step()));
        (n_weights, release.claim.lattice_step)
    };
    assert_eq!(step(1, 0), step(1, 20));
    assert_eq!(step(1, 0), step(2, 5));
}

/// A verified distance just below the claim, with rounding just above it, is not released.
#[test]
fn what_rounding_costs_is_part_of_the_claim() {
    let world = small_world(3, ReferenceLoss::Logistic, |_| {});
    let verified = world.model.claim().distance_bound.get();
    // The charge is between a half and the whole of 2⁻⁴⁰ ≈ 9.1e-13 of the claim, and twice that is taken off.
    for (slack, fits) in [(1e-13, false), (2.5e-12, true)] {
        let per_noise = world.model.plan().claimed_distance() / world.model.plan().noise_std();
        let model = &mut with_noise(&world, verified * (1.0 + slack) / per_noise);
        assert!(model.plan().claimed_distance() > verified);
        assert_eq!(model.should_settle_before_release(), !fits);
        match model.release(&mut fixed_noise()) {
            ReleaseOutcome::Published(release) => {
                let claim = release.claim;
                assert_eq!(claim.distance_bound.get(), model.plan().claimed_distance(), "slack {slack:e}");
                assert!(claim.verified_distance.get() + claim.rounding_charge.get() <= claim.distance_bound.get());
            }
            refused => assert!(!fits && matches!(refused, ReleaseOutcome::OutOfReach { .. }), "{refused:?}"),
        }
    }
}

fn with_noise(world: &World, noise_std: f64) -> Model {
    let config = TrainingConfig { noise_std: Some(noise_std), ..world.model.plan().config().clone() };
    Model::from_state(TrainingPlan::new(config).expect("valid"), world.model.state().clone()).expect("the same shape")
}

#[test]
fn enormous_weights_are_refused_and_cost_nothing() {
    let world = small_world(4, ReferenceLoss::Logistic, |_| {});
    for weight in [1e40, -1e300, f64::NAN, f64::INFINITY] {
        let mut state = world.model.state().clone();
        state.fits[0].weights[0] = weight;
        let mut model = Model::from_state(world.model.plan().clone(), state).expect("the same shape");
        let ReleaseOutcome::OffLattice { value, limit } = model.release(&mut fixed_noise()) else {
            panic!("{weight:e} was published");
        };
        assert!((value == weight || weight.is_nan()) && limit > 1e15 && limit < 1e25, "{limit:e}");
        assert_eq!(model.state().account, world.model.state().account, "a refusal costs nothing");
    }
    // Large ones that fit are published: 1e15 is known to some tenths of a unit, the noise is far below.
    let mut state = world.model.state().clone();
    state.fits[0].weights[0] = 1e15;
    let mut model = Model::from_state(world.model.plan().clone(), state).expect("the same shape");
    assert!((published(&mut model, &mut fixed_noise()).weights[0][0] - 1e15).abs() < 1.0);
}

#[test]
fn noise_too_fine_for_doubles_is_refused_with_the_plan() {
    let config = |noise_std: f64, epsilon: f64, delta: f64| TrainingConfig {
        noise_std: Some(noise_std),
        epsilon,
        delta,
        ..TrainingConfig::new(&efface_core::loss::Logistic, 0.1, Some(2))
    };
    for (noise_std, epsilon, delta) in [(1e-310, 1.0, 1e-4), (5e-324, 1.0, 1e-4), (1.0, 1e-30, 1e-30)] {
        let refused = TrainingPlan::new(config(noise_std, epsilon, delta)).expect_err("no lattice is fine enough");
        assert!(matches!(refused, PlanError::Lattice { .. }), "{refused}");
        let words = format!("noise of standard deviation `{noise_std}` is too small to be drawn exactly");
        assert!(refused.to_string().starts_with(&words), "{refused}");
        // Laws without a lattice do not care.
        let gamma = TrainingConfig { law: NoiseLaw::Gamma, ..config(noise_std, epsilon, delta) };
        assert!(TrainingPlan::new(gamma).is_ok());
    }
    for noise_std in [1e-300, 1e100] {
        assert!(TrainingPlan::new(config(noise_std, 1.0, 1e-4)).is_ok());
    }
}

#[test]
fn arithmetic_is_exact_for_gaussian_releases_only() {
    let case = |loss: ReferenceLoss, mechanism: Mechanism, law: NoiseLaw, noise_std: Option<f64>| {
        let mut world = small_world(5, loss, |config| {
            (config.mechanism, config.law, config.noise_std) = (mechanism, law, noise_std);
        });
        let claim = published(&mut world.model, &mut fixed_noise()).claim;
        let arithmetic = world.model.plan().noise_arithmetic();
        assert_eq!(claim.lattice_step.is_some(), arithmetic == NoiseArithmetic::Exact);
        assert_eq!(claim.rounding_charge.get() > 0.0, arithmetic == NoiseArithmetic::Exact);
        arithmetic.tag()
    };
    let some = Some(1.0);
    assert_eq!(case(ReferenceLoss::Logistic, Mechanism::Release, NoiseLaw::Gaussian, some), "exact");
    assert_eq!(case(ReferenceLoss::Squared, Mechanism::Release, NoiseLaw::Gaussian, some), "exact");
    assert_eq!(case(ReferenceLoss::Logistic, Mechanism::Release, NoiseLaw::Gamma, some), "idealized");
    assert_eq!(case(ReferenceLoss::Logistic, OBJECTIVE, NoiseLaw::Gaussian, some), "idealized");
    assert_eq!(case(ReferenceLoss::Logistic, OBJECTIVE, NoiseLaw::Gamma, some), "idealized");
    assert_eq!(case(ReferenceLoss::Squared, Mechanism::Release, NoiseLaw::Gaussian, None), "none");
    assert_eq!(case(ReferenceLoss::Squared, OBJECTIVE, NoiseLaw::Gaussian, None), "none");
}
