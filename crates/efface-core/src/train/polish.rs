//! Newton steps on a factor that is at hand: the end of training, and all of settling.
//!
//! ```text
//! w ← w − S⁻¹ ∇L_b(w; D)
//! ```
//!
//! Each step is one pass over the rows. With S near the Hessian the residual shrinks a hundredfold and more per pass
//! (docs/theory.md); the caller is told when it does not, and forms a new S.

use crate::linalg::{Cholesky, kernel};
use crate::objective::{Measurement, Objective};
use crate::rounding::norm;
use crate::rows::{Point, Problem, RowStore, StoreError};
use crate::secret::SecretVector;

/// Where polishing ended.
pub(crate) struct Polished {
    /// The objective measured at the final weights.
    pub(crate) measurement: Measurement,
    /// Passes over the rows.
    pub(crate) passes: usize,
    /// Whether the residual is within the tolerance, or as small as rounding lets it be measured.
    pub(crate) converged: bool,
}

/// A pass that does not shrink the gradient at least by this factor asks for a new factor.
const SLOW: f64 = 0.5;

/// Steps until the residual is at most `tolerance`, until rounding hides all progress, or until a pass gains too little.
#[expect(clippy::too_many_arguments, reason = "one call site per phase; the parts have no meaning as a group")]
pub(crate) fn polish(
    objective: &Objective<'_>,
    rows: &dyn RowStore,
    problem: &Problem,
    perturbation: Option<&[f64]>,
    factor: &Cholesky,
    weights: &mut [f64],
    tolerance: f64,
    max_passes: usize,
) -> Result<Polished, StoreError> {
    let mut measurement = objective.measure(rows, &Point { problem, weights }, perturbation)?;
    let mut passes = 1;
    loop {
        let size = norm(&measurement.gradient).get();
        let floor = measurement.error.get();
        // Below a tenth of its own rounding error a gradient has nothing left to say.
        let converged = size + floor <= tolerance || size <= 0.1 * floor;
        if converged || passes >= max_passes {
            return Ok(Polished { measurement, passes, converged });
        }
        let mut step = measurement.gradient.clone();
        factor.solve(&mut step);
        let before = SecretVector::from(weights.to_vec());
        let mut length = 1.0;
        let next = loop {
            weights.copy_from_slice(&before);
            kernel::axpy(-length, &step, weights);
            let next = objective.measure(rows, &Point { problem, weights }, perturbation)?;
            passes += 1;
            if norm(&next.gradient) < norm(&measurement.gradient) || passes >= max_passes {
                break Some(next);
            }
            length *= 0.25;
            if length < 1e-3 {
                break None;
            }
        };
        let gained = next.filter(|next| norm(&next.gradient).get() < size);
        let Some(next) = gained else {
            weights.copy_from_slice(&before);
            return Ok(Polished { measurement, passes, converged: size <= floor });
        };
        let slow = norm(&next.gradient).get() > SLOW * size;
        measurement = next;
        if slow {
            let converged =
                measurement.residual().get() <= tolerance || norm(&measurement.gradient) <= measurement.error;
            return Ok(Polished { measurement, passes, converged });
        }
    }
}
