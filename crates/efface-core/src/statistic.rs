//! Sums over rows: values with `merge`, taken at a point, with a bound on their own rounding error.

use crate::loss::{EVALUATION_ROUNDING, Loss};
use crate::rounding::{UpperBound, operations};
use crate::rows::RowCount;
use crate::rows::fold::least_size;
use crate::secret::SecretVector;

/// `Σ s_i ℓ` and `Σ s_i ∇ℓ` over the rows of a problem, at one point.
#[derive(Clone, Debug, PartialEq)]
pub struct GradientSum {
    /// Rows that took part.
    pub count: RowCount,
    /// `Σ s_i ℓ(wᵀx_i, y_i)`.
    pub value: f64,
    /// `Σ s_i ℓ′(wᵀx_i, y_i) x_i`. For one row it is a multiple of the row.
    pub gradient: SecretVector,
    /// `Σ s_i |ℓ′|`.
    pub(crate) slope_size: f64,
    /// `Σ s_i ℓ″`.
    pub(crate) curvature_size: f64,
    /// Longest chain of rounded operations behind one number of `gradient`.
    pub(crate) depth: usize,
}

impl GradientSum {
    /// The empty sum.
    pub(crate) fn zeros(dim: usize) -> Self {
        Self {
            count: RowCount::default(),
            value: 0.0,
            gradient: SecretVector::zeros(dim),
            slope_size: 0.0,
            curvature_size: 0.0,
            depth: 0,
        }
    }

    /// Adds the sum over other rows at the same point.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.count.merge(&other.count);
        self.value += other.value;
        self.slope_size += other.slope_size;
        self.curvature_size += other.curvature_size;
        for (mine, theirs) in self.gradient.iter_mut().zip(&*other.gradient) {
            *mine += theirs;
        }
        self.depth = self.depth.max(other.depth) + 1;
    }

    /// Bound on the Euclidean distance between `gradient` and the exact sum.
    ///
    /// ```text
    /// e         = γ_dot · R · ‖w‖                                        error of one margin
    /// |δ slope| ≤ (ℓ″ + γ e) e + 17u |ℓ′|                                ℓ″ is γ-Lipschitz; one u for the weight
    /// ‖error‖   ≤ R Σ s |δ slope| + γ_depth · R Σ s |ℓ′|
    /// ```
    ///
    /// `margin_depth`: longest chain of rounded operations behind a margin.
    pub(crate) fn rounding(
        &self,
        loss: &dyn Loss,
        row_norm: UpperBound,
        weights_norm: UpperBound,
        margin_depth: usize,
    ) -> UpperBound {
        if self.count.n_rows == 0 {
            return UpperBound::ZERO;
        }
        let n = self.count.weight_sum.upper();
        let margin_error = operations(margin_depth) * row_norm * weights_norm;
        // The plain sums of non-negative numbers are themselves rounded; one part in a million covers 10⁹ terms.
        let safely = UpperBound::new(1.000_001);
        let tiny = least_size(&self.count);
        let slope_size = UpperBound::new(self.slope_size) * safely + tiny;
        let curvature_size = UpperBound::new(self.curvature_size) * safely + tiny;
        let lipschitz = UpperBound::new(loss.curvature_lipschitz());
        let from_margins = (curvature_size + n * lipschitz * margin_error) * margin_error;
        let from_slopes = (operations(EVALUATION_ROUNDING + 1) + operations(self.depth)) * slope_size;
        row_norm * (from_margins + from_slopes + tiny)
    }
}

/// Powers of the margins' change `t_i = x_iᵀ v` along a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepPowers {
    /// Rows that took part.
    pub count: RowCount,
    /// `Σ s_i t_i⁴`.
    pub fourth_powers: f64,
}

impl StepPowers {
    /// Adds the powers of other rows along the same step.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.count.merge(&other.count);
        self.fourth_powers += other.fourth_powers;
    }

    /// Upper bound of `√(Σ s_i t_i⁴)` for the exact changes, given the error `e` of each computed one:
    /// `√(Σ s (|t| + e)⁴) ≤ (‖s^¼ t‖₄ + (Σ s)^¼ e)²` by the triangle inequality in ℓ⁴.
    pub(crate) fn root_of_fourth_powers(&self, margin_error: UpperBound) -> UpperBound {
        let safely = UpperBound::new(1.000_001);
        let n = self.count.weight_sum.upper();
        let tiny = least_size(&self.count);
        let norm = (UpperBound::new(self.fourth_powers) * safely + tiny).sqrt().sqrt();
        (norm + n.sqrt().sqrt() * margin_error).squared()
    }
}
