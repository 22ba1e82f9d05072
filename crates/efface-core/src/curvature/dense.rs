//! A d × d matrix and its factor.

use std::sync::Arc;

use super::Curvature;
use crate::linalg::{Cholesky, Inverse, Operator, TrackedMatrix};
use crate::rounding::{UpperBound, norm};
use crate::rows::Sign;
use crate::secret::SecretVector;
use crate::sums::GramSum;

/// A Hessian without its ridge as a matrix, taken at an earlier point, over the rows now present.
#[derive(Clone, Debug)]
pub struct Dense {
    /// w₀: where the curvatures were taken.
    pub anchor: SecretVector,
    /// `Σ s_i ℓ″(w₀ᵀx_i, y_i) x_i x_iᵀ`.
    pub hessian: TrackedMatrix,
    /// About `(hessian + λn I)⁻¹`: a preconditioner only.
    inverse: Inverse,
}

impl Dense {
    /// Factorizes `hessian + ridge · I`, or that with a larger ridge where rounding has made it indefinite: the factor is a
    /// preconditioner only. `None` when the matrix is not finite.
    pub fn new(anchor: SecretVector, hessian: TrackedMatrix, ridge: f64) -> Option<Self> {
        let size = hessian.trace().get() + ridge;
        let ridges = std::iter::once(ridge).chain((0..12).map(|k| ridge + size * 10f64.powi(k - 15)));
        let factor = ridges.into_iter().find_map(|ridge| Cholesky::of(&hessian, ridge))?;
        Some(Self { anchor, hessian, inverse: Inverse::new(Arc::new(factor)) })
    }

    /// The factor at hand.
    pub(crate) fn factor(&self) -> Arc<Cholesky> {
        Arc::clone(self.inverse.factor())
    }

    /// A factor for the rows now present, or the one at hand where that cannot be made.
    pub(crate) fn factor_for(&self, ridge: f64) -> Arc<Cholesky> {
        Cholesky::of(&self.hessian, ridge).map_or_else(|| self.factor(), Arc::new)
    }

    /// Takes another factor.
    pub(crate) fn set_factor(&mut self, factor: Arc<Cholesky>) {
        self.inverse = Inverse::new(factor);
    }
}

/// A solver that needs more iterations than this gets a fresh factor for the next step.
const REFACTOR_ABOVE: usize = 5;

/// A Hessian of one problem, and the Gram matrix that all problems share.
pub(crate) struct WithGram<'a> {
    pub(crate) dense: &'a mut Dense,
    pub(crate) gram: &'a TrackedMatrix,
}

impl Operator for WithGram<'_> {
    fn multiply(&self, ridge: f64, v: &[f64], v_norm: UpperBound, out: &mut [f64]) -> UpperBound {
        self.dense.hessian.multiply(ridge, v, v_norm, out)
    }

    fn size(&self, ridge: f64) -> UpperBound {
        self.dense.hessian.size(ridge)
    }

    fn error(&self) -> UpperBound {
        self.dense.hessian.error()
    }

    fn precondition(&mut self, v: &mut [f64]) {
        self.dense.inverse.apply(v);
    }
}

impl Curvature for WithGram<'_> {
    fn is_known(&self) -> bool {
        true
    }

    fn distance_from(&self, weights: &[f64]) -> UpperBound {
        let difference: Vec<f64> = weights.iter().zip(&*self.dense.anchor).map(|(w, anchor)| w - anchor).collect();
        norm(&difference) * UpperBound::new(1.0 + f64::EPSILON)
    }

    fn image_norm(&self, v: &[f64], v_norm: UpperBound) -> UpperBound {
        let dim = self.gram.dim();
        if v.len() == dim {
            return self.gram.quadratic_form(v, v_norm).sqrt();
        }
        // ‖X V‖² over the classes of a joint problem.
        v.chunks_exact(dim).map(|v| self.gram.quadratic_form(v, norm(v))).sum::<UpperBound>().sqrt()
    }

    fn update(&mut self, sum: &GramSum, sign: Sign) {
        self.dense.hessian.update(sum, sign).expect("sums are asked for at the anchor");
        if let Some(rows) = sum.listed() {
            self.dense.inverse.update(rows, sign);
        }
    }

    fn is_worn(&self, iterations: usize) -> bool {
        iterations > REFACTOR_ABOVE || self.dense.inverse.is_long()
    }

    fn refresh(&mut self, ridge: f64) {
        self.dense.set_factor(self.dense.factor_for(ridge));
    }
}
