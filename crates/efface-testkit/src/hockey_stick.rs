//! The true δ between two laws on the line, and the closed form for two Gaussians.
//!
//! ```text
//! δ_ε(P‖Q) = sup_T P(T) − e^ε Q(T) = ∫ max(0, p − e^ε q)
//! ```
//!
//! The laws are given by distribution functions, not densities. With `F = P − e^ε Q` the integral is the total rise of
//! F: the sum of F(top) − F(bottom) over its rising stretches, whatever happens inside them (jumps of the density,
//! singularities of a change of variables). So only the turning points of F have to be found, and an inexact turning
//! point changes F to second order only. Every partition gives a lower bound of the supremum: a δ reported here is
//! never too large, but for rounding.

use crate::special::{bisect, normal_cdf};

/// δ_ε(P‖Q) for laws with distribution functions `p` and `q`. Error near 1e-14 times the number of turns.
///
/// `edges` are increasing points, close enough that no two neighbouring cells between them hold two turns of
/// `P − e^ε Q`; outside of them there must be none. Edges at the jumps of a density make turns there exact.
pub fn hockey_stick(p: impl Fn(f64) -> f64, q: impl Fn(f64) -> f64, epsilon: f64, edges: &[f64]) -> f64 {
    let weight = epsilon.exp();
    let excess = |x: f64| p(x) - weight * q(x);
    let heights: Vec<f64> = edges.iter().map(|&x| excess(x)).collect();
    let changes = heights.windows(2).enumerate().map(|(cell, ends)| (cell, ends[1] - ends[0]));
    let mut significant = changes.filter(|(_, change)| change.abs() > NEGLIGIBLE);

    let mut turns = vec![0.0];
    if let Some(mut before) = significant.next() {
        turns.push(heights[0]);
        for after in significant {
            if before.1.signum() != after.1.signum() {
                // Up to the sign a maximum, in two cells or at an edge between them.
                let sign = before.1.signum();
                let between = maximum(|x| sign * excess(x), edges[before.0], edges[after.0 + 1]);
                let at_edges = heights[before.0 + 1..=after.0].iter().map(|height| sign * height);
                turns.push(sign * at_edges.fold(between, f64::max));
            }
            before = after;
        }
        turns.extend(heights.last());
    }
    turns.push(1.0 - weight);
    turns.windows(2).map(|ends| (ends[1] - ends[0]).max(0.0)).sum()
}

/// Equally spaced edges over `[low, high]`, joined with `extra` ones and sorted.
pub fn edges(low: f64, high: f64, n_cells: usize, extra: &[f64]) -> Vec<f64> {
    let width = (high - low) / n_cells as f64;
    let mut edges: Vec<f64> = (0..=n_cells).map(|k| low + width * k as f64).chain(extra.iter().copied()).collect();
    edges.sort_by(f64::total_cmp);
    edges.dedup();
    edges
}

/// δ(ε) of two Gaussians whose means are μ standard deviations apart.
///
/// ```text
/// δ = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)
/// ```
pub fn gaussian_delta(epsilon: f64, mu: f64) -> f64 {
    normal_cdf(0.5 * mu - epsilon / mu) - epsilon.exp() * normal_cdf(-0.5 * mu - epsilon / mu)
}

/// The largest μ with `gaussian_delta(epsilon, mu) ≤ delta`, by bisection.
pub fn gaussian_mu(epsilon: f64, delta: f64) -> f64 {
    bisect(1e-6, 100.0, |mu| gaussian_delta(epsilon, mu) <= delta)
}

/// The largest value of a function that rises to one point and falls after it, by golden section.
fn maximum(function: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    let place = |far: f64, near: f64| far - GOLDEN_SECTION * (far - near);
    let (mut left, mut right) = (place(high, low), place(low, high));
    let (mut at_left, mut at_right) = (function(left), function(right));
    for _ in 0..GOLDEN_STEPS {
        if at_left > at_right {
            (high, right, at_right) = (right, left, at_left);
            left = place(high, low);
            at_left = function(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = place(low, high);
            at_right = function(right);
        }
    }
    at_left.max(at_right)
}

/// (√5 − 1)/2.
const GOLDEN_SECTION: f64 = 0.618_033_988_749_894_9;
/// Shrinks the interval to 1e-10 of its length; the error of F is the square of that at a smooth turn.
const GOLDEN_STEPS: u32 = 48;
/// Changes below this are rounding noise of the distribution functions.
const NEGLIGIBLE: f64 = 1e-15;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::gaussian_dp;

    #[test]
    fn two_gaussians_give_the_closed_form() {
        for epsilon in [0.0, 0.1, 0.5, 1.0, 3.0] {
            for mu in [0.05, 0.3139, 1.0, 2.5] {
                let grid = edges(-12.0, 12.0, 400, &[]);
                let numeric = hockey_stick(|x| normal_cdf(x - mu), normal_cdf, epsilon, &grid);
                let backward = hockey_stick(normal_cdf, |x| normal_cdf(x - mu), epsilon, &grid);
                let exact = gaussian_delta(epsilon, mu);
                assert!((numeric - exact).abs() < 1e-12, "ε = {epsilon}, μ = {mu}: {numeric:e} for {exact:e}");
                assert!((backward - exact).abs() < 1e-12, "ε = {epsilon}, μ = {mu}, backward");
            }
        }
    }

    #[test]
    fn a_coarse_grid_still_finds_the_single_sign_change() {
        let numeric = hockey_stick(|x| normal_cdf(x - 1.0), normal_cdf, 0.5, &edges(-9.0, 10.0, 7, &[]));
        assert!((numeric - gaussian_delta(0.5, 1.0)).abs() < 1e-12);
    }

    #[test]
    fn uniform_laws_with_jumps_are_exact() {
        // P uniform on [0, 1], Q on [0.25, 1.25]: P has mass ¼ where Q has none, and equal density elsewhere.
        let uniform = |start: f64| move |x: f64| (x - start).clamp(0.0, 1.0);
        let grid = edges(-1.0, 2.0, 3, &[0.25, 1.25]);
        assert!((hockey_stick(uniform(0.0), uniform(0.25), 0.7, &grid) - 0.25).abs() < 1e-15);
        assert!((hockey_stick(uniform(0.0), uniform(0.0), 0.0, &grid)).abs() < 1e-15);
    }

    #[test]
    fn closed_form_matches_the_golden_table() {
        let table = gaussian_dp();
        for point in table.deltas {
            let error = (gaussian_delta(point.epsilon, point.mu) / point.delta - 1.0).abs();
            assert!(error < table.relative_tolerance, "{point:?}: relative error {error:e}");
        }
        for point in table.mus {
            let error = (gaussian_mu(point.epsilon, point.delta) / point.mu - 1.0).abs();
            assert!(error < table.relative_tolerance, "{point:?}: relative error {error:e}");
        }
    }
}
