//! Failures in a few releases only: noise that is missing, or too small, now and then. Averages do not see them; the
//! lengths of the noise, release by release, do.
//!
//! The length of n weights' noise follows the root of a χ² law (a gamma law, where the noise is gamma). Counted are releases
//! whose noise is so short that a sound engine would have none in a whole audit, and releases beyond quantiles on both
//! sides. How rare a failure is seen follows from the same numbers, and is reported beside them.

use efface_core::noise::NoiseLaw;
use serde::Serialize;

use super::check::{DirectCheck, closest};
use crate::statistics::{beta_cdf, count_limit, gamma_cdf, gamma_quantile, gamma_tail_quantile, probability_at_least};

/// Shares of releases that are expected beyond the quantiles, on each side.
const LEVELS: [f64; 4] = [0.1, 1e-2, 1e-3, 1e-4];

/// How rare a failure the audit sees with a probability of at least `probability`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Power {
    /// Releases looked at, over both worlds.
    pub releases: usize,
    /// Probability of an alarm.
    pub probability: f64,
    /// The least share of releases without noise that is seen so surely.
    pub without_noise: f64,
    /// The same for releases with half of their noise; 1 where not even that is seen.
    pub half_noise: f64,
}

/// How sure an alarm is where [`Power`] states a rate.
const SURE: f64 = 0.999;

/// The lengths of the noise of every release, made to follow a gamma law of scale 1.
#[derive(Clone)]
pub(super) struct Lengths {
    law: NoiseLaw,
    shape: f64,
    values: Vec<f64>,
}

impl Lengths {
    pub(super) fn new(law: NoiseLaw, n_weights: usize) -> Self {
        let n = n_weights.max(1) as f64;
        Self { law, shape: if law == NoiseLaw::Gamma { n } else { 0.5 * n }, values: Vec::new() }
    }

    pub(super) fn add(&mut self, noise: &[f64]) {
        let squares: f64 = noise.iter().map(|z| z * z).sum();
        self.values.push(if self.law == NoiseLaw::Gamma { squares.sqrt() } else { 0.5 * squares });
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.values.extend(other.values);
    }

    /// Two checks, each at the rate given.
    pub(super) fn checks(&self, rate: f64) -> Vec<DirectCheck> {
        let n = self.values.len();
        let shortest = self.shortest(rate);
        let missing = self.values.iter().filter(|x| **x < shortest).count();
        let each = rate / (2 * LEVELS.len()) as f64;
        let tails = closest(LEVELS.iter().flat_map(|level| {
            let (low, high) = (gamma_quantile(self.shape, *level), gamma_tail_quantile(self.shape, *level));
            let limit = count_limit(n, *level, each);
            let short = self.values.iter().filter(|x| **x < low).count();
            let long = self.values.iter().filter(|x| **x > high).count();
            [short, long].map(|count| DirectCheck::count("noise-tails", count, limit))
        }));
        std::iter::once(DirectCheck::count("noise-missing", missing, 0)).chain(tails).collect()
    }

    /// The length below which a sound engine has none of all releases, up to the rate.
    fn shortest(&self, rate: f64) -> f64 {
        gamma_quantile(self.shape, rate / self.values.len().max(1) as f64)
    }

    /// How rare a failure these checks see.
    pub(super) fn power(&self, rate: f64) -> Power {
        let n = self.values.len().max(1);
        let each = rate / (2 * LEVELS.len()) as f64;
        // Noise of half the length: a fourth of its square.
        let shrunk = if self.law == NoiseLaw::Gamma { 2.0 } else { 4.0 };
        let without = share_seen(n, 0, 0.0, 1.0);
        let shortest = self.shortest(rate);
        let mut half = share_seen(n, 0, rate / n as f64, gamma_cdf(self.shape, shrunk * shortest));
        for level in LEVELS {
            let among_halved = gamma_cdf(self.shape, shrunk * gamma_quantile(self.shape, level));
            half = half.min(share_seen(n, count_limit(n, level, each), level, among_halved));
        }
        Power { releases: n, probability: SURE, without_noise: without, half_noise: half }
    }
}

/// The least share of failing releases at which more than `limit` of n are counted with probability [`SURE`], where a sound
/// release is counted with probability `sound` and a failing one with probability `failing`.
fn share_seen(n: usize, limit: usize, sound: f64, failing: f64) -> f64 {
    if limit >= n || failing <= sound {
        return 1.0;
    }
    // P(Binomial(n, p) ≥ limit + 1) = SURE; the mirror image of a lower bound of a probability.
    let needed = 1.0 - probability_at_least(n - limit, n, 1.0 - SURE);
    debug_assert!(beta_cdf(needed, limit as f64 + 1.0, (n - limit) as f64) >= SURE - 1e-6);
    ((needed - sound) / (failing - sound)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use efface_core::noise::NoiseSource;

    use super::*;
    use crate::choice::below;

    const RATE: f64 = 1e-8;

    /// A sample of so many releases, one in `one_in` of which has its noise times `factor`.
    fn sample(law: NoiseLaw, dim: usize, n: usize, one_in: usize, factor: f64, seed: u64) -> Lengths {
        let mut noise = NoiseSource::danger_fixed_seed(seed);
        let mut lengths = Lengths::new(law, dim);
        for _ in 0..n {
            let size = if below(one_in, &mut noise) == 0 { factor } else { 1.0 };
            lengths.add(&law.sample(dim, size, &mut noise));
        }
        lengths
    }

    fn fails(lengths: &Lengths) -> bool {
        lengths.checks(RATE).iter().any(|check| !check.held)
    }

    #[test]
    fn failures_at_the_stated_rate_are_seen() {
        for (law, dim) in [(NoiseLaw::Gaussian, 8), (NoiseLaw::Gaussian, 1), (NoiseLaw::Gamma, 8)] {
            let n = 4_000;
            let power = sample(law, dim, n, 1, 1.0, 0).power(RATE);
            assert!((power.without_noise - 6.9 / n as f64).abs() < 1e-4, "{power:?}");
            for (share, factor) in [(power.without_noise, 0.0), (power.half_noise, 0.5)] {
                // 1 in so many is at least the stated share.
                let one_in = (1.0 / share).floor() as usize;
                let seen = (0..30).filter(|seed| fails(&sample(law, dim, n, one_in, factor, *seed))).count();
                assert!(share == 1.0 || seen == 30, "{law:?} {dim}: {seen} of 30 seen at {share}");
            }
        }
    }

    /// In many dimensions one release with half of its noise is enough.
    #[test]
    fn half_noise_is_as_plain_as_none_in_many_dimensions() {
        let power = sample(NoiseLaw::Gaussian, 784, 2_000, 1, 1.0, 1).power(RATE);
        assert!((power.half_noise / power.without_noise - 1.0).abs() < 1e-3, "{power:?}");
    }
}
