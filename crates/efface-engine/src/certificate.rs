//! The certificate that comes with a release: enough for a stranger to recompute the claim, and what it does not cover.

use efface_core::model::{BudgetRule, Mechanism, ReleaseClaim};
use efface_core::noise::NoiseLaw;
use serde::Serialize;

use crate::model_directory::ModelDirectory;

/// A certificate, not yet signed. Field names are the stable vocabulary of the command line and the Python package.
#[derive(Clone, Debug, Serialize)]
pub struct Certificate {
    /// Tag of this form. Its meaning never changes.
    pub format: &'static str,
    /// Program and version that wrote it.
    pub software: String,
    /// k.
    pub release: usize,
    /// Rows removed on request before this release.
    pub n_removed: usize,
    /// Whether the randomness behind it was unpredictable. If not, nothing below is promised.
    pub certified: bool,
    /// `release` or `objective`.
    pub mechanism: &'static str,
    /// Tag of the loss.
    pub loss: &'static str,
    /// λ.
    pub l2: f64,
    /// How rows are scaled.
    pub scale: String,
    /// Whether a constant was appended to every row.
    pub intercept: bool,
    /// R: bound on the norm of every row.
    pub row_norm_bound: f64,
    /// Rows of each problem: `distance_bound` is a residual over λ times these.
    pub n_rows: Vec<usize>,
    /// Fraction of the negatives that each problem keeps, by a salted hash of the id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub negatives: Option<f64>,
    /// Number of problems that are published jointly.
    pub n_problems: usize,
    /// Weights per problem, the intercept included.
    pub dim: usize,
    /// What the bounds rest on.
    pub rung: &'static str,
    /// Which constants the bounds use.
    pub gamma: efface_core::residual::Constants,
    /// Upper bound of the gradient left behind, as claimed.
    pub gradient_residual: f64,
    /// r: upper bound of the distance to the retrained weights, as claimed: a step of a scale that does not depend on the
    /// rows.
    pub distance_bound: f64,
    /// How the removal budget follows from σ, ε and δ (mechanism `objective`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetRule>,
    /// Law of the noise.
    pub law: NoiseLaw,
    /// Its scale.
    pub noise_std: f64,
    /// μ of this release (ε under the gamma law).
    pub mu: f64,
    /// Of all releases together.
    pub mu_total: f64,
    /// The most that the promise allows.
    pub mu_limit: f64,
    /// Promised for the model's life, the extractor's share included.
    pub epsilon: f64,
    /// Likewise.
    pub delta: f64,
    /// The least ε that the releases so far prove at this δ, the extractor's share included.
    pub epsilon_spent: f64,
    /// What a private feature extractor spent, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extractor: Option<efface_core::accounting::Guarantee>,
    /// How numbers were computed.
    pub arithmetic: Arithmetic,
    /// Against whom the claim holds.
    pub adversary: Adversary,
    /// Limits of the proof that the claim rests on.
    pub limits: Vec<&'static str>,
    /// What the claim does not cover.
    pub outside_scope: Vec<&'static str>,
    /// Columns whose schema entries were proposed from the rows and are not marked public: outside the claim, too. Names
    /// only; the values of an entry may be somebody's.
    pub not_public: Vec<String>,
}

/// How numbers were computed.
#[derive(Clone, Debug, Serialize)]
pub struct Arithmetic {
    /// Residuals and distances.
    pub bounds: &'static str,
    /// The noise.
    pub noise: &'static str,
}

/// Against whom the claim holds.
#[derive(Clone, Debug, Serialize)]
pub struct Adversary {
    /// It has not kept a model from before the removal.
    pub sees_prior_release: bool,
    /// It may choose removals after seeing releases.
    pub adaptive_requests: bool,
    /// It does not see the secret state.
    pub secret_state: bool,
}

impl Certificate {
    pub(crate) fn new(directory: &ModelDirectory, claim: &ReleaseClaim) -> Self {
        let (model, settings) = (&directory.model, &directory.settings);
        let (plan, state) = (model.plan(), model.state());
        let objective = plan.is_objective();
        Self {
            format: "efface-certificate-unsigned-1",
            software: concat!("efface ", env!("CARGO_PKG_VERSION")).into(),
            release: claim.release,
            n_removed: directory.head.n_removed,
            certified: claim.certified,
            mechanism: settings.config.mechanism.tag(),
            loss: plan.loss().tag(),
            l2: settings.config.l2_per_row,
            scale: settings.transform.scale.to_string(),
            intercept: settings.transform.intercept,
            row_norm_bound: state.row_norm.get(),
            n_rows: state.fits.iter().map(|fit| fit.n_rows).collect(),
            negatives: settings.config.negatives,
            n_problems: state.fits.len(),
            dim: model.dim(),
            rung: state.rung.tag(),
            gamma: settings.config.constants,
            gradient_residual: claim.gradient_residual.get(),
            distance_bound: claim.distance_bound.get(),
            budget: match settings.config.mechanism {
                Mechanism::Release => None,
                Mechanism::Objective { budget } => Some(budget),
            },
            law: settings.config.law,
            noise_std: claim.noise_std,
            mu: claim.mu.get(),
            mu_total: claim.mu_total.get(),
            mu_limit: claim.mu_limit.get(),
            epsilon: claim.guarantee.epsilon,
            delta: claim.guarantee.delta,
            epsilon_spent: claim.epsilon_spent,
            extractor: settings.config.extractor,
            arithmetic: Arithmetic {
                bounds: "double precision, rounded the safe way",
                noise: if plan.is_exact() { "none" } else { "double precision, idealized" },
            },
            adversary: Adversary { sees_prior_release: false, adaptive_requests: !objective, secret_state: true },
            limits: match (plan.is_exact(), objective) {
                (true, _) => EXACT_LIMITS.to_vec(),
                (false, true) => OBJECTIVE_LIMITS.to_vec(),
                (false, false) => Vec::new(),
            },
            outside_scope: match &settings.schema {
                Some(schema) if !schema.not_public().is_empty() => [&OUTSIDE_SCOPE[..], &[NOT_PUBLIC]].concat(),
                _ => OUTSIDE_SCOPE.to_vec(),
            },
            not_public: settings.not_public(),
        }
    }
}

/// What a model without noise leaves open.
const EXACT_LIMITS: [&str; 1] = [
    "exact up to rounding: the weights are within distance_bound of the retrained ones, and no noise hides the difference",
];

/// What the published proof of mechanism `objective` leaves open.
const OBJECTIVE_LIMITS: [&str; 3] = [
    "P1 dependence: the residual is a function of the perturbation, which the proof treats as independent",
    "P2 stopping: whether the model is retrained depends on the perturbation",
    "P3 sequences: one perturbation covers each model alone, not two successive models together",
];

/// What no certificate of this kind covers.
const OUTSIDE_SCOPE: [&str; 4] = [
    "someone who kept a model from before the removal",
    "copies of the data, caches, and models trained elsewhere from the same rows",
    "preprocessing and hyper-parameters that were fitted on the rows, and the list of classes",
    "the number of rows, which is not hidden",
];

/// Outside the scope while entries of a schema are marked `inferred`.
const NOT_PUBLIC: &str =
    "the schema entries of the columns under not_public: proposed from the rows, and not marked public by anybody";
