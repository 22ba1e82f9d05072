//! L-BFGS on the objective of a fit, from its current weights.

use super::lbfgs::{Lbfgs, Progress};
use crate::model::Fit;
use crate::objective::Objective;
use crate::rows::{Point, RowStore, StoreError};

/// How far to go.
pub(crate) struct Descent {
    /// Stop when the gradient's norm is at most this.
    pub(crate) tolerance: f64,
    /// Stop after this many passes over the rows.
    pub(crate) max_passes: usize,
}

impl Descent {
    /// Moves the weights downhill and measures where they end; passes over the rows that it took. `precondition`
    /// multiplies by an approximate inverse Hessian, or returns `false` where there is none.
    pub(crate) fn run(
        &self,
        objective: &Objective<'_>,
        rows: &dyn RowStore,
        fit: &mut Fit,
        precondition: impl Fn(&mut [f64]) -> bool,
        mut report: impl FnMut(Progress),
    ) -> Result<usize, StoreError> {
        let problem = fit.problem.clone();
        let perturbation = fit.perturbation.as_deref();
        let solver = Lbfgs { tolerance: self.tolerance, max_evaluations: self.max_passes };
        let done = solver.run(
            &mut fit.weights,
            |weights| {
                let at = objective.measure(rows, &Point { problem: &problem, weights }, perturbation)?;
                Ok::<_, StoreError>((at.value, at.gradient.to_vec()))
            },
            precondition,
            |progress| {
                report(progress);
                true
            },
        )?;
        fit.measure(objective, rows)?;
        Ok(done.evaluations + 1)
    }
}
