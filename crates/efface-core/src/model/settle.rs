//! Settling: a few passes over the rows turn a bound into a measurement, and the model into the retrained one.

use super::{Claim, Fit, Model};
use crate::exact::ExactSums;
use crate::objective::Objective;
use crate::residual::Rung;
use crate::rounding::{LowerBound, UpperBound, norm, operations};
use crate::rows::{RowStore, StoreError};
use crate::train::{Descent, polish};

/// What settling did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settled {
    /// Passes over the rows, over all problems.
    pub passes: usize,
    /// Hessians that had to be formed because a step on the old one gained too little.
    pub hessians: usize,
    /// What is claimed now.
    pub claim: Claim,
}

/// What one pass over the rows proves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The exact residual is no smaller than this.
    pub residual_at_least: LowerBound,
    /// What may be claimed.
    pub claim: Claim,
}

/// Hessians that may be formed while settling one problem.
const MAX_HESSIANS: usize = 10;

const MAX_PASSES: usize = 5_000;

/// Where Newton's steps fail, L-BFGS takes over until the gradient has shrunk to this fraction …
const FAR: f64 = 1e-3;

/// … or for so many passes.
const DESCENT_PASSES: usize = 100;

impl Model {
    /// What one pass over the rows proves of the weights as they are, whatever is claimed of them. Nothing is changed.
    ///
    /// The exact residual lies between the two ends of the measured one: a claim below the lower end is wrong.
    pub fn measure(&self, rows: &dyn RowStore) -> Result<Measured, StoreError> {
        if let Some(sums) = &self.state.sums {
            return self.measure_sums(sums, rows);
        }
        let objective = self.plan.objective();
        let (mut least, mut residuals, mut distances) = (0.0, UpperBound::ZERO, UpperBound::ZERO);
        for fit in &self.state.fits {
            let measurement = fit.measurement(&objective, rows)?;
            let computed = norm(&measurement.gradient);
            // `computed` is rounded up by some n + 2 units at most: twice that is taken off.
            let slack = computed * operations(2 * measurement.gradient.len() + 8) + measurement.error;
            let lower = LowerBound::new(computed.get()).minus(slack);
            least += lower.times(lower).get();
            let residual = computed + measurement.error;
            residuals += residual.squared();
            distances += residual.over(objective.strong_convexity(measurement.count.weight_sum)).squared();
        }
        let claim =
            Claim { gradient_residual: residuals.sqrt(), distance_bound: distances.sqrt(), rung: Rung::Measured };
        let rounding = operations(self.state.fits.len() + 2).get();
        Ok(Measured { residual_at_least: LowerBound::new(f64::sqrt(least) * (1.0 - rounding)), claim })
    }

    /// Measures the residual and steps until it is at most `tolerance` (`None`: the plan's), or as small as rounding
    /// allows.
    ///
    /// Every decision uses the secret weights and the rows only, never a released model.
    pub fn settle(&mut self, rows: &dyn RowStore, tolerance: Option<f64>) -> Result<Settled, StoreError> {
        if let Some(sums) = &mut self.state.sums {
            let passes = sums.refresh(rows)?;
            return Ok(Settled { passes, hessians: 0, claim: self.claim() });
        }
        let objective = self.plan.objective();
        let tolerance = tolerance.unwrap_or(self.plan.config().gradient_tolerance);
        // Each of K problems may leave its share: √(Σ tolerance²/K) = tolerance.
        let share = tolerance / (self.state.fits.len() as f64).sqrt();
        let (mut passes, mut hessians) = (0, 0);
        for fit in &mut self.state.fits {
            let (fit_passes, fit_hessians) = if fit.curvature.is_some() {
                settle_on_factor(fit, &objective, rows, share)?
            } else {
                (settle_without_matrix(fit, &objective, rows, share)?, 0)
            };
            passes += fit_passes;
            hessians += fit_hessians;
        }
        if hessians > 0 {
            self.bound_design();
        }
        self.state.rung = Rung::Measured;
        Ok(Settled { passes, hessians, claim: self.claim() })
    }

    /// Exact sums are those of the rows, or nothing holds: there is no small difference.
    fn measure_sums(&self, sums: &ExactSums, rows: &dyn RowStore) -> Result<Measured, StoreError> {
        let same =
            rows.row_count() == self.state.count && sums.agrees_with(&ExactSums::over(rows, self.plan.problems())?);
        let (least, claim) = (LowerBound::new(if same { 0.0 } else { f64::INFINITY }), self.claim());
        let distance = if same { UpperBound::ZERO } else { UpperBound::INFINITE };
        Ok(Measured {
            residual_at_least: least,
            claim: Claim { gradient_residual: distance, distance_bound: distance, ..claim },
        })
    }
}

fn settle_on_factor(
    fit: &mut Fit,
    objective: &Objective<'_>,
    rows: &dyn RowStore,
    tolerance: f64,
) -> Result<(usize, usize), StoreError> {
    let mut passes = 0;
    for hessians in 0..=MAX_HESSIANS {
        if hessians > 0 {
            fit.anchor_here(objective, rows)?;
        }
        let Some(curvature) = fit.curvature.as_mut() else { break };
        if hessians == 0 {
            curvature.refactor(objective.ridge(fit.count.weight_sum));
        }
        let perturbation = fit.perturbation.as_deref();
        let factor = &curvature.factor;
        let polished =
            polish(objective, rows, &fit.problem, perturbation, factor, &mut fit.weights, tolerance, MAX_PASSES)?;
        passes += polished.passes;
        let converged = polished.converged;
        fit.accept(polished.measurement);
        if converged || hessians == MAX_HESSIANS {
            return Ok((passes, hessians));
        }
        if let (true, Some(factor)) = (hessians > 0, fit.curvature.as_ref().map(|curvature| curvature.factor.clone())) {
            // A full step on a fresh Hessian gains too little: far from the minimiser the objective leads, not the gradient.
            let target = (FAR * fit.residual().get()).max(0.5 * tolerance);
            let descent = Descent { tolerance: target, max_passes: DESCENT_PASSES };
            let precondition = |v: &mut [f64]| {
                factor.solve(v);
                true
            };
            passes += descent.run(objective, rows, fit, precondition, |_| {})?;
        }
    }
    Ok((passes, MAX_HESSIANS))
}

fn settle_without_matrix(
    fit: &mut Fit,
    objective: &Objective<'_>,
    rows: &dyn RowStore,
    tolerance: f64,
) -> Result<usize, StoreError> {
    fit.measure(objective, rows)?;
    let tolerance = (0.5 * tolerance).max(0.5 * fit.gradient_error.get());
    let descent = Descent { tolerance, max_passes: MAX_PASSES };
    Ok(1 + descent.run(objective, rows, fit, |_| false, |_| {})?)
}
