//! What a change of the rows led to.

use efface_core::model::{Model, Outcome};
use efface_core::residual::Rung;
use efface_core::rounding::{LowerBound, UpperBound};
use efface_data::Remark;
use serde::{Deserialize, Serialize};

/// What a change led to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangeReport {
    /// Rows now.
    pub n_rows: usize,
    /// Rows that left or came; a corrected row counts once.
    pub n_changed: usize,
    /// Rows or subjects that were asked for and not found, where that is no error.
    pub n_missing: usize,
    /// Upper bound of the gradient left behind.
    pub gradient_residual: UpperBound,
    /// Upper bound of the distance to the retrained weights.
    pub distance_bound: UpperBound,
    /// What the bounds rest on.
    pub rung: Rung,
    /// Whether the model can still be used.
    pub outcome: Outcome,
    /// Largest residual that the perturbation covers (mechanism `objective`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// Residual so far (mechanism `objective`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spent: Option<UpperBound>,
    /// Time of the step alone.
    pub step_seconds: f64,
    /// Time of the whole call, durable write included.
    pub seconds: f64,
    /// Rows left out, because they had been removed before (`add`).
    pub n_suppressed: usize,
    /// Classes that left with their last row.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes_gone: Vec<String>,
    /// Whether this is the answer to an earlier request of the same id, and nothing was done now.
    pub repeated: bool,
    /// What looks like a mistake in the rows of a file. Told once, and not kept.
    #[serde(skip)]
    pub remarks: Vec<Remark>,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    /// Rows that left or came; a corrected row counts once.
    pub(super) changed: usize,
    pub(super) missing: usize,
    /// Rows left out, because they had been removed before.
    pub(super) suppressed: usize,
}

impl ChangeReport {
    pub(super) fn of(model: &Model, counts: Counts, step_seconds: f64) -> Self {
        let claim = model.claim();
        let budget = model.removal_budget();
        Self {
            n_rows: model.state().count.n_rows,
            n_changed: counts.changed,
            n_missing: counts.missing,
            gradient_residual: claim.gradient_residual,
            distance_bound: claim.distance_bound,
            rung: claim.rung,
            outcome: model.outcome(),
            budget: budget.map(LowerBound::get),
            spent: budget.map(|_| claim.gradient_residual),
            step_seconds,
            seconds: step_seconds,
            n_suppressed: counts.suppressed,
            classes_gone: Vec::new(),
            repeated: false,
            remarks: Vec::new(),
        }
    }

    /// What this part of a request led to, after the parts before it.
    pub(super) fn after(self, before: &Self) -> Self {
        Self {
            n_changed: before.n_changed + self.n_changed,
            n_suppressed: before.n_suppressed + self.n_suppressed,
            step_seconds: before.step_seconds + self.step_seconds,
            seconds: before.seconds + self.seconds,
            repeated: before.repeated && self.repeated,
            ..self
        }
    }

    /// The same with what the model claims now: after settling, the settled values.
    pub(crate) fn up_to_date(&self, model: &Model) -> Self {
        let Self { n_changed, n_missing, n_suppressed, step_seconds, seconds, repeated, .. } = *self;
        let counts = Counts { changed: n_changed, missing: n_missing, suppressed: n_suppressed };
        Self { seconds, repeated, classes_gone: self.classes_gone.clone(), ..Self::of(model, counts, step_seconds) }
    }
}
