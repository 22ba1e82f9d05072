//! What a model is and what it claims, read without disturbing a writer.

use std::path::Path;

use efface_core::noise::NoiseLaw;
use efface_core::rounding::LowerBound;
use efface_data::Scale;
use serde::Serialize;

use crate::changes::OutcomeTag;
use crate::error::EngineError;
use crate::model_directory::read_state;

/// The current values of a model.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// `release` or `objective`.
    pub mechanism: &'static str,
    /// Tag of the loss.
    pub loss: &'static str,
    /// λ.
    pub l2: f64,
    /// Law of the noise.
    pub law: NoiseLaw,
    /// Scale of the noise.
    pub noise_std: f64,
    /// Promised for the model's life, the extractor's share included.
    pub epsilon: f64,
    /// Likewise.
    pub delta: f64,
    /// Rows now.
    pub n_rows: usize,
    /// Rows removed on request so far.
    pub n_removed: usize,
    /// Features, the intercept included.
    pub dim: usize,
    /// Number of classes; 0 for regression.
    pub classes: usize,
    /// Their names.
    pub class_names: Vec<String>,
    /// How rows are scaled.
    pub scale: Scale,
    /// Whether there is an intercept.
    pub intercept: bool,
    /// Upper bound.
    pub gradient_residual: f64,
    /// Upper bound.
    pub distance_bound: f64,
    /// What the bounds rest on.
    pub rung: &'static str,
    /// Whether the model stands.
    pub outcome: OutcomeTag,
    /// Largest residual that the perturbation covers (mechanism `objective`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// Residual so far (mechanism `objective`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spent: Option<f64>,
    /// Releases so far.
    pub n_releases: usize,
    /// Rows removed since the latest release, which still knows them.
    pub n_removed_since_release: usize,
    /// What they spent together (mechanism `release`, Gaussian law).
    pub mu_total: f64,
    /// What the promise allows.
    pub mu_limit: f64,
    /// Whether all randomness so far was unpredictable.
    pub certified: bool,
}

impl Status {
    /// Reads the status of a model directory.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, EngineError> {
        let snapshot = read_state(path.as_ref())?;
        let (model, settings) = (&snapshot.model, &snapshot.settings);
        let (plan, state, claim) = (model.plan(), model.state(), model.claim());
        let guarantee = plan.claimed_guarantee();
        let budget = model.removal_budget();
        let (mu_total, mu_limit) = model.spent_and_limit();
        Ok(Self {
            mechanism: settings.config.mechanism.tag(),
            loss: plan.loss().tag(),
            l2: settings.config.l2_per_row,
            law: settings.config.law,
            noise_std: plan.noise_std(),
            epsilon: guarantee.epsilon,
            delta: guarantee.delta,
            n_rows: state.n_rows,
            n_removed: snapshot.index.n_removed,
            dim: model.dim(),
            classes: settings.n_classes(),
            class_names: settings.codec.classes().to_vec(),
            scale: settings.transform.scale,
            intercept: settings.transform.intercept,
            gradient_residual: claim.gradient_residual.get(),
            distance_bound: claim.distance_bound.get(),
            rung: claim.rung.tag(),
            outcome: model.outcome().into(),
            budget: budget.map(LowerBound::get),
            spent: budget.map(|_| claim.gradient_residual.get()),
            n_releases: state.account.n_releases,
            n_removed_since_release: match state.account.n_releases {
                0 => 0,
                _ => snapshot.index.n_removed - snapshot.index.n_removed_at_release.min(snapshot.index.n_removed),
            },
            mu_total: mu_total.get(),
            mu_limit: mu_limit.get(),
            certified: state.certified && state.account.certified,
        })
    }
}
