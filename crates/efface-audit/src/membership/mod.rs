//! Membership inference: was this example among the rows that the model was trained on?
//!
//! LiRA (Carlini et al. 2022, *Membership Inference Attacks From First Principles*): the attacker trains shadow models on
//! random halves of similar rows, with and without the example, fits a Gaussian to the example's score in each of the two
//! groups, and asks of the model at hand which of the two its score fits better. The attack is made on models that were
//! trained with the example, on the same after its removal, and on models retrained without it. It must succeed on the
//! first, or it shows nothing; between the last two there must be no difference.

mod problem;
mod score;
#[cfg(test)]
mod tests;

use efface_core::model::TrainingPlan;
use efface_core::noise::NoiseSource;
use efface_core::removal::Change;
use efface_data::MemoryRows;
use rayon::prelude::*;
use serde::Serialize;

pub(crate) use self::problem::built_in;
use self::score::{ShadowFit, confidence};
use crate::choice::{branch, branches, some};
use crate::engine::{released, train};
use crate::error::AuditError;
use crate::statistics::{
    Interval, area_under_curve, normal_quantile, probability_interval, quantile, two_sample_distance, two_sample_limit,
};

/// How much work to do.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Size {
    /// Shadow models, each trained on a random half of the rows.
    pub shadows: usize,
    /// Attacked models per example and group.
    pub trials: usize,
    /// Probability that the law after removal is called another than that after retraining when it is the same.
    pub false_alarm_rate: f64,
}

impl Default for Size {
    fn default() -> Self {
        Self { shadows: 128, trials: 100, false_alarm_rate: 1e-6 }
    }
}

/// What the attack achieved.
#[derive(Clone, Debug, Serialize)]
pub struct Membership {
    /// Rows that halves are taken of.
    pub n_rows: usize,
    /// d.
    pub dim: usize,
    /// Examples attacked.
    pub n_examples: usize,
    /// How much work was done.
    pub size: Size,
    /// Against models trained with the example.
    pub before_removal: Success,
    /// Against the same after Efface has removed it.
    pub after_removal: Success,
    /// Against models retrained without it.
    pub after_retraining: Success,
    /// Largest distance between the distributions of scores after removal and after retraining.
    pub distance: f64,
    /// The largest that chance explains at the false-alarm rate.
    pub distance_limit: f64,
    /// Whether it is exceeded.
    pub broken: bool,
    /// Example by example, the most exposed one first.
    pub examples: Vec<Example>,
}

/// Success of an attack; all intervals at 95 %.
#[derive(Clone, Debug, Serialize)]
pub struct Success {
    /// Area under the ROC curve, averaged over the examples: ½ is guessing.
    pub auc: Interval,
    /// The false-positive rate at which the next number is taken.
    pub false_positive_rate: f64,
    /// True-positive rate there, over all examples together.
    pub true_positive_rate: Interval,
    /// The curve: false-positive and true-positive rates.
    #[serde(skip)]
    pub curve: Vec<(f64, f64)>,
}

/// One example. It is not said which.
#[derive(Clone, Debug, Serialize)]
pub struct Example {
    /// Areas before removal, after removal, after retraining.
    pub auc: [f64; 3],
    /// Scores (logit-scaled confidence) of never having been there, before removal, after removal, after retraining.
    #[serde(skip)]
    pub scores: [Vec<f64>; 4],
}

/// Attacks models of `plan` on random halves of the rows; `examples` are positions in them.
pub(crate) fn attack(
    plan: &TrainingPlan,
    rows: &MemoryRows,
    examples: &[usize],
    size: &Size,
    noise: &mut NoiseSource,
    report: &mut dyn FnMut(&str),
) -> Result<Membership, AuditError> {
    crate::engine::check_mechanism(plan)?;
    let half = rows.len() / 2;
    if half < 4 || examples.is_empty() {
        return Err(AuditError::TooFewRows { found: rows.len(), least: 8 });
    }
    report("membership inference: shadow models");
    let fits = shadow_fits(plan, rows, examples, size.shadows, noise)?;
    let mut found = Vec::with_capacity(examples.len());
    for (i, (example, fit)) in examples.iter().zip(&fits).enumerate() {
        report(&format!("membership inference: example {} of {}", i + 1, examples.len()));
        found.push(attack_one(plan, rows, *example, fit, half, size.trials, noise)?);
    }
    found.sort_by(|a, b| b.auc[0].total_cmp(&a.auc[0]));
    Ok(summed_up(rows, found, size))
}

/// Gaussian fits of each example's score in models with and without it.
fn shadow_fits(
    plan: &TrainingPlan,
    rows: &MemoryRows,
    examples: &[usize],
    shadows: usize,
    noise: &mut NoiseSource,
) -> Result<Vec<ShadowFit>, AuditError> {
    let half = rows.len() / 2;
    let scored: Vec<Vec<(bool, f64)>> = branches(shadows, noise)
        .into_par_iter()
        .map(|mut noise| {
            let chosen = some(half, rows.len(), &mut noise);
            let weights = released(&train(plan, &rows.batch(&chosen)?)?, &mut noise)?;
            let score = |example: &usize| (chosen.contains(example), confidence(plan, &weights, rows, *example));
            Ok(examples.iter().map(score).collect())
        })
        .collect::<Result<_, AuditError>>()?;
    let fit = |i: usize| {
        let group = |with: bool| -> Vec<f64> {
            scored.iter().map(|scores| scores[i]).filter(|(is_in, _)| *is_in == with).map(|(_, s)| s).collect()
        };
        ShadowFit::new(&group(true), &group(false))
    };
    Ok((0..examples.len()).map(fit).collect())
}

/// An example with the log-likelihood ratios of the attack on it, in the order of `Example::scores`.
struct Attacked {
    auc: [f64; 3],
    standard_errors: [f64; 3],
    ratios: [Vec<f64>; 4],
    scores: [Vec<f64>; 4],
}

/// The halves of the four groups are drawn independently, so that scores after removal and after retraining are two
/// independent samples.
fn attack_one(
    plan: &TrainingPlan,
    rows: &MemoryRows,
    example: usize,
    fit: &ShadowFit,
    half: usize,
    trials: usize,
    noise: &mut NoiseSource,
) -> Result<Attacked, AuditError> {
    let others: Vec<usize> = (0..rows.len()).filter(|i| *i != example).collect();
    let alone = rows.batch(&[example])?;
    let scores: Vec<[f64; 4]> = branches(trials, noise)
        .into_par_iter()
        .map(|mut noise| {
            let mut without = || some(half - 1, others.len(), &mut noise).into_iter().map(|i| others[i]);
            let (there, never, retrained): (Vec<_>, Vec<_>, Vec<_>) =
                (without().collect(), without().collect(), without().collect());
            let score = |weights: &[Vec<f64>]| confidence(plan, weights, rows, example);
            let mut noise = branch(&mut noise);
            let left = rows.batch(&there)?;
            let mut model = train(plan, &rows.batch(&[&there[..], &[example]].concat())?)?;
            let before = score(&released(&model, &mut noise)?);
            model.change(&Change::remove(&alone), &left)?;
            model.settle_before_release(&left)?;
            let after = score(&released(&model, &mut noise)?);
            let never = score(&released(&train(plan, &rows.batch(&never)?)?, &mut noise)?);
            let retrained = score(&released(&train(plan, &rows.batch(&retrained)?)?, &mut noise)?);
            Ok([never, before, after, retrained])
        })
        .collect::<Result<_, AuditError>>()?;
    let group = |k: usize| -> Vec<f64> { scores.iter().map(|scores| scores[k]).collect() };
    let scores = [group(0), group(1), group(2), group(3)];
    let ratios = scores.each_ref().map(|group| group.iter().map(|score| fit.log_ratio(*score)).collect::<Vec<f64>>());
    let areas = [1, 2, 3].map(|k| area_under_curve(&ratios[k], &ratios[0]));
    let (auc, standard_errors) = (areas.map(|area| area.0), areas.map(|area| area.1));
    Ok(Attacked { auc, standard_errors, ratios, scores })
}

/// Two standard errors to each side: 95 %.
const CONFIDENCE: f64 = 0.95;

fn summed_up(rows: &MemoryRows, found: Vec<Attacked>, size: &Size) -> Membership {
    let pooled = |k: usize| -> Vec<f64> { found.iter().flat_map(|one| one.ratios[k].iter().copied()).collect() };
    let [never, before, mut after, mut retrained] = [pooled(0), pooled(1), pooled(2), pooled(3)];
    // The rate at which a few dozen false positives are left to count.
    let false_positive_rate = [0.01, 0.05].into_iter().find(|p| p * never.len() as f64 >= 5.0).unwrap_or(0.1);
    let threshold = quantile(&never, 1.0 - false_positive_rate);
    let success = |k: usize, ratios: &[f64]| {
        let n = found.len() as f64;
        let value = found.iter().map(|one| one.auc[k]).sum::<f64>() / n;
        let error = found.iter().map(|one| one.standard_errors[k].powi(2)).sum::<f64>().sqrt() / n;
        let spread = normal_quantile(0.5 * (1.0 + CONFIDENCE)) * error;
        let hits = ratios.iter().filter(|ratio| **ratio > threshold).count();
        Success {
            auc: Interval { value, low: (value - spread).max(0.0), high: (value + spread).min(1.0) },
            false_positive_rate,
            true_positive_rate: probability_interval(hits, ratios.len(), 1.0 - CONFIDENCE),
            curve: curve(ratios, &never),
        }
    };
    let (before_removal, after_removal, after_retraining) =
        (success(0, &before), success(1, &after), success(2, &retrained));
    let distance = two_sample_distance(&mut after, &mut retrained);
    let distance_limit = two_sample_limit(after.len(), size.false_alarm_rate);
    Membership {
        n_rows: rows.len(),
        dim: efface_core::rows::RowStore::dim(rows),
        n_examples: found.len(),
        size: *size,
        before_removal,
        after_removal,
        after_retraining,
        distance,
        distance_limit,
        broken: distance > distance_limit,
        examples: found.into_iter().map(|one| Example { auc: one.auc, scores: one.scores }).collect(),
    }
}

/// The ROC curve at some 200 thresholds.
fn curve(positives: &[f64], negatives: &[f64]) -> Vec<(f64, f64)> {
    let rate = |scores: &[f64], threshold: f64| {
        scores.iter().filter(|score| **score > threshold).count() as f64 / scores.len() as f64
    };
    let pooled: Vec<f64> = positives.iter().chain(negatives).copied().collect();
    let mut points = vec![(0.0, 0.0)];
    for step in (0..200).rev() {
        let threshold = quantile(&pooled, f64::from(step) / 200.0);
        points.push((rate(negatives, threshold), rate(positives, threshold)));
    }
    points.push((1.0, 1.0));
    points
}
