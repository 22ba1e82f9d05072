//! Newton steps on a factor that is at hand: the end of training, and all of settling.
//!
//! ```text
//! w ← w − S⁻¹ ∇L_b(w; D)
//! ```
//!
//! Each step is one pass over the rows. With S near the Hessian the residual shrinks a hundredfold and more per pass
//! (docs/theory.md); the caller is told when it does not, and forms a new S.

use crate::linalg::kernel;
use crate::objective::Measurement;
use crate::rounding::norm;
use crate::secret::SecretVector;

/// Steps until the residual is at most the tolerance, until rounding hides all progress, or until a pass gains too
/// little. Asks for the objective at [`Self::question`] until it has none, and is told with [`Self::tell`].
pub(crate) struct Polish {
    tolerance: f64,
    max_passes: usize,
    passes: usize,
    weights: SecretVector,
    at: Measurement,
    /// Whether the residual is within the tolerance, or as small as rounding lets it be measured.
    converged: bool,
    step: Option<Step>,
}

struct Step {
    direction: SecretVector,
    length: f64,
    trial: SecretVector,
}

/// A pass that does not shrink the gradient at least by this factor asks for a new factor.
const SLOW: f64 = 0.5;

impl Polish {
    /// Starts at weights where the objective is measured. `solve` multiplies by S⁻¹.
    pub(crate) fn start(
        weights: SecretVector,
        at: Measurement,
        tolerance: f64,
        max_passes: usize,
        solve: impl Fn(&mut [f64]),
    ) -> Self {
        let mut polish = Self { tolerance, max_passes, passes: 1, weights, at, converged: false, step: None };
        polish.begin_step(solve);
        polish
    }

    /// Where to measure next; `None` at the end.
    pub(crate) fn question(&self) -> Option<&[f64]> {
        self.step.as_ref().map(|step| &*step.trial)
    }

    /// Goes on from what was measured at the last question.
    pub(crate) fn tell(&mut self, at: Measurement, solve: impl Fn(&mut [f64])) {
        let Some(mut step) = self.step.take() else { return };
        self.passes += 1;
        let (size, floor) = (norm(&self.at.gradient).get(), self.at.error.get());
        let next = norm(&at.gradient).get();
        if next < size {
            let slow = next > SLOW * size;
            (self.weights, self.at) = (step.trial, at);
            if slow {
                self.converged = self.at.residual().get() <= self.tolerance || norm(&self.at.gradient) <= self.at.error;
            } else {
                self.begin_step(solve);
            }
            return;
        }
        step.length *= 0.25;
        if step.length < 1e-3 || self.passes >= self.max_passes {
            self.converged = size <= floor;
        } else {
            step.look(&self.weights);
            self.step = Some(step);
        }
    }

    /// Whether the residual is within the tolerance, or as small as rounding lets it be measured.
    pub(crate) fn converged(&self) -> bool {
        self.converged
    }

    /// The weights that were reached, and the objective there.
    pub(crate) fn end(self) -> (SecretVector, Measurement) {
        (self.weights, self.at)
    }

    /// Norm of the gradient there.
    pub(crate) fn gradient_norm(&self) -> f64 {
        norm(&self.at.gradient).get()
    }

    fn begin_step(&mut self, solve: impl Fn(&mut [f64])) {
        let (size, floor) = (norm(&self.at.gradient).get(), self.at.error.get());
        // Below a tenth of its own rounding error a gradient has nothing left to say.
        self.converged = size + floor <= self.tolerance || size <= 0.1 * floor;
        if self.converged || self.passes >= self.max_passes {
            return;
        }
        let mut direction = self.at.gradient.clone();
        solve(&mut direction);
        let mut step = Step { direction, length: 1.0, trial: SecretVector::default() };
        step.look(&self.weights);
        self.step = Some(step);
    }
}

impl Step {
    fn look(&mut self, from: &SecretVector) {
        self.trial = from.clone();
        kernel::axpy(-self.length, &self.direction, &mut self.trial);
    }
}
