//! Sums over rows: values with `merge`, taken at a point, with a bound on their own rounding error.

use crate::loss::{EVALUATION_ROUNDING, Loss};
use crate::rounding::{UpperBound, operations};
use crate::secret::SecretVector;

/// `Σ ℓ` and `Σ ∇ℓ` over the rows of a problem, at one point.
#[derive(Clone, Debug, PartialEq)]
pub struct GradientSum {
    /// Rows that took part.
    pub n_rows: usize,
    /// `Σ ℓ(wᵀx_i, y_i)`.
    pub value: f64,
    /// `Σ ℓ′(wᵀx_i, y_i) x_i`. For one row it is a multiple of the row.
    pub gradient: SecretVector,
    /// `Σ |ℓ′|`.
    pub(crate) slope_size: f64,
    /// `Σ ℓ″`.
    pub(crate) curvature_size: f64,
    /// Longest chain of rounded operations behind one number of `gradient`.
    pub(crate) depth: usize,
}

impl GradientSum {
    /// The empty sum.
    pub(crate) fn zeros(dim: usize) -> Self {
        Self {
            n_rows: 0,
            value: 0.0,
            gradient: SecretVector::zeros(dim),
            slope_size: 0.0,
            curvature_size: 0.0,
            depth: 0,
        }
    }

    /// Adds the sum over other rows at the same point.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.n_rows += other.n_rows;
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
    /// |δ slope| ≤ (ℓ″ + γ e) e + 16u |ℓ′|                                ℓ″ is γ-Lipschitz
    /// ‖error‖   ≤ R Σ |δ slope| + γ_depth · R Σ |ℓ′|
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
        if self.n_rows == 0 {
            return UpperBound::ZERO;
        }
        let n = UpperBound::count(self.n_rows);
        let margin_error = operations(margin_depth) * row_norm * weights_norm;
        // The plain sums of non-negative numbers are themselves rounded; one part in a million covers 10⁹ terms.
        let safely = UpperBound::new(1.000_001);
        let tiny = n * UpperBound::new(f64::MIN_POSITIVE);
        let slope_size = UpperBound::new(self.slope_size) * safely + tiny;
        let curvature_size = UpperBound::new(self.curvature_size) * safely + tiny;
        let lipschitz = UpperBound::new(loss.curvature_lipschitz());
        let from_margins = (curvature_size + n * lipschitz * margin_error) * margin_error;
        let from_slopes = (operations(EVALUATION_ROUNDING) + operations(self.depth)) * slope_size;
        row_norm * (from_margins + from_slopes + tiny)
    }
}

/// Powers of the margins' change `t_i = x_iᵀ v` along a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepPowers {
    /// Rows that took part.
    pub n_rows: usize,
    /// `Σ t_i⁴`.
    pub fourth_powers: f64,
}

impl StepPowers {
    /// Adds the powers of other rows along the same step.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.n_rows += other.n_rows;
        self.fourth_powers += other.fourth_powers;
    }

    /// Upper bound of `√(Σ t_i⁴)` for the exact changes, given the error `e` of each computed one:
    /// `√(Σ (|t| + e)⁴) ≤ (‖t‖₄ + n^¼ e)²` by the triangle inequality in ℓ⁴.
    pub(crate) fn root_of_fourth_powers(&self, margin_error: UpperBound) -> UpperBound {
        let safely = UpperBound::new(1.000_001);
        let n = UpperBound::count(self.n_rows);
        let tiny = n * UpperBound::new(f64::MIN_POSITIVE);
        let norm = (UpperBound::new(self.fourth_powers) * safely + tiny).sqrt().sqrt();
        (norm + n.sqrt().sqrt() * margin_error).squared()
    }
}
