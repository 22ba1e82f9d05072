#![doc = include_str!("distribution.md")]

mod direct;
pub(crate) mod problems;
mod rates;
mod self_test;
#[cfg(test)]
mod tests;

use efface_core::model::{Model, Release, TrainingPlan};
use efface_core::noise::{NoiseLaw, NoiseSource};
use efface_core::residual::Rung;
use rayon::prelude::*;
use serde::Serialize;

pub use self::direct::{DirectCheck, DirectChecks, Power};
use self::direct::{NoiseSample, Published, Worlds};
use self::rates::Bounds;
pub(crate) use self::self_test::self_test;
pub use self::self_test::{Caught, SelfTest};
use crate::choice::{branch, branches};
use crate::engine::{Case, Engine, weights_of, without_matrices};
use crate::error::AuditError;
use crate::statistics::{histogram, mean, normal_cdf};

/// How many lives are drawn in each world, and how sure an alarm must be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Size {
    /// Lives per world and case.
    pub draws: usize,
    /// Probability that a sound engine is called broken, over all cases of a run together.
    pub false_alarm_rate: f64,
}

impl Default for Size {
    fn default() -> Self {
        Self { draws: 20_000, false_alarm_rate: 1e-6 }
    }
}

/// What the test found in one case.
#[derive(Clone, Debug, Serialize)]
pub struct CaseResult {
    /// Which rows were removed, in words.
    pub name: String,
    /// Releases in one life.
    pub n_releases: usize,
    /// The ε that the engine claims for all of them together, at `delta`.
    pub epsilon_claimed: f64,
    /// δ.
    pub delta: f64,
    /// Lower confidence bound of the true ε at that δ.
    pub epsilon_lower: f64,
    /// The μ that the engine claims (its ε under the gamma law).
    pub mu_claimed: f64,
    /// Lower confidence bound of the true μ; `None` where the law is not Gaussian.
    pub mu_lower: Option<f64>,
    /// Lives drawn per world.
    pub draws: usize,
    /// Whether a lower bound exceeds its claim.
    pub broken: bool,
    /// The same numbers looked at from inside the trust boundary.
    pub direct: DirectChecks,
    /// The likelihood-ratio statistic in the two worlds, for a picture.
    #[serde(skip)]
    pub picture: Picture,
}

/// Densities of the likelihood-ratio statistic in both worlds, in claimed standard deviations around their middle.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Picture {
    /// Middles of the bins.
    pub at: Vec<f64>,
    /// Fraction of lives per bin where rows were removed.
    pub removed: Vec<f64>,
    /// The same where the model was retrained.
    pub retrained: Vec<f64>,
    /// The largest fractions that the claim allows between the worlds: a normal curve moved by the claimed μ.
    pub claimed: Vec<f64>,
}

/// Plays a case under an engine in both worlds. `false_alarm_rate` is that of this case.
pub(crate) fn test(
    engine: &Engine,
    case: &Case<'_>,
    draws: usize,
    false_alarm_rate: f64,
    noise: &mut NoiseSource,
) -> Result<CaseResult, AuditError> {
    let plan = case.trained.plan();
    crate::engine::check_mechanism(plan)?;
    let draws = draws.max(LEAST_DRAWS);
    let removed = (engine.remove)(case)?;
    let retrained = (engine.retrain)(case)?;
    let means = Means { removed: weights(&removed), retrained: weights(&retrained) };
    // Without noise every life is the same.
    let draws = if plan.is_exact() { LEAST_DRAWS } else { draws };
    let ours = draw(engine, plan, &removed, &means, draws, noise)?;
    let theirs = draw(engine, plan, &retrained, &means, draws, noise)?;

    let claim = *ours.published.claims().last().ok_or(AuditError::State)?;
    let (epsilon_claimed, delta) = (claim.epsilon_spent, claim.guarantee.delta);
    // Half of the rate for the test, half for the direct checks; two statistics where there are two releases.
    let n_statistics = if removed.len() > 1 { 2 } else { 1 };
    let rate = 0.5 * false_alarm_rate / f64::from(n_statistics);
    let mut bounds = Bounds::default();
    if !plan.is_exact() {
        bounds = rates::bounds(&ours.ratios, &theirs.ratios, delta, rate);
        if n_statistics > 1 {
            bounds = bounds.max(rates::bounds(&ours.contrasts, &theirs.contrasts, delta, rate));
        }
    }
    let gaussian = plan.config().law == NoiseLaw::Gaussian && !plan.is_exact();
    let (mu_claimed, mu_lower) = (claim.mu_total.get(), gaussian.then_some(bounds.mu));
    let broken = !plan.is_exact() && (bounds.epsilon > epsilon_claimed || mu_lower.is_some_and(|mu| mu > mu_claimed));
    let picture = if gaussian { picture(&ours.ratios, &theirs.ratios, mu_claimed) } else { Picture::default() };
    let worlds = Worlds {
        case,
        removed: &removed,
        retrained: &retrained,
        published: [ours.published, theirs.published],
        noise: [ours.noise, theirs.noise],
    };
    let direct = direct::checks(worlds, 0.5 * false_alarm_rate)?;
    Ok(CaseResult {
        name: case.name.clone(),
        n_releases: removed.len(),
        epsilon_claimed,
        delta,
        epsilon_lower: bounds.epsilon,
        mu_claimed,
        mu_lower,
        draws,
        broken,
        direct,
        picture,
    })
}

/// The secret weights before each release, in both worlds: given the rows they are fixed vectors.
struct Means {
    removed: Vec<Vec<f64>>,
    retrained: Vec<Vec<f64>>,
}

/// What is kept of the lives of one world.
struct Lives {
    /// Log-likelihood ratio of the two worlds under the claimed law, all releases together.
    ratios: Vec<f64>,
    /// The same for the difference of the last and the first release.
    contrasts: Vec<f64>,
    published: Published,
    noise: NoiseSample,
}

fn weights(secrets: &[Model]) -> Vec<Vec<f64>> {
    secrets.iter().map(weights_of).collect()
}

/// With fewer there is nothing to pick thresholds from.
const LEAST_DRAWS: usize = 40;

/// Lives per run of draws with a source of their own.
const RUN: usize = 500;

fn draw(
    engine: &Engine,
    plan: &TrainingPlan,
    secrets: &[Model],
    means: &Means,
    draws: usize,
    noise: &mut NoiseSource,
) -> Result<Lives, AuditError> {
    let own = weights(secrets);
    let rungs: Vec<Rung> = secrets.iter().map(|secret| secret.state().rung).collect();
    let secrets: Vec<Model> = secrets.iter().map(without_matrices).collect::<Result<_, _>>()?;
    // One life to see what is claimed of all of them.
    let first = (engine.release)(&mut secrets.clone(), &mut branch(noise))?;
    let published = Published::new(&first, rungs, plan.is_exact());
    let sample = NoiseSample::new(plan, &own, published.claims(), draws, &mut branch(noise));
    let sources = branches(draws.div_ceil(RUN).max(1), noise);
    let runs: Vec<Lives> = sources
        .into_par_iter()
        .enumerate()
        .map(|(run, mut source)| {
            let mut secrets = secrets.clone();
            let n = RUN.min(draws - (run * RUN).min(draws)).max(1);
            let mut lives = Lives {
                ratios: Vec::with_capacity(n),
                contrasts: Vec::new(),
                published: published.clone(),
                noise: sample.clone(),
            };
            for _ in 0..n {
                let releases = (engine.release)(&mut secrets, &mut source)?;
                lives.published.add(&releases);
                let released: Vec<Vec<f64>> = releases.into_iter().map(flat).collect();
                lives.ratios.push(log_ratio(plan, &released, means));
                if released.len() > 1 {
                    lives.contrasts.push(contrast(&released, means));
                }
                lives.noise.add(&released);
            }
            Ok(lives)
        })
        .collect::<Result<_, AuditError>>()?;
    runs.into_iter()
        .reduce(|mut all, run| {
            all.ratios.extend(run.ratios);
            all.contrasts.extend(run.contrasts);
            all.published.merge(run.published);
            all.noise.merge(run.noise);
            all
        })
        .ok_or(AuditError::State)
}

fn flat(release: Release) -> Vec<f64> {
    release.weights.into_iter().flatten().collect()
}

/// ```text
/// Gaussian:  Σ_j ⟨w̃_j − (a_j + b_j)/2, a_j − b_j⟩ / (s ‖a − b‖)      in standard deviations, where s is the claimed one
/// gamma:     Σ_j (‖w̃_j − b_j‖ − ‖w̃_j − a_j‖) / scale
/// ```
///
/// a: secret weights after removal; b: after retraining.
fn log_ratio(plan: &TrainingPlan, released: &[Vec<f64>], means: &Means) -> f64 {
    let (mut sum, mut squares) = (0.0, 0.0);
    for ((w, a), b) in released.iter().zip(&means.removed).zip(&means.retrained) {
        if plan.config().law == NoiseLaw::Gamma {
            sum += distance(w, b) - distance(w, a);
            continue;
        }
        for ((w, a), b) in w.iter().zip(a).zip(b) {
            sum += (w - 0.5 * (a + b)) * (a - b);
            squares += (a - b).powi(2);
        }
    }
    let size = if squares > 0.0 { squares.sqrt() } else { 1.0 };
    let scale = if plan.is_exact() { 1.0 } else { plan.noise_std() };
    sum / (size * scale)
}

/// The difference of the last and the first release, along the difference of what it is in the two worlds: noise that is
/// used twice is not in it.
fn contrast(released: &[Vec<f64>], means: &Means) -> f64 {
    let last = released.len() - 1;
    let change = |world: &[Vec<f64>], i: usize| world[last][i] - world[0][i];
    (0..released[0].len())
        .map(|i| change(released, i) * (change(&means.removed, i) - change(&means.retrained, i)))
        .sum()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

/// Bins of the picture, over ±4 claimed standard deviations.
const BINS: usize = 32;

fn picture(removed: &[f64], retrained: &[f64], mu: f64) -> Picture {
    let width = 8.0 / BINS as f64;
    let count = |scores: &[f64]| histogram(scores, -4.0, width, BINS);
    let at: Vec<f64> = (0..BINS).map(|bin| (bin as f64 + 0.5) * width - 4.0).collect();
    // As far from the retrained world as the claim allows.
    let middle = mean(retrained) + mu;
    let claimed = at.iter().map(|x| normal_cdf(x + 0.5 * width - middle) - normal_cdf(x - 0.5 * width - middle));
    Picture { removed: count(removed), retrained: count(retrained), claimed: claimed.collect(), at }
}
