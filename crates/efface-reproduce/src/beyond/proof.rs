//! The check of single steps: what is claimed of a model, beside what one pass over the rows proves of it.
//!
//! The gradient measured over the rows that are left, divided by λn, is an upper bound of the distance to the exact
//! weights. So a claim above it is proved to hold at that step, without training anything. Models that are trained from
//! zero, at the stops of the schedule, show how large the distance really is.

use serde::{Deserialize, Serialize};

use crate::life::Life;
use crate::{ExperimentError, Result};

/// What the checks of single steps came to.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct ProvedSteps {
    /// Every such step was checked: 1 is every single one.
    pub(crate) every: usize,
    pub(crate) n_steps: usize,
    /// Largest proved distance, as a share of what is claimed. A share above 1 would have ended the experiment.
    pub(crate) largest_share: f64,
}

impl ProvedSteps {
    pub(super) fn new(every: usize) -> Self {
        Self { every, n_steps: 0, largest_share: 0.0 }
    }

    /// Checks the model after the step of this number, if it is to be checked.
    pub(super) fn after(&mut self, step: usize, life: &Life, what: &str) -> Result<()> {
        if !step.is_multiple_of(self.every) {
            return Ok(());
        }
        let claimed = life.model.claim().distance_bound.get();
        let proved = life.model.measure(&life.rows)?.claim.distance_bound.get();
        ExperimentError::unless_within(format!("{what}: the proved distance to the exact weights"), proved, claimed)?;
        self.n_steps += 1;
        self.largest_share = self.largest_share.max(proved / claimed);
        Ok(())
    }
}
