//! Softmax (multinomial logistic) loss: a score for each class, taken together.

use super::{Derivatives, Logistic, Loss};

/// ```text
/// ℓ(z, y) = ln Σ_k e^(z_k) − z_y      ∇ℓ = p − e_y      ∇²ℓ = diag(p) − p pᵀ      p_k = e^(z_k) / Σ_j e^(z_j)
/// ```
///
/// for the scores z = Wx ∈ R^K of a row. Constants, all in the 2-norm of the scores:
///
/// - ‖∇ℓ‖² = (1 − p_y)² + Σ_{k≠y} p_k² ≤ 2(1 − p_y)² < 2, so C = √2 R for rows of norm at most R.
/// - ‖∇²ℓ‖ ≤ ½: uᵀ∇²ℓ u is the variance of u under p, and a variable of range r has one of at most r²/4. The range of u is at
///   most √2‖u‖. Two classes of probability ½ reach it.
/// - γ = √2/(3√3) ≈ 0.27217: D³ℓ[u, u, u] is the third central moment of u under p, at most r³/(6√3) for a variable of range r,
///   and (√2)³/(6√3) = √2/(3√3). A symmetric trilinear form has its largest value on the diagonal, so this bounds
///   ‖∇²ℓ(z) − ∇²ℓ(z′)‖ / ‖z − z′‖. Two classes reach it.
///
/// Of a single score z it is the loss of two classes with the scores z and 0: the [logistic](Logistic) one.
#[derive(Clone, Copy, Debug)]
pub struct Softmax;

impl Loss for Softmax {
    fn tag(&self) -> &'static str {
        "softmax"
    }

    fn evaluate(&self, margin: f64, target: f64) -> Derivatives {
        Logistic.evaluate(margin, target)
    }

    fn curvature_lipschitz(&self) -> f64 {
        MAX_THIRD_DERIVATIVE
    }

    /// The paper has two classes only.
    fn printed_curvature_lipschitz(&self) -> f64 {
        MAX_THIRD_DERIVATIVE
    }

    fn curvature_bound(&self) -> f64 {
        0.5
    }

    fn slope_bound(&self) -> Option<f64> {
        Some(std::f64::consts::SQRT_2.next_up())
    }

    fn is_classification(&self) -> bool {
        true
    }
}

/// √2/(3√3) = 0.272165526975908677…, rounded up.
const MAX_THIRD_DERIVATIVE: f64 = 0.272_165_526_975_908_7;

/// ℓ at the scores of a row of class `own`, and an upper bound of ‖∇²ℓ‖; in the place of each score comes its slope.
pub(crate) fn evaluate(scores: &mut [f64], own: usize) -> (f64, f64) {
    let own_score = scores[own];
    let partition = Partition::of(scores);
    let mut trace = 0.0;
    for (k, score) in scores.iter_mut().enumerate() {
        let (p, rest) = partition.probability(k, *score);
        trace += p * rest;
        *score = if k == own { -rest } else { p };
    }
    ((partition.ln() - own_score).max(0.0), trace.min(0.5))
}

/// The probabilities of the classes at the scores of one row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Partition {
    largest: usize,
    largest_score: f64,
    /// `Σ_{j≠largest} e^(z_j − max)`
    others: f64,
}

impl Partition {
    /// Puts `e^(z_k − max)` in the place of each score.
    pub(crate) fn of(scores: &mut [f64]) -> Self {
        let (mut largest, mut largest_score) = (0, f64::NEG_INFINITY);
        for (k, score) in scores.iter().enumerate() {
            if *score > largest_score {
                (largest, largest_score) = (k, *score);
            }
        }
        let mut others = 0.0;
        for (k, score) in scores.iter_mut().enumerate() {
            *score = (*score - largest_score).exp();
            if k != largest {
                others += *score;
            }
        }
        Self { largest, largest_score, others }
    }

    /// ln Σ e^(z_k)
    fn ln(&self) -> f64 {
        self.largest_score + self.others.ln_1p()
    }

    /// p_k and 1 − p_k, of `e^(z_k − max)`. No two close numbers are subtracted: beside the largest class the others
    /// are at most half of all.
    pub(crate) fn probability(&self, k: usize, exponential: f64) -> (f64, f64) {
        let all = 1.0 + self.others;
        let rest = if k == self.largest { self.others } else { all - exponential };
        (exponential / all, rest / all)
    }
}
