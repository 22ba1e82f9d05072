//! The certificate of a release: enough for a stranger to recompute the claim, and what it does not cover.

use efface_core::accounting::{Extractor, Guarantee};
use efface_core::ridge::Ridge;
use serde::{Deserialize, Serialize};

use super::{FeatureMap, Predicate};
use crate::entry::{Event, ReleasePolicy};

/// Claims of one release. Every number of the guarantee is rounded the safe way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReleaseClaims<D = Decided, R = CoveredRequest> {
    /// What the keeper of a log decided.
    #[serde(flatten)]
    pub decided: D,
    /// k.
    pub release: usize,
    /// Whether the randomness behind it was unpredictable. If not, nothing below is promised.
    pub certified: bool,
    /// Rows removed on request before this release, over the model's life.
    pub n_removed: usize,
    /// Requests since the previous release, which this one covers.
    pub requests: Vec<R>,
    /// What changed since the previous release, and what an observer of both could learn.
    pub since_previous: SincePrevious,
    /// `release` or `objective`.
    pub mechanism: String,
    /// Tag of the loss.
    pub loss: String,
    /// λ (`l2`) or α (`alpha`).
    #[serde(flatten)]
    pub ridge: Ridge,
    /// How rows are scaled.
    pub scale: String,
    /// Whether a constant was appended to every row.
    pub intercept: bool,
    /// The maps that made features of raw cells; empty where columns are features, or become some by a rule of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feature_maps: Vec<FeatureMap>,
    /// R: bound on the norm of every row; none where rows are of any length, and nothing rests on a bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row_norm_bound: Option<f64>,
    /// Number of rows: `distance_bound` is a residual over λ times it, or over α. How many there are of a class is not told.
    pub n_rows: usize,
    /// What the rows weigh, where they do not count once each: `distance_bound` is then a residual over λ times that.
    /// Rounded down, which makes the distance of a residual larger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight_sum: Option<f64>,
    /// Fraction of the negatives that each problem keeps, by a keyed hash of the id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub negatives: Option<f64>,
    /// Number of problems that are published jointly.
    pub n_problems: usize,
    /// Weights per problem, the intercept included.
    pub dim: usize,
    /// What the bounds rest on.
    pub rung: String,
    /// Which constants the bounds use.
    pub gamma: String,
    /// Upper bound of the gradient left behind, as claimed.
    pub gradient_residual: f64,
    /// r: upper bound of the distance to the retrained weights, as claimed: under mechanism `release` a number that the
    /// promise decides, and never the rows. Rounding to the lattice is counted.
    pub distance_bound: f64,
    /// How the removal budget follows from σ, ε and δ (mechanism `objective`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<String>,
    /// Law of the noise.
    pub law: String,
    /// Its scale.
    pub noise_std: f64,
    /// Step of the lattice on which weights and noise lie, where the noise is exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lattice_step: Option<f64>,
    /// μ of this release (ε under the gamma law).
    pub mu: f64,
    /// What earlier releases of the model spent.
    pub spent_before: SpentBefore,
    /// μ of all releases together.
    pub mu_total: f64,
    /// The most that the promise allows.
    pub mu_limit: f64,
    /// Promised for the model's life by removal alone.
    pub promise: Guarantee,
    /// How many promises in a row that one adds up, where they are more than one: certificates from before the latest renewal
    /// promised less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lives: Option<u32>,
    /// A private feature extractor, where there is one: its promise per row, and the group of rows that is covered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extractor: Option<Extractor>,
    /// ε promised for the model's life, the extractor's share for that group included.
    pub epsilon: f64,
    /// δ likewise.
    pub delta: f64,
    /// The least ε that the releases so far prove at this δ, the extractor's share included.
    pub epsilon_spent: f64,
    /// δ(ε) at `mu_total`, without the extractor.
    pub curve: Vec<CurvePoint>,
    /// How numbers were computed.
    pub arithmetic: Arithmetic,
    /// Against whom the claim holds.
    pub adversary: Adversary,
    /// Limits of the proof that the claim rests on.
    pub limits: Vec<String>,
    /// What the claim does not cover.
    pub outside_scope: Vec<String>,
    /// Columns whose schema entries were proposed from the rows and are not marked public: outside the claim, too. Names
    /// only; the values of an entry may be somebody's.
    pub not_public: Vec<String>,
}

/// What the keeper of a log decided before the release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    /// When releases are made.
    pub policy: ReleasePolicy,
    /// Earlier releases that were withdrawn.
    pub revoked: Vec<usize>,
}

/// Nothing: without a log there is neither a policy nor a withdrawal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Undecided {}

/// A request that a release covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoveredRequest {
    /// Its id as it was given, or `change-N`.
    pub id: String,
    /// When it was carried out.
    pub time: String,
    /// Which change of the model it was.
    pub change: u64,
    /// Rows removed.
    pub n_rows: usize,
    /// The commitment to them.
    pub rows: Option<String>,
    /// Salt of the log's commitment to the id; none where no id was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub salt: Option<String>,
    /// Its entry in the log.
    pub position: u64,
}

/// A request that a release of a model in memory covers: there is no log that it could be looked up in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnloggedRequest {
    /// Its id as it was given, or `change-N`.
    pub id: String,
    /// When it was carried out.
    pub time: String,
    /// Which change of the model it was.
    pub change: u64,
    /// Rows removed.
    pub n_rows: usize,
}

impl From<CoveredRequest> for UnloggedRequest {
    fn from(CoveredRequest { id, time, change, n_rows, .. }: CoveredRequest) -> Self {
        Self { id, time, change, n_rows }
    }
}

/// What changed between two releases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SincePrevious {
    /// The release before; none for the first.
    pub release: Option<usize>,
    /// SHA-256 of the payload of its certificate.
    pub certificate: Option<String>,
    /// People (rows, where rows have no subject) whose rows left or changed.
    pub n_people: usize,
    /// Rows removed on request.
    pub n_removed: usize,
    /// Rows corrected.
    pub n_corrected: usize,
    /// Rows added.
    pub n_added: usize,
    /// What whoever has both releases could learn.
    pub exposure: String,
}

/// What earlier releases spent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpentBefore {
    /// How many there were.
    pub n_releases: usize,
    /// Σ r_j² of their claimed distances.
    pub distance_squares: f64,
    /// Σ r_j.
    pub distances: f64,
}

/// One point of δ(ε).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// ε.
    pub epsilon: f64,
    /// δ, rounded up.
    pub delta: f64,
}

/// How numbers were computed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arithmetic {
    /// Residuals and distances.
    pub bounds: String,
    /// The noise.
    pub noise: String,
}

/// Against whom the claim holds.
#[expect(clippy::struct_excessive_bools, reason = "four independent abilities, as the certificate lists them")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adversary {
    /// Whether it may have kept a model from before the removal.
    pub sees_prior_release: bool,
    /// Whether it may have all releases after the removal.
    pub sees_later_releases: bool,
    /// Whether it may choose requests after seeing releases made after the removal.
    pub adaptive_requests: bool,
    /// Whether the secret state must have stayed secret.
    pub secret_state: bool,
}

impl Predicate for ReleaseClaims {
    const SCHEMA: &str = "efface-release-certificate-1";
    const TYPE: &str = "urn:efface:certificate:release:1";

    fn event(&self, certificate: String) -> Event {
        Event::Release { release: self.release, certificate }
    }
}
