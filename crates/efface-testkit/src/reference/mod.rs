//! The slow reference: the objective of the method and everything derived from it, in double-double.
//!
//! ```text
//! L_b(w) = Σ_i ℓ(wᵀx_i, y_i) + (λ n / 2) ‖w‖² + bᵀw
//! ```
//!
//! Written from the formula alone, on plain slices, so that it shares no code and no mistakes with the engine. Weights
//! may be given as doubles or as double-doubles.

mod loss;

pub use loss::ReferenceLoss;

use crate::dense::{add_scaled, dot, norm, solve_positive_definite};
use crate::double::DoubleDouble;

/// A training problem with every number at hand.
#[derive(Clone, Debug)]
pub struct Reference {
    /// ℓ.
    pub loss: ReferenceLoss,
    /// x_i, all of one length.
    pub rows: Vec<Vec<f64>>,
    /// y_i, one per row.
    pub targets: Vec<f64>,
    /// s_i, one per row; empty stands for ones.
    pub row_weights: Vec<f64>,
    /// λ; the objective adds (λ n / 2) ‖w‖² with n = Σ s_i over the rows now present.
    pub l2_per_row: f64,
    /// α: a ridge that does not grow with the rows.
    pub total_ridge: f64,
    /// b; empty stands for zero.
    pub perturbation: Vec<f64>,
}

impl Reference {
    /// n, the number of rows now present.
    pub fn n_rows(&self) -> usize {
        self.rows.len()
    }

    /// The number of weights: d, or dK, class after class, where a row has a score for each class.
    pub fn dim(&self) -> usize {
        self.rows.first().map_or(self.perturbation.len(), |row| row.len() * self.loss.n_scores())
    }

    /// Takes a row out and returns it with its target; later rows move up by one place.
    pub fn remove(&mut self, index: usize) -> (Vec<f64>, f64) {
        if !self.row_weights.is_empty() {
            self.row_weights.remove(index);
        }
        (self.rows.remove(index), self.targets.remove(index))
    }

    /// Adds a row of weight 1 at the end.
    pub fn push(&mut self, row: Vec<f64>, target: f64) {
        if !self.row_weights.is_empty() {
            self.row_weights.push(1.0);
        }
        self.rows.push(row);
        self.targets.push(target);
    }

    /// L_b(w).
    pub fn value<W: Copy + Into<DoubleDouble>>(&self, weights: &[W]) -> DoubleDouble {
        let losses: DoubleDouble =
            self.examples().map(|(row, target, s)| self.loss.value_at(&scores(row, weights), target) * s).sum();
        let ridge = self.ridge() * dot(weights, weights) * 0.5;
        let perturbed: DoubleDouble = self.perturbation.iter().zip(weights).map(|(&b, &w)| b * w.into()).sum();
        losses + ridge + perturbed
    }

    /// ∇L_b(w) = Σ s_i ℓ′ x_i + λ n w + b; Σ s_i ∇ℓ ⊗ x_i + λ n w + b.
    pub fn gradient<W: Copy + Into<DoubleDouble>>(&self, weights: &[W]) -> Vec<DoubleDouble> {
        let mut gradient: Vec<DoubleDouble> = weights.iter().map(|&w| self.ridge() * w.into()).collect();
        for (component, &b) in gradient.iter_mut().zip(&self.perturbation) {
            *component += b;
        }
        for (row, target, s) in self.examples() {
            let slopes = self.loss.slopes_at(&scores(row, weights), target);
            for (slope, gradient) in slopes.into_iter().zip(gradient.chunks_exact_mut(row.len())) {
                add_scaled(gradient, slope * s, row);
            }
        }
        gradient
    }

    /// ‖∇L_b(w)‖₂, rounded to the nearest double.
    ///
    /// The error before that rounding is near 1e-30 times [`Self::gradient_scale`].
    pub fn gradient_norm<W: Copy + Into<DoubleDouble>>(&self, weights: &[W]) -> f64 {
        norm(&self.gradient(weights)).to_f64()
    }

    /// Size of the terms that the gradient adds up: `Σ s_i |ℓ′| ‖x_i‖ + λ n ‖w‖ + ‖b‖`.
    pub fn gradient_scale<W: Copy + Into<DoubleDouble>>(&self, weights: &[W]) -> f64 {
        let slopes: f64 = self
            .examples()
            .map(|(row, target, s)| {
                (norm(&self.loss.slopes_at(&scores(row, weights), target)) * norm(row) * s).to_f64()
            })
            .sum();
        slopes + (self.ridge() * norm(weights)).to_f64() + norm(&self.perturbation).to_f64()
    }

    /// ∇²L(w) = Σ s_i ℓ″ x_i x_iᵀ + λ n I, as full rows; Σ s_i ∇²ℓ ⊗ x_i x_iᵀ + λ n I where there are several scores.
    pub fn hessian<W: Copy + Into<DoubleDouble>>(&self, weights: &[W]) -> Vec<Vec<DoubleDouble>> {
        let dim = weights.len();
        let mut hessian = vec![vec![DoubleDouble::ZERO; dim]; dim];
        for (row, target, s) in self.examples() {
            let (d, curvatures) = (row.len(), self.loss.curvatures_at(&scores(row, weights), target));
            for (i, hessian_row) in hessian.iter_mut().enumerate() {
                // Blocks of the classes up to that of the row: the upper triangle is never read.
                for (curvature, entries) in
                    curvatures[i / d].iter().zip(hessian_row.chunks_exact_mut(d)).take(i / d + 1)
                {
                    add_scaled(entries, *curvature * s * row[i % d], row);
                }
            }
        }
        let ridge = self.ridge();
        let entry = |i: usize, j: usize| {
            let sum = hessian[i.max(j)][i.min(j)];
            if i == j { sum + ridge } else { sum }
        };
        (0..dim).map(|i| (0..dim).map(|j| entry(i, j)).collect()).collect()
    }

    /// argmin L_b, by Newton's method with backtracking.
    ///
    /// # Panics
    ///
    /// When the gradient does not come below 1e-26 of [`Self::gradient_scale`], as with λ = 0 and no minimum.
    pub fn minimizer(&self) -> Vec<DoubleDouble> {
        let mut weights = vec![DoubleDouble::ZERO; self.dim()];
        let mut gradient = self.gradient(&weights);
        for _ in 0..MAX_NEWTON_STEPS {
            if norm(&gradient).to_f64() <= 1e-30 * self.gradient_scale(&weights) {
                break;
            }
            let Some(step) = solve_positive_definite(&self.hessian(&weights), &gradient) else { break };
            let Some(next) = self.backtrack(&weights, &gradient, &step) else { break };
            weights = next;
            gradient = self.gradient(&weights);
        }
        let (left, scale) = (norm(&gradient).to_f64(), self.gradient_scale(&weights));
        assert!(left <= 1e-26 * scale, "the reference did not converge: gradient {left:e}, scale {scale:e}");
        weights
    }

    /// ‖w − argmin L_b‖₂. To measure several w, keep [`Self::minimizer`] and use [`distance_to`].
    pub fn distance(&self, weights: &[f64]) -> f64 {
        distance_to(&self.minimizer(), weights)
    }

    /// The first of w − v, w − v/2, w − v/4, … with a halved gradient or a sufficiently smaller objective.
    ///
    /// The first test decides near the minimum, where changes of the objective drown in rounding.
    fn backtrack(
        &self,
        weights: &[DoubleDouble],
        gradient: &[DoubleDouble],
        step: &[DoubleDouble],
    ) -> Option<Vec<DoubleDouble>> {
        let (value, gradient_norm, descent) = (self.value(weights), norm(gradient), dot(gradient, step));
        (0..MAX_HALVINGS).find_map(|halvings| {
            let length = 0.5_f64.powi(halvings);
            let mut candidate = weights.to_vec();
            add_scaled(&mut candidate, (-length).into(), step);
            let candidate_value = self.value(&candidate);
            let halved = || norm(&self.gradient(&candidate)) * 2.0 <= gradient_norm;
            // A smaller gradient further uphill would lead in circles.
            let uphill = candidate_value > value + value.abs() * 1e-28;
            let accepted = candidate_value < value - descent * (1e-4 * length) || !uphill && halved();
            accepted.then_some(candidate)
        })
    }

    /// λ n + α.
    fn ridge(&self) -> DoubleDouble {
        let n = match &self.row_weights[..] {
            [] => DoubleDouble::from(self.n_rows() as f64),
            weights => weights.iter().map(|s| DoubleDouble::from(*s)).sum(),
        };
        n * self.l2_per_row + self.total_ridge
    }

    /// Row, target and weight of each.
    fn examples(&self) -> impl Iterator<Item = (&Vec<f64>, f64, f64)> {
        let weight = |i: usize| self.row_weights.get(i).copied().unwrap_or(1.0);
        self.rows.iter().zip(&self.targets).enumerate().map(move |(i, (row, target))| (row, *target, weight(i)))
    }
}

/// wᵀx for the weights of each score.
fn scores<W: Copy + Into<DoubleDouble>>(row: &[f64], weights: &[W]) -> Vec<DoubleDouble> {
    weights.chunks_exact(row.len()).map(|weights| dot(row, weights)).collect()
}

/// ‖w − minimizer‖₂.
pub fn distance_to(minimizer: &[DoubleDouble], weights: &[f64]) -> f64 {
    let difference: Vec<DoubleDouble> = minimizer.iter().zip(weights).map(|(&m, &w)| w - m).collect();
    norm(&difference).to_f64()
}

const MAX_NEWTON_STEPS: usize = 200;
const MAX_HALVINGS: i32 = 60;

#[cfg(test)]
mod tests;
