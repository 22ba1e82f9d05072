//! The objective that weights minimise, and its gradient measured over the rows.

use crate::linalg::kernel;
use crate::loss::Loss;
use crate::residual::measured;
use crate::rounding::{LowerBound, UpperBound, norm, operations};
use crate::rows::{Point, RowStore, StoreError};
use crate::secret::SecretVector;

/// ```text
/// L_b(w; D) = Σ_i ℓ(wᵀx_i, y_i) + (λ n / 2) ‖w‖² + bᵀw
/// ```
///
/// Guo et al. 2020, Section 3 (Algorithm 1 prints λn‖w‖², twice what its analysis uses). n is the number of rows that
/// take part.
#[derive(Clone, Copy, Debug)]
pub struct Objective<'a> {
    /// ℓ.
    pub loss: &'a dyn Loss,
    /// λ.
    pub l2_per_row: f64,
}

impl Objective<'_> {
    /// λ·n, the ridge of the objective over `n_rows` rows (within one rounding).
    pub(crate) fn ridge(&self, n_rows: usize) -> f64 {
        self.l2_per_row * n_rows as f64
    }

    /// λ·n rounded down: the objective is strongly convex with at least this modulus.
    pub(crate) fn strong_convexity(&self, n_rows: usize) -> LowerBound {
        LowerBound::new(self.l2_per_row).times(LowerBound::new(n_rows as f64))
    }

    /// Upper bound of ‖∇²L‖₂ anywhere, given ‖X‖₂².
    pub(crate) fn smoothness(&self, design_norm_squared: UpperBound, n_rows: usize) -> UpperBound {
        let ridge = UpperBound::new(self.l2_per_row) * UpperBound::count(n_rows);
        UpperBound::new(self.loss.curvature_bound()) * design_norm_squared + ridge
    }

    /// Value and gradient at a point, in one pass over the rows.
    pub(crate) fn measure(
        &self,
        rows: &dyn RowStore,
        point: &Point<'_>,
        perturbation: Option<&[f64]>,
    ) -> Result<Measurement, StoreError> {
        let sum = rows.gradients(self.loss, &[*point])?.swap_remove(0);
        let weights_norm = norm(point.weights);
        let depth = kernel::dot_depth(rows.dim());
        let mut error = sum.rounding(self.loss, rows.row_norm_bound(), weights_norm, depth);
        let ridge = self.ridge(sum.n_rows);
        let mut value = sum.value + 0.5 * ridge * kernel::dot(point.weights, point.weights);
        let mut gradient = sum.gradient;
        let mut size = norm(&gradient) + UpperBound::new(ridge) * weights_norm;
        kernel::axpy(ridge, point.weights, &mut gradient);
        if let Some(b) = perturbation {
            value += kernel::dot(b, point.weights);
            size += norm(b);
            kernel::axpy(1.0, b, &mut gradient);
        }
        error += operations(4) * size;
        Ok(Measurement { n_rows: sum.n_rows, value, gradient, error })
    }
}

/// A measured objective: its gradient is within `error` of the exact one.
#[derive(Clone, Debug)]
pub(crate) struct Measurement {
    pub(crate) n_rows: usize,
    pub(crate) value: f64,
    pub(crate) gradient: SecretVector,
    pub(crate) error: UpperBound,
}

impl Measurement {
    /// Upper bound of the norm of the exact gradient.
    pub(crate) fn residual(&self) -> UpperBound {
        measured(&self.gradient, self.error)
    }
}
