//! What a certificate says in words: tags that are known, and labels that its mechanism must carry.

use efface_core::loss;
use efface_core::model::{BudgetRule, MechanismKind};
use efface_core::noise::{NoiseArithmetic, NoiseLaw};
use efface_core::residual::{Constants, Rung};

use super::check::{Check, CheckName};
use super::features;
use crate::certificate::tags::{self, Exposure, Limit, OutsideScope};
use crate::certificate::{FeatureMap, FittedBeside, ReleaseCertificate, ReleaseClaims};
use crate::entry::is_salt;

/// Whether every tag is one that this version knows.
pub(super) fn known<D, R>(c: &ReleaseClaims<D, R>) -> Check {
    let one = |field: &'static str, value: &str, is_known: bool| {
        (!is_known).then(|| format!("{field} `{value}` is not known to this version"))
    };
    let all = |field: &'static str, values: &[String], is_known: &dyn Fn(&str) -> bool| {
        values.iter().find_map(|value| one(field, value, is_known(value)))
    };
    let budget = c.budget.as_deref();
    let unknown = one("mechanism", &c.mechanism, MechanismKind::by_tag(&c.mechanism).is_some())
        .or_else(|| one("loss", &c.loss, loss::by_tag(&c.loss).is_some()))
        .or_else(|| one("law", &c.law, NoiseLaw::by_tag(&c.law).is_some()))
        .or_else(|| scale(&c.scale))
        .or_else(|| c.feature_maps.iter().find_map(features::unknown))
        .or_else(|| one("rung", &c.rung, Rung::by_tag(&c.rung).is_some()))
        .or_else(|| one("gamma", &c.gamma, Constants::by_tag(&c.gamma).is_some()))
        .or_else(|| budget.and_then(|budget| one("budget", budget, BudgetRule::by_tag(budget).is_some())))
        .or_else(|| one("arithmetic.bounds", &c.arithmetic.bounds, c.arithmetic.bounds == tags::OUTWARD))
        .or_else(|| {
            one("arithmetic.noise", &c.arithmetic.noise, NoiseArithmetic::by_tag(&c.arithmetic.noise).is_some())
        })
        .or_else(|| {
            let exposure = &c.since_previous.exposure;
            one("since_previous.exposure", exposure, Exposure::by_tag(exposure).is_some())
        })
        .or_else(|| all("limits", &c.limits, &|limit| Limit::by_tag(limit).is_some()))
        .or_else(|| all("outside_scope", &c.outside_scope, &is_scope));
    match unknown {
        Some(message) => Check::unsupported(CheckName::Tags, message),
        None => Check::passed(CheckName::Tags, "every tag is known"),
    }
}

/// Something that is outside a claim: a tag, or what was declared to have been fitted beside the model.
fn is_scope(scope: &str) -> bool {
    OutsideScope::by_tag(scope).is_some() || scope.parse::<FittedBeside>().is_ok()
}

/// How rows are scaled: a tag, or `clip:` or `within:` and a radius.
fn scale(scale: &str) -> Option<String> {
    let is_radius = |text: &str| text.parse::<f64>().is_ok_and(|radius| radius > 0.0 && radius.is_finite());
    let radius = scale.strip_prefix("clip:").or_else(|| scale.strip_prefix("within:"));
    let known = tags::SCALES.contains(&scale) || radius.is_some_and(is_radius);
    (!known).then(|| format!("scale `{scale}` is not known to this version"))
}

/// Whether one perturbation covers each release alone, and releases spend nothing of a common account.
pub(super) fn is_objective<D, R>(c: &ReleaseClaims<D, R>) -> bool {
    c.mechanism == MechanismKind::Objective.tag()
}

/// Whether the claim is one at all: drawn from randomness that nobody could predict.
pub(super) fn certified(c: &ReleaseCertificate) -> Check {
    if c.certified {
        return Check::passed(CheckName::Certified, "the randomness was unpredictable");
    }
    Check::failed(CheckName::Certified, "not certified: the noise came from a fixed seed, and nothing is promised")
}

/// A label that its mechanism and its schema ask for, and that the certificate does not carry.
pub(super) fn missing_label<D, R>(c: &ReleaseClaims<D, R>) -> Option<String> {
    let objective = is_objective(c);
    // Without noise only equal bits are accepted, and nothing is left that a label could tell of.
    let needed: &[Limit] = if objective && c.noise_std > 0.0 { &Limit::ALL } else { &[] };
    if let Some(label) = needed.iter().find(|label| !c.limits.iter().any(|limit| limit == label.tag())) {
        return Some(format!("the limit `{label}` belongs to this mechanism and is not stated"));
    }
    let belongs = |scope: &OutsideScope| match scope {
        OutsideScope::RowWeights => c.weight_sum.is_some(),
        OutsideScope::ColumnsNotPublic => !c.not_public.is_empty(),
        OutsideScope::DeclaredNetworks => c.feature_maps.iter().any(FeatureMap::is_declared),
        // Where the bound is from cannot be told from the certificate.
        OutsideScope::RowNormBound => false,
        _ => true,
    };
    let mut scope = OutsideScope::ALL.into_iter().filter(belongs);
    if let Some(tag) = scope.find(|scope| !c.outside_scope.iter().any(|stated| stated == scope.tag())) {
        return Some(format!("`{tag}` is outside every claim of this kind, and is not stated"));
    }
    let noise: &[NoiseArithmetic] = match (c.noise_std == 0.0, objective, NoiseLaw::by_tag(&c.law)) {
        (true, ..) => &[NoiseArithmetic::None],
        (false, false, Some(NoiseLaw::Gaussian)) => &[NoiseArithmetic::Exact, NoiseArithmetic::Idealized],
        _ => &[NoiseArithmetic::Idealized],
    };
    if !noise.iter().any(|noise| noise.tag() == c.arithmetic.noise) {
        let noise = noise.iter().map(|noise| noise.tag()).collect::<Vec<_>>().join(" or ");
        return Some(format!("noise of this mechanism and law is {noise}, not {}", c.arithmetic.noise));
    }
    let adversary = c.adversary;
    if adversary.sees_prior_release || !adversary.secret_state || objective && adversary.adaptive_requests {
        return Some("the adversary is stronger than the one that the proof is about".into());
    }
    if objective && adversary.sees_later_releases {
        return Some("one perturbation does not cover several releases together".into());
    }
    None
}

/// Whether what is said of requests and of the release before fits together.
pub(super) fn requests(c: &ReleaseCertificate) -> Result<String, String> {
    let since = &c.since_previous;
    let n_rows = c.requests.iter().fold(0, |sum: usize, request| sum.saturating_add(request.n_rows));
    if n_rows != since.n_removed || since.n_removed > c.n_removed {
        return Err(format!(
            "{} requests of {n_rows} rows, where {} rows were removed since the release before and {} in all",
            c.requests.len(),
            since.n_removed,
            c.n_removed
        ));
    }
    if let Some(request) = c.requests.iter().find(|request| request.salt.as_deref().is_some_and(|salt| !is_salt(salt)))
    {
        return Err(format!("the salt of request {} must be 64 hexadecimal digits", request.id));
    }
    let exposure = exposure(since.release.is_some(), since.n_people);
    if since.exposure != exposure.tag() {
        return Err(format!("with {} people that is `{exposure}`, stated is `{}`", since.n_people, since.exposure));
    }
    if since.release.is_none() && c.release > 1 {
        return Err(format!("release {} has a release before it, and names none", c.release));
    }
    if since.release.is_some_and(|previous| previous >= c.release)
        || c.decided.revoked.iter().any(|revoked| *revoked >= c.release)
    {
        return Err(format!("release {} refers to releases that come after it", c.release));
    }
    if let Some(previous) = since.release.filter(|previous| *previous == 0 || previous + 1 != c.release) {
        return Err(format!("release {} names release {previous} as the one before it", c.release));
    }
    if since.release.is_none() && since.certificate.is_some() {
        return Err(format!("release {} names a certificate of no release before it", c.release));
    }
    let n = c.requests.len();
    Ok(if n == 1 { "1 request is covered".into() } else { format!("{n} requests are covered") })
}

/// What whoever has this release and the one before could learn.
pub fn exposure(has_previous: bool, n_people: usize) -> Exposure {
    match (has_previous, n_people) {
        (false, _) => Exposure::NoPreviousRelease,
        (true, 0) => Exposure::NobodyLeft,
        (true, 1) => Exposure::OnePerson,
        (true, _) => Exposure::SeveralTogether,
    }
}
