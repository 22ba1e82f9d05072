//! What a certificate says in words: tags that are known, and labels that its mechanism must carry.

use super::check::Check;
use crate::certificate::{ReleaseCertificate, tags};
use crate::entry::is_salt;

/// Whether every tag is one that this version knows.
pub(super) fn known(c: &ReleaseCertificate) -> Check {
    let one = |field: &'static str, value: &str, known: &[&str]| {
        (!known.contains(&value)).then(|| format!("{field} `{value}` is not known to this version"))
    };
    let all = |field: &'static str, values: &[String], known: &[&str]| {
        values.iter().find_map(|value| one(field, value, known))
    };
    let unknown = one("mechanism", &c.mechanism, &tags::MECHANISMS)
        .or_else(|| one("loss", &c.loss, &tags::LOSSES))
        .or_else(|| one("law", &c.law, &tags::LAWS))
        .or_else(|| scale(&c.scale))
        .or_else(|| one("rung", &c.rung, &tags::RUNGS))
        .or_else(|| one("gamma", &c.gamma, &tags::CONSTANTS))
        .or_else(|| c.budget.as_ref().and_then(|budget| one("budget", budget, &tags::BUDGETS)))
        .or_else(|| one("arithmetic.bounds", &c.arithmetic.bounds, &tags::BOUNDS))
        .or_else(|| one("arithmetic.noise", &c.arithmetic.noise, &tags::NOISES))
        .or_else(|| one("since_previous.exposure", &c.since_previous.exposure, &tags::EXPOSURES))
        .or_else(|| all("limits", &c.limits, &tags::LIMITS))
        .or_else(|| all("outside_scope", &c.outside_scope, &tags::OUTSIDE_SCOPE));
    match unknown {
        Some(message) => Check::unsupported("tags", message),
        None => Check::passed("tags", "every tag is known"),
    }
}

/// How rows are scaled: a tag, or `clip:` or `within:` and a radius.
fn scale(scale: &str) -> Option<String> {
    let is_radius = |text: &str| text.parse::<f64>().is_ok_and(|radius| radius > 0.0 && radius.is_finite());
    let radius = scale.strip_prefix("clip:").or_else(|| scale.strip_prefix("within:"));
    let known = tags::SCALES.contains(&scale) || radius.is_some_and(is_radius);
    (!known).then(|| format!("scale `{scale}` is not known to this version"))
}

/// Whether the claim is one at all: drawn from randomness that nobody could predict.
pub(super) fn certified(c: &ReleaseCertificate) -> Check {
    Check::of(
        "certified",
        if c.certified {
            Ok("the randomness was unpredictable".into())
        } else {
            Err("not certified: the noise came from a fixed seed, and nothing is promised".into())
        },
    )
}

/// Whether the certificate carries the labels that its mechanism and its schema ask for.
pub(super) fn labels(c: &ReleaseCertificate) -> Check {
    Check::of("labels", missing_label(c).map_or(Ok("limits and scope are stated".into()), Err))
}

fn missing_label(c: &ReleaseCertificate) -> Option<String> {
    let objective = c.mechanism == "objective";
    // Without noise only equal bits are accepted, and nothing is left that a label could tell of.
    let needed: &[&str] = if objective && c.noise_std > 0.0 { &tags::LIMITS } else { &[] };
    if let Some(label) = needed.iter().find(|label| !c.limits.iter().any(|limit| limit == *label)) {
        return Some(format!("the limit `{label}` belongs to this mechanism and is not stated"));
    }
    let belongs = |tag: &&&str| match **tag {
        "row-weights" => c.weight_sum.is_some(),
        "columns-not-public" => !c.not_public.is_empty(),
        // Where the bound is from cannot be told from the certificate.
        "row-norm-bound" => false,
        _ => true,
    };
    let mut scope = tags::OUTSIDE_SCOPE.iter().filter(belongs);
    if let Some(tag) = scope.find(|tag| !c.outside_scope.iter().any(|stated| stated == *tag)) {
        return Some(format!("`{tag}` is outside every claim of this kind, and is not stated"));
    }
    let noise: &[&str] = match (c.noise_std == 0.0, objective, &*c.law) {
        (true, ..) => &["none"],
        (false, false, "gaussian") => &["exact", "idealized"],
        _ => &["idealized"],
    };
    if !noise.contains(&&*c.arithmetic.noise) {
        let noise = noise.join(" or ");
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
pub(super) fn requests(c: &ReleaseCertificate) -> Check {
    Check::of("requests", requests_fit(c))
}

fn requests_fit(c: &ReleaseCertificate) -> Result<String, String> {
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
    if since.exposure != exposure {
        return Err(format!("with {} people that is `{exposure}`, stated is `{}`", since.n_people, since.exposure));
    }
    if since.release.is_none() && c.release > 1 {
        return Err(format!("release {} has a release before it, and names none", c.release));
    }
    if since.release.is_some_and(|previous| previous >= c.release)
        || c.revoked.iter().any(|revoked| *revoked >= c.release)
    {
        return Err(format!("release {} speaks of releases that come after it", c.release));
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
pub fn exposure(has_previous: bool, n_people: usize) -> &'static str {
    match (has_previous, n_people) {
        (false, _) => "no-previous-release",
        (true, 0) => "nobody-left",
        (true, 1) => "one-person",
        (true, _) => "several-together",
    }
}
