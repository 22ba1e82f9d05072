//! What a model is and what it claims.

use std::path::PathBuf;

use efface_core::accounting::Extractor;
use efface_core::model::{MechanismKind, Outcome};
use efface_core::noise::NoiseLaw;
use efface_core::residual::Rung;
use efface_core::ridge::Ridge;
use efface_core::rounding::{LowerBound, UpperBound};
use efface_data::Scale;
use efface_ledger::certificate::{FeatureMap, FittedBeside, ReleasePolicy};
use serde::{Deserialize, Serialize};

use crate::history::{History, Kept, ReleaseEntry};
use crate::path_text;

/// The current values of a model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Status {
    /// `release` or `objective`.
    pub mechanism: MechanismKind,
    /// Tag of the loss.
    pub loss: String,
    /// λ (`l2`) or α (`alpha`).
    #[serde(flatten)]
    pub ridge: Ridge,
    /// Law of the noise.
    pub law: NoiseLaw,
    /// Scale of the noise.
    pub noise_std: f64,
    /// Promised for the model's life, the extractor's share included.
    pub epsilon: f64,
    /// Likewise.
    pub delta: f64,
    /// A private feature extractor, for the group of rows that the promise covers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extractor: Option<Extractor>,
    /// Rows that left so far, old values of corrected ones included: what that group has to cover.
    pub n_left: usize,
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
    pub gradient_residual: UpperBound,
    /// Upper bound.
    pub distance_bound: UpperBound,
    /// What the bounds rest on.
    pub rung: Rung,
    /// Whether the model stands.
    pub outcome: Outcome,
    /// Largest residual that the perturbation covers (mechanism `objective`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// Residual so far (mechanism `objective`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spent: Option<UpperBound>,
    /// Releases so far.
    pub n_releases: usize,
    /// How many more the promise allows; `None`: any number.
    #[serde(default)]
    pub releases_left: Option<u64>,
    /// How many the promise was shared out among.
    #[serde(default)]
    pub max_releases: u64,
    /// Rows removed since the latest release, which still knows them.
    pub n_removed_since_release: usize,
    /// When the latest release was published, in seconds since 1970.
    pub released: Option<u64>,
    /// People (rows, where rows have no subject) whose rows left or changed since the latest release.
    pub n_people_since_release: usize,
    /// When releases are made.
    pub policy: ReleasePolicy,
    /// Releases that were withdrawn.
    pub revoked: Vec<usize>,
    /// Id of the key that signs.
    pub key_id: String,
    /// Entries of the log.
    pub log_size: u64,
    /// What they spent together (mechanism `release`, Gaussian law).
    pub mu_total: UpperBound,
    /// What the promise allows.
    pub mu_limit: f64,
    /// Whether all randomness so far was unpredictable.
    pub certified: bool,
    /// The maps that make features of raw cells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feature_maps: Vec<FeatureMap>,
    /// Columns whose schema entries were proposed from the rows and are not marked public: outside the guarantee.
    pub not_public: Vec<String>,
    /// What else was fitted on the rows, as whoever trained declared it: outside the guarantee, too.
    #[serde(default)]
    pub outside_scope: Vec<FittedBeside>,
    /// Rows that were offered again after their removal, and left out.
    pub n_suppressed: usize,
    /// Rows that left and whose bytes are overwritten by the next checkpoint.
    pub n_unpurged: usize,
    /// What is not as it was left, and is put right by the next change: parts of the directory that are older than others.
    pub out_of_step: Vec<String>,
    /// Folders beside the directory that hold rows of trainings that were killed.
    #[serde(default, serialize_with = "path_text::each")]
    pub left_behind: Vec<PathBuf>,
    /// Positions of rows that were found to be damaged: no sum can be made over them.
    #[serde(default)]
    pub damaged: Vec<usize>,
    /// What was not as it was left, as after restoring an old backup, and was put right.
    #[serde(default)]
    pub repairs: Vec<Repair>,
    /// Files and folders of the directory that others than its owner may use, as after restoring a backup.
    #[serde(default, serialize_with = "path_text::each")]
    pub loose: Vec<PathBuf>,
    /// The file elsewhere that remembers what was removed.
    #[serde(serialize_with = "path_text::maybe")]
    pub witness: Option<PathBuf>,
}

efface_core::tagged! {
    /// A part of a directory that is older than the others, as after restoring a backup.
    pub enum OldPart {
        Database = "database" => "the database is older than the state",
        DatabaseAndState = "database-and-state" => "the database and the state are older than the rows",
        State = "state" => "the state is not the one that the database names",
        NoState = "no-state" => "the state is missing",
        Removals = "removals" => "the database has forgotten removals that the state knows",
        Rows = "rows" => "row segments are older than the database",
        Releases = "releases" => "releases are newer than the database",
        Withdrawals = "withdrawals" => "withdrawals are newer than the database",
        All = "all" => "the directory is older than its witness",
    }
}

/// Something that was not as it was left, and was put right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repair {
    /// When, in seconds since 1970.
    pub time: u64,
    /// What was found.
    pub found: Vec<OldPart>,
    /// Rows that had been removed and were there again.
    pub n_removed_again: usize,
    /// Rows whose present values were not to be found any more, and which have left with their old ones.
    pub n_lost: usize,
}

impl Repair {
    /// What was found, in plain words.
    pub fn in_words(&self) -> String {
        in_words(&self.found)
    }
}

pub(crate) fn in_words(parts: &[OldPart]) -> String {
    parts.iter().map(|part| part.in_words()).collect::<Vec<_>>().join("; ")
}

impl Status {
    pub(crate) fn since(self, latest: Option<&ReleaseEntry>) -> Self {
        let n_removed_since_release = latest.map_or(0, |latest| self.n_removed.saturating_sub(latest.n_removed));
        Self { n_removed_since_release, released: latest.and_then(|latest| latest.time), ..self }
    }

    pub(crate) fn of(of: Kept<'_>, history: &History) -> Self {
        let Kept { settings, model, .. } = of;
        let (plan, state, claim) = (model.plan(), model.state(), model.claim());
        let guarantee = model.plan().claimed_guarantee();
        let budget = model.removal_budget();
        let (mu_total, mu_limit) = model.spent_and_limit();
        Self {
            mechanism: settings.config.mechanism.kind(),
            loss: plan.loss().tag().into(),
            ridge: settings.config.ridge,
            law: settings.config.law,
            noise_std: plan.noise_std(),
            epsilon: guarantee.epsilon,
            delta: guarantee.delta,
            extractor: model.plan().config().extractor,
            n_left: state.account.n_left,
            n_rows: state.count.n_rows,
            n_removed: history.n_removed,
            dim: model.dim(),
            classes: plan.classes().len(),
            class_names: settings.class_names(plan),
            scale: settings.transform.scale,
            intercept: settings.transform.intercept,
            gradient_residual: claim.gradient_residual,
            distance_bound: claim.distance_bound,
            rung: claim.rung,
            outcome: model.outcome(),
            budget: budget.map(LowerBound::get),
            spent: budget.map(|_| claim.gradient_residual),
            n_releases: state.account.n_releases,
            releases_left: model.releases_left(),
            max_releases: settings.config.max_releases,
            n_removed_since_release: 0,
            released: None,
            n_people_since_release: history.n_people,
            policy: ReleasePolicy::default(),
            revoked: Vec::new(),
            key_id: String::new(),
            log_size: 0,
            mu_total,
            mu_limit: mu_limit.get(),
            certified: state.certified && state.account.certified,
            feature_maps: settings.feature_maps(),
            not_public: settings.not_public(),
            outside_scope: settings.outside_scope.clone(),
            n_suppressed: history.n_suppressed,
            n_unpurged: 0,
            damaged: Vec::new(),
            repairs: Vec::new(),
            loose: Vec::new(),
            out_of_step: Vec::new(),
            left_behind: Vec::new(),
            witness: None,
        }
    }
}
