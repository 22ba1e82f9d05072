//! Small problems on which the claim is tight, so that an engine that claims too much is seen from outside.
//!
//! Ordinary claims are loose: the distance bound divides the residual by λn, and the true curvature is larger. Here λ is so large
//! that λn is nearly all of the curvature in every direction; the gradient is measured and left as it is, not settled
//! away; and the noise is chosen so that the distance is nearly all of what a release claims. What is claimed is then a few
//! percent above what is true, and an attacker sees nearly all of it. Retraining claims the same: the worlds differ in
//! their weights only.

use efface_core::accounting::{Guarantee, gaussian};
use efface_core::loss;
use efface_core::model::{Model, TrainingConfig, TrainingPlan};
use efface_core::noise::{NoiseLaw, NoiseSource};
use efface_data::MemoryRows;

use crate::dense::length;
use crate::engine::{Case, distance_bound_of, remove_by_steps, train_exactly};
use crate::error::AuditError;
use crate::rows::of_norm_one;

/// A problem with canaries among its rows.
pub(crate) struct Problem {
    name: String,
    rows: MemoryRows,
    trained: Model,
    removals: Vec<Vec<usize>>,
    pub(crate) kind: Kind,
}

/// What a release does about the distance that the removal left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It is within the claim, and left as it is: nearly all of the claim is true.
    Tight,
    /// It is several times the claim, and has to be settled first.
    Settled,
    /// There must be none: squared loss, no noise, and nothing to hide a difference of a single bit.
    Exact,
}

impl Problem {
    /// The case that an engine is tested on.
    pub(crate) fn case(&self) -> Case<'_> {
        Case {
            name: self.name.clone(),
            rows: &self.rows,
            trained: &self.trained,
            removals: self.removals.clone(),
            tolerance: (self.kind == Kind::Tight).then_some(f64::MAX),
        }
    }
}

/// Rows that are not canaries.
const ORDINARY: usize = 64;

const DIM: usize = 8;

/// λ: λn is some sixty times the curvature of the ordinary rows.
const L2: f64 = 0.2;

/// What the releases of a life claim together: an (ε, δ) at which few draws say much, of common events, not rare ones.
pub(crate) const CLAIM: Guarantee = Guarantee { epsilon: 0.5, delta: 0.01 };

/// The distance before settling, as a multiple of the claim, where a problem has to be settled.
const UNSETTLED: f64 = 8.0;

/// All problems.
pub(crate) fn all() -> Result<Vec<Problem>, AuditError> {
    let (rare, shares_rare) = (0, 4);
    let (flipped, longest, second) = (1, 2, 3);
    let tight = |name: &str, removals, max_matrix_dim| problem(name, removals, max_matrix_dim, Kind::Tight);
    Ok(vec![
        tight("a row along a direction that only one other row uses", vec![vec![rare]], DIM)?,
        tight("a row with the wrong label", vec![vec![flipped]], DIM)?,
        tight("the longest row", vec![vec![longest]], DIM)?,
        tight("a row along a rare direction, no curvature kept", vec![vec![rare]], 0)?,
        tight("two rows, one after the other, a release after each", vec![vec![rare], vec![second]], DIM)?,
        problem("a row along a rare direction, settled before the release", vec![vec![rare]], DIM, Kind::Settled)?,
        exact("the only rows of a category, squared loss without noise", vec![vec![rare, shares_rare]])?,
    ])
}

/// Four canaries, then ordinary rows in the first coordinates. The last two coordinates belong to canaries: a canary and a
/// row that shares its direction, so that the removal of the one leaves something to do.
fn rows() -> MemoryRows {
    let mut noise = NoiseSource::danger_fixed_seed(20_200_712);
    let axis = |k: usize, length: f64| -> Vec<f64> { (0..DIM).map(|i| if i == k { length } else { 0.0 }).collect() };
    let mut ordinary = |size: f64| -> (Vec<f64>, f64) {
        let mut row = NoiseLaw::Gaussian.sample(DIM, 1.0, &mut noise).to_vec();
        row[DIM - 2..].fill(0.0);
        let norm = length(&row);
        let label = f64::from(u8::from(row[0] + row[1] - row[2] > 0.0));
        (row.iter().map(|x| x * size / norm).collect(), label)
    };
    let (flipped, label) = ordinary(0.8);
    let canaries = [
        (axis(DIM - 1, 1.0), 1.0),
        (flipped, 1.0 - label),
        ordinary(1.0),
        (axis(DIM - 2, 1.0), 0.0),
        // The rows that share the rare directions.
        (axis(DIM - 1, 0.9), 1.0),
        (axis(DIM - 2, 0.9), 0.0),
    ];
    of_norm_one(DIM, canaries.into_iter().chain((0..ORDINARY).map(|_| ordinary(0.3))))
}

fn problem(name: &str, removals: Vec<Vec<usize>>, max_matrix_dim: usize, kind: Kind) -> Result<Problem, AuditError> {
    let rows = rows();
    // The promise is what the few releases here claim together.
    let mu = gaussian::mu_limit(CLAIM.epsilon, CLAIM.delta).get() / (removals.len() as f64).sqrt();
    let mut config = TrainingConfig {
        epsilon: CLAIM.epsilon,
        delta: CLAIM.delta,
        max_releases: removals.len() as u64,
        max_matrix_dim,
        ..TrainingConfig::new(&loss::Logistic, L2, Some(2))
    };
    let trained = train_exactly(&TrainingPlan::new(config.clone())?, &rows)?;
    let mut problem = Problem { name: name.into(), rows, trained, removals, kind: Kind::Tight };
    // The noise with which a release claims a little more than the distance. The distance does not depend on the noise.
    let farthest = remove_by_steps(&problem.case())?.iter().map(distance_bound_of).fold(0.0, f64::max);
    let times = if kind == Kind::Settled { UNSETTLED } else { 1.0 };
    config.noise_std = Some(1.0001 * farthest / (mu * times));
    let state = problem.trained.state().clone();
    problem.trained = Model::from_state(TrainingPlan::new(config)?, state).ok_or(AuditError::State)?;
    Ok(Problem { kind, ..problem })
}

/// What only the removed rows had must be exactly zero afterwards, as it is after training without them.
fn exact(name: &str, removals: Vec<Vec<usize>>) -> Result<Problem, AuditError> {
    let rows = rows();
    let plan = TrainingPlan::new(TrainingConfig::new(&loss::Squared, L2, None))?;
    Ok(Problem { name: name.into(), trained: train_exactly(&plan, &rows)?, rows, removals, kind: Kind::Exact })
}
