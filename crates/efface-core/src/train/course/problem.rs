//! One problem's way to its minimiser, a question about the rows at a time.

use std::sync::Arc;

use super::{CourseError, Means, Route};
use crate::curvature::Dense;
use crate::linalg::{Cholesky, TrackedMatrix};
use crate::model::Fit;
use crate::objective::Measurement;
use crate::rows::{Point, WeightSum};
use crate::secret::SecretVector;
use crate::train::{Lbfgs, Polish};

/// L-BFGS hands over to Newton when the gradient has shrunk to this fraction of its start: the Hessian is then close
/// to the one at the end, and Newton's steps on it gain two to three digits each …
const HANDOVER: f64 = 1e-5;

/// … or after so many passes.
const ROUGH_PASSES: usize = 60;

/// Where Newton's steps fail in settling, L-BFGS takes over until the gradient has shrunk to this fraction …
const FAR: f64 = 1e-3;

/// … or for so many passes.
const DESCENT_PASSES: usize = 100;

/// Passes that L-BFGS may take alone, or steps on one factor.
const MAX_PASSES: usize = 20_000;

/// The same in settling.
const SETTLING_PASSES: usize = 5_000;

/// Hessians that may be formed for one problem, in training …
const TRAINING_HESSIANS: usize = 30;

/// … and in settling.
const SETTLING_HESSIANS: usize = 10;

/// Where one problem is on its way.
pub(super) struct Course<'a> {
    pub(super) route: &'a Route<'a>,
    fit: &'a Fit,
    pub(super) stage: Stage,
    /// Where it stands between two stages.
    pub(super) at: Option<(SecretVector, Measurement)>,
    preconditioner: Option<Preconditioner>,
    /// Formed on the way.
    curvature: Option<Dense>,
    hessians: usize,
}

pub(super) enum Stage {
    /// Nothing is known yet.
    Begin,
    /// A majorizer is to be formed.
    Majorize,
    Descend(Lbfgs),
    Polish(Polish),
    /// A Hessian is to be formed where the course stands.
    Form,
    Done,
}

/// The factor of a nearby matrix, or of a multiple of it.
#[derive(Clone)]
struct Preconditioner {
    factor: Arc<Cholesky>,
    divisor: f64,
}

impl Preconditioner {
    fn apply(&self, v: &mut [f64]) {
        // One block for every class of a joint problem, where the factor is of one class.
        v.chunks_exact_mut(self.factor.dim()).for_each(|block| self.factor.solve(block));
        if self.divisor != 1.0 {
            for x in v {
                *x /= self.divisor;
            }
        }
    }
}

/// Multiplies by an approximate inverse Hessian where there is one.
fn apply(preconditioner: Option<&Preconditioner>, v: &mut [f64]) -> bool {
    preconditioner.inspect(|preconditioner| preconditioner.apply(v)).is_some()
}

impl<'a> Course<'a> {
    pub(super) fn new(route: &'a Route<'a>, fit: &'a Fit) -> Self {
        let preconditioner = match (route.means, &fit.curvature) {
            // Rows may have left since the factor at hand was made.
            (Means::Nearby { .. }, Some(curvature)) => {
                let factor = curvature.factor_for(route.objective.ridge.over(fit.count.weight_sum));
                Some(Preconditioner { factor, divisor: 1.0 })
            }
            _ => None,
        };
        Self { route, fit, stage: Stage::Begin, at: None, preconditioner, curvature: None, hessians: 0 }
    }

    pub(super) fn question(&self) -> Option<&[f64]> {
        match &self.stage {
            Stage::Begin => Some(&self.fit.weights),
            Stage::Descend(descent) => descent.question(),
            Stage::Polish(polish) => polish.question(),
            Stage::Majorize | Stage::Form | Stage::Done => None,
        }
    }

    /// The point that is asked about, with the fit's perturbation.
    pub(super) fn asked(&self) -> Option<(Point<'_>, Option<&[f64]>)> {
        let point = Point { problem: &self.fit.problem, weights: self.question()? };
        Some((point, self.fit.perturbation.as_deref()))
    }

    /// The point that the course stands at between two stages.
    pub(super) fn standing(&self) -> Option<Point<'_>> {
        self.at.as_ref().map(|(weights, _)| Point { problem: &self.fit.problem, weights })
    }

    pub(super) fn gradient_norm(&self) -> f64 {
        match &self.stage {
            Stage::Descend(descent) => descent.gradient_norm(),
            Stage::Polish(polish) => polish.gradient_norm(),
            _ => self.at.as_ref().map_or(0.0, |(_, at)| at.residual().get()),
        }
    }

    /// Goes on from what was measured at the question.
    pub(super) fn tell(&mut self, answer: Measurement) -> Result<(), CourseError> {
        let preconditioner = self.preconditioner.as_ref();
        match &mut self.stage {
            Stage::Begin => self.begin(answer)?,
            Stage::Descend(descent) => descent.tell(answer, |v| apply(preconditioner, v)),
            Stage::Polish(polish) => polish.tell(answer, |v| _ = apply(preconditioner, v)),
            Stage::Majorize | Stage::Form | Stage::Done => {}
        }
        self.leave();
        Ok(())
    }

    fn begin(&mut self, at: Measurement) -> Result<(), CourseError> {
        let is_training = !matches!(self.route.means, Means::Nearby { .. });
        if is_training && at.count.weight_sum == WeightSum::ZERO {
            return Err(CourseError::NoRows);
        }
        self.at = Some((self.fit.weights.clone(), at));
        match (self.route.means, &self.preconditioner) {
            (Means::Majorizer { .. }, _) | (Means::Nearby { gram: Some(_) }, None) => self.stage = Stage::Majorize,
            (Means::Nearby { .. }, Some(_)) => self.polish(),
            (Means::Nearby { gram: None }, None) => self.descend(0.0, SETTLING_PASSES),
            (Means::Descent, _) => self.descend(0.0, MAX_PASSES),
        }
        Ok(())
    }

    /// L-BFGS on the factor of a majorizer, times `divisor`.
    pub(super) fn majorize(&mut self, factor: Arc<Cholesky>, divisor: f64) {
        self.preconditioner = Some(Preconditioner { factor, divisor });
        if self.has_matrix() { self.descend(HANDOVER, ROUGH_PASSES) } else { self.descend(0.0, MAX_PASSES) }
    }

    /// Whether a Hessian is formed for the problem.
    fn has_matrix(&self) -> bool {
        self.n_weights() <= self.route.max_matrix_dim
    }

    pub(super) fn n_weights(&self) -> usize {
        self.fit.weights.len()
    }

    /// L-BFGS from here until the gradient is a fraction of what it is now, or within the tolerance.
    fn descend(&mut self, fraction: f64, max_passes: usize) {
        let Some((weights, at)) = self.at.take() else { return };
        // Below half its rounding error a gradient has little left to say.
        let tolerance = (0.5 * self.route.tolerance).max(fraction * at.residual().get()).max(0.5 * at.error.get());
        let preconditioner = self.preconditioner.as_ref();
        self.stage = Stage::Descend(Lbfgs::start(weights, at, tolerance, max_passes, |v| apply(preconditioner, v)));
        self.leave();
    }

    /// Newton steps on the factor at hand.
    fn polish(&mut self) {
        let Some((weights, at)) = self.at.take() else { return };
        let max_passes = if matches!(self.route.means, Means::Nearby { .. }) { SETTLING_PASSES } else { MAX_PASSES };
        let (tolerance, preconditioner) = (self.route.tolerance, self.preconditioner.as_ref());
        let solve = |v: &mut [f64]| _ = apply(preconditioner, v);
        self.stage = Stage::Polish(Polish::start(weights, at, tolerance, max_passes, solve));
        self.leave();
    }

    /// Goes on to the next stage where the present one has no question left.
    fn leave(&mut self) {
        if self.question().is_some() {
            return;
        }
        match std::mem::replace(&mut self.stage, Stage::Done) {
            Stage::Descend(descent) => {
                self.at = Some(descent.end());
                if self.preconditioner.is_some() && self.has_matrix() {
                    self.stage = Stage::Form;
                }
            }
            Stage::Polish(polish) => {
                let converged = polish.converged();
                self.at = Some(polish.end());
                match self.route.means {
                    _ if converged => {}
                    Means::Nearby { .. } if self.hessians == SETTLING_HESSIANS => {}
                    Means::Nearby { .. } if self.hessians > 0 => {
                        // A full step on a fresh Hessian gains too little: far from the minimiser the objective leads, not the
                        // gradient.
                        self.descend(FAR, DESCENT_PASSES);
                    }
                    Means::Majorizer { .. } if self.hessians == TRAINING_HESSIANS => {}
                    _ => self.stage = Stage::Form,
                }
            }
            stage => self.stage = stage,
        }
    }

    /// The Gram matrix, where it is the Hessian everywhere.
    pub(super) fn gram(&self) -> Option<&'a TrackedMatrix> {
        let loss = self.route.objective.loss;
        let constant = loss.curvature_lipschitz() == 0.0 && loss.curvature_bound() == 1.0;
        match self.route.means {
            Means::Majorizer { gram } if constant && self.fit.problem.negatives.is_none() => Some(gram),
            _ => None,
        }
    }

    /// Goes on with the Hessian where the course stands.
    pub(super) fn take_hessian(&mut self, hessian: TrackedMatrix) -> Result<(), CourseError> {
        let Some((weights, at)) = &self.at else { return Ok(()) };
        let ridge = self.route.objective.ridge.over(at.count.weight_sum);
        self.hessians += 1;
        let Some(curvature) = Dense::new(weights.clone(), hessian, ridge) else {
            // In settling the Hessian at hand still holds.
            self.stage = Stage::Done;
            return if matches!(self.route.means, Means::Nearby { .. }) { Ok(()) } else { Err(CourseError::Singular) };
        };
        self.preconditioner = Some(Preconditioner { factor: curvature.factor(), divisor: 1.0 });
        self.curvature = Some(curvature);
        self.polish();
        Ok(())
    }

    pub(super) fn arrival(self) -> Arrival {
        let factor = self.preconditioner.map(|preconditioner| preconditioner.factor);
        Arrival { at: self.at, curvature: self.curvature, factor }
    }
}

/// Where a course ended.
pub(super) struct Arrival {
    at: Option<(SecretVector, Measurement)>,
    curvature: Option<Dense>,
    factor: Option<Arc<Cholesky>>,
}

impl Arrival {
    pub(super) fn enter(self, fit: &mut Fit) {
        if let Some((weights, measurement)) = self.at {
            fit.weights = weights;
            fit.accept(measurement);
        }
        match (self.curvature, &mut fit.curvature, self.factor) {
            (Some(curvature), fits, _) => *fits = Some(curvature),
            (None, Some(curvature), Some(factor)) => curvature.set_factor(factor),
            _ => {}
        }
    }
}
