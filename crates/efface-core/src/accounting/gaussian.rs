//! Gaussian differential privacy: two Gaussians of equal covariance whose means are μ standard deviations apart.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use crate::rounding::{LowerBound, UNIT_ROUNDOFF, UpperBound};

/// The least δ with which N(0, 1) and N(μ, 1) are (ε, δ)-indistinguishable, rounded up.
///
/// ```text
/// δ(ε, μ) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)
/// ```
///
/// Exact for every ε ≥ 0 (Balle and Wang 2018, Theorem 8); docs/theory.md. Increasing in μ, decreasing in ε.
pub fn delta(epsilon: f64, mu: UpperBound) -> UpperBound {
    delta_enclosure(epsilon, mu).1
}

/// The same δ(ε, μ), rounded down and rounded up. A claim below the first is wrong, whoever computed it and however.
pub fn delta_enclosure(epsilon: f64, mu: UpperBound) -> (LowerBound, UpperBound) {
    let mu = mu.get();
    if mu == 0.0 {
        return (LowerBound::new(0.0), UpperBound::ZERO);
    }
    if !mu.is_finite() || epsilon.is_nan() || epsilon < 0.0 {
        return (LowerBound::new(1.0), UpperBound::new(1.0));
    }
    let (a, b) = (mu / 2.0 - epsilon / mu, -mu / 2.0 - epsilon / mu);
    let near = normal_cdf(a);
    let far = scaled_normal_cdf(epsilon, b);
    // Φ has a relative error of a few units of its own; an argument off by 3 units of its two terms moves log Φ(a) by
    // at most |a| + 1 times that, and e^ε adds its exponent's rounding.
    let spread = mu / 2.0 + epsilon / mu;
    let units = |x: f64| 24.0 + 4.0 * spread * (x.abs() + 1.0) + 4.0 * epsilon;
    let slack = UNIT_ROUNDOFF * (units(a) * near + units(b) * far) + f64::MIN_POSITIVE;
    // The series beyond −30 leaves out up to 2e-10 of e^ε Φ(b), which only the lower end must count.
    let left_out = if b > -30.0 { 0.0 } else { 2e-10 * far };
    let difference = (near - far).max(0.0);
    (
        LowerBound::new((difference - 2.0 * slack - left_out).max(0.0)),
        UpperBound::new(difference + slack).min(UpperBound::new(1.0)),
    )
}

/// The largest μ that is (ε, δ)-indistinguishable, rounded down: μ(1, 1e-4) = 0.3139….
pub fn mu_limit(epsilon: f64, delta_limit: f64) -> LowerBound {
    let allowed = |mu: f64| delta(epsilon, UpperBound::new(mu)).get() <= delta_limit;
    let mut high = 1.0;
    while allowed(high) && high < 1e9 {
        high *= 2.0;
    }
    let mut low = high;
    while !allowed(low) {
        low /= 2.0;
        if low < 1e-300 {
            return LowerBound::new(0.0);
        }
    }
    // `low` stays allowed throughout, so it is a lower bound wherever the bisection stops.
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if allowed(middle) { low = middle } else { high = middle }
    }
    LowerBound::new(low)
}

/// The least ε at which a given μ is (ε, δ)-indistinguishable, rounded up.
pub fn epsilon_at(mu: UpperBound, delta_limit: f64) -> f64 {
    let enough = |epsilon: f64| delta(epsilon, mu).get() <= delta_limit;
    if enough(0.0) {
        return 0.0;
    }
    let mut high = 1.0;
    while !enough(high) {
        high *= 2.0;
        if high > 1e6 {
            return f64::INFINITY;
        }
    }
    let mut low = 0.0;
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if enough(middle) { high = middle } else { low = middle }
    }
    high
}

/// `c = √(2 ln(1.5/δ))`, rounded up: the factor of the printed budget `σε/c`.
///
/// Guo et al. 2020, Theorem 3 (ii). Proved for ε ≤ 1 only, and loose; [`mu_limit`] is exact for every ε.
pub fn gaussian_tail_factor(delta: f64) -> UpperBound {
    let logarithm = UpperBound::new((1.5 / delta).ln() * (1.0 + 8.0 * UNIT_ROUNDOFF));
    (UpperBound::new(2.0) * logarithm).sqrt()
}

/// Φ.
fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}

/// `e^ε Φ(x)` without overflow: where Φ would underflow, its asymptotic series times the exponential.
fn scaled_normal_cdf(epsilon: f64, x: f64) -> f64 {
    if x > -30.0 {
        return epsilon.exp() * normal_cdf(x);
    }
    // Φ(x) = φ(x)/|x| · (1 − 1/x² + 3/x⁴ − 15/x⁶ + 105/x⁸ − …); at |x| ≥ 30 the term left out is below 2e-10 of the
    // first, and the sum so far is below Φ: the difference δ is rounded up.
    let square = x * x;
    let series = 1.0 - (1.0 - (3.0 - 15.0 / square) / square) / square;
    (epsilon - 0.5 * square).exp() / (x.abs() * (2.0 * PI).sqrt()) * series
}
