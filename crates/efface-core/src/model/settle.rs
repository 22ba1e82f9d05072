//! Settling: a few passes over the rows turn a bound into a measurement, and the model into the retrained one.

use super::{Claim, Fit, Model};
use crate::exact::ExactSums;
use crate::residual::Rung;
use crate::rounding::{LowerBound, UpperBound, norm, operations};
use crate::rows::{RowStore, StoreError};
use crate::train::{self, CourseError, Effort, Means, Route};

/// What settling did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settled {
    /// Passes over the rows, each for all problems, those for Hessians included.
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

impl Model {
    /// What one pass over the rows proves of the weights as they are, whatever is claimed of them. Nothing is changed.
    ///
    /// The exact residual lies between the two ends of the measured one: a claim below the lower end is wrong.
    pub fn measure(&self, rows: &dyn RowStore) -> Result<Measured, StoreError> {
        if let Some(sums) = &self.state.sums {
            return self.measure_sums(sums, rows);
        }
        let objective = self.objective();
        let (mut least, mut residuals, mut distances) = (0.0, UpperBound::ZERO, UpperBound::ZERO);
        let points: Vec<_> = self.state.fits.iter().map(Fit::point).collect();
        for measurement in objective.measure(rows, &points)? {
            let computed = norm(&measurement.gradient);
            // `computed` is rounded up by some n + 2 units at most: twice that is taken off.
            let slack = computed * operations(2 * measurement.gradient.len() + 8) + measurement.error;
            let lower = LowerBound::new(computed.get()).minus(slack);
            least += lower.times(lower).get();
            let residual = computed + measurement.error;
            residuals += residual.squared();
            distances += residual.over(objective.ridge.lower(measurement.count.weight_sum)).squared();
        }
        let claim =
            Claim { gradient_residual: residuals.sqrt(), distance_bound: distances.sqrt(), rung: Rung::Measured };
        let rounding = operations(self.state.fits.len() + 2).get();
        Ok(Measured { residual_at_least: LowerBound::new(f64::sqrt(least) * (1.0 - rounding)), claim })
    }

    /// Measures the residual and steps until it is at most `tolerance` (`None`: the plan's), or as small as rounding
    /// allows.
    ///
    /// Every decision uses the secret weights and the rows only, never a released model. After an error the model is as it
    /// was.
    pub fn settle(&mut self, rows: &dyn RowStore, tolerance: Option<f64>) -> Result<Settled, StoreError> {
        if let Some(sums) = &mut self.state.sums {
            let passes = sums.refresh(rows)?;
            return Ok(Settled { passes, hessians: 0, claim: self.claim() });
        }
        let objective = self.objective();
        let tolerance = tolerance.unwrap_or(self.plan.config().gradient_tolerance);
        // Each of K problems may leave its share: √(Σ tolerance²/K) = tolerance.
        let share = tolerance / (self.state.fits.len() as f64).sqrt();
        let means = Means::Nearby { gram: self.state.gram.as_ref() };
        let route = Route { objective, tolerance: share, means, max_matrix_dim: self.plan.config().max_matrix_dim };
        let done = train::run(&route, &mut self.state.fits, rows, &mut |_| {});
        let Effort { passes, hessians } = done.map_err(CourseError::of_settling)?;
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
