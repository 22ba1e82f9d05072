//! What DP-SGD promises: divergences against numerical integrals, ε against 50-digit sums and against the true δ of one
//! step, groups against their definition.

use efface_core::accounting::gaussian::epsilon_at;
use efface_core::accounting::subsampled::{MechanismError, SubsampledGaussian};
use efface_core::accounting::{Extractor, Guarantee};
use efface_core::rounding::UpperBound;
use efface_testkit::golden::subsampled_gaussian_table;
use efface_testkit::hockey_stick::{edges, hockey_stick};
use efface_testkit::special::normal_cdf;

fn mechanism(sampling_rate: f64, noise_multiplier: f64, steps: u64) -> SubsampledGaussian {
    SubsampledGaussian::new(sampling_rate, noise_multiplier, steps).expect("possible")
}

#[test]
fn divergences_are_at_least_the_integrals_of_both_directions_and_close_to_the_larger() {
    let (table, tolerance) = subsampled_gaussian_table("divergences");
    assert_eq!(table.len(), 30);
    for row in table {
        let [q, sigma, order, forward, backward] = row[..] else { panic!("five numbers a row") };
        let computed = mechanism(q, sigma, 1).renyi_divergence(order as u32).get();
        // The table is rounded to a double.
        assert!(computed >= forward * (1.0 - 1e-15) && computed >= backward, "{row:?}: {computed:e}");
        assert!(computed <= forward * (1.0 + tolerance), "{row:?}: {computed:e}");
        let many = mechanism(q, sigma, 7_000).renyi_divergence(order as u32).get();
        assert!((many / computed / 7_000.0 - 1.0).abs() < 1e-14, "{row:?}");
    }
}

#[test]
fn epsilon_is_that_of_the_best_order() {
    let (table, tolerance) = subsampled_gaussian_table("epsilons");
    assert_eq!(table.len(), 5);
    for row in table {
        let [q, sigma, steps, delta, epsilon, older] = row[..] else { panic!("six numbers a row") };
        let computed = mechanism(q, sigma, steps as u64).epsilon_at(delta);
        assert!(computed >= epsilon * (1.0 - 1e-15), "{row:?}: {computed}");
        assert!(computed <= epsilon * (1.0 + tolerance), "{row:?}: {computed}");
        assert!(computed < older);
    }
}

#[test]
fn a_published_figure_comes_out() {
    // By the older conversion and a list of orders that has 256 and none nearby: 0.105. With 221 it is 0.1041.
    let published = mechanism(8.273e-4, 6.0, 24_180);
    let older = |order: u32| published.renyi_divergence(order).get() + 1e5_f64.ln() / f64::from(order - 1);
    assert_eq!(
        [older(256), older(221), published.epsilon_at(1e-5)].map(|e| (e * 1e4).round()),
        [1052.0, 1041.0, 716.0]
    );
}

/// One step is a mixture of two Gaussians beside one Gaussian: its true δ is known, and no claim may be below it.
#[test]
fn one_step_keeps_its_promise_both_ways() {
    for (q, sigma) in [(0.01, 0.5), (0.2, 0.8), (0.5, 2.0), (0.95, 1.0), (1.0, 1.5)] {
        let without = |x: f64| normal_cdf(x / sigma);
        let with = |x: f64| (1.0 - q) * normal_cdf(x / sigma) + q * normal_cdf((x - 1.0) / sigma);
        let grid = edges(-12.0 * sigma, 1.0 + 12.0 * sigma, 400, &[]);
        for delta in [1e-2, 1e-4, 1e-6] {
            let epsilon = mechanism(q, sigma, 1).epsilon_at(delta);
            let found = hockey_stick(with, without, epsilon, &grid).max(hockey_stick(without, with, epsilon, &grid));
            assert!(found <= delta + 1e-13, "q = {q}, σ = {sigma}, δ = {delta:e}: {found:e} at {epsilon}");
        }
    }
}

#[test]
fn without_sampling_the_claim_is_the_gaussian_one_and_the_orders_bound_it() {
    let whole = mechanism(1.0, 40.0, 100);
    let exact = epsilon_at(UpperBound::new(0.25), 1e-5);
    assert!(whole.epsilon_at(1e-5) >= exact && whole.epsilon_at(1e-5) < exact * (1.0 + 1e-9));
    assert!((whole.renyi_divergence(9).get() - 9.0 * 0.0625 / 2.0).abs() < 1e-14);
    // Sampling nearly all rows is nearly that, and no less for being found by orders.
    let nearly = mechanism(1.0 - 1e-9, 40.0, 100).epsilon_at(1e-5);
    assert!(nearly > exact && nearly < 1.1 * exact, "{nearly} {exact}");
}

#[test]
fn epsilon_rises_with_rate_and_steps_and_falls_with_noise_and_delta() {
    let at = |q, sigma, steps, delta| mechanism(q, sigma, steps).epsilon_at(delta);
    for (q, sigma, steps, delta) in [(1e-3, 0.8, 5_000, 1e-6), (0.03, 1.5, 300, 1e-5), (0.4, 9.0, 40, 1e-4)] {
        let here = at(q, sigma, steps, delta);
        assert!(here > 0.0 && here < at(1.1 * q, sigma, steps, delta));
        assert!(here < at(q, sigma, steps + steps / 10, delta));
        assert!(here > at(q, 1.1 * sigma, steps, delta) && here > at(q, sigma, steps, 2.0 * delta));
    }
}

#[test]
fn extremes_stay_on_the_safe_side() {
    for q in [5e-324, 1e-100, 1e-9, 0.5, 1.0 - f64::EPSILON, 1.0] {
        for sigma in [0.01, 1.0, 1e6] {
            for delta in [f64::MIN_POSITIVE, 1e-9, 0.4] {
                let [one, many] = [1, 1 << 40].map(|steps| mechanism(q, sigma, steps).epsilon_at(delta));
                assert!(many >= one, "q = {q:e}, σ = {sigma}, δ = {delta:e}: {one}, and {many} of more steps");
                // Who is there half of the time, a hundred deviations away, is told by the first look.
                assert!(sigma > 0.01 || q < 0.5 || one > 1e3, "q = {q:e}, δ = {delta:e}: {one}");
            }
            assert!([1, 1 << 40].iter().all(|steps| mechanism(q, sigma, *steps).renyi_divergence(2).get() > 0.0));
        }
    }
    let some = mechanism(0.01, 1.0, 10);
    assert_eq!([some.epsilon_at(0.0), some.epsilon_at(-1.0), some.epsilon_at(f64::NAN)], [f64::INFINITY; 3]);
    assert_eq!(some.epsilon_at(1.0), 0.0);
}

#[test]
fn numbers_of_no_mechanism_are_refused() {
    for q in [0.0, -0.1, 1.5, f64::NAN] {
        let refused = SubsampledGaussian::new(q, 1.0, 1);
        assert!(matches!(refused, Err(MechanismError::SamplingRate { .. })), "{q}");
    }
    for sigma in [0.0, -1.0, 0.001, 1e7, f64::INFINITY, f64::NAN] {
        let refused = SubsampledGaussian::new(0.1, sigma, 1);
        assert!(matches!(refused, Err(MechanismError::NoiseMultiplier { .. })), "{sigma}");
    }
    for steps in [0, u64::MAX] {
        assert!(matches!(SubsampledGaussian::new(0.1, 1.0, steps), Err(MechanismError::Steps { .. })));
    }
}

#[test]
fn a_group_gets_the_largest_delta_per_row_that_adds_up() {
    let training = mechanism(0.004, 2.0, 3_000);
    for (group, delta) in [(1, 1e-5), (2, 1e-5), (10, 1e-4), (40, 1e-3)] {
        let extractor = training.extractor(group, delta).expect("possible");
        let cost = extractor.cost();
        assert_eq!((extractor.group, extractor.epsilon), (group, training.epsilon_at(extractor.delta)));
        assert!(cost.delta <= delta);
        let more =
            Extractor { epsilon: training.epsilon_at(extractor.delta * 1.001), delta: extractor.delta * 1.001, group };
        assert!(more.cost().delta > delta, "group of {group}: {extractor:?} is not the best");
    }
    let telling = mechanism(0.5, 0.1, 1_000_000);
    assert!(matches!(telling.extractor(1_000, 1e-5), Err(MechanismError::NoGroup { .. })));
    assert_eq!(training.extractor(0, 1e-5), Err(MechanismError::EmptyGroup));
}

#[test]
fn the_least_noise_that_keeps_a_promise_is_found() {
    for (epsilon, delta, group) in [(1.0, 1e-5, 1), (0.1, 1e-4, 10), (8.0, 1e-6, 1)] {
        let promise = Guarantee { epsilon, delta };
        let found = SubsampledGaussian::keeping(promise, group, 0.01, 800).expect("possible");
        let cost = found.extractor(group, delta).expect("possible").cost();
        assert!(cost.epsilon <= epsilon && cost.delta <= delta && cost.epsilon > 0.999 * epsilon, "{cost:?}");
        let less = mechanism(0.01, found.noise_multiplier() * (1.0 - 1e-4), 800);
        assert!(less.extractor(group, delta).expect("possible").cost().epsilon > epsilon);
    }
    let whole = SubsampledGaussian::keeping(Guarantee { epsilon: 0.5, delta: 1e-5 }, 1, 1.0, 50).expect("possible");
    assert!(whole.epsilon_at(1e-5) <= 0.5);
    let hopeless = SubsampledGaussian::keeping(Guarantee { epsilon: 1e-9, delta: 1e-30 }, 1, 1.0, 1 << 40);
    assert!(matches!(hopeless, Err(MechanismError::OutOfReach { .. })));
    let none = SubsampledGaussian::keeping(Guarantee { epsilon: 0.0, delta: 1e-5 }, 1, 0.1, 5);
    assert!(matches!(none, Err(MechanismError::Promise { .. })));
}
