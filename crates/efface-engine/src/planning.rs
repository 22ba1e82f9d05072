//! Answers before training: which noise, how many instant removals between settles, and what that costs in accuracy.
//!
//! From sizes alone it gives what holds for any data (the worst case) and what to expect of evenly spread rows. From a
//! sample of rows it trains, removes and measures. A plan made on removable rows is a choice fitted on them, which no
//! certificate covers: use a public sample.

use efface_core::accounting::gaussian;
use efface_core::model::{Model, PlanError, TrainingConfig, TrainingPlan};
use efface_core::noise::{NoiseLaw, NoiseSource};
use efface_core::predict;
use efface_core::removal::Change;
use efface_core::ridge::Ridge;
use efface_core::rows::{RowStore, WeightSum};
use efface_core::tagged;
use efface_data::derived::Preparation;
use efface_data::{FeatureOrder, LabelCodec, MemoryRows, RowTransform, Scale, Schema, Table};
use serde::Serialize;

use crate::error::EngineError;

tagged! {
    /// What a plan rests on.
    pub enum Basis {
        /// How many rows and features there are.
        Sizes = "sizes",
        /// A sample of the rows.
        Rows = "rows",
    }
}

/// What to expect.
#[derive(Clone, Debug, Serialize)]
pub struct PlanReport {
    /// What it rests on.
    pub basis: Basis,
    /// Rows.
    pub n_rows: usize,
    /// Features.
    pub dim: usize,
    /// λ (`l2`) or α (`alpha`).
    #[serde(flatten)]
    pub ridge: Ridge,
    /// ε.
    pub epsilon: f64,
    /// δ.
    pub delta: f64,
    /// μ(ε, δ): what all releases together may spend.
    pub mu_limit: f64,
    /// One line per noise level.
    pub rows: Vec<PlanRow>,
    /// The noise that so many instant removals between settles need.
    pub needed: Vec<NeededNoise>,
    /// The largest noise that costs no accuracy worth mentioning, when that was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recommended_noise_std: Option<f64>,
    /// Accuracy (or root mean squared error) on held-out rows without noise, when that was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score_without_noise: Option<f64>,
}

/// The noise that a number of instant removals between settles needs.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct NeededNoise {
    /// Instant removals between settles.
    pub removals: u64,
    /// For evenly spread rows (`sizes`), or as measured (`rows`).
    pub expected_noise_std: f64,
    /// Whatever the data.
    pub guaranteed_noise_std: f64,
}

/// What to expect at one noise level.
#[derive(Clone, Debug, Serialize)]
pub struct PlanRow {
    /// Scale of the noise.
    pub noise_std: f64,
    /// Distance that a model is settled to before a release: what it claims, less what rounding costs.
    pub settle_above_distance: f64,
    /// Instant removals that fit between settles whatever the data.
    pub guaranteed_removals: u64,
    /// Instant removals to expect: for evenly spread rows (`sizes`), or as measured (`rows`).
    pub expected_removals: u64,
    /// Whether `expected_removals` is only how far the measurement went.
    pub at_least: bool,
    /// Standard deviation that a score of a row of norm 1 gets.
    pub score_std: f64,
    /// Accuracy (or root mean squared error) with this noise, mean of draws.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// What the noise costs of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score_loss: Option<f64>,
}

/// Noise levels looked at when none is given.
const NOISE_LEVELS: [f64; 7] = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0];

/// Loss of accuracy that is not worth mentioning.
const NEGLIGIBLE: f64 = 1e-3;

/// Removals that a plan from rows makes at most.
const TRIED_REMOVALS: usize = 100;

/// Removals that a plan from sizes looks ahead at most.
const MOST_REMOVALS: usize = 1_000_000;

const DRAWS: u64 = 20;

/// Numbers of removals for which the needed noise is told.
const REMOVAL_COUNTS: [usize; 4] = [1, 10, 100, 1000];

/// What sizes alone tell. A noise in `config` is the only one that is looked at; otherwise a range is.
pub fn plan_from_sizes(config: &TrainingConfig, n_rows: usize, dim: usize) -> Result<PlanReport, EngineError> {
    if n_rows == 0 || dim == 0 {
        return Err(PlanError::Sizes { n_rows, dim }.into());
    }
    let plan = plan_with(config, 1.0)?;
    let expected = expected_distances(&plan, n_rows, dim);
    let levels = levels(config, |std| Ok(plan_row(&plan_with(config, std)?, n_rows, &expected)))?;
    report(config, Basis::Sizes, n_rows, dim, levels, &expected)
}

/// What a sample of rows tells, read through a schema or none: four fifths are trained on, a fifth is held out.
pub fn plan_from_rows(
    config: &TrainingConfig,
    table: Table,
    schema: Option<&Schema>,
    transform: &RowTransform,
) -> Result<PlanReport, EngineError> {
    let is_classification = config.loss.is_classification();
    let codec = LabelCodec::for_labels(table.labels(), is_classification)?;
    let n_classes = is_classification.then_some(codec.classes().len() as u32);
    let config = &TrainingConfig { n_classes, ..config.clone() };
    let plan = TrainingPlan::new(config.clone())?;
    let derived = (transform.scale == Scale::Auto).then(|| table.derived_counts(schema, codec.classes().is_empty()));
    let mut all = MemoryRows::of_table(table, &transform.kept(), Some(&codec), FeatureOrder::AsRead)?;
    if let Some(counts) = derived {
        all = all.encoded(Preparation::new(counts, transform.intercept).encoder());
    }
    let dim = all.dim();
    let (held_out, kept): (Vec<usize>, Vec<usize>) = (0..all.len()).partition(|i| is_held_out(*i));
    let (mut rows, test) = (all.batch(&kept)?, all.batch(if held_out.is_empty() { &kept } else { &held_out })?);
    let n_rows = rows.n_rows();

    let model = plan.train_again(&rows, &mut NoiseSource::from_system()?, &mut |_| {})?.model;
    // One vector for each score, as it is published.
    let weights = model.weights();
    let weights: Vec<Vec<f64>> =
        weights.iter().flat_map(|weights| weights.chunks_exact(dim)).map(<[f64]>::to_vec).collect();
    let plain = score(&test, &weights, &codec)?;
    let distances = removal_distances(model, &mut rows)?;
    let levels = levels(config, |std| {
        let plan = plan_with(config, std)?;
        let noisy = noisy_score(&test, &weights, &codec, &plan, std)?;
        let loss = if codec.classes().is_empty() { noisy - plain } else { plain - noisy };
        Ok(PlanRow { score: Some(noisy), score_loss: Some(loss), ..plan_row(&plan, n_rows, &distances) })
    })?;
    let negligible = if codec.classes().is_empty() { NEGLIGIBLE * plain } else { NEGLIGIBLE };
    let best = levels.iter().filter(|row| row.score_loss.is_some_and(|loss| loss <= negligible));
    let recommended_noise_std = best.map(|row| row.noise_std).max_by(f64::total_cmp);
    let report = report(config, Basis::Rows, n_rows, dim, levels, &distances)?;
    Ok(PlanReport { recommended_noise_std, score_without_noise: Some(plain), ..report })
}

/// Every fifth row in the mean, scattered so that no order of the rows can line up with it.
fn is_held_out(i: usize) -> bool {
    (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 < (1 << 32) / 5
}

/// What fits at one noise level, given the distance bound after 1, 2, … removals.
fn plan_row(plan: &TrainingPlan, n_rows: usize, distances: &[f64]) -> PlanRow {
    let limit = plan.verified_limit().get();
    let fitting = distances.iter().take_while(|distance| **distance <= limit).count();
    PlanRow {
        noise_std: plan.noise_std(),
        settle_above_distance: limit,
        guaranteed_removals: guaranteed(plan, n_rows, limit),
        expected_removals: fitting as u64,
        at_least: fitting == distances.len() && fitting + 1 < n_rows,
        score_std: plan.noise_std(),
        score: None,
        score_loss: None,
    }
}

/// The noise at which so many removals just fit. `unit` is a plan with noise 1: what may be left grows with the noise.
fn needed(unit: &TrainingPlan, n_rows: usize, distances: &[f64]) -> Vec<NeededNoise> {
    let per_noise = unit.verified_limit().get();
    let fitting = REMOVAL_COUNTS.into_iter().filter(|k| *k <= distances.len());
    fitting
        .map(|k| NeededNoise {
            removals: k as u64,
            expected_noise_std: distances[k - 1] / per_noise,
            guaranteed_noise_std: worst_distance(unit, n_rows, k as u64) / per_noise,
        })
        .collect()
}

fn levels(
    config: &TrainingConfig,
    level: impl Fn(f64) -> Result<PlanRow, EngineError>,
) -> Result<Vec<PlanRow>, EngineError> {
    match config.noise_std {
        Some(std) => Ok(vec![level(std)?]),
        None => NOISE_LEVELS.iter().map(|std| level(*std)).collect(),
    }
}

fn plan_with(config: &TrainingConfig, noise_std: f64) -> Result<TrainingPlan, EngineError> {
    let mut config = TrainingConfig { noise_std: Some(noise_std), ..config.clone() };
    if config.loss.is_classification() && config.n_classes.is_none() {
        config.n_classes = Some(2);
    }
    Ok(TrainingPlan::new(config)?)
}

fn report(
    config: &TrainingConfig,
    basis: Basis,
    n_rows: usize,
    dim: usize,
    rows: Vec<PlanRow>,
    distances: &[f64],
) -> Result<PlanReport, EngineError> {
    let needed = needed(&plan_with(config, 1.0)?, n_rows, distances);
    let (mu_limit, delta) = match config.law {
        NoiseLaw::Gaussian => (gaussian::mu_limit(config.epsilon, config.delta).get(), config.delta),
        NoiseLaw::Gamma => (config.epsilon, 0.0),
    };
    Ok(PlanReport {
        basis,
        n_rows,
        dim,
        ridge: config.ridge,
        epsilon: config.epsilon,
        delta,
        mu_limit,
        rows,
        needed,
        recommended_noise_std: None,
        score_without_noise: None,
    })
}

/// Single removals without settling that stay within `limit` whatever the data.
fn guaranteed(plan: &TrainingPlan, n_rows: usize, limit: f64) -> u64 {
    let (mut low, mut high) = (0, n_rows.saturating_sub(1) as u64);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if worst_distance(plan, n_rows, middle) <= limit { low = middle } else { high = middle - 1 }
    }
    low
}

/// Distance bound after k single removals on a stale Hessian, whatever the data.
///
/// ```text
/// v = 2C/(λ(n−k)),   ‖w − w₀‖ ≤ j v before step j,   γ R³ n Σ_{j<k} (j v + v/2) v = γ R³ n v² k²/2
/// ```
///
/// with ‖w‖ ≤ C/λ, divided by λ(n−k), and √K problems together. Under a total ridge v = C/α.
fn worst_distance(plan: &TrainingPlan, n_rows: usize, removals: u64) -> f64 {
    let config = plan.config();
    let gamma = plan.loss().curvature_lipschitz();
    if gamma == 0.0 {
        return 0.0;
    }
    // Rows of norm 1 and an intercept's constant.
    let row_norm = 2f64.sqrt();
    let (n, k) = (n_rows as f64, removals as f64);
    let remaining = WeightSum::of_rows(n_rows.saturating_sub(removals as usize).max(1));
    let strong = config.ridge.over(remaining);
    // The rows' share of a ridge per row is at most as large as their gradients.
    let terms = if let Ridge::PerRow(_) = config.ridge { 2.0 } else { 1.0 };
    let step = terms * plan.loss().slope_bound().unwrap_or(f64::INFINITY) * row_norm / strong;
    let residual = gamma * row_norm.powi(3) * n * step * step * k * k / 2.0;
    residual / strong * (plan.problems().len() as f64).sqrt()
}

/// Distance bounds after 1, 2, … removals to expect for rows spread evenly over all directions, with the stale rung.
///
/// ```text
/// ‖v‖ ≈ ½ / (n (ā/d + λ)),  ‖X‖ ≈ √(n/d) + 1,  ‖Xv‖ ≈ √(n/d) ‖v‖,  ‖w − w₀‖ after k ≈ √k ‖v‖
/// distance after k ≈ γ ‖X‖ ‖Xv‖ ‖v‖ Σ_{j<k} (√j + ½) / (λ n)
/// ```
///
/// with slopes of ½ and curvatures ā of ⅛. An estimate for orientation, right within an order of magnitude.
fn expected_distances(plan: &TrainingPlan, n_rows: usize, dim: usize) -> Vec<f64> {
    let config = plan.config();
    let (n, d) = (n_rows as f64, dim as f64);
    let ridge = config.ridge.over(WeightSum::of_rows(n_rows));
    let step = 0.5 / (n * 0.125 / d + ridge);
    let spread = (n / d).sqrt();
    let gamma = plan.loss().curvature_lipschitz();
    let unit = gamma * (spread + 1.0) * spread * step * step / ridge;
    let mut total = 0.0;
    (0..n_rows.saturating_sub(1).min(MOST_REMOVALS))
        .map(|k| {
            total += unit * ((k as f64).sqrt() + 0.5);
            total
        })
        .collect()
}

/// Distance bounds after 1, 2, … instant removals of single rows, evenly picked.
fn removal_distances(mut model: Model, rows: &mut MemoryRows) -> Result<Vec<f64>, EngineError> {
    let tried = TRIED_REMOVALS.min(rows.n_rows() / 2);
    let mut distances = Vec::with_capacity(tried);
    for i in 0..tried {
        let position = i * rows.len() / tried;
        let batch = rows.batch(&[position])?;
        rows.remove(&[position])?;
        let changed = model.change(&Change::remove(&batch), rows)?;
        distances.push(changed.claim.distance_bound.get());
    }
    Ok(distances)
}

fn noisy_score(
    test: &MemoryRows,
    weights: &[Vec<f64>],
    codec: &LabelCodec,
    plan: &TrainingPlan,
    std: f64,
) -> Result<f64, EngineError> {
    let (dim, mut total) = (test.dim(), 0.0);
    for draw in 0..DRAWS {
        // Nothing leaves the process: the same draws for every plan make plans comparable.
        let mut source = NoiseSource::danger_fixed_seed(draw);
        let noise = plan.config().law.sample(dim * weights.len(), std, &mut source);
        let noisy = weights.iter().zip(noise.chunks_exact(dim));
        let noisy = noisy.map(|(weights, noise)| weights.iter().zip(noise).map(|(w, noise)| w + noise).collect());
        total += score(test, &noisy.collect::<Vec<_>>(), codec)?;
    }
    Ok(total / DRAWS as f64)
}

/// Accuracy, or root mean squared error for regression.
fn score(rows: &MemoryRows, weights: &[Vec<f64>], codec: &LabelCodec) -> Result<f64, EngineError> {
    let margins = predict::margins(rows, weights)?;
    let labels: Vec<f64> = (0..rows.len()).map(|i| rows.label(i).unwrap_or(f64::NAN)).collect();
    Ok(if codec.classes().is_empty() {
        predict::root_mean_squared_error(&margins, &labels)
    } else {
        predict::accuracy(&margins, &labels)
    })
}
