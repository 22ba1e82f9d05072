//! Against the double-double reference, brute-force binomial sums, and counting.

use efface_core::noise::{NoiseLaw, NoiseSource};
use efface_testkit::{DoubleDouble, special};

use super::*;
use crate::statistics::laws::gamma_tail;

/// P(Binomial(n, p) ≥ k), term by term in double-double arithmetic: relative to the largest term, then over their sum.
fn tail(n: usize, p: f64, k: usize) -> f64 {
    let odds = DoubleDouble::from(p) / (DoubleDouble::ONE - p);
    let mode = ((n as f64 * p) as usize).min(n);
    let mut terms = vec![DoubleDouble::ONE; n + 1];
    for i in mode..n {
        terms[i + 1] = terms[i] * odds * ((n - i) as f64) / (i as f64 + 1.0);
    }
    for i in (0..mode).rev() {
        terms[i] = terms[i + 1] / odds * (i as f64 + 1.0) / ((n - i) as f64);
    }
    let whole: DoubleDouble = terms.iter().copied().sum();
    let upper: DoubleDouble = terms[k..].iter().copied().sum();
    (upper / whole).to_f64()
}

#[test]
fn binomial_bounds_are_those_of_the_brute_force_sum() {
    for (n, hits) in [(1, 1), (10, 0), (10, 3), (10, 10), (200, 17), (200, 199), (700, 350)] {
        for rate in [0.05, 1e-3, 1e-9] {
            let low = probability_at_least(hits, n, rate);
            if hits > 0 {
                let found = tail(n, low, hits);
                assert!((found / rate - 1.0).abs() < 1e-9, "{hits} of {n} at {rate:e}: {found:e}");
            } else {
                assert_eq!(low, 0.0);
            }
            let high = probability_at_most(hits, n, rate);
            if hits < n {
                // At the upper bound so few hits have the probability of the rate.
                let found = tail(n, 1.0 - high, n - hits);
                assert!((found / rate - 1.0).abs() < 1e-6, "{hits} of {n} at {rate:e}: {found:e}");
            } else {
                assert_eq!(high, 1.0);
            }
        }
    }
}

#[test]
fn textbook_intervals() {
    // Clopper and Pearson's own example in every textbook: none of 10 at 95 %, and 7 of 20.
    let none = probability_interval(0, 10, 0.05);
    assert!((none.high - 0.308_497).abs() < 1e-6 && none.low == 0.0);
    let seven = probability_interval(7, 20, 0.05);
    assert!((seven.low - 0.153_909).abs() < 1e-6 && (seven.high - 0.592_189).abs() < 1e-6, "{seven:?}");
}

#[test]
fn bounds_cover_at_the_stated_rate() {
    let mut noise = NoiseSource::danger_fixed_seed(3);
    let (n, p, rate) = (300, 0.2, 0.05);
    let cut = normal_quantile(p);
    let mut missed = 0;
    for _ in 0..4000 {
        let hits = NoiseLaw::Gaussian.sample(n, 1.0, &mut noise).iter().filter(|x| **x < cut).count();
        missed += usize::from(probability_at_least(hits, n, rate) > p);
    }
    // At most 200 expected, standard deviation 14; the bound is a little conservative.
    assert!((100..=260).contains(&missed), "{missed}");
}

#[test]
fn distribution_functions_match_the_reference() {
    for x in [-12.0, -5.5, -1.0, 0.0, 0.3, 2.0, 6.0] {
        assert!((normal_cdf(x) / special::normal_cdf(x) - 1.0).abs() < 1e-13, "Φ({x})");
        if x < 5.0 {
            assert!((normal_quantile(normal_cdf(x)) - x).abs() < 1e-9, "Φ⁻¹ at {x}");
        }
    }
    for (shape, x) in [(1.0, 0.5), (8.0, 2.0), (8.0, 20.0), (64.0, 60.0), (7840.0, 7900.0)] {
        let (found, exact) = (gamma_cdf(shape, x), special::gamma_p(shape, x));
        assert!((found - exact).abs() < 1e-10, "P({shape}, {x}) = {found}, should be {exact}");
    }
    // I_x(1, b) = 1 − (1 − x)^b and I_x(a, 1) = x^a.
    assert!((beta_cdf(0.3, 1.0, 5.0) - (1.0 - 0.7_f64.powi(5))).abs() < 1e-14);
    assert!((beta_cdf(0.3, 5.0, 1.0) - 0.3_f64.powi(5)).abs() < 1e-15);
}

#[test]
fn tails_and_quantiles_of_the_gamma_law_are_exact() {
    // Shape 1 is the exponential law; χ² of 8 degrees is a sum of four terms times e^−x.
    for x in [1e-9, 0.5, 3.0, 40.0, 300.0] {
        assert!((gamma_tail(1.0, x) / (-x).exp() - 1.0).abs() < 1e-12, "{x}");
        assert!((gamma_cdf(1.0, x) / -(-x).exp_m1() - 1.0).abs() < 1e-12, "{x}");
        let four = (-x).exp() * (1.0 + x + x * x / 2.0 + x * x * x / 6.0);
        assert!((gamma_tail(4.0, x) / four - 1.0).abs() < 1e-12, "{x}");
    }
    for shape in [0.5, 4.0, 392.0, 20_000.0, 4e6] {
        for rate in [0.05, 1e-4, 1e-9, 1e-13] {
            let (low, high) = (gamma_quantile(shape, rate), gamma_tail_quantile(shape, rate));
            let (below, above) = (gamma_cdf(shape, low), gamma_tail(shape, high));
            assert!(below <= rate && below > rate * (1.0 - 1e-6), "{shape}, {rate:e}: {below:e}");
            assert!(above <= rate && above > rate * (1.0 - 1e-6), "{shape}, {rate:e}: {above:e}");
        }
    }
    // χ² of 10 degrees at 2.5 % on either side, as every table has it.
    let (low, high) = chi_square_limits(10, 0.05);
    assert!((low - 3.246_973).abs() < 1e-6 && (high - 20.483_177).abs() < 1e-6, "{low} {high}");
}

#[test]
fn limits_of_counts_are_those_of_the_brute_force_sum() {
    for (n, p) in [(10, 0.5), (300, 0.01), (300, 0.5), (700, 1e-6)] {
        for rate in [0.05, 1e-3, 1e-9] {
            let limit = count_limit(n, p, rate);
            assert!(limit == n || tail(n, p, limit + 1) <= rate * (1.0 + 1e-9), "{n}, {p}, {rate:e}: {limit}");
            assert!(limit == 0 || tail(n, p, limit) > rate * (1.0 - 1e-9), "{n}, {p}, {rate:e}: {limit}");
        }
    }
    assert_eq!((count_limit(10, 1.0, 0.1), count_limit(0, 0.3, 0.1)), (10, 0));
}

#[test]
fn area_counts_pairs_and_ties() {
    let area = area_under_curve(&[3.0, 2.0, 2.0], &[1.0, 2.0]);
    // Six pairs: four wins and two ties.
    assert!((area.0 - 5.0 / 6.0).abs() < 1e-15);
    assert_eq!(area_under_curve(&[1.0, 2.0], &[0.0, -1.0]).0, 1.0);
    let flat = area_under_curve(&[1.0; 5], &[1.0; 7]);
    assert!(flat.0 == 0.5 && flat.1 == 0.0);
}

#[test]
fn standard_error_is_the_spread_of_repeated_areas() {
    let mut noise = NoiseSource::danger_fixed_seed(9);
    let mut draw =
        |shift: f64| -> Vec<f64> { NoiseLaw::Gaussian.sample(40, 1.0, &mut noise).iter().map(|x| x + shift).collect() };
    let areas: Vec<(f64, f64)> = (0..400).map(|_| area_under_curve(&draw(1.0), &draw(0.0))).collect();
    let values: Vec<f64> = areas.iter().map(|area| area.0).collect();
    let stated = mean(&areas.iter().map(|area| area.1).collect::<Vec<_>>());
    // Φ(1/√2) = 0.760 is the true area.
    assert!((mean(&values) - normal_cdf(std::f64::consts::FRAC_1_SQRT_2)).abs() < 0.01);
    assert!((stated / variance(&values).sqrt() - 1.0).abs() < 0.15);
}

#[test]
fn distances_between_samples() {
    assert!((two_sample_distance(&mut [3.0, 1.0], &mut [2.0, 4.0]) - 0.5).abs() < 1e-15);
    assert_eq!(two_sample_distance(&mut [1.0, 2.0], &mut [1.0, 2.0]), 0.0);
    assert_eq!(two_sample_distance(&mut [1.0, 1.0], &mut [5.0, 6.0]), 1.0);
    assert!((kolmogorov_smirnov(&mut [0.9, 0.1, 0.5], |x| x) - (1.0 / 3.0 - 0.1)).abs() < 1e-15);
}

#[test]
fn limits_are_kept_by_samples_of_the_right_law() {
    let mut noise = NoiseSource::danger_fixed_seed(4);
    let (n, rate) = (400, 0.01);
    let (mut squares, mut products, mut one, mut two) = (0, 0, 0, 0);
    for _ in 0..1000 {
        let (mut a, mut b) = (
            NoiseLaw::Gaussian.sample(n, 1.0, &mut noise).to_vec(),
            NoiseLaw::Gaussian.sample(n, 1.0, &mut noise).to_vec(),
        );
        let sum: f64 = a.iter().map(|x| x * x).sum();
        let (low, high) = chi_square_limits(n, rate);
        squares += usize::from(!(low..=high).contains(&sum));
        let product: f64 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
        products += usize::from(product.abs() > product_sum_limit(n, rate));
        one += usize::from(kolmogorov_smirnov(&mut a, normal_cdf) > kolmogorov_smirnov_limit(n, rate));
        two += usize::from(two_sample_distance(&mut a, &mut b) > two_sample_limit(n, rate));
    }
    // At most 10 expected of each.
    for alarms in [squares, products, one, two] {
        assert!(alarms <= 22, "{squares} {products} {one} {two}");
    }
}

#[test]
fn quantiles_are_ranks() {
    assert_eq!(median(&[5.0, 1.0, 3.0]), 3.0);
    assert_eq!((quantile(&[1.0, 2.0, 3.0], 0.0), quantile(&[1.0, 2.0, 3.0], 1.0)), (1.0, 3.0));
    assert!(median(&[]).is_nan());
}
