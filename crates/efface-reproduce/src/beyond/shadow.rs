//! A second model that is kept next to the exact minimiser, so that every single step can be checked.
//!
//! Training from zero after each of thousands of removals would take hours. The shadow takes the same steps, its gradient
//! is measured over the rows that are left after each of them, and it is settled when it is no longer near. So its
//! distance to the minimiser is known at every step, by a pass over the rows and by nothing that was claimed before.

use efface_core::model::Model;
use efface_core::removal::Change;
use efface_data::MemoryRows;
use serde::{Deserialize, Serialize};

use crate::ExperimentError;
use crate::life::{Life, distance, weights};

/// The check of every step of a run.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct EveryStep {
    /// Steps, each of them checked.
    pub n_steps: usize,
    /// Largest distance as a share of what is claimed; a share above 1 would have ended the experiment.
    pub largest_share: f64,
    /// Largest measured bound on the shadow's own distance to the exact minimiser.
    pub largest_shadow_bound: f64,
}

/// The shadow is settled when it may be further than this from the exact minimiser.
const NEAR: f64 = 1e-6;

/// The shadow of a run.
pub(super) struct Shadow {
    model: Model,
    checked: EveryStep,
}

impl Shadow {
    pub(super) fn new(model: &Model) -> Self {
        Self { model: model.clone(), checked: EveryStep::default() }
    }

    /// These rows have left `life`; they leave the shadow too, and the two are compared.
    pub(super) fn follow(&mut self, gone: &MemoryRows, life: &Life, what: &str) -> Result<(), ExperimentError> {
        self.model.change(&Change::remove(gone), &life.rows)?;
        let mut shadow_bound = self.model.measure(&life.rows)?.claim.distance_bound.get();
        if shadow_bound > NEAR {
            shadow_bound = self.model.settle(&life.rows, None)?.claim.distance_bound.get();
        }
        let found = distance(&weights(&life.model), &weights(&self.model));
        let claimed = life.model.claim().distance_bound.get() + shadow_bound;
        ExperimentError::unless_within(format!("{what}: the distance to the exact weights"), found, claimed)?;
        self.checked.n_steps += 1;
        self.checked.largest_share = self.checked.largest_share.max(found / claimed);
        self.checked.largest_shadow_bound = self.checked.largest_shadow_bound.max(shadow_bound);
        Ok(())
    }

    pub(super) fn checked(&self) -> EveryStep {
        self.checked
    }
}
