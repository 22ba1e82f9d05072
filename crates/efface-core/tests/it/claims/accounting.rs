//! Gaussian differential privacy, against a table of 60-digit values: δ rounded up, μ rounded down, nothing lost at the
//! extremes.

use efface_core::accounting::Guarantee;
use efface_core::accounting::gaussian::{delta, delta_enclosure, epsilon_at, gaussian_tail_factor, mu_limit};
use efface_core::rounding::UpperBound;
use efface_testkit::{DoubleDouble, golden};

fn delta_of(epsilon: f64, mu: f64) -> f64 {
    delta(epsilon, UpperBound::new(mu)).get()
}

#[test]
fn delta_is_at_least_the_exact_value_and_close_to_it() {
    let table = golden::gaussian_dp();
    assert!(table.deltas.len() > 50);
    for point in table.deltas {
        let computed = delta_of(point.epsilon, point.mu);
        assert!(computed >= point.delta, "{computed:e} below {point:?}");
        // Far out in the tail the slack for rounding grows with the square of the distance.
        assert!(computed <= point.delta * (1.0 + 1e-8), "{computed:e} for {point:?}");
    }
}

#[test]
fn the_enclosure_of_delta_holds_the_exact_value_and_little_more() {
    for point in golden::gaussian_dp().deltas {
        let (below, above) = delta_enclosure(point.epsilon, UpperBound::new(point.mu));
        assert!(below.get() <= point.delta && point.delta <= above.get(), "{below:?} to {above:?} for {point:?}");
        assert!(below.get() >= point.delta * (1.0 - 2e-8), "{below:?} for {point:?}");
    }
    assert_eq!(delta_enclosure(f64::NAN, UpperBound::new(1.0)).0.get(), 1.0, "nothing may be claimed of no number");
}

#[test]
fn mu_limit_is_at_most_the_exact_value_and_close_to_it() {
    let table = golden::gaussian_dp();
    for point in table.mus {
        let computed = mu_limit(point.epsilon, point.delta).get();
        assert!(computed <= point.mu, "{computed:e} above {point:?}");
        assert!(computed >= point.mu * (1.0 - 1e-9), "{computed:e} for {point:?}");
    }
}

#[test]
fn epsilon_is_at_least_the_exact_value_and_close_to_it() {
    let table = golden::gaussian_dp();
    for point in table.deltas.iter().chain(&table.mus) {
        let computed = epsilon_at(UpperBound::new(point.mu), point.delta);
        // ε and μ or δ of the table are rounded to a double: half a unit of δ moves ε by at most δ/(dδ/dε).
        assert!(computed >= point.epsilon * (1.0 - 1e-12), "{computed:e} below {point:?}");
        assert!(computed <= point.epsilon * (1.0 + 1e-7), "{computed:e} for {point:?}");
        assert!(delta_of(computed, point.mu) <= point.delta);
    }
}

#[test]
fn the_quoted_value_comes_out() {
    let mu = mu_limit(1.0, 1e-4).get();
    assert_eq!((mu * 1e4).trunc(), 3139.0, "{mu}");
    // The printed rule allows ε/c = 0.2280.
    let printed = 1.0 / gaussian_tail_factor(1e-4).get();
    assert_eq!((printed * 1e4).trunc(), 2280.0, "{printed}");
}

#[test]
fn delta_rises_with_mu_and_falls_with_epsilon() {
    for i in 0..60 {
        let epsilon = 0.01 * 1.16_f64.powi(i);
        let deltas: Vec<f64> = (0..200).map(|j| delta_of(epsilon, 1e-3 * 1.06_f64.powi(j))).collect();
        // Beyond the slack for rounding, which is relative to the two terms of the difference.
        assert!(deltas.windows(2).all(|pair| pair[1] >= pair[0] - 1e-13), "ε = {epsilon}");
        assert!(deltas.iter().all(|delta| (0.0..=1.0).contains(delta)), "ε = {epsilon}");
        assert!(delta_of(epsilon * 1.16, 0.7) <= delta_of(epsilon, 0.7));
        assert!(mu_limit(epsilon * 1.16, 1e-5).get() > mu_limit(epsilon, 1e-5).get());
        assert!(mu_limit(epsilon, 1e-4).get() > mu_limit(epsilon, 1e-5).get());
        let spent = |mu: f64| epsilon_at(UpperBound::new(mu), 1e-5);
        assert!(spent(0.1 * 1.06_f64.powi(i)) < spent(0.1 * 1.06_f64.powi(i + 1)));
    }
}

#[test]
fn extreme_arguments_stay_numbers_on_the_safe_side() {
    for epsilon in [0.0, 1e-300, 1e-8, 0.05, 1.0, 50.0, 700.0, 1e4, 1e300] {
        for mu in [5e-324, 1e-300, 1e-8, 1e-3, 1.0, 40.0, 1e5, 1e300] {
            let computed = delta_of(epsilon, mu);
            assert!((0.0..=1.0).contains(&computed), "δ({epsilon:e}, {mu:e}) = {computed}");
        }
        for limit in [1e-300, 1e-12, 1e-4, 0.5, 0.999_999] {
            let mu = mu_limit(epsilon, limit).get();
            assert!(mu >= 0.0 && mu.is_finite() && delta_of(epsilon, mu) <= limit, "μ({epsilon:e}, {limit:e}) = {mu}");
        }
    }
    for mu in [0.0, 1e-300, 1e-8, 0.3, 40.0, 1e4, f64::INFINITY] {
        let epsilon = epsilon_at(UpperBound::new(mu), 1e-6);
        assert!(epsilon >= 0.0 && (epsilon.is_finite() || mu >= 1e3), "ε at μ = {mu:e}: {epsilon}");
    }
    assert_eq!(delta_of(1.0, 0.0), 0.0);
    assert_eq!(delta_of(1.0, f64::INFINITY), 1.0);
    assert_eq!(delta_of(f64::NAN, 1.0), 1.0, "fails closed");
    assert_eq!(epsilon_at(UpperBound::ZERO, 1e-6), 0.0);
    // μ = 40 at ε = 50 is hopeless, μ = 1e-8 at ε = 0 is nearly nothing: 2 Φ(μ/2) − 1 = μ/√(2π).
    assert!(delta_of(50.0, 40.0) > 0.999);
    let slight = delta_of(0.0, 1e-8);
    assert!((3.989e-9..3.990e-9).contains(&slight), "{slight:e}");
}

#[test]
fn tail_factor_is_rounded_up() {
    for exponent in 1..=280 {
        let delta = 10_f64.powi(-exponent);
        let computed = gaussian_tail_factor(delta).get();
        let exact = ((DoubleDouble::from(1.5) / delta).ln() * 2.0).sqrt();
        assert!(DoubleDouble::from(computed) >= exact, "δ = 1e-{exponent}");
        assert!(computed <= exact.to_f64() * (1.0 + 1e-14), "δ = 1e-{exponent}");
    }
}

#[test]
fn guarantees_add_up_rounded_up() {
    let sum = Guarantee { epsilon: 0.1, delta: 1e-5 }.plus(Guarantee { epsilon: 0.2, delta: 1e-6 });
    assert!(DoubleDouble::from(sum.epsilon) >= DoubleDouble::from(0.1) + 0.2);
    assert!(DoubleDouble::from(sum.delta) >= DoubleDouble::from(1e-5) + 1e-6);
    assert!(sum.epsilon < 0.3 + 1e-15 && sum.delta < 1.1e-5 + 1e-19);
    let nothing = Guarantee { epsilon: 0.0, delta: 0.0 };
    assert_eq!(nothing.plus(nothing), nothing);
}
