//! Before and after: the removed row, reconstructed from a release before its removal and a release after it.
//!
//! **What the attacker knows.** The two released models. The loss, λ, the number of rows before and after, and the scale
//! of the noise, all of which certificates say. A sample of rows of the same kind, none of them removed. Not the secret
//! weights, not the removed rows, not their labels.
//!
//! **The attack.** The weights moved by `u = H⁻¹Δ + noise`, where Δ = kλw + Σ ∇ℓ over the k removed rows, and each ∇ℓ is
//! a multiple of its row. The sample gives an estimate of H; undoing it, with the noise weighed against what rows of this
//! kind look like (C, their second moments), gives
//!
//! ```text
//! Δ̂ = P (P + 2 s² H²)⁻¹ H u,     P = τ² C,          Σ ∇ℓ ≈ Δ̂ − k λ w
//! ```
//!
//! With k = 1 that is the removed row, up to its length. With more, it is a mixture of them.
//!
//! No method of removal can do anything about this: a system that retrains exactly releases the same two models. So the
//! attack is made on both. What helps is a release policy: several removals between two releases.

#[cfg(test)]
mod tests;

use efface_core::linalg::{Cholesky, TrackedMatrix};
use efface_core::model::{Model, TrainingPlan};
use efface_core::noise::NoiseSource;
use efface_core::rows::{Point, RowBlocks, RowStore, WeightSum};
use efface_data::MemoryRows;
use rayon::prelude::*;
use serde::Serialize;

use crate::choice::{below, branches, some};
use crate::dense::{Symmetric, cosine, dot, length};
use crate::engine::{Case, released, remove_by_steps, train};
use crate::error::AuditError;
use crate::rows::{HiddenRows, read};
use crate::statistics::{Interval, median, quantile};

/// Removals between the two releases.
const BATCHES: [usize; 6] = [1, 2, 5, 10, 20, 50];

/// What the attack achieved.
#[derive(Clone, Debug, Serialize)]
pub struct Reconstruction {
    /// Rows that the model was trained on.
    pub n_rows: usize,
    /// d.
    pub dim: usize,
    /// Rows in the attacker's sample.
    pub n_public: usize,
    /// Scale of the noise.
    pub noise_std: f64,
    /// Pairs of releases attacked for each k.
    pub trials: usize,
    /// One per number of removals.
    pub batches: Vec<Batch>,
}

/// How well one of k removed rows is met: the largest |cosine| between the reconstruction and a removed row, both without
/// their share of the sample's mean, which says nothing about a row. Medians over the trials, with the middle half.
#[derive(Clone, Debug, Serialize)]
pub struct Batch {
    /// k.
    pub k: usize,
    /// Against Efface.
    pub removal: Interval,
    /// Against exact retraining.
    pub retraining: Interval,
    /// Without looking at any model: the best of the means of the sample's labels and of one row of it drawn at random.
    pub chance: Interval,
    /// What a typical trial looks like: position of the row that is met best, and the reconstruction. Kept only for rows
    /// that are public anyway.
    #[serde(skip)]
    pub picture: Option<(usize, Vec<f64>)>,
}

/// What is attacked.
pub(crate) struct Target<'a> {
    /// A model of all rows.
    pub trained: &'a Model,
    /// All rows.
    pub rows: &'a dyn RowBlocks,
    /// Positions of rows that may be removed.
    pub removable: &'a [usize],
    /// The attacker's sample.
    pub public: &'a MemoryRows,
    /// Whether reconstructed rows may be kept for pictures.
    pub keep_pictures: bool,
}

/// Attacks pairs of releases with k removals in between, for each k that leaves half of the removable rows.
pub(crate) fn attack(
    target: &Target<'_>,
    trials: usize,
    noise: &mut NoiseSource,
    report: &mut dyn FnMut(&str),
) -> Result<Reconstruction, AuditError> {
    let plan = target.trained.plan();
    crate::engine::check_mechanism(plan)?;
    if target.public.is_empty() || target.removable.len() < 2 {
        return Err(AuditError::TooFewRows { found: target.rows.n_rows(), least: 4 });
    }
    let knowledge = Knowledge::new(target)?;
    let mut batches = Vec::new();
    for k in BATCHES.into_iter().filter(|k| 2 * k <= target.removable.len()) {
        report(&format!("reconstruction: {k} removals between two releases"));
        let weighed = knowledge.weigh(plan, k)?;
        let tried: Vec<Trial> = branches(trials, noise)
            .into_par_iter()
            .map(|mut noise| attack_one(target, &knowledge, &weighed, k, &mut noise))
            .collect::<Result<_, AuditError>>()?;
        let middle = |of: &dyn Fn(&Trial) -> f64| {
            let values: Vec<f64> = tried.iter().map(of).collect();
            Interval { value: median(&values), low: quantile(&values, 0.25), high: quantile(&values, 0.75) }
        };
        batches.push(Batch {
            k,
            removal: middle(&|trial| trial.removal),
            retraining: middle(&|trial| trial.retraining),
            chance: middle(&|trial| trial.chance),
            picture: typical(&tried).filter(|_| target.keep_pictures).map(|trial| trial.picture.clone()),
        });
    }
    Ok(Reconstruction {
        n_rows: target.rows.n_rows(),
        dim: target.rows.dim(),
        n_public: target.public.len(),
        noise_std: plan.noise_std(),
        trials,
        batches,
    })
}

struct Trial {
    removal: f64,
    retraining: f64,
    chance: f64,
    picture: (usize, Vec<f64>),
}

fn attack_one(
    target: &Target<'_>,
    knowledge: &Knowledge,
    weighed: &[Cholesky],
    k: usize,
    noise: &mut NoiseSource,
) -> Result<Trial, AuditError> {
    let plan = target.trained.plan();
    let chosen = some(k, target.removable.len(), noise);
    let mut removed: Vec<usize> = chosen.into_iter().map(|i| target.removable[i]).collect();
    removed.sort_unstable();
    let truth = read(target.rows, &removed)?;
    let case = Case {
        name: String::new(),
        rows: target.rows,
        trained: target.trained,
        removals: vec![removed.clone()],
        tolerance: None,
    };
    let left = HiddenRows::new(target.rows, &removed)?;
    let retrained = train(plan, &left)?;
    let before = released(target.trained, noise)?;
    let after_removal = released(&remove_by_steps(&case)?[0], noise)?;
    let after_retraining = released(&retrained, noise)?;

    let by_removal = knowledge.reconstruct(plan, weighed, &before, &after_removal, k);
    let by_retraining = knowledge.reconstruct(plan, weighed, &before, &after_retraining, k);
    let mean = &knowledge.means[0];
    let (removal, row, guess) = best_match(&by_removal, &truth, mean);
    Ok(Trial {
        removal,
        retraining: best_match(&by_retraining, &truth, mean).0,
        chance: chance(target, knowledge, &truth, noise),
        picture: (removed[row], completed(&guess, mean, target.public)),
    })
}

/// The trial in the middle.
fn typical(tried: &[Trial]) -> Option<&Trial> {
    let middle = median(&tried.iter().map(|trial| trial.removal).collect::<Vec<_>>());
    tried.iter().min_by(|a, b| (a.removal - middle).abs().total_cmp(&(b.removal - middle).abs()))
}

/// A reconstruction made to look like a row. Its length and sign are not known, and its share of the mean is lost in noise:
/// the length and that share are those of the sample's rows on average, and the sign is the one with which it comes closer
/// to some row of the sample.
fn completed(guess: &[f64], mean: &[f64], public: &MemoryRows) -> Vec<f64> {
    let length = |v: &[f64]| length(v).max(f64::MIN_POSITIVE);
    let beyond = without(guess, mean);
    let n = public.len() as f64;
    let rows = || (0..public.len()).filter_map(|i| public.row(i));
    let share = rows().map(|row| dot(&row, mean) / dot(mean, mean)).sum::<f64>() / n;
    let scale = rows().map(|row| length(&without(&row, mean))).sum::<f64>() / n / length(&beyond);
    let with_sign =
        |sign: f64| -> Vec<f64> { mean.iter().zip(&beyond).map(|(m, x)| share * m + sign * scale * x).collect() };
    let nearest = |guess: &[f64]| rows().map(|row| dot(guess, &row) / length(&row)).fold(f64::NEG_INFINITY, f64::max);
    let (plus, minus) = (with_sign(1.0), with_sign(-1.0));
    if nearest(&plus) >= nearest(&minus) { plus } else { minus }
}

/// What a guess without any model meets: the means of the sample's labels, and one row of the sample drawn at random.
fn chance(target: &Target<'_>, knowledge: &Knowledge, truth: &MemoryRows, noise: &mut NoiseSource) -> f64 {
    let drawn = target.public.row(below(target.public.len(), noise));
    let guesses: Vec<Vec<f64>> = knowledge.means[1..].iter().cloned().chain(drawn).collect();
    best_match(&guesses, truth, &knowledge.means[0]).0
}

/// The largest |cosine| between one of the guesses and one of the rows beyond the mean, that row, and that guess.
fn best_match(guesses: &[Vec<f64>], truth: &MemoryRows, mean: &[f64]) -> (f64, usize, Vec<f64>) {
    let mut best = (0.0, 0, Vec::new());
    let rows: Vec<Vec<f64>> = (0..truth.len()).filter_map(|i| Some(without(&truth.row(i)?, mean))).collect();
    for guess in guesses {
        let beyond = without(guess, mean);
        for (i, row) in rows.iter().enumerate() {
            let met = cosine(&beyond, row);
            if met >= best.0 {
                best = (met, i, guess.clone());
            }
        }
    }
    best
}

/// A vector without its component along another.
fn without(vector: &[f64], other: &[f64]) -> Vec<f64> {
    let share = dot(vector, other) / dot(other, other).max(f64::MIN_POSITIVE);
    vector.iter().zip(other).map(|(x, m)| x - share * m).collect()
}

/// What the attacker knows before looking at the second model: H for each problem, and C.
struct Knowledge {
    /// Of all classes where these are taken together.
    hessians: Vec<Symmetric>,
    /// H² for each score.
    squares: Vec<Symmetric>,
    /// C, with trace 1.
    moments: Symmetric,
    means: Vec<Vec<f64>>,
}

/// E ‖∇ℓ‖² that the attacker reckons with: slopes of about a third.
const SLOPE_SQUARE: f64 = 0.1;

impl Knowledge {
    fn new(target: &Target<'_>) -> Result<Self, AuditError> {
        let (plan, public) = (target.trained.plan(), target.public);
        let n = target.rows.n_rows() as f64;
        let gram = TrackedMatrix::from(public.gram()?);
        let trace = gram.trace().get();
        let mut moments = Symmetric::of(&gram, 1.0 / trace);
        moments.add_ridge(1e-6 / public.dim() as f64);
        let mut hessians = Vec::new();
        // The curvature at the first release; that at the second is the same to the attacker's accuracy.
        let first = released(target.trained, &mut NoiseSource::danger_fixed_seed(0))?;
        let mut scores = first.iter();
        for problem in plan.problems() {
            let weights: Vec<f64> = scores.by_ref().take(problem.n_scores()).flatten().copied().collect();
            let point = Point { problem: &problem, weights: &weights };
            let sum = public.curvature(plan.loss(), &[point])?.swap_remove(0);
            let mut hessian = Symmetric::of(&sum.into(), n / public.len() as f64);
            hessian.add_ridge(plan.config().ridge.over(WeightSum::of_rows(target.rows.n_rows())));
            hessians.push(hessian);
        }
        let squares: Vec<Symmetric> = hessians.par_iter().map(Symmetric::squared).collect();
        let squares = squares.iter().flat_map(|square| square.diagonal_blocks(public.dim())).collect();
        Ok(Self { hessians, squares, moments, means: means(public) })
    }

    /// Factors of P + 2 s² H² for k removals.
    fn weigh(&self, plan: &TrainingPlan, k: usize) -> Result<Vec<Cholesky>, AuditError> {
        let noise = 2.0 * plan.noise_std().powi(2);
        let weigh = |square: &Symmetric| self.moments.combined(SLOPE_SQUARE * k as f64, square, noise).factor();
        self.squares.iter().map(|square| weigh(square).ok_or(AuditError::State)).collect()
    }

    /// Σ ∇ℓ over the removed rows, as each score saw it.
    fn reconstruct(
        &self,
        plan: &TrainingPlan,
        weighed: &[Cholesky],
        before: &[Vec<f64>],
        after: &[Vec<f64>],
        k: usize,
    ) -> Vec<Vec<f64>> {
        let ridge = plan.config().ridge.of_rows(WeightSum::of_rows(k));
        let both = after.iter().flatten().zip(before.iter().flatten());
        let moved: Vec<f64> = both.map(|(after, before)| after - before).collect();
        let mut rest = &moved[..];
        let shifts = self.hessians.iter().flat_map(|hessian| {
            let (own, others) = rest.split_at(hessian.dim());
            rest = others;
            hessian.times(own)
        });
        let (mut shifts, dim) = (shifts.collect::<Vec<f64>>(), self.moments.dim());
        let scores = shifts.chunks_exact_mut(dim).zip(weighed).zip(before);
        scores
            .map(|((shift, weighed), before)| {
                weighed.solve(shift);
                let shift = self.moments.times(shift);
                let scale = SLOPE_SQUARE * k as f64;
                shift.iter().zip(before).map(|(shift, w)| scale * shift - ridge * w).collect()
            })
            .collect()
    }
}

/// More labels than this are numbers, not classes.
const MOST_LABELS: usize = 64;

/// The mean of the sample first, then that of each label's rows.
fn means(public: &MemoryRows) -> Vec<Vec<f64>> {
    let mut labels: Vec<f64> = (0..public.len()).filter_map(|i| public.label(i)).collect();
    labels.sort_by(f64::total_cmp);
    labels.dedup();
    let mean_of = |chosen: &dyn Fn(f64) -> bool| -> Vec<f64> {
        let mut sum = vec![0.0; public.dim()];
        let is_chosen = |i: &usize| public.label(*i).is_some_and(chosen);
        for row in (0..public.len()).filter(is_chosen).filter_map(|i| public.row(i)) {
            sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
        }
        sum
    };
    let mut means = vec![mean_of(&|_| true)];
    if labels.len() > MOST_LABELS {
        // Numbers rather than classes: the larger and the smaller half.
        let middle = labels[labels.len() / 2];
        means.push(mean_of(&|label| label >= middle));
    } else {
        means.extend(labels.iter().map(|label| mean_of(&|of_row| of_row == *label)));
    }
    means
}
