//! The published removal algorithm in one dimension, where its true δ can be computed.
//!
//! Guo et al. 2020, Algorithms 1 and 2 with logistic loss and one weight. With `G(w) = Σ ℓ′ x_i + λ n w` over all rows,
//! and R the same without the row that leaves:
//!
//! ```text
//! training    draws b ~ N(0, σ²) and solves G(w) = −b
//! removal     T(w) = w + Δ(w)/R′(w),  Δ = G − R
//! retraining  solves R(w) = −b with a fresh b, when a bound computed from w exceeds the budget
//! ```
//!
//! The map `c(w) = −R(w)` turns a model into the perturbation that training without the row would need for it. It is
//! one-to-one and does not depend on b, so δ may be computed between laws of c. For retraining that law is N(0, σ²).
//! For removal it is the law of `c = b − u(b)`, u the gradient residual, mixed with N(0, σ²) in proportion to the
//! probability ρ of retraining:
//!
//! ```text
//! p(c) = Σ_{kept b : b − u(b) = c} φ(b) / |1 − u′(b)|  +  ρ φ(c)        q(c) = φ(c)
//! ```
//!
//! The published proof has neither the factor 1/|1 − u′| nor the effect of keeping only some b. The tests show what
//! each of them does to the claimed δ.

use efface_testkit::hockey_stick::{edges, hockey_stick};
use efface_testkit::special::normal_cdf;

/// A one-dimensional data set, the row that leaves, and the noise of training.
#[derive(Clone, Debug)]
pub(crate) struct PublishedMethod {
    /// x_i.
    pub(crate) rows: Vec<f64>,
    /// y_i = ±1.
    pub(crate) targets: Vec<f64>,
    /// λ.
    pub l2_per_row: f64,
    /// Place of the row that leaves.
    pub(crate) removed: usize,
    /// σ.
    pub(crate) perturbation_std: f64,
}

/// One removal from one trained weight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RemovalStep {
    /// b = −G(w), the perturbation that led to it.
    pub(crate) perturbation: f64,
    /// v = Δ/R′.
    pub(crate) newton_step: f64,
    /// T(w) = w + v.
    pub(crate) updated_weight: f64,
    /// u = R(T(w)) + b, with its sign.
    pub(crate) residual: f64,
    /// dc/db = 1 − u′(b); the density of the updated model carries the inverse of its size.
    pub(crate) jacobian: f64,
    /// ‖X‖₂² of the remaining rows.
    pub(crate) design_norm_squared: f64,
}

impl RemovalStep {
    /// `factor · ‖X‖₂ ‖v‖₂ ‖Xv‖₂`, the data-dependent bound: factor γ as printed, γ/2 by the integral form.
    pub(crate) fn data_dependent_bound(&self, factor: f64) -> f64 {
        factor * self.design_norm_squared * self.newton_step * self.newton_step
    }
}

/// What the published algorithm really gives at the claimed ε.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PublishedDelta {
    /// The smallest δ with P(removal ∈ T) ≤ e^ε P(retraining ∈ T) + δ for every set T.
    pub(crate) removal_over_retraining: f64,
    /// The same with the two sides exchanged.
    pub(crate) retraining_over_removal: f64,
    /// Probability that the removal ends in retraining.
    pub(crate) retraining_probability: f64,
}

impl PublishedDelta {
    /// The larger of the two directions: the true δ.
    pub(crate) fn delta(&self) -> f64 {
        self.removal_over_retraining.max(self.retraining_over_removal)
    }
}

impl PublishedMethod {
    /// The weight that training finds with perturbation b: the root of G(w) + b.
    pub(crate) fn trained_weight(&self, perturbation: f64) -> f64 {
        // G has slope at least λ n, so the root lies within |G(0) + b|/(λ n) of zero.
        let reach = (self.gradient(0.0) + perturbation).abs() / self.ridge(self.rows.len());
        bisect(-reach, reach, |w| self.gradient(w) + perturbation > 0.0)
    }

    /// The removal of the row from a trained weight.
    pub(crate) fn removal_step(&self, weight: f64) -> RemovalStep {
        let removed = self.terms(weight, Part::Removed);
        let remaining = self.terms(weight, Part::Remaining);
        let newton_step = removed.slope / remaining.curvature;
        let updated_weight = weight + newton_step;
        let updated = self.terms(updated_weight, Part::Remaining);
        let gradient = removed.slope + remaining.slope;
        // dT/dw = 1 + (Δ′ − v R″)/R′.
        let map_slope = 1.0 + (removed.curvature - newton_step * remaining.curvature_slope) / remaining.curvature;
        RemovalStep {
            perturbation: -gradient,
            newton_step,
            updated_weight,
            residual: updated.slope - gradient,
            jacobian: updated.curvature * map_slope / (removed.curvature + remaining.curvature),
            design_norm_squared: self.rows(Part::Remaining).map(|(x, _)| x * x).sum(),
        }
    }

    /// max |u| over all perturbations: the smallest bound that holds whatever b was. For rows of size 1e-3 and more.
    pub(crate) fn largest_residual(&self) -> f64 {
        // u vanishes where every row is saturated, so a logarithmic grid of weights finds the largest value.
        let residual = |place: f64| self.removal_step(place.sinh()).residual.abs();
        let (reach, n_cells) = (14.0, 8000);
        let width = 2.0 * reach / f64::from(n_cells);
        let places = (0..=n_cells).map(|k| width * f64::from(k) - reach);
        let (best, largest) = places
            .map(|place| (place, residual(place)))
            .fold((0.0, 0.0), |best, candidate| if candidate.1 > best.1 { candidate } else { best });
        // Refined by ternary search between the neighbours.
        let (mut low, mut high) = (best - width, best + width);
        for _ in 0..80 {
            let (left, right) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
            if residual(left) < residual(right) { low = left } else { high = right }
        }
        residual(0.5 * (low + high)).max(largest)
    }

    /// The true δ of removal with retraining when `bound` exceeds `budget`, and the probability of retraining.
    ///
    /// Error below 1e-9 as long as the bound crosses the budget, and T turns, nowhere twice within σ/100.
    pub(crate) fn published_algorithm_delta(
        &self,
        bound: impl Fn(&RemovalStep) -> f64,
        budget: f64,
        epsilon: f64,
    ) -> PublishedDelta {
        let pieces = self.kept_pieces(&|weight| bound(&self.removal_step(weight)) <= budget);
        let kept: f64 = pieces.iter().map(|piece| self.mass(piece.low, piece.high)).sum();
        let retraining_probability = (1.0 - kept).max(0.0);
        let removal = |c: f64| {
            let updated: f64 = pieces.iter().map(|piece| self.mass_below(piece, c)).sum();
            updated + retraining_probability * normal_cdf(c / self.perturbation_std)
        };
        let retraining = |c: f64| normal_cdf(c / self.perturbation_std);
        // Edges at the jumps of p, equally spaced ones where b is spread out by the update, and images of equally
        // spaced b where it is pressed together.
        let jumps = pieces.iter().flat_map(|piece| [piece.output_low, piece.output_high]);
        let images = self.scan_nodes().into_iter().step_by(2).map(|weight| self.output(weight));
        let reach = REACH * self.perturbation_std;
        let grid = edges(-reach, reach, N_OUTPUT_CELLS, &jumps.chain(images).collect::<Vec<f64>>());
        PublishedDelta {
            removal_over_retraining: hockey_stick(removal, retraining, epsilon, &grid),
            retraining_over_removal: hockey_stick(retraining, removal, epsilon, &grid),
            retraining_probability,
        }
    }

    /// Intervals of trained weights on which the update is kept and T is monotone.
    fn kept_pieces(&self, kept: &impl Fn(f64) -> bool) -> Vec<Piece> {
        let rises = |weight: f64| self.removal_step(weight).jacobian > 0.0;
        let nodes = self.scan_nodes();
        let mut cuts = vec![nodes[0]];
        for ends in nodes.windows(2) {
            let (low, high) = (ends[0], ends[1]);
            if kept(low) != kept(high) {
                cuts.push(bisect(low, high, |weight| kept(weight) == kept(high)));
            }
            if rises(low) != rises(high) {
                cuts.push(bisect(low, high, |weight| rises(weight) == rises(high)));
            }
        }
        cuts.push(nodes[nodes.len() - 1]);
        cuts.sort_by(f64::total_cmp);
        cuts.windows(2)
            .filter(|ends| kept(0.5 * (ends[0] + ends[1])))
            .map(|ends| Piece {
                low: ends[0],
                high: ends[1],
                output_low: self.output(ends[0]),
                output_high: self.output(ends[1]),
            })
            .collect()
    }

    /// Trained weights, in increasing order, for equally spaced b within reach.
    fn scan_nodes(&self) -> Vec<f64> {
        let perturbation =
            |k: u32| self.perturbation_std * REACH * (1.0 - 2.0 * f64::from(k) / f64::from(N_SCAN_CELLS));
        (0..=N_SCAN_CELLS).map(|k| self.trained_weight(perturbation(k))).collect()
    }

    /// Probability of the weights of a piece whose update has a c at most the given one.
    fn mass_below(&self, piece: &Piece, c: f64) -> f64 {
        let falling = piece.output_low > piece.output_high;
        if c >= piece.output_low.max(piece.output_high) {
            self.mass(piece.low, piece.high)
        } else if c <= piece.output_low.min(piece.output_high) {
            0.0
        } else if falling {
            self.mass(bisect(piece.low, piece.high, |weight| self.output(weight) <= c), piece.high)
        } else {
            self.mass(piece.low, bisect(piece.low, piece.high, |weight| self.output(weight) > c))
        }
    }

    /// c of the updated model: −R(T(w)).
    pub(crate) fn output(&self, weight: f64) -> f64 {
        let step = self.removal_step(weight);
        step.perturbation - step.residual
    }

    /// Probability that training ends between two weights.
    fn mass(&self, low: f64, high: f64) -> f64 {
        let below = |weight: f64| normal_cdf(self.gradient(weight) / self.perturbation_std);
        below(high) - below(low)
    }

    /// G(w).
    fn gradient(&self, weight: f64) -> f64 {
        self.terms(weight, Part::Removed).slope + self.terms(weight, Part::Remaining).slope
    }

    /// Derivatives of the regularized objective of some rows.
    fn terms(&self, weight: f64, part: Part) -> Terms {
        let ridge = self.ridge(self.rows(part).count());
        let start = Terms { slope: ridge * weight, curvature: ridge, curvature_slope: 0.0 };
        self.rows(part).fold(start, |sum, (x, y)| {
            // With s = 1/(1 + e^(−z)): ℓ′ = −y s(−yz), ℓ″ = s(1 − s), ℓ‴ = −ℓ″ tanh(z/2).
            let margin = weight * x;
            let e = (-margin.abs()).exp();
            let wrong_side = if y * margin > 0.0 { e / (1.0 + e) } else { 1.0 / (1.0 + e) };
            let curvature = e / ((1.0 + e) * (1.0 + e));
            Terms {
                slope: sum.slope - y * wrong_side * x,
                curvature: sum.curvature + curvature * x * x,
                curvature_slope: sum.curvature_slope - curvature * (0.5 * margin).tanh() * x * x * x,
            }
        })
    }

    fn rows(&self, part: Part) -> impl Iterator<Item = (f64, f64)> {
        let wanted = move |k: &usize| (*k == self.removed) == (part == Part::Removed);
        (0..self.rows.len()).filter(wanted).map(|k| (self.rows[k], self.targets[k]))
    }

    fn ridge(&self, n_rows: usize) -> f64 {
        self.l2_per_row * n_rows as f64
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Part {
    Removed,
    Remaining,
}

/// First, second and third derivative of an objective.
struct Terms {
    slope: f64,
    curvature: f64,
    curvature_slope: f64,
}

/// An interval of trained weights with the outputs c at its ends; c is monotone inside.
struct Piece {
    low: f64,
    high: f64,
    output_low: f64,
    output_high: f64,
}

/// The place where `reached` turns from false to true, to the last digit.
fn bisect(mut low: f64, mut high: f64, reached: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if reached(middle) { high = middle } else { low = middle }
    }
    high
}

/// Perturbations beyond this many σ (probability 2e-23) are left out.
const REACH: f64 = 10.0;
/// Cells of the scan for boundaries: σ/100 each.
const N_SCAN_CELLS: u32 = 2000;
/// Cells of the grid of outputs: σ/30 each.
const N_OUTPUT_CELLS: usize = 600;
