//! The certificate that comes with a release, put together from the model, its claim and its history.

use efface_core::accounting::{Guarantee, gaussian};
use efface_core::model::{BudgetRule, Mechanism, Model, ReleaseAccount, ReleaseClaim};
use efface_core::noise::NoiseLaw;
use efface_core::residual::Constants;
use efface_core::rounding::UpperBound;
use efface_ledger::certificate::{
    Adversary, Arithmetic, CoveredRequest, CurvePoint, LogPosition, Predicate, ReleaseCertificate, ReleasePolicy,
    SincePrevious, SpentBefore, tags,
};
use efface_ledger::entry::{Change, Event};
use efface_ledger::verify::exposure;

use crate::database::{ReleaseEntry, ledger::LoggedEntry};
use crate::error::EngineError;
use crate::model_directory::ModelDirectory;
use crate::past::ChangeTally;
use crate::settings::Settings;

/// Program and version, as certificates name it.
pub(crate) const SOFTWARE: &str = concat!("efface ", env!("CARGO_PKG_VERSION"));

/// What a certificate says beside the model and the claim: where it stands among other releases and changes.
pub(crate) struct History {
    /// Name of the model.
    pub(crate) model: String,
    /// When, in UTC.
    pub(crate) issued: String,
    pub(crate) key_id: String,
    pub(crate) log: LogPosition,
    /// Rows removed on request so far.
    pub(crate) n_removed: usize,
    /// Whether rows have weights, be it that they add up to the number of rows.
    pub(crate) weighted: bool,
    pub(crate) requests: Vec<CoveredRequest>,
    pub(crate) since_previous: SincePrevious,
    pub(crate) policy: ReleasePolicy,
    pub(crate) revoked: Vec<usize>,
    /// What earlier releases spent.
    pub(crate) before: ReleaseAccount,
}

/// What is certified of a release. `claim` has been accounted for in the model; the history is as before.
pub(crate) fn certificate(
    model: &Model,
    settings: &Settings,
    claim: &ReleaseClaim,
    history: History,
) -> ReleaseCertificate {
    let (plan, state, config) = (model.plan(), model.state(), &settings.config);
    let (objective, n_problems) = (plan.is_objective(), plan.problems().len());
    let before = history.before;
    let not_public = settings.not_public();
    ReleaseCertificate {
        schema: ReleaseCertificate::SCHEMA.into(),
        software: SOFTWARE.into(),
        model: history.model,
        issued: history.issued,
        key_id: history.key_id,
        log: history.log,
        release: claim.release,
        certified: claim.certified,
        n_removed: history.n_removed,
        requests: history.requests,
        since_previous: history.since_previous,
        policy: history.policy,
        revoked: history.revoked,
        mechanism: config.mechanism.tag().into(),
        loss: plan.loss().tag().into(),
        l2: config.l2_per_row,
        scale: settings.transform.scale.to_string(),
        intercept: settings.transform.intercept,
        row_norm_bound: state.row_norm.is_finite().then(|| state.row_norm.get()),
        n_rows: state.count.n_rows,
        weight_sum: history.weighted.then(|| state.count.weight_sum.lower().get()),
        negatives: config.negatives,
        n_problems,
        dim: model.dim(),
        rung: model.claim().rung.tag().into(),
        gamma: match config.constants {
            Constants::Tight => "tight",
            Constants::Paper => "paper",
        }
        .into(),
        gradient_residual: claim.gradient_residual.get(),
        distance_bound: claim.distance_bound.get(),
        budget: match config.mechanism {
            Mechanism::Release => None,
            Mechanism::Objective { budget: BudgetRule::Analytic } => Some("analytic".into()),
            Mechanism::Objective { budget: BudgetRule::Paper } => Some("paper".into()),
        },
        law: match config.law {
            NoiseLaw::Gaussian => "gaussian",
            NoiseLaw::Gamma => "gamma",
        }
        .into(),
        noise_std: claim.noise_std,
        lattice_step: claim.lattice_step,
        mu: claim.mu.get(),
        spent_before: SpentBefore {
            n_releases: before.n_releases,
            distance_squares: before.distance_squares.get(),
            distances: before.distances.get(),
        },
        mu_total: claim.mu_total.get(),
        mu_limit: claim.mu_limit.get(),
        promise: plan.guarantee(),
        extractor: model.extractor(),
        epsilon: claim.guarantee.epsilon,
        delta: claim.guarantee.delta,
        epsilon_spent: claim.epsilon_spent,
        curve: curve(plan.guarantee(), config.law, claim.mu_total),
        arithmetic: Arithmetic { bounds: tags::BOUNDS[0].into(), noise: plan.noise_arithmetic().tag().into() },
        adversary: Adversary {
            sees_prior_release: false,
            sees_later_releases: !objective,
            adaptive_requests: !objective,
            secret_state: true,
        },
        limits: tags::LIMITS.iter().filter(|_| objective && !plan.is_exact()).map(ToString::to_string).collect(),
        outside_scope: tags::OUTSIDE_SCOPE
            .iter()
            .filter(|tag| match **tag {
                "row-weights" => history.weighted,
                "row-norm-bound" => settings.row_norm_from_rows,
                "columns-not-public" => !not_public.is_empty(),
                _ => true,
            })
            .map(ToString::to_string)
            .collect(),
        not_public,
    }
}

impl ModelDirectory {
    /// What is certified of a release. `claim` has been accounted for in the model in memory; the head is as before.
    pub(crate) fn release_certificate(
        &self,
        claim: &ReleaseClaim,
        issued: &str,
    ) -> Result<ReleaseCertificate, EngineError> {
        let head = &self.head;
        let (requests, since_previous) = self.since_previous()?;
        let history = History {
            model: head.model.clone(),
            issued: issued.into(),
            key_id: head.ledger.key_id.clone(),
            log: self.next_position(),
            n_removed: head.n_removed,
            weighted: self.rows.layout().weighted,
            requests,
            since_previous,
            policy: head.ledger.policy,
            revoked: head.ledger.revoked.clone(),
            before: head.account,
        };
        Ok(certificate(&self.model, &self.settings, claim, history))
    }

    /// The release before the next one. The account may count later ones than the database lists, after a backup: then
    /// nothing is known of the latest but its number.
    pub(crate) fn previous_release(&self) -> Result<Option<ReleaseEntry>, EngineError> {
        let (release, listed) = (self.head.account.n_releases, self.database.latest_release()?);
        if release == 0 || listed.as_ref().is_some_and(|listed| listed.release >= release) {
            return Ok(listed);
        }
        let certified = self.head.account.certified;
        let (time, n_removed, distance_bound, certificate, sequence) = (None, 0, 0.0, None, None);
        Ok(Some(ReleaseEntry { release, time, n_removed, distance_bound, certified, certificate, sequence }))
    }

    /// Requests since the release before, and what an observer of both releases could learn.
    fn since_previous(&self) -> Result<(Vec<CoveredRequest>, SincePrevious), EngineError> {
        let previous = self.previous_release()?;
        let known = previous.as_ref().and_then(|previous| previous.sequence).unwrap_or(0);
        let changes = self.database.changes_after(&self.head.ledger.log, known)?;
        let ChangeTally { removed: n_removed, corrected: n_corrected, added: n_added } =
            ChangeTally::of(changes.iter().map(|change| &change.entry.event));
        let mut requests = Vec::new();
        for LoggedEntry { position, entry } in changes {
            if let Event::Removal(change) = entry.event {
                requests.push(self.covered_request(position, entry.time, change)?);
            }
        }
        let n_people = self.head.ledger.n_people;
        let release = previous.as_ref().map(|previous| previous.release);
        let certificate = previous.and_then(|ReleaseEntry { certificate, .. }| certificate);
        let exposure = exposure(release.is_some(), n_people).into();
        let since = SincePrevious { release, certificate, n_people, n_removed, n_corrected, n_added, exposure };
        Ok((requests, since))
    }

    /// A request as certificates name it.
    pub(crate) fn covered_request(
        &self,
        position: u64,
        time: String,
        change: Change,
    ) -> Result<CoveredRequest, EngineError> {
        let named = self.database.request_of_change(change.change)?;
        let salt = named.is_some().then(|| self.settings.request_salt(change.change));
        let id = named.unwrap_or_else(|| format!("change-{}", change.change));
        Ok(CoveredRequest { id, time, change: change.change, n_rows: change.n_rows, rows: change.rows, salt, position })
    }
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
