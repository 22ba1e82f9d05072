//! The statistics that verdicts rest on: exact binomial bounds, distribution functions, Kolmogorov–Smirnov, and the area
//! under a ROC curve.
//!
//! Every limit here holds for finite samples, with its false-alarm rate as an argument. Only the confidence interval of
//! an area is asymptotic; no verdict looks at it.

mod laws;
#[cfg(test)]
mod tests;

use laws::bisect;
pub(crate) use laws::{beta_cdf, gamma_cdf, gamma_quantile, gamma_tail_quantile, normal_cdf, normal_quantile};

/// A probability with an exact interval around it.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Interval {
    /// The estimate.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Lower confidence bound of a probability of which `hits` in `n` were seen: it exceeds the true one with probability at
/// most `rate`. Clopper and Pearson 1934.
///
/// ```text
/// p_low = the p with P(Binomial(n, p) ≥ hits) = rate
/// ```
pub(crate) fn probability_at_least(hits: usize, n: usize, rate: f64) -> f64 {
    if hits == 0 {
        return 0.0;
    }
    // P(Binomial(n, p) ≥ k) = I_p(k, n − k + 1), increasing in p; the end that is kept is on the safe side.
    let (a, b) = (hits as f64, (n - hits) as f64 + 1.0);
    bisect(0.0, 1.0, |p| beta_cdf(p, a, b) <= rate).0
}

/// Upper confidence bound, likewise: the true probability exceeds it with probability at most `rate`.
pub(crate) fn probability_at_most(hits: usize, n: usize, rate: f64) -> f64 {
    1.0 - probability_at_least(n - hits, n, rate)
}

/// Both bounds, each at half the rate.
pub(crate) fn probability_interval(hits: usize, n: usize, rate: f64) -> Interval {
    let (low, high) = (probability_at_least(hits, n, rate / 2.0), probability_at_most(hits, n, rate / 2.0));
    Interval { value: hits as f64 / n.max(1) as f64, low, high }
}

/// The count that a binomial number of n trials at probability p exceeds with probability at most `rate`; the least such.
///
/// ```text
/// P(Binomial(n, p) ≥ k) = I_p(k, n − k + 1)
/// ```
pub(crate) fn count_limit(n: usize, p: f64, rate: f64) -> usize {
    if p >= 1.0 {
        return n;
    }
    // P(more than `low`) may be above the rate, P(more than `high`) is not.
    let (mut low, mut high) = (0, n);
    let exceeds = |count: usize| beta_cdf(p, count as f64 + 1.0, (n - count) as f64);
    while low < high {
        let middle = low.midpoint(high);
        if middle < n && exceeds(middle) > rate { low = middle + 1 } else { high = middle }
    }
    low
}

/// Largest distance between the distribution of a sample and a distribution function. Sorts the sample.
pub(crate) fn kolmogorov_smirnov(sample: &mut [f64], cdf: impl Fn(f64) -> f64) -> f64 {
    sample.sort_by(f64::total_cmp);
    let n = sample.len() as f64;
    sample.iter().enumerate().fold(0.0, |largest: f64, (below, x)| {
        let exact = cdf(*x);
        largest.max(exact - below as f64 / n).max((below + 1) as f64 / n - exact)
    })
}

/// The distance that a sample of n from the right law exceeds with probability at most `rate`, for every n.
///
/// ```text
/// P(D > t) ≤ 2 e^(−2 n t²)        Dvoretzky, Kiefer and Wolfowitz 1956 with the constant of Massart 1990
/// ```
pub(crate) fn kolmogorov_smirnov_limit(n: usize, rate: f64) -> f64 {
    ((2.0 / rate).ln() / (2.0 * n.max(1) as f64)).sqrt()
}

/// Largest distance between the distributions of two samples. Sorts both.
pub(crate) fn two_sample_distance(a: &mut [f64], b: &mut [f64]) -> f64 {
    a.sort_by(f64::total_cmp);
    b.sort_by(f64::total_cmp);
    let (mut i, mut j, mut largest) = (0, 0, 0.0_f64);
    while i < a.len() && j < b.len() {
        let x = a[i].min(b[j]);
        while i < a.len() && a[i] <= x {
            i += 1;
        }
        while j < b.len() && b[j] <= x {
            j += 1;
        }
        largest = largest.max((i as f64 / a.len() as f64 - j as f64 / b.len() as f64).abs());
    }
    largest
}

/// The distance that two samples of n each from one law exceed with probability at most `rate`, for every n.
///
/// ```text
/// P(D > t) ≤ e · e^(−n t²)        Wei and Dudley 2012, Theorem 1 (for samples of equal size)
/// ```
pub(crate) fn two_sample_limit(n: usize, rate: f64) -> f64 {
    ((std::f64::consts::E / rate).ln() / n.max(1) as f64).sqrt()
}

/// Limits that a sum of n squares of standard normal numbers leaves with probability at most `rate`: exact quantiles of
/// χ², half of the rate on each side.
pub(crate) fn chi_square_limits(n: usize, rate: f64) -> (f64, f64) {
    let shape = 0.5 * n as f64;
    if n == 0 {
        return (0.0, 0.0);
    }
    (2.0 * gamma_quantile(shape, 0.5 * rate), 2.0 * gamma_tail_quantile(shape, 0.5 * rate))
}

/// The size that a sum of n products of neighbours, `Σ z_i z_(i+1)` over chains of independent standard normal numbers,
/// exceeds with probability at most `rate`.
///
/// ```text
/// Σ = zᵀA z,  eigenvalues of A in (−1, 1) with sum 0 and squares of sum n/2, so
/// ln E e^(θΣ) = −½ Σ_k ln(1 − 2θλ_k) ≤ θ² n / (2 (1 − 2|θ|))  and  P(|Σ| ≥ √(2 n x) + 2x) ≤ 2 e^−x
/// ```
pub(crate) fn product_sum_limit(n: usize, rate: f64) -> f64 {
    let x = (2.0 / rate).ln();
    (2.0 * n as f64 * x).sqrt() + 2.0 * x
}

/// Area under the ROC curve of these scores, P(a positive scores above a negative) + ½ P(a tie), and its standard error.
/// DeLong et al. 1988.
pub(crate) fn area_under_curve(positives: &[f64], negatives: &[f64]) -> (f64, f64) {
    let sorted = |scores: &[f64]| {
        let mut scores = scores.to_vec();
        scores.sort_by(f64::total_cmp);
        scores
    };
    // For each score the fraction of the others below it, ties counted half.
    let placed = |scores: &[f64], others: &[f64]| -> Vec<f64> {
        let place = |x: &f64| {
            let (below, up_to) = (others.partition_point(|y| y < x), others.partition_point(|y| y <= x));
            0.5 * (below + up_to) as f64 / others.len() as f64
        };
        scores.iter().map(place).collect()
    };
    let (p, n) = (sorted(positives), sorted(negatives));
    let (of_positives, of_negatives) = (placed(&p, &n), placed(&n, &p));
    let spread = |values: &[f64]| variance(values) / values.len().max(1) as f64;
    (mean(&of_positives), (spread(&of_positives) + spread(&of_negatives)).sqrt())
}

/// Mean of a sample; NaN for none.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Unbiased variance; 0 for fewer than two values.
pub(crate) fn variance(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let middle = mean(values);
    values.iter().map(|x| (x - middle).powi(2)).sum::<f64>() / (values.len() - 1) as f64
}

/// The share of a sample in each of so many bins of this width from `low` on.
pub(crate) fn histogram(values: &[f64], low: f64, width: f64, n_bins: usize) -> Vec<f64> {
    let mut bins = vec![0.0; n_bins];
    for value in values {
        let bin = ((value - low) / width).floor();
        if (0.0..n_bins as f64).contains(&bin) {
            bins[bin as usize] += 1.0 / values.len() as f64;
        }
    }
    bins
}

/// The value that half of the sample is below; NaN for none. Quantiles are taken at the nearest rank.
pub(crate) fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// The value at a rank between 0 and 1.
pub(crate) fn quantile(values: &[f64], rank: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1) as f64;
    sorted.get((rank * last).round() as usize).copied().unwrap_or(f64::NAN)
}
