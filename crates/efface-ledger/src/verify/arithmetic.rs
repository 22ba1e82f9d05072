//! The arithmetic of a certificate, computed again.

use efface_core::accounting::{Extractor, Guarantee, gaussian};
use efface_core::loss::{Loss, Squared};
use efface_core::noise::{NoiseArithmetic, NoiseLaw};
use efface_core::residual::Rung;
use efface_core::ridge::Ridge;
use efface_core::rounding::{LowerBound, UpperBound};
use efface_core::rows::MOST_ROW_WEIGHT;

use super::check::{Check, CheckName, CheckOutcome};
use super::labels::is_objective;
use crate::certificate::ReleaseClaims;

pub(super) fn checks<D, R>(certificate: &ReleaseClaims<D, R>) -> Vec<Check> {
    let numbers = Check::of(CheckName::Numbers, numbers(certificate));
    if numbers.outcome != CheckOutcome::Passed {
        return vec![numbers];
    }
    let checks: [(CheckName, Computation<D, R>); 7] = [
        (CheckName::Residual, residual),
        (CheckName::Mu, mu),
        (CheckName::Total, total),
        (CheckName::Limit, limit),
        (CheckName::Epsilon, epsilon),
        (CheckName::Curve, curve),
        (CheckName::Lattice, lattice),
    ];
    [numbers].into_iter().chain(checks.map(|(name, check)| Check::of(name, check(certificate)))).collect()
}

type Computation<D, R> = fn(&ReleaseClaims<D, R>) -> Result<String, String>;

/// Every number is one, and the sizes fit each other.
fn numbers<D, R>(c: &ReleaseClaims<D, R>) -> Result<String, String> {
    let extractor = c.extractor.unwrap_or(Extractor::per_row(0.0, 0.0));
    let named = [
        (c.ridge.name(), c.ridge.strength()),
        ("row_norm_bound", c.row_norm_bound.unwrap_or(0.0)),
        ("weight_sum", c.weight_sum.unwrap_or(0.0)),
        ("gradient_residual", c.gradient_residual),
        ("distance_bound", c.distance_bound),
        ("noise_std", c.noise_std),
        ("mu", c.mu),
        ("mu_total", c.mu_total),
        ("mu_limit", c.mu_limit),
        ("epsilon", c.epsilon),
        ("delta", c.delta),
        ("epsilon_spent", c.epsilon_spent),
        ("spent_before.distance_squares", c.spent_before.distance_squares),
        ("spent_before.distances", c.spent_before.distances),
        ("promise.epsilon", c.promise.epsilon),
        ("promise.delta", c.promise.delta),
        ("extractor.epsilon", extractor.epsilon),
        ("extractor.delta", extractor.delta),
    ];
    let curve = c.curve.iter().flat_map(|point| [("curve.epsilon", point.epsilon), ("curve.delta", point.delta)]);
    if let Some((name, value)) = named.into_iter().chain(curve).find(|(_, value)| !(*value >= 0.0 && value.is_finite()))
    {
        return Err(format!("{name} must be a finite number of at least 0, got `{value}`"));
    }
    if let Some((name, value)) = [(c.ridge.name(), Some(c.ridge.strength())), ("row_norm_bound", c.row_norm_bound)]
        .into_iter()
        .find(|(_, value)| *value == Some(0.0))
    {
        return Err(format!("{name} must be above 0, got `{}`", value.unwrap_or(0.0)));
    }
    if c.row_norm_bound.is_none() && c.noise_std > 0.0 {
        return Err("what noise hides rests on a bound on the rows, and there is none".into());
    }
    if c.n_problems == 0 || c.dim == 0 || c.n_rows == 0 {
        return Err(format!("{} problems of {} weights, and {} rows", c.n_problems, c.dim, c.n_rows));
    }
    let most = c.n_rows as f64 * MOST_ROW_WEIGHT;
    if let Some(sum) = c.weight_sum.filter(|sum| !(*sum > 0.0 && *sum <= most)) {
        return Err(format!("weight_sum of {} rows must be above 0 and at most {most}, got `{sum}`", c.n_rows));
    }
    if let Some(Extractor { epsilon, delta, group }) = c.extractor.filter(|extractor| !extractor.is_possible()) {
        return Err(format!("an extractor of ({epsilon}, {delta}) for {group} rows is none"));
    }
    if c.delta >= 1.0 {
        return Err(format!("delta must be below 1 to promise anything, got `{}`", c.delta));
    }
    if c.release == 0 || c.spent_before.n_releases != c.release - 1 {
        let before = c.spent_before.n_releases;
        return Err(format!("release {} cannot come after {before} releases", c.release));
    }
    Ok("every number is finite, and the sizes fit each other".into())
}

/// Residual and distance say the same: `r = ‖∇L‖/(λ n)`, n: what the rows weigh, or their number; `‖∇L‖/α` under a total
/// ridge. Where a problem keeps only some of the negatives its n is smaller, and the distance larger.
fn residual<D, R>(c: &ReleaseClaims<D, R>) -> Result<String, String> {
    let (ridge, in_words) = match c.ridge {
        Ridge::PerRow(lambda) => (lambda * c.weight_sum.unwrap_or(c.n_rows as f64), "λ·n"),
        Ridge::Total(alpha) => (alpha, "alpha"),
    };
    let distance = c.gradient_residual / ridge;
    // Under mechanism `release` the residual is what the claimed distance allows; under `objective` it is the other way round.
    let fits = c.distance_bound >= distance * (1.0 - AGREEMENT)
        && (c.distance_bound <= distance * (1.0 + AGREEMENT) || c.negatives.is_some());
    if fits {
        return Ok(format!("a residual of {:e} is a distance of at most {:e}", c.gradient_residual, c.distance_bound));
    }
    Err(format!(
        "a residual of {:e} over {in_words} is a distance of {distance:e}, claimed is {:e}",
        c.gradient_residual, c.distance_bound
    ))
}

/// `μ = r/s` under mechanism `release`, `‖∇L_b‖/σ` under `objective`.
fn mu<D, R>(c: &ReleaseClaims<D, R>) -> Result<String, String> {
    if c.noise_std == 0.0 {
        return nothing_to_hide(c);
    }
    let moved = if is_objective(c) { c.gradient_residual } else { c.distance_bound };
    let least = ratio(moved, c.noise_std);
    if c.mu >= least {
        return Ok(format!("{moved:e} over a noise of {:e} is {:e}", c.noise_std, c.mu));
    }
    Err(format!("{moved:e} over a noise of {:e} is {least:e}, claimed is {:e}", c.noise_std, c.mu))
}

/// ε = 0 without noise takes equal bits: any difference, however small, tells the two worlds apart. The sums that the
/// squared loss needs are sums of integers, from which rows are taken out exactly.
fn nothing_to_hide<D, R>(c: &ReleaseClaims<D, R>) -> Result<String, String> {
    if c.loss != Squared.tag() {
        return Err(format!("without noise removal must be exact, which it is not for the {} loss", c.loss));
    }
    if c.rung != Rung::Exact.tag() || c.distance_bound != 0.0 || c.gradient_residual != 0.0 {
        return Err(format!(
            "ε = 0 does not follow: without noise the weights must be equal bit for bit (`exact`, a distance of 0), stated \
             is `{}` and a distance of {:e}",
            c.rung, c.distance_bound
        ));
    }
    if c.mu == 0.0 && c.mu_total == 0.0 && c.mu_limit == 0.0 {
        return Ok("no noise, and nothing that it would have to hide".into());
    }
    Err(format!("without noise mu must be 0, claimed is {:e}", c.mu))
}

/// `μ_total = √(Σ r_j²)/s` over all releases, this one included; `Σ r_j / scale` under the gamma law. Under mechanism
/// `objective` one perturbation serves all releases, each taken alone.
fn total<D, R>(c: &ReleaseClaims<D, R>) -> Result<String, String> {
    let (r, before) = (c.distance_bound, c.spent_before);
    let n_before = before.n_releases as f64;
    // Σ r_j ≤ √(n Σ r_j²), and every release with noise claims some distance.
    let possible = before.distances * before.distances <= n_before * before.distance_squares * (1.0 + AGREEMENT);
    let counted = is_objective(c) || c.noise_std == 0.0 || n_before == 0.0 || before.distances > 0.0;
    if !possible || !counted {
        return Err(format!(
            "{n_before} releases cannot have spent distances of {:e} and squares of {:e} in all",
            before.distances, before.distance_squares
        ));
    }
    let least = match NoiseLaw::by_tag(&c.law) {
        _ if c.noise_std == 0.0 => 0.0,
        _ if is_objective(c) => c.mu,
        Some(NoiseLaw::Gamma) => ratio((before.distances + r).next_down(), c.noise_std),
        _ => {
            let squares = (before.distance_squares + (r * r).next_down()).next_down().max(0.0);
            ratio(squares.sqrt().next_down(), c.noise_std)
        }
    };
    if c.mu_total >= least && c.mu_total >= c.mu {
        return Ok(format!("all {} releases together: {:e}", c.release, c.mu_total));
    }
    Err(format!("all {} releases together come to {least:e}, claimed is {:e}", c.release, c.mu_total))
}

/// What is spent is within what the promise allows, and that follows from the promise.
fn limit<D, R>(c: &ReleaseClaims<D, R>) -> Result<String, String> {
    // Under mechanism `objective` both are quotients by σ, and where all of the budget is claimed, of the same number: one
    // rounded up, the other down.
    let slack = if is_objective(c) { APART } else { 0.0 };
    if c.mu_total > c.mu_limit * (1.0 + slack) {
        return Err(format!("{:e} is spent where {:e} is allowed", c.mu_total, c.mu_limit));
    }
    let (epsilon, delta) = (c.promise.epsilon, c.promise.delta);
    let follows = match NoiseLaw::by_tag(&c.law) {
        _ if c.noise_std == 0.0 => epsilon == 0.0 && delta == 0.0,
        // Noise makes two worlds alike, never the same.
        _ if epsilon == 0.0 => false,
        Some(NoiseLaw::Gamma) => c.mu_limit <= epsilon && delta == 0.0,
        // A Gaussian proves no δ of 0, however small the least double that is above the true one.
        _ => delta > 0.0 && proves(epsilon, c.mu_limit, delta),
    };
    if follows {
        return Ok(format!("{:e} of {:e} is spent", c.mu_total, c.mu_limit));
    }
    Err(format!("a limit of {:e} does not follow from the promise ({epsilon}, {delta})", c.mu_limit))
}

/// δ from μ and ε, and the shares of removal and extractor.
fn epsilon<D, R>(c: &ReleaseClaims<D, R>) -> Result<String, String> {
    let extractor = c.extractor.map_or(NOTHING, |extractor| extractor.least_cost());
    if let Some(Extractor { group, .. }) = c.extractor
        && group < n_left(c)
    {
        return Err(format!("the extractor's share is for {group} rows, and {} have left", n_left(c)));
    }
    let least = ((c.promise.epsilon + extractor.epsilon).next_down(), (c.promise.delta + extractor.delta).next_down());
    if c.epsilon < least.0 || c.delta < least.1 {
        return Err(format!(
            "removal and extractor together promise ({}, {}), claimed is ({}, {})",
            least.0, least.1, c.epsilon, c.delta
        ));
    }
    // One step up: the share was added with one rounding.
    let share = (c.epsilon_spent - extractor.epsilon).next_up().max(0.0);
    let proved = match NoiseLaw::by_tag(&c.law) {
        _ if c.noise_std == 0.0 => true,
        Some(NoiseLaw::Gamma) => share >= c.mu_total,
        _ => proves(share, c.mu_total, c.promise.delta),
    };
    if proved && c.epsilon_spent <= c.epsilon {
        return Ok(format!("the releases so far prove ε = {:e} at δ = {:e}", c.epsilon_spent, c.delta));
    }
    Err(format!("mu_total {:e} does not prove ε = {:e} at δ = {:e}", c.mu_total, c.epsilon_spent, c.promise.delta))
}

/// Rows that have left, as far as the certificate tells: corrected ones before the release before are not listed.
fn n_left<D, R>(c: &ReleaseClaims<D, R>) -> usize {
    c.n_removed.saturating_add(c.since_previous.n_corrected)
}

fn curve<D, R>(c: &ReleaseClaims<D, R>) -> Result<String, String> {
    let holds = |point: &&crate::certificate::CurvePoint| match NoiseLaw::by_tag(&c.law) {
        _ if c.noise_std == 0.0 => true,
        Some(NoiseLaw::Gamma) => point.epsilon >= c.mu_total || point.delta >= 1.0,
        _ => proves(point.epsilon, c.mu_total, point.delta),
    };
    match c.curve.iter().find(|point| !holds(point)) {
        None => Ok(format!("{} points of δ(ε) hold", c.curve.len())),
        Some(point) => {
            Err(format!("mu_total {:e} does not prove δ = {:e} at ε = {}", c.mu_total, point.delta, point.epsilon))
        }
    }
}

/// Noise that is called exact lies on a lattice whose rounding is part of the distance.
fn lattice<D, R>(c: &ReleaseClaims<D, R>) -> Result<String, String> {
    let Some(step) = c.lattice_step else {
        return if c.arithmetic.noise == NoiseArithmetic::Exact.tag() {
            Err("the noise is called exact, and no lattice is named".into())
        } else {
            Ok("no lattice: the noise is not claimed to be exact".into())
        };
    };
    let power_of_two =
        step > 0.0 && step.is_finite() && (step / 2f64.powi(step.log2().round() as i32) - 1.0).abs() == 0.0;
    if !power_of_two {
        return Err(format!("lattice_step must be a power of two, got `{step}`"));
    }
    let charge = ((c.dim as f64) * (c.n_problems as f64)).sqrt() * step;
    if charge <= c.distance_bound {
        return Ok(format!(
            "rounding to steps of {step:e} moves the weights by {charge:e}, which is within the distance"
        ));
    }
    Err(format!(
        "rounding to steps of {step:e} moves the weights by {charge:e}, beyond the distance {:e}",
        c.distance_bound
    ))
}

/// Whether μ is not provably more than (ε, δ) allows.
fn proves(epsilon: f64, mu: f64, delta: f64) -> bool {
    gaussian::delta_enclosure(epsilon, UpperBound::new(mu)).0.get() <= delta
}

/// A quotient, rounded down.
fn ratio(numerator: f64, denominator: f64) -> f64 {
    LowerBound::new(numerator).over(UpperBound::new(denominator)).get()
}

const NOTHING: Guarantee = Guarantee { epsilon: 0.0, delta: 0.0 };

/// A few roundings, in opposite directions.
const APART: f64 = 8.0 * f64::EPSILON;

/// Residual and distance are the same claim in two units: they agree to rounding.
const AGREEMENT: f64 = 1e-9;
