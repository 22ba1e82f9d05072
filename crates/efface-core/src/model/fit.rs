//! The secret state of one binary or regression problem: weights, what is known of their gradient, and the curvature
//! that the next removal will use.

use crate::linalg::{Cholesky, TrackedMatrix};
use crate::objective::{Measurement, Objective};
use crate::residual::measured;
use crate::rounding::{UpperBound, norm};
use crate::rows::{Point, Problem, RowCount, RowStore, StoreError};
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
    /// w.
    pub weights: SecretVector,
    /// b, under mechanism `objective`.
    pub perturbation: Option<SecretVector>,
    /// The known part of the gradient at `weights`.
    pub gradient: SecretVector,
    /// Bound on the unknown part.
    pub gradient_error: UpperBound,
    /// Hessian for the next step; `None` when there are too many features for a matrix.
    pub curvature: Option<Curvature>,
}

/// A Hessian without its ridge, taken at an earlier point, over the rows now present.
#[derive(Clone, Debug)]
pub struct Curvature {
    /// w₀: where the curvatures were taken.
    pub anchor: SecretVector,
    /// `Σ s_i ℓ″(w₀ᵀx_i, y_i) x_i x_iᵀ`.
    pub hessian: TrackedMatrix,
    /// Factor of `hessian + λn I`, possibly of a slightly larger set of rows: a preconditioner only.
    pub(crate) factor: Cholesky,
}

impl Curvature {
    /// Factorizes `hessian + ridge · I`, or that with a larger ridge where rounding has made it indefinite: the factor is a
    /// preconditioner only. `None` when the matrix is not finite.
    pub fn new(anchor: SecretVector, hessian: TrackedMatrix, ridge: f64) -> Option<Self> {
        let size = hessian.trace().get() + ridge;
        let ridges = std::iter::once(ridge).chain((0..12).map(|k| ridge + size * 10f64.powi(k - 15)));
        let factor = ridges.into_iter().find_map(|ridge| Cholesky::of(&hessian, ridge))?;
        Some(Self { anchor, hessian, factor })
    }

    /// Factorizes again for the rows now present; keeps the old factor when that fails.
    pub(crate) fn refactor(&mut self, ridge: f64) {
        if let Some(factor) = Cholesky::of(&self.hessian, ridge) {
            self.factor = factor;
        }
    }

    /// Upper bound of `‖w − w₀‖`.
    pub(crate) fn distance_from(&self, weights: &[f64]) -> UpperBound {
        let difference: Vec<f64> = weights.iter().zip(&*self.anchor).map(|(w, anchor)| w - anchor).collect();
        norm(&difference) * UpperBound::new(1.0 + f64::EPSILON)
    }
}

impl Fit {
    /// Upper bound of `‖∇L_b(w; D)‖`.
    pub fn residual(&self) -> UpperBound {
        measured(&self.gradient, self.gradient_error)
    }

    /// Upper bound of `‖w − w*(D)‖`, by strong convexity: the residual over λn.
    pub fn distance_bound(&self, objective: &Objective<'_>) -> UpperBound {
        self.residual().over(objective.strong_convexity(self.count.weight_sum))
    }

    /// Takes over what was measured at the current weights.
    pub(crate) fn accept(&mut self, measurement: Measurement) {
        self.count = measurement.count;
        self.gradient_error = measurement.error;
        self.gradient = measurement.gradient;
    }

    /// Measures the gradient at the current weights, in one pass, and takes it over.
    pub(crate) fn measure(&mut self, objective: &Objective<'_>, rows: &dyn RowStore) -> Result<(), StoreError> {
        let measurement = self.measurement(objective, rows)?;
        self.accept(measurement);
        Ok(())
    }

    /// The gradient at the current weights, in one pass.
    pub(crate) fn measurement(
        &self,
        objective: &Objective<'_>,
        rows: &dyn RowStore,
    ) -> Result<Measurement, StoreError> {
        let point = Point { problem: &self.problem, weights: &self.weights };
        objective.measure(rows, &point, self.perturbation.as_deref())
    }

    /// Forms the Hessian at the current weights. `false` when it cannot be factorized.
    pub(crate) fn anchor_here(&mut self, objective: &Objective<'_>, rows: &dyn RowStore) -> Result<bool, StoreError> {
        let point = Point { problem: &self.problem, weights: &self.weights };
        let hessian = rows.curvature(objective.loss, &[point])?.swap_remove(0).into();
        let curvature = Curvature::new(self.weights.clone(), hessian, objective.ridge(self.count.weight_sum));
        let formed = curvature.is_some();
        self.curvature = curvature;
        Ok(formed)
    }
}
