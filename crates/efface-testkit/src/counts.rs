//! Tests on counts: Pearson's χ², and single counts by a bound that holds for every sample size.

use crate::special::gamma_q;

/// What a χ² test found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChiSquare {
    /// Σ (count − expected)²/expected.
    pub statistic: f64,
    /// Cells less one.
    pub degrees: usize,
    /// Probability of as large a statistic under the right law; good to a few percent when every cell expects ten or more.
    pub p_value: f64,
}

/// Pearson's test of counts against the probabilities of their cells, which add up to one.
///
/// # Panics
///
/// When there are fewer than two cells, or one of them expects fewer than ten.
pub fn chi_square(counts: &[u64], probabilities: &[f64]) -> ChiSquare {
    assert!(counts.len() == probabilities.len() && counts.len() > 1, "one probability per cell, and two cells or more");
    let n = counts.iter().sum::<u64>() as f64;
    let cells = counts.iter().zip(probabilities);
    let statistic = cells
        .map(|(count, probability)| {
            let expected = n * probability;
            assert!(expected >= 10.0, "a cell expects {expected} only");
            (*count as f64 - expected).powi(2) / expected
        })
        .sum::<f64>();
    let degrees = counts.len() - 1;
    ChiSquare { statistic, degrees, p_value: gamma_q(degrees as f64 / 2.0, statistic / 2.0) }
}

/// Bound on the probability that a binomial count lies as far from n·p as this one, on the same side.
///
/// ```text
/// P ≤ exp(−n·(q ln(q/p) + (1−q) ln((1−q)/(1−p)))),  q = count/n
/// ```
///
/// Chernoff 1952. It holds for every n and p, so that counts of rare events can be tested as well.
pub fn count_tail(count: u64, n: u64, p: f64) -> f64 {
    let (n, q) = (n as f64, count as f64 / n as f64);
    let term = |a: f64, b: f64| if a == 0.0 { 0.0 } else { a * (a / b).ln() };
    (-n * (term(q, p) + term(1.0 - q, 1.0 - p))).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chi_square_by_hand() {
        // Sixty throws of a die: Σ (count − 10)²/10.
        let test = chi_square(&[5, 8, 9, 8, 10, 20], &[1.0 / 6.0; 6]);
        assert!((test.statistic - 13.4).abs() < 1e-12 && test.degrees == 5);
        // A tabulated value: P(χ²₅ > 13.388) = 0.02.
        assert!((test.p_value - 0.0199).abs() < 1e-4, "{}", test.p_value);
    }

    #[test]
    fn even_degrees_have_an_elementary_p_value() {
        // With two degrees of freedom the p-value is e^(−statistic/2).
        let test = chi_square(&[140, 100, 60], &[1.0 / 3.0; 3]);
        assert!((test.p_value / (-test.statistic / 2.0).exp() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn tails_of_counts_are_bounded() {
        // Ten heads in ten throws: exactly 2⁻¹⁰, where the bound is sharp.
        assert!((count_tail(10, 10, 0.5) - 2_f64.powi(-10)).abs() < 1e-15);
        assert!((count_tail(50, 100, 0.5) - 1.0).abs() < 1e-12);
        assert!(count_tail(0, 1000, 0.01) > 0.99_f64.powi(1000) * (1.0 - 1e-12));
        assert!(count_tail(700, 1000, 0.5) < 1e-30);
    }
}
