//! Distribution functions: normal, beta, gamma.

use std::f64::consts::FRAC_1_SQRT_2;

/// Φ.
pub(crate) fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}

/// Φ⁻¹, by bisection on the side where Φ keeps its relative accuracy.
pub(crate) fn normal_quantile(probability: f64) -> f64 {
    if probability > 0.5 {
        return -normal_quantile(1.0 - probability);
    }
    if probability <= 0.0 {
        return f64::NEG_INFINITY;
    }
    bisect(-40.0, 0.0, |x| normal_cdf(x) < probability).0
}

/// I_x(a, b), the distribution function of the beta law.
///
/// ```text
/// I_x(a, b) = x^a (1−x)^b / (a B(a, b)) · 1/(1 + d₁/(1 + d₂/(1 + …)))
/// ```
///
/// Abramowitz and Stegun 26.5.8, on the side of the mean where the fraction converges fast.
pub(crate) fn beta_cdf(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta_cdf(1.0 - x, b, a);
    }
    let ln_beta = libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b);
    let front = (a * x.ln() + b * (-x).ln_1p() - ln_beta).exp() / a;
    front * beta_fraction(x, a, b)
}

/// The continued fraction of [`beta_cdf`], by Lentz's method.
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    let nonzero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for m in 1..MAX_TERMS {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = fraction;
        for coefficient in [even, odd] {
            d = 1.0 / nonzero(1.0 + coefficient * d);
            c = nonzero(1.0 + coefficient / c);
            fraction *= c * d;
        }
        if (fraction / before - 1.0).abs() < 1e-15 {
            break;
        }
    }
    fraction
}

/// P(a, x), the distribution function of the gamma law with shape a and scale 1.
pub(crate) fn gamma_cdf(shape: f64, x: f64) -> f64 {
    if x < shape + 1.0 { gamma_series(shape, x) } else { 1.0 - gamma_fraction(shape, x) }
}

/// 1 − P(a, x), to a relative accuracy far out where P is nearly 1.
pub(crate) fn gamma_tail(shape: f64, x: f64) -> f64 {
    if x < shape + 1.0 { 1.0 - gamma_series(shape, x) } else { gamma_fraction(shape, x) }
}

/// x^a e^−x / Γ(a).
fn gamma_front(shape: f64, x: f64) -> f64 {
    (shape * x.ln() - x - libm::lgamma(shape)).exp()
}

/// P(a, x) by the series that converges fast below the mean.
fn gamma_series(shape: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let (mut term, mut sum, mut denominator) = (1.0 / shape, 1.0 / shape, shape);
    while term > 1e-17 * sum {
        denominator += 1.0;
        term *= x / denominator;
        sum += term;
    }
    gamma_front(shape, x) * sum
}

/// 1 − P(a, x) by the continued fraction that converges fast above the mean.
fn gamma_fraction(shape: f64, x: f64) -> f64 {
    if x == f64::INFINITY {
        return 0.0;
    }
    let mut partial = x + 1.0 - shape;
    let (mut c, mut d) = (1e300, 1.0 / partial);
    let mut fraction = d;
    for k in 1..MAX_TERMS {
        let coefficient = -f64::from(k) * (f64::from(k) - shape);
        partial += 2.0;
        d = 1.0 / (partial + coefficient * d);
        c = partial + coefficient / c;
        fraction *= c * d;
        if (c * d - 1.0).abs() < 1e-16 {
            break;
        }
    }
    gamma_front(shape, x) * fraction
}

/// The point that a gamma law of this shape is below with probability at most `rate`, from below.
pub(crate) fn gamma_quantile(shape: f64, rate: f64) -> f64 {
    bisect(0.0, shape, |x| gamma_cdf(shape, x) <= rate).0
}

/// The point that a gamma law of this shape is above with probability at most `rate`, from above.
pub(crate) fn gamma_tail_quantile(shape: f64, rate: f64) -> f64 {
    // Laurent and Massart 2000, Lemma 1, for χ² of 2a degrees: far enough out for every rate.
    let x = (1.0 / rate).ln().max(1.0);
    bisect(shape, shape + 2.0 * (shape * x).sqrt() + 2.0 * x + 1.0, |x| gamma_tail(shape, x) > rate).1
}

/// Ends of the last interval of [low, high] that holds the point up to which `below` is true.
pub(super) fn bisect(mut low: f64, mut high: f64, below: impl Fn(f64) -> bool) -> (f64, f64) {
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if below(middle) { low = middle } else { high = middle }
    }
    (low, high)
}

const MAX_TERMS: u32 = 100_000;
