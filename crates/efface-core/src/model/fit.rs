//! The secret state of one binary or regression problem: weights, what is known of their gradient, and the curvature
//! that the next removal will use.

use crate::curvature::Dense;
use crate::objective::{Measurement, Objective};
use crate::residual::measured;
use crate::rounding::UpperBound;
use crate::rows::{Point, Problem, RowCount};
use crate::secret::SecretVector;

/// Weights of one problem with a verified bound on their gradient.
///
/// Invariant: `‖∇L_b(weights; D) − gradient‖ ≤ gradient_error` for the rows D now present.
#[derive(Clone, Debug)]
pub struct Fit {
    /// Which rows count, and with which target.
    pub problem: Problem,
    /// n: rows of the problem that are present, and what they weigh.
    pub count: RowCount,
    /// w; of a joint problem, class after class.
    pub weights: SecretVector,
    /// b, under mechanism `objective`.
    pub perturbation: Option<SecretVector>,
    /// The known part of the gradient at `weights`.
    pub gradient: SecretVector,
    /// Bound on the unknown part.
    pub gradient_error: UpperBound,
    /// Hessian for the next step; `None` when there are too many features for a matrix.
    pub curvature: Option<Dense>,
}

impl Fit {
    /// d: how many weights a score has.
    pub(crate) fn dim(&self) -> usize {
        self.weights.len() / self.problem.n_scores().max(1)
    }

    /// Upper bound of `‖∇L_b(w; D)‖`.
    pub fn residual(&self) -> UpperBound {
        measured(&self.gradient, self.gradient_error)
    }

    /// Upper bound of `‖w − w*(D)‖`, by strong convexity: the residual over λn.
    pub fn distance_bound(&self, objective: &Objective<'_>) -> UpperBound {
        self.residual().over(objective.ridge.lower(self.count.weight_sum))
    }

    /// Takes over what was measured at the current weights.
    pub(crate) fn accept(&mut self, measurement: Measurement) {
        self.count = measurement.count;
        self.gradient_error = measurement.error;
        self.gradient = measurement.gradient;
    }

    /// Where the fit is, with its perturbation.
    pub(crate) fn point(&self) -> (Point<'_>, Option<&[f64]>) {
        (Point { problem: &self.problem, weights: &self.weights }, self.perturbation.as_deref())
    }
}
