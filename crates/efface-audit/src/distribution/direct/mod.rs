//! The claim looked at from inside the trust boundary, where the secret weights can be seen: are they as close to the
//! retrained ones as claimed, and is what was added to them the noise that is claimed?
//!
//! On an ordinary model the claimed distance is far above the true one, and no attack from outside could see that some
//! of the noise is missing. These checks do.

use efface_core::model::{ReleaseClaim, TrainingPlan};
use efface_core::noise::NoiseLaw;
use serde::Serialize;

use super::distance;
use crate::engine::Secret;
use crate::statistics::{
    chi_square_limits, gamma_cdf, kolmogorov_smirnov, kolmogorov_smirnov_limit, normal_cdf, product_sum_limit,
};

/// The checks of one case.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DirectChecks {
    /// Each of them.
    pub checks: Vec<DirectCheck>,
}

impl DirectChecks {
    /// Whether all of them hold.
    pub fn hold(&self) -> bool {
        self.checks.iter().all(|check| check.held)
    }

    /// The names of those that do not.
    pub fn failed(&self) -> Vec<&'static str> {
        self.checks.iter().filter(|check| !check.held).map(|check| check.name).collect()
    }
}

/// One quantity, and where it has to lie.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DirectCheck {
    /// `distance`, `noise-variance`, `noise-law` or `noise-independence`.
    pub name: &'static str,
    /// What was found.
    pub found: f64,
    /// The least that is allowed.
    pub at_least: f64,
    /// The most that is allowed.
    pub at_most: f64,
    /// Whether it is allowed.
    pub held: bool,
}

impl DirectCheck {
    fn new(name: &'static str, found: f64, at_least: f64, at_most: f64) -> Self {
        Self { name, found, at_least, at_most, held: (at_least..=at_most).contains(&found) }
    }
}

/// What was added to the secret weights, in units of its claimed scale.
pub(super) struct NoiseSample {
    law: NoiseLaw,
    scale: f64,
    /// Values kept of each release, evenly spread over the weights.
    kept_per_release: usize,
    values: Vec<f64>,
    /// Σ z² over all weights, and how many they are.
    squares: f64,
    n_squares: usize,
    /// Σ z z′ over successive releases.
    products: f64,
    n_products: usize,
    before: Vec<f64>,
}

/// Values kept in all: enough to see the law to a hundredth.
const MOST_VALUES: usize = 200_000;

impl NoiseSample {
    pub(super) fn new(plan: &TrainingPlan, draws: usize) -> Self {
        Self {
            law: plan.config().law,
            scale: plan.noise_std(),
            kept_per_release: (MOST_VALUES / draws.max(1)).max(1),
            values: Vec::new(),
            squares: 0.0,
            n_squares: 0,
            products: 0.0,
            n_products: 0,
            before: Vec::new(),
        }
    }

    /// Adds the releases of one life.
    pub(super) fn add(&mut self, released: &[Vec<f64>], secret: &[Vec<f64>]) {
        if self.scale == 0.0 {
            return;
        }
        for (released, secret) in released.iter().zip(secret) {
            let noise: Vec<f64> = released.iter().zip(secret).map(|(w, a)| (w - a) / self.scale).collect();
            let squares: f64 = noise.iter().map(|z| z * z).sum();
            if self.law == NoiseLaw::Gamma {
                // The length follows a gamma law; made uniform, so that models of any size share one test.
                self.values.push(gamma_cdf(noise.len() as f64, squares.sqrt()));
                continue;
            }
            self.squares += squares;
            self.n_squares += noise.len();
            if !self.before.is_empty() {
                self.products += noise.iter().zip(&self.before).map(|(a, b)| a * b).sum::<f64>();
                self.n_products += noise.len();
            }
            let kept = self.kept_per_release.min(noise.len());
            self.values.extend((0..kept).map(|i| noise[i * noise.len() / kept]));
            self.before = noise;
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.values.extend(other.values);
        self.squares += other.squares;
        self.n_squares += other.n_squares;
        self.products += other.products;
        self.n_products += other.n_products;
    }
}

/// All checks; one of them fails for a sound engine with probability at most `false_alarm_rate`.
pub(super) fn checks(
    plan: &TrainingPlan,
    removed: &[Secret],
    retrained: &[Secret],
    claims: &[ReleaseClaim],
    mut noise: NoiseSample,
    false_alarm_rate: f64,
) -> DirectChecks {
    let mut checks = vec![closest_call(removed, retrained, claims)];
    if plan.is_exact() {
        return DirectChecks { checks };
    }
    let rate = false_alarm_rate / 3.0;
    let n = noise.values.len();
    let limit = kolmogorov_smirnov_limit(n, rate);
    if noise.law == NoiseLaw::Gamma {
        let found = kolmogorov_smirnov(&mut noise.values, |x| x.clamp(0.0, 1.0));
        checks.push(DirectCheck::new("noise-law", found, 0.0, limit));
        return DirectChecks { checks };
    }
    let (low, high) = chi_square_limits(noise.n_squares, rate);
    let count = noise.n_squares.max(1) as f64;
    checks.push(DirectCheck::new("noise-variance", noise.squares / count, low / count, high / count));
    let found = kolmogorov_smirnov(&mut noise.values, normal_cdf);
    checks.push(DirectCheck::new("noise-law", found, 0.0, limit));
    let count = noise.n_products.max(1) as f64;
    let limit = product_sum_limit(noise.n_products, rate) / count;
    checks.push(DirectCheck::new("noise-independence", noise.products / count, -limit, limit));
    DirectChecks { checks }
}

/// The release whose secret weights are farthest from the retrained ones, measured by what it claims.
fn closest_call(removed: &[Secret], retrained: &[Secret], claims: &[ReleaseClaim]) -> DirectCheck {
    let found = removed.iter().zip(retrained).zip(claims).map(|((ours, theirs), claim)| {
        // The retrained weights are themselves known up to their own bound only.
        let limit = claim.distance_bound.get() + theirs.distance_bound();
        (distance(&ours.weights(), &theirs.weights()), limit * (1.0 + 1e-12))
    });
    let (found, limit) = found.max_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1))).unwrap_or((0.0, 0.0));
    DirectCheck::new("distance", found, 0.0, limit)
}
