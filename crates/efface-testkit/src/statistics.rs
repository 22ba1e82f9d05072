//! The Kolmogorov–Smirnov test, with a threshold that states its false-alarm rate.

use crate::special::bisect;

/// Largest distance between the distribution of a sample and a distribution function. Sorts the sample.
///
/// # Panics
///
/// When the sample is empty or holds a NaN.
pub fn kolmogorov_smirnov(sample: &mut [f64], cdf: impl Fn(f64) -> f64) -> f64 {
    assert!(!sample.is_empty() && sample.iter().all(|x| !x.is_nan()), "the sample must hold numbers");
    sample.sort_by(f64::total_cmp);
    let n = sample.len() as f64;
    sample.iter().enumerate().fold(0.0, |largest, (below, &x)| {
        let exact = cdf(x);
        let distance = (exact - below as f64 / n).max((below + 1) as f64 / n - exact);
        distance.max(largest)
    })
}

/// The distance that a sample of n from the right law exceeds with the given probability.
///
/// ```text
/// P(D > t) ≈ Q((√n + 0.12 + 0.11/√n) t)      Q(s) = 2 Σ_{k≥1} (−1)^(k−1) e^(−2 k² s²)
/// ```
///
/// The asymptotic law with Stephens' correction for finite n, good to a few percent of the rate from n ≈ 5.
///
/// # Panics
///
/// When the rate is not between 0 and 1.
pub fn ks_threshold(n: usize, false_alarm_rate: f64) -> f64 {
    assert!(0.0 < false_alarm_rate && false_alarm_rate < 1.0, "a rate lies between 0 and 1, got {false_alarm_rate}");
    let root = (n as f64).sqrt();
    bisect(0.1, 30.0, |s| kolmogorov_tail(s) > false_alarm_rate) / (root + 0.12 + 0.11 / root)
}

/// Q(s), the probability that the limit of √n·D exceeds s.
fn kolmogorov_tail(s: f64) -> f64 {
    let mut sum = 0.0;
    let mut sign = 1.0;
    // At s = 0.1 the hundredth term is e^−200.
    for k in 1..=100 {
        let k = f64::from(k);
        sum += sign * (-2.0 * k * k * s * s).exp();
        sign = -sign;
    }
    2.0 * sum
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha12Rng;
    use rand_distr::{Distribution, Exp1, Gamma, StandardNormal};

    use super::*;
    use crate::special::{gamma_p, normal_cdf};

    /// A test with correct code fails with this probability; the seeds are fixed, so it does not.
    const FALSE_ALARM_RATE: f64 = 1e-6;
    const N: usize = 20_000;

    fn sample<D: Distribution<f64>>(seed: u64, law: D) -> Vec<f64> {
        ChaCha12Rng::seed_from_u64(seed).sample_iter(law).take(N).collect()
    }

    #[test]
    fn statistic_of_a_small_sample_by_hand() {
        // Against the uniform law the sample 0.1, 0.5, 0.9 is off by 1/3 − 0.1 on the left and 0.9 − 2/3 on the right.
        let distance = kolmogorov_smirnov(&mut [0.9, 0.1, 0.5], |x| x);
        assert!((distance - (1.0 / 3.0 - 0.1)).abs() < 1e-15);
        assert!((kolmogorov_smirnov(&mut [0.5], |x| x) - 0.5).abs() < 1e-15);
    }

    #[test]
    fn asymptotic_thresholds_are_the_tabulated_ones() {
        // For n → ∞: √n·t at rates 5 %, 1 % and 1e-6; the last is √(ln(2·10⁶)/2).
        let n = 1_000_000_000_000;
        for (rate, tabulated) in [(0.05, 1.358_10), (0.01, 1.627_62), (1e-6, 2.693_386)] {
            let scaled = ks_threshold(n, rate) * 1e6;
            assert!((scaled - tabulated).abs() < 1e-5, "rate {rate}: {scaled}");
        }
        // Finite n: the exact 1 % point for n = 10 is 0.48893.
        assert!((ks_threshold(10, 0.01) - 0.488_93).abs() < 0.003);
    }

    #[test]
    fn samples_of_the_right_law_pass() {
        let limit = ks_threshold(N, FALSE_ALARM_RATE);
        assert!(kolmogorov_smirnov(&mut sample(1, StandardNormal), normal_cdf) < limit);
        assert!(kolmogorov_smirnov(&mut sample(2, Exp1), |x| gamma_p(1.0, x)) < limit);
        let gamma = Gamma::new(17.0, 1.0).expect("valid parameters");
        assert!(kolmogorov_smirnov(&mut sample(3, gamma), |x| gamma_p(17.0, x)) < limit);
    }

    #[test]
    fn samples_of_a_wrong_law_fail() {
        let limit = ks_threshold(N, FALSE_ALARM_RATE);
        // A variance taken for a standard deviation, and a Gamma shape off by one.
        assert!(kolmogorov_smirnov(&mut sample(4, StandardNormal), |x| normal_cdf(x / 1.2)) > limit);
        let gamma = Gamma::new(17.0, 1.0).expect("valid parameters");
        assert!(kolmogorov_smirnov(&mut sample(5, gamma), |x| gamma_p(16.0, x)) > limit);
    }

    #[test]
    fn false_alarms_come_at_the_stated_rate() {
        let mut rng = ChaCha12Rng::seed_from_u64(6);
        let (repetitions, limit) = (2000, ks_threshold(50, 0.05));
        let alarms = (0..repetitions)
            .filter(|_| {
                let mut uniform: Vec<f64> = (0..50).map(|_| rng.random()).collect();
                kolmogorov_smirnov(&mut uniform, |x| x) > limit
            })
            .count();
        // 100 expected, standard deviation 10.
        assert!((60..=140).contains(&alarms), "{alarms} alarms in {repetitions}");
    }
}
