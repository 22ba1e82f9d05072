//! What is certified of a release: put together from the model, its claim and its history, by whoever issues it. And what
//! the log says of a change, which a certificate refers to.

use efface_core::accounting::{Guarantee, gaussian};
use efface_core::model::{Mechanism, ReleaseAccount, ReleaseClaim};
use efface_core::noise::NoiseLaw;
use efface_core::rounding::UpperBound;
use efface_core::rows::Problem;
use efface_ledger::certificate::tags::{self, Limit, OutsideScope};
use efface_ledger::certificate::{
    Adversary, Arithmetic, CoveredRequest, CurvePoint, FeatureMap, FittedBeside, Issued, ReleaseClaims, SincePrevious,
    SpentBefore,
};
use efface_ledger::entry::{self, Change};
use efface_ledger::merkle::{self, Hash};
use efface_ledger::verify::{Check, CheckName, CheckOutcome};
use serde::Serialize;

use crate::clock;
use crate::error::{CertifyError, EngineError};
use crate::history::{History, Kept, RowKeys};
use crate::settings::Settings;

/// A certificate as somebody issues it at a time in seconds since 1970.
pub(crate) fn issued<T, I>(schema: &str, history: &History, time: u64, issue: I, body: T) -> Issued<T, I> {
    let (model, issued) = (history.model.clone(), clock::timestamp(time));
    let software = concat!("efface ", env!("CARGO_PKG_VERSION")).into();
    Issued { schema: schema.into(), software, model, issued, issue, body }
}

/// Fails closed: no certificate is issued of which a check does not hold. Only `certified` may not, which it says itself.
pub(crate) fn refuse_wrong(checks: Vec<Check>) -> Result<(), EngineError> {
    let wrong = checks.into_iter().find(|check| {
        !matches!(check.outcome, CheckOutcome::Passed | CheckOutcome::NotChecked) && check.check != CheckName::Certified
    });
    match wrong {
        None => Ok(()),
        Some(check) => Err(CertifyError::NotSigned { reason: format!("{}: {}", check.check, check.message) }.into()),
    }
}

/// Why a release is not made yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename = "held-back")]
pub struct HeldBack {
    /// People whose rows left or changed since the release before.
    pub n_people: usize,
    /// So many there must be.
    pub min_removals: Option<usize>,
    /// When it will be made in any case, in seconds since 1970.
    pub due: Option<u64>,
}

/// The certificate of a release, but for who issues it. The model has accounted for the claim; the history is as before.
pub(crate) struct Draft<'a> {
    pub(crate) of: Kept<'a>,
    pub(crate) claim: &'a ReleaseClaim,
    /// Requests that this release is the first to cover.
    pub(crate) requests: Vec<CoveredRequest>,
    pub(crate) since_previous: SincePrevious,
    pub(crate) before: ReleaseAccount,
}

impl Draft<'_> {
    /// What the certificate says; `decided` is what its keeper decided.
    pub(crate) fn claims<D, R: From<CoveredRequest>>(self, history: &History, decided: D) -> ReleaseClaims<D, R> {
        let (claim, Kept { settings, model, .. }) = (self.claim, self.of);
        let weighted = settings.max_row_weight.is_some();
        let (plan, state, config) = (model.plan(), model.state(), &settings.config);
        let (objective, problems) = (plan.is_objective(), plan.problems());
        let n_scores = problems.first().map_or(1, Problem::n_scores);
        let (not_public, feature_maps) = (settings.not_public(), settings.feature_maps());
        let outside_scope = OutsideScope::ALL.into_iter().filter(|scope| match scope {
            OutsideScope::RowWeights => weighted,
            OutsideScope::RowNormBound => settings.row_norm_from_rows,
            OutsideScope::ColumnsNotPublic => !not_public.is_empty(),
            OutsideScope::DeclaredNetworks => feature_maps.iter().any(FeatureMap::is_declared),
            _ => true,
        });
        let outside_scope = outside_scope.map(|scope| scope.tag().into());
        let declared = settings.outside_scope.iter().map(FittedBeside::to_string);
        let outside_scope = outside_scope.chain(declared).collect();
        ReleaseClaims {
            decided,
            release: claim.release,
            certified: claim.certified,
            n_removed: history.n_removed,
            requests: self.requests.into_iter().map(R::from).collect(),
            since_previous: self.since_previous,
            mechanism: config.mechanism.kind().tag().into(),
            loss: plan.loss().tag().into(),
            ridge: config.ridge,
            scale: settings.transform.scale.to_string(),
            intercept: settings.transform.intercept,
            feature_maps,
            row_norm_bound: state.row_norm.is_finite().then(|| state.row_norm.get()),
            n_rows: state.count.n_rows,
            weight_sum: weighted.then(|| state.count.weight_sum.lower().get()),
            negatives: config.negatives,
            n_problems: problems.len(),
            dim: model.dim() * n_scores,
            rung: model.claim().rung.tag().into(),
            gamma: config.constants.tag().into(),
            gradient_residual: claim.gradient_residual.get(),
            distance_bound: claim.distance_bound.get(),
            budget: match config.mechanism {
                Mechanism::Release => None,
                Mechanism::Objective { budget } => Some(budget.tag().into()),
            },
            law: config.law.tag().into(),
            noise_std: claim.noise_std,
            lattice_step: claim.lattice_step,
            mu: claim.mu.get(),
            spent_before: SpentBefore {
                n_releases: self.before.n_releases,
                distance_squares: self.before.distance_squares.get(),
                distances: self.before.distances.get(),
            },
            mu_total: claim.mu_total.get(),
            mu_limit: claim.mu_limit.get(),
            promise: plan.guarantee(),
            lives: Some(config.lives).filter(|lives| *lives > 1),
            extractor: config.extractor,
            epsilon: claim.guarantee.epsilon,
            delta: claim.guarantee.delta,
            epsilon_spent: claim.epsilon_spent,
            curve: curve(plan.guarantee(), config.law, claim.mu_total),
            arithmetic: Arithmetic { bounds: tags::OUTWARD.into(), noise: plan.noise_arithmetic().tag().into() },
            adversary: Adversary {
                sees_prior_release: false,
                sees_later_releases: !objective,
                adaptive_requests: !objective,
                secret_state: true,
            },
            limits: if objective && !plan.is_exact() {
                Limit::ALL.map(|limit| limit.tag().into()).into()
            } else {
                Vec::new()
            },
            outside_scope,
            not_public,
        }
    }
}

impl Settings {
    /// What the log says of a change: counts and commitments.
    pub(crate) fn logged_change(
        &self,
        change: u64,
        n_rows: usize,
        removed: &[RowKeys],
        request_id: Option<&str>,
    ) -> Change {
        let key = &self.id_key;
        let leaves = (0..).zip(removed).map(|(index, keys)| key.row_commitment(change, index, keys.id));
        let rows = (!removed.is_empty()).then(|| hex::encode(commitment_root(leaves)));
        let request = request_id.map(|id| entry::request_commitment(&self.request_salt(change), id));
        Change { change, n_rows, rows, request }
    }

    pub(crate) fn request_salt(&self, change: u64) -> String {
        hex::encode(self.id_key.request_salt(change))
    }
}

/// The root of a tree over the commitments to single rows.
fn commitment_root(leaves: impl Iterator<Item = [u8; 32]>) -> Hash {
    let mut hashes: Vec<Hash> = Vec::new();
    let mut size = 0;
    for leaf in leaves {
        let new = merkle::append(&hashes, size, merkle::leaf_hash(&leaf)).unwrap_or_default();
        hashes.extend(new);
        size += 1;
    }
    merkle::root(&hashes, size).unwrap_or(merkle::EMPTY_ROOT)
}

/// A few points of δ(ε) at μ, around the promised ε.
fn curve(promise: Guarantee, law: NoiseLaw, mu_total: UpperBound) -> Vec<CurvePoint> {
    match law {
        _ if promise.epsilon == 0.0 => Vec::new(),
        NoiseLaw::Gamma => vec![CurvePoint { epsilon: mu_total.get(), delta: 0.0 }],
        NoiseLaw::Gaussian => [0.0, 0.01, 0.1, 0.25, 0.5, 1.0]
            .map(|part| part * promise.epsilon)
            .map(|epsilon| CurvePoint { epsilon, delta: gaussian::delta(epsilon, mu_total).get() })
            .to_vec(),
    }
}
