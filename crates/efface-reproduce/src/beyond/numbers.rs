//! The numbers of one life under mechanism `release`.

use serde::{Deserialize, Serialize};

use super::Order;
use super::proof::ProvedSteps;
use crate::ExperimentError;

/// Rows leave in one order, in steps of one size.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunResults {
    /// Which rows leave first.
    pub order: Order,
    /// Rows per step.
    pub batch_rows: usize,
    /// What the checks of single steps came to.
    pub proved_steps: ProvedSteps,
    /// Comparisons on the way, of weights as the steps left them, with those of a model without the removed rows.
    pub checks: Vec<Check>,
    /// What a release costs and is worth after 1, 5, 20 and 50 % of the rows.
    pub checkpoints: Vec<Checkpoint>,
}

/// Weights as instant steps left them, not settled, beside the weights of a model without the removed rows.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Check {
    /// Rows removed so far.
    pub n_removed: usize,
    /// Where the other weights come from.
    pub reference: Reference,
    /// Distance of the weights.
    pub distance: f64,
    /// What is claimed of the distance to the exact minimiser.
    pub distance_bound: f64,
    /// What is claimed of the other weights' distance to it.
    pub reference_bound: f64,
    /// Accuracy of the weights.
    pub accuracy: f64,
    /// Accuracy of the other weights.
    pub reference_accuracy: f64,
}

/// Where the weights come from that a model is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reference {
    /// Trained from zero on the rows that are left.
    Retrained,
    /// A copy of the model, settled; its distance to the exact minimiser is measured over the rows that are left.
    SettledCopy,
}

/// A model is settled and released, and compared with one that is trained from zero.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Share of the rows that have left.
    pub percent: usize,
    /// Rows removed so far.
    pub n_removed: usize,
    /// Distance to the retrained model before settling.
    pub instant_distance: f64,
    /// What was claimed of it.
    pub instant_bound: f64,
    /// Distance to the retrained model after settling.
    pub settled_distance: f64,
    /// What is claimed of the distance to the exact minimiser then.
    pub settled_bound: f64,
    /// What is claimed of the retrained model's distance to it.
    pub retrained_bound: f64,
    /// Accuracy of the secret weights, settled.
    pub secret_accuracy: f64,
    /// Mean accuracy of released weights.
    pub released_accuracy: f64,
    /// Releases that the mean is over.
    pub n_releases: usize,
    /// Largest difference between the accuracy of one of them and that of the retrained model, as a fraction.
    pub largest_released_gap: f64,
    /// Accuracy of the model that is trained from zero, without noise.
    pub retrained_accuracy: f64,
    /// μ of the releases so far: one per checkpoint.
    pub mu_spent: f64,
    /// The most that the promise allows.
    pub mu_limit: f64,
    /// ε that these releases prove at the promised δ.
    pub epsilon_spent: f64,
    /// Median seconds of one step since the checkpoint before.
    pub step_seconds: f64,
    /// The same per row; the last step before a checkpoint may be a short one.
    pub row_seconds: f64,
    /// Seconds of settling.
    pub settle_seconds: f64,
    /// Passes over the rows of settling, over all problems.
    pub settle_passes: usize,
    /// Seconds of training from zero.
    pub retrain_seconds: f64,
}

impl Check {
    /// Both weights are within their own bound of the exact minimiser, so their distance is within the sum.
    pub(super) fn hold(&self, what: &str) -> Result<(), ExperimentError> {
        let what = format!("{what}, {} rows removed: the distance to the model without them", self.n_removed);
        ExperimentError::unless_within(what, self.distance, self.claimed())
    }

    /// What both claims together allow.
    pub(super) fn claimed(&self) -> f64 {
        self.distance_bound + self.reference_bound
    }
}
