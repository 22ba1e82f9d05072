//! Small problems on which the claim is tight, so that an engine that claims too much is seen from outside.
//!
//! Ordinary claims are loose: the distance bound divides the residual by λn, and the true curvature is larger. Here λ is so large
//! that λn is nearly all of the curvature in every direction; the gradient is measured and left as it is, not settled
//! away; and the noise is chosen so that the claim comes to the whole promise. What is claimed is then a few percent above
//! what is true, and an attacker sees nearly all of it.

use efface_core::accounting::Guarantee;
use efface_core::loss;
use efface_core::model::{Model, TrainingConfig, TrainingPlan};
use efface_core::noise::{NoiseLaw, NoiseSource};
use efface_core::rounding::UpperBound;
use efface_core::rows::RowStore;

use crate::engine::{Case, release_in_order, remove_by_steps, train_exactly};
use crate::error::AuditError;
use crate::rows::DenseRows;

/// A problem with canaries among its rows.
pub struct Problem {
    name: String,
    rows: DenseRows,
    trained: Model,
    removals: Vec<Vec<usize>>,
}

impl Problem {
    /// The case that an engine is tested on.
    pub fn case(&self) -> Case<'_> {
        Case {
            name: self.name.clone(),
            rows: &self.rows,
            trained: &self.trained,
            removals: self.removals.clone(),
            tolerance: Some(f64::MAX),
        }
    }
}

/// Rows that are not canaries.
const ORDINARY: usize = 64;

const DIM: usize = 8;

/// λ: λn is some sixty times the curvature of the ordinary rows.
const L2: f64 = 0.2;

/// A promise at which few draws say much: common events, not rare ones.
const PROMISE: (f64, f64) = (0.5, 0.01);

/// All problems.
pub fn all() -> Result<Vec<Problem>, AuditError> {
    let rare = 0;
    let (flipped, longest, second) = (1, 2, 3);
    Ok(vec![
        problem("a row along a direction that only one other row uses", vec![vec![rare]], false)?,
        problem("a row with the wrong label", vec![vec![flipped]], false)?,
        problem("the longest row", vec![vec![longest]], false)?,
        problem("a row along a rare direction, no curvature kept", vec![vec![rare]], true)?,
        problem("two rows, one after the other, a release after each", vec![vec![rare], vec![second]], false)?,
    ])
}

/// Four canaries, then ordinary rows in the first coordinates. The last two coordinates belong to canaries: a canary and a
/// row that shares its direction, so that the removal of the one leaves something to do.
fn rows() -> DenseRows {
    let mut noise = NoiseSource::danger_fixed_seed(20_200_712);
    let mut rows = DenseRows::new(DIM, UpperBound::new(1.0 + 1e-6));
    let axis = |k: usize, length: f64| -> Vec<f64> { (0..DIM).map(|i| if i == k { length } else { 0.0 }).collect() };
    let slope = |row: &[f64]| row[0] + row[1] - row[2];
    let mut ordinary = |length: f64| -> Vec<f64> {
        let mut row = NoiseLaw::Gaussian.sample(DIM, 1.0, &mut noise).to_vec();
        row[DIM - 2..].fill(0.0);
        let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        row.iter().map(|x| x * length / norm).collect()
    };
    rows.push(&axis(DIM - 1, 1.0), 1.0);
    let flipped = ordinary(0.8);
    rows.push(&flipped, f64::from(u8::from(slope(&flipped) <= 0.0)));
    let longest = ordinary(1.0);
    rows.push(&longest, f64::from(u8::from(slope(&longest) > 0.0)));
    rows.push(&axis(DIM - 2, 1.0), 0.0);
    // The rows that share the rare directions.
    rows.push(&axis(DIM - 1, 0.9), 1.0);
    rows.push(&axis(DIM - 2, 0.9), 0.0);
    for _ in 0..ORDINARY {
        let row = ordinary(0.3);
        rows.push(&row, f64::from(u8::from(slope(&row) > 0.0)));
    }
    rows
}

/// Steps of the scale of claims, in doublings of its unit, that one release may take of the whole promise.
const DOUBLINGS: i32 = 8;

fn problem(name: &str, removals: Vec<Vec<usize>>, without_curvature: bool) -> Result<Problem, AuditError> {
    let rows = rows();
    let config = TrainingConfig {
        epsilon: PROMISE.0,
        delta: PROMISE.1,
        max_matrix_dim: if without_curvature { 0 } else { DIM },
        ..TrainingConfig::new(&loss::Logistic, L2, Some(2))
    };
    let mut problem = Problem {
        name: name.into(),
        trained: train_exactly(&TrainingPlan::new(config.clone())?, &rows)?,
        rows,
        removals,
    };
    // The noise that makes the largest claim land on the last step of the scale that still fits. The distance does not
    // depend on the noise, so a trial run tells it.
    let farthest = remove_by_steps(&problem.case())?.iter().fold(0.0, |r: f64, secret| r.max(secret.distance_bound()));
    // n releases at a step each: n · step² must be within the promise.
    let share = DOUBLINGS - (problem.removals.len() as f64).sqrt().log2().ceil() as i32;
    let mut noise_std = 1.002 * farthest / (problem.trained.plan().mu_limit().get() * 2f64.powi(share - DOUBLINGS));
    for _ in 0..ATTEMPTS {
        let plan = TrainingPlan::new(TrainingConfig { noise_std: Some(noise_std), ..config.clone() })?;
        let state = problem.trained.state().clone();
        problem.trained = Model::from_state(plan, state).ok_or(AuditError::State)?;
        let mut secrets = remove_by_steps(&problem.case())?;
        match release_in_order(&mut secrets, &mut NoiseSource::danger_fixed_seed(0)) {
            Err(AuditError::Refused { .. }) => noise_std *= 1.01,
            other => return other.map(|_| problem),
        }
    }
    Err(AuditError::Refused { outcome: "budget-exhausted" })
}

/// A percent more noise at a time.
const ATTEMPTS: usize = 100;

/// Dimensions of the problems, for reports.
pub fn shape() -> (usize, usize) {
    let rows = rows();
    (rows.n_rows(), rows.dim())
}

/// What they promise.
pub fn guarantee() -> Guarantee {
    Guarantee { epsilon: PROMISE.0, delta: PROMISE.1 }
}
