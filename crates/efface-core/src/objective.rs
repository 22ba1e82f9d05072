//! The objective that weights minimise, and its gradient measured over the rows.

use crate::linalg::kernel;
use crate::loss::Loss;
use crate::residual::measured;
use crate::ridge::Ridge;
use crate::rounding::{UpperBound, norm, operations};
use crate::rows::{Point, RowCount, RowStore, StoreError, WeightSum};
use crate::secret::SecretVector;
use crate::sums::GradientSum;

/// ```text
/// L_b(w; D) = Σ_i s_i ℓ(wᵀx_i, y_i) + (ridge / 2) ‖w‖² + bᵀw      ridge = λ n, n = Σ_i s_i; or α
/// ```
///
/// Guo et al. 2020, Section 3 (Algorithm 1 prints λn‖w‖², twice what its analysis uses), or with a [total](Ridge::Total)
/// ridge. s_i is what row i weighs, 1 unless told otherwise: a row of weight 2 is the same as two rows.
#[derive(Clone, Copy, Debug)]
pub struct Objective<'a> {
    /// ℓ.
    pub loss: &'a dyn Loss,
    /// λ or α.
    pub ridge: Ridge,
    /// Σ s_i ‖x_i‖² over all rows, at most, where that is known: most rows are far shorter than the longest may be.
    pub square_sum: Option<UpperBound>,
}

impl Objective<'_> {
    /// Upper bound of ‖∇²L‖₂ anywhere, given ‖X‖₂².
    pub(crate) fn smoothness(&self, design_norm_squared: UpperBound, n: WeightSum) -> UpperBound {
        UpperBound::new(self.loss.curvature_bound()) * design_norm_squared + self.ridge.upper(n)
    }

    /// Value and gradient at several points, each with its perturbation, in one pass over the rows.
    pub(crate) fn measure(
        &self,
        rows: &dyn RowStore,
        at: &[(Point<'_>, Option<&[f64]>)],
    ) -> Result<Vec<Measurement>, StoreError> {
        let points: Vec<Point<'_>> = at.iter().map(|(point, _)| *point).collect();
        let sums = rows.gradients(self.loss, &points)?;
        Ok(sums.into_iter().zip(at).map(|(sum, (point, b))| self.measurement(sum, point.weights, *b)).collect())
    }

    /// The sum over rows with the ridge and the perturbation.
    fn measurement(&self, sum: GradientSum, weights: &[f64], perturbation: Option<&[f64]>) -> Measurement {
        let weights_norm = sum.weights_norm();
        let mut error = sum.error_within(self.loss, self.square_sum);
        let ridge = self.ridge.over(sum.count.weight_sum);
        let mut value = sum.value + 0.5 * ridge * kernel::dot(weights, weights);
        let mut gradient = sum.gradient;
        let mut size = norm(&gradient) + UpperBound::new(ridge) * weights_norm;
        kernel::axpy(ridge, weights, &mut gradient);
        if let Some(b) = perturbation {
            value += kernel::dot(b, weights);
            size += norm(b);
            kernel::axpy(1.0, b, &mut gradient);
        }
        error += operations(5) * size;
        Measurement { count: sum.count, value, gradient, error }
    }
}

/// A measured objective: its gradient is within `error` of the exact one.
#[derive(Clone, Debug)]
pub(crate) struct Measurement {
    pub(crate) count: RowCount,
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
