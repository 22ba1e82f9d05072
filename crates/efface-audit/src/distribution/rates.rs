//! From two samples of scores to lower bounds of ε and μ: thresholds are picked on one part of the draws, rates are
//! counted on the rest.

use serde::Serialize;

use crate::statistics::{normal_quantile, probability_at_least, probability_at_most};

/// What two samples prove.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct Bounds {
    /// Lower confidence bound of ε at the δ given, never below 0.
    pub epsilon: f64,
    /// Lower confidence bound of μ, never below 0.
    pub mu: f64,
}

impl Bounds {
    /// The larger of each.
    #[must_use]
    pub(super) fn max(self, other: Self) -> Self {
        Self { epsilon: self.epsilon.max(other.epsilon), mu: self.mu.max(other.mu) }
    }
}

/// One in so many draws is spent on picking thresholds.
const PICKING_SHARE: usize = 4;

/// Thresholds tried while picking.
const CANDIDATES: usize = 60;

/// Bounds are counted for two purposes (ε and μ) in two directions, with two rates each.
const N_BOUNDS: f64 = 8.0;

/// Lower bounds of ε at δ and of μ between the laws of two samples. One of the two exceeds the truth with probability at
/// most `rate`.
pub(super) fn bounds(removed: &[f64], retrained: &[f64], delta: f64, rate: f64) -> Bounds {
    let each = rate / N_BOUNDS;
    let (pick_removed, count_removed) = removed.split_at(removed.len() / PICKING_SHARE);
    let (pick_retrained, count_retrained) = retrained.split_at(retrained.len() / PICKING_SHARE);
    let mut found = Bounds::default();
    let upwards = |scores: &[f64]| scores.to_vec();
    let downwards = |scores: &[f64]| scores.iter().map(|score| -score).collect::<Vec<f64>>();
    for (likely, unlikely) in [
        ((upwards(pick_removed), upwards(count_removed)), (upwards(pick_retrained), upwards(count_retrained))),
        ((downwards(pick_retrained), downwards(count_retrained)), (downwards(pick_removed), downwards(count_removed))),
    ] {
        let counting = count_removed.len();
        for of in [Bounds::of_epsilon, Bounds::of_mu] {
            let threshold = pick(&likely.0, &unlikely.0, counting, each, |high, low| of(high, low, delta));
            let (hits, false_hits) = (above(&likely.1, threshold), above(&unlikely.1, threshold));
            let high = probability_at_least(hits, likely.1.len(), each);
            let low = probability_at_most(false_hits, unlikely.1.len(), each);
            // A pair of rates that holds bounds both.
            let (epsilon, mu) = (Bounds::of_epsilon(high, low, delta), Bounds::of_mu(high, low, delta));
            found = found.max(Bounds { epsilon, mu });
        }
    }
    found
}

impl Bounds {
    /// `TPR ≤ e^ε FPR + δ`.
    fn of_epsilon(high: f64, low: f64, delta: f64) -> f64 {
        if high > delta { ((high - delta) / low).ln() } else { f64::NEG_INFINITY }
    }

    /// `TPR ≤ Φ(Φ⁻¹(FPR) + μ)`. Dong, Roth and Su 2022.
    fn of_mu(high: f64, low: f64, _delta: f64) -> f64 {
        if high > 0.0 && low < 1.0 { normal_quantile(high) - normal_quantile(low) } else { f64::NEG_INFINITY }
    }
}

/// The threshold that promises most, if the rates of the picking draws are those of the counting ones.
fn pick(likely: &[f64], unlikely: &[f64], counting: usize, rate: f64, value: impl Fn(f64, f64) -> f64) -> f64 {
    let mut pooled: Vec<f64> = likely.iter().chain(unlikely).copied().collect();
    pooled.sort_by(f64::total_cmp);
    let z = -normal_quantile(rate);
    let mut best = (f64::NEG_INFINITY, pooled.get(pooled.len() / 2).copied().unwrap_or(0.0));
    for candidate in 1..CANDIDATES {
        let threshold = pooled[(pooled.len() * candidate / CANDIDATES).min(pooled.len() - 1)];
        let expected = |scores: &[f64], side: f64| {
            let p = above(scores, threshold) as f64 / scores.len() as f64;
            wilson(p, counting as f64, side * z)
        };
        let promised = value(expected(likely, -1.0), expected(unlikely, 1.0));
        if promised > best.0 {
            best = (promised, threshold);
        }
    }
    best.1
}

/// Wilson's bound of a probability: close to the exact one, and cheap.
fn wilson(p: f64, n: f64, z: f64) -> f64 {
    let middle = p + z * z / (2.0 * n);
    let spread = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    (middle + spread) / (1.0 + z * z / n)
}

fn above(scores: &[f64], threshold: f64) -> usize {
    scores.iter().filter(|score| **score > threshold).count()
}
