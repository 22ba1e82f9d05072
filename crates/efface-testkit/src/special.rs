//! Distribution functions of the noise laws: normal and Gamma.
//!
//! Written from series and continued fractions rather than fitted coefficients, so that every line can be checked
//! against a formula. Relative error below 1e-14, tails included (tested against `golden/special.json`).

use crate::double::DoubleDouble;
use crate::rounded_normal::upper_tail;

/// Φ(x), the distribution function of the standard normal law.
pub fn normal_cdf(x: f64) -> f64 {
    upper_tail(DoubleDouble::from(-x)).to_f64()
}

/// P(a, x), the distribution function of the Gamma law with shape a > 0 and scale 1.
///
/// ```text
/// P(a, x) = (1/Γ(a)) ∫₀ˣ t^(a−1) e^(−t) dt
/// ```
pub fn gamma_p(shape: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let front = gamma_front(shape, x);
    if x < shape + 1.0 { front * gamma_series(shape, x) } else { 1.0 - front * gamma_fraction(shape, x) }
}

/// Q(a, x) = 1 − P(a, x), with small relative error in the tail.
pub fn gamma_q(shape: f64, x: f64) -> f64 {
    if x < shape + 1.0 { 1.0 - gamma_p(shape, x) } else { gamma_front(shape, x) * gamma_fraction(shape, x) }
}

/// x^a e^(−x) / Γ(a), whose logarithm loses digits in doubles when a is large.
fn gamma_front(shape: f64, x: f64) -> f64 {
    let exponent = DoubleDouble::from(x).ln() * shape - x - ln_gamma(shape);
    exponent.exp().to_f64()
}

/// 1/a + x/(a(a+1)) + x²/(a(a+1)(a+2)) + …
fn gamma_series(a: f64, x: f64) -> f64 {
    let mut term = 1.0 / a;
    let mut sum = term;
    let mut denominator = a;
    while term > 1e-18 * sum {
        denominator += 1.0;
        term *= x / denominator;
        sum += term;
    }
    sum
}

/// 1/(x+1−a − 1(1−a)/(x+3−a − 2(2−a)/(x+5−a − …))), by Lentz's method.
fn gamma_fraction(a: f64, x: f64) -> f64 {
    let mut partial = x + 1.0 - a;
    let mut ratio = 1.0 / partial;
    let mut numerators = f64::INFINITY;
    let mut fraction = ratio;
    for k in 1..MAX_FRACTION_DEPTH {
        let k = f64::from(k);
        let coefficient = -k * (k - a);
        partial += 2.0;
        ratio = 1.0 / (partial + coefficient * ratio);
        numerators = partial + coefficient / numerators;
        let change = ratio * numerators;
        fraction *= change;
        if (change - 1.0).abs() < 1e-16 {
            break;
        }
    }
    fraction
}

/// The largest place of [low, high] up to which `is_below` holds.
pub(crate) fn bisect(mut low: f64, mut high: f64, is_below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if is_below(middle) { low = middle } else { high = middle }
    }
    low
}

/// ln Γ(a) by Stirling's series, after shifting a up to at least 25; error below 1e-24.
fn ln_gamma(a: f64) -> DoubleDouble {
    let (mut z, mut shift) = (DoubleDouble::from(a), DoubleDouble::ONE);
    while z.to_f64() < 25.0 {
        shift *= z;
        z += 1.0;
    }
    let inverse = 1.0 / z;
    let inverse_square = inverse * inverse;
    let mut series = DoubleDouble::ZERO;
    for (numerator, denominator) in STIRLING.into_iter().rev() {
        series = series * inverse_square + DoubleDouble::from(numerator) / denominator;
    }
    let half_ln_two_pi = DoubleDouble::from_sum(0.918_938_533_204_672_8, -3.878_294_158_067_241_4e-17);
    (z - 0.5) * z.ln() - z + half_ln_two_pi + series * inverse - shift.ln()
}

/// B_2k / (2k (2k−1)).
const STIRLING: [(f64, f64); 8] = [
    (1.0, 12.0),
    (-1.0, 360.0),
    (1.0, 1260.0),
    (-1.0, 1680.0),
    (1.0, 1188.0),
    (-691.0, 360_360.0),
    (1.0, 156.0),
    (-3617.0, 122_400.0),
];

const MAX_FRACTION_DEPTH: u32 = 100_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::special_table;

    fn assert_close(name: &str, arguments: &[f64], computed: f64, exact: f64) {
        let error = (computed - exact).abs();
        assert!(
            error <= 1e-14 * exact.abs() + 1e-320,
            "{name}{arguments:?} = {computed:e}, should be {exact:e}: relative error {:e}",
            error / exact
        );
    }

    #[test]
    fn normal_distribution_matches_sixty_digit_values() {
        for row in special_table("normal_cdf") {
            assert_close("normal_cdf", &row[..1], normal_cdf(row[0]), row[1]);
        }
        assert_eq!(normal_cdf(f64::NEG_INFINITY), 0.0);
        assert_eq!(normal_cdf(f64::INFINITY), 1.0);
    }

    #[test]
    fn series_and_fraction_meet() {
        for shape in [0.7, 3.0, 50.0] {
            let edge = shape + 1.0;
            assert!((gamma_p(shape, edge - 1e-14) - gamma_p(shape, edge)).abs() < 2e-14);
        }
    }

    #[test]
    fn gamma_distribution_matches_sixty_digit_values() {
        for row in special_table("gamma_p") {
            assert_close("gamma_p", &row[..2], gamma_p(row[0], row[1]), row[2]);
        }
        assert_eq!(gamma_p(2.0, 0.0), 0.0);
    }
}
