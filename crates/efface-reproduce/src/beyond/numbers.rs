//! The numbers of one life under mechanism `release`.

use serde::{Deserialize, Serialize};

use super::Order;
use super::proof::ProvedSteps;
use crate::{ExperimentError, Result};

/// Rows leave in one order, in steps of one size.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RunResults {
    pub(crate) order: Order,
    pub(crate) batch_rows: usize,
    pub(crate) proved_steps: ProvedSteps,
    /// Comparisons on the way, of weights as the steps left them, with those of a model without the removed rows.
    pub(crate) checks: Vec<Check>,
    /// What a release costs and is worth after 1, 5, 20 and 50 % of the rows.
    pub(crate) checkpoints: Vec<Checkpoint>,
}

/// Weights as instant steps left them, not settled, beside the weights of a model without the removed rows.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Check {
    pub(crate) n_removed: usize,
    pub(crate) reference: Reference,
    pub(crate) distance: f64,
    /// What is claimed of the distance to the exact minimiser.
    pub(crate) distance_bound: f64,
    pub(crate) reference_bound: f64,
    pub(crate) accuracy: f64,
    pub(crate) reference_accuracy: f64,
}

/// Where the weights come from that a model is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Reference {
    /// Trained from zero on the rows that are left.
    Retrained,
    /// A copy of the model, settled; its distance to the exact minimiser is measured over the rows that are left.
    SettledCopy,
}

/// A model is settled and released, and compared with one that is trained from zero: distances are those to the retrained
/// model, bounds what is claimed of the distance to the exact minimiser.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    /// Share of the rows that have left.
    pub(crate) percent: usize,
    pub(crate) n_removed: usize,
    /// Before settling.
    pub(crate) instant_distance: f64,
    pub(crate) instant_bound: f64,
    pub(crate) settled_distance: f64,
    pub(crate) settled_bound: f64,
    pub(crate) retrained_bound: f64,
    pub(crate) secret_accuracy: f64,
    /// Mean over the releases.
    pub(crate) released_accuracy: f64,
    pub(crate) n_releases: usize,
    /// Largest difference between the accuracy of one of them and that of the retrained model, as a fraction.
    pub(crate) largest_released_gap: f64,
    /// Without noise.
    pub(crate) retrained_accuracy: f64,
    /// μ of the releases so far: one per checkpoint.
    pub(crate) mu_spent: f64,
    pub(crate) mu_limit: f64,
    /// ε that these releases prove at the promised δ.
    pub(crate) epsilon_spent: f64,
    /// Median seconds of one step since the checkpoint before.
    pub(crate) step_seconds: f64,
    /// The same per row; the last step before a checkpoint may be a short one.
    pub(crate) row_seconds: f64,
    pub(crate) settle_seconds: f64,
    /// Passes over the rows of settling, over all problems.
    pub(crate) settle_passes: usize,
    pub(crate) retrain_seconds: f64,
}

impl Check {
    /// Both weights are within their own bound of the exact minimiser, so their distance is within the sum.
    pub(super) fn hold(&self, what: &str) -> Result<()> {
        let what = format!("{what}, {} rows removed: the distance to the model without them", self.n_removed);
        ExperimentError::unless_within(what, self.distance, self.claimed())
    }

    /// What both claims together allow.
    pub(super) fn claimed(&self) -> f64 {
        self.distance_bound + self.reference_bound
    }
}
