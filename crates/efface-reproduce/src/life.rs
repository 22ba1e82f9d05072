//! The life of one model in an experiment: trained, rows leave, compared with one that is trained without them.

use efface_core::model::{ChangeReport, Model, Settled, TrainingPlan};
use efface_core::noise::NoiseSource;
use efface_core::removal::Change;
use efface_data::MemoryRows;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::measure::try_timed;
use crate::{Result, Setting};

/// A model and the rows that it knows.
pub struct Life {
    /// The model.
    pub model: Model,
    /// The rows.
    pub rows: MemoryRows,
    /// Seconds that training took.
    pub training_seconds: f64,
}

impl Life {
    /// Of a model that was trained elsewhere.
    pub fn new(model: Model, rows: MemoryRows) -> Self {
        Self { model, rows, training_seconds: 0.0 }
    }

    /// Trains on these rows. The seed is that of the noise.
    pub(crate) fn begin(plan: &TrainingPlan, rows: MemoryRows, seed: u64) -> Result<Self> {
        let (model, training_seconds) = train(plan, &rows, seed)?;
        Ok(Self { model, rows, training_seconds })
    }

    /// Rows leave in one step. The seconds are those of the step and of taking the rows away.
    pub fn remove(&mut self, positions: &[usize]) -> Result<(ChangeReport, f64)> {
        try_timed(|| {
            let batch = self.rows.batch(positions)?;
            self.rows.remove(positions)?;
            Ok(self.model.change(&Change::remove(&batch), &self.rows)?)
        })
    }

    /// Removes rows one by one; the seconds of each.
    pub(crate) fn remove_each(
        &mut self,
        positions: impl IntoIterator<Item = usize>,
        setting: &Setting<'_>,
    ) -> Result<Vec<f64>> {
        let remove = |position| {
            let (_, seconds) = self.remove(&[position])?;
            setting.step();
            Ok(seconds)
        };
        positions.into_iter().map(remove).collect()
    }

    /// Measures what removals left and polishes it away. The seconds that it took come second.
    pub(crate) fn settle(&mut self) -> Result<(Settled, f64)> {
        try_timed(|| Ok(self.model.settle(&self.rows, None)?))
    }

    /// A model that is trained from zero on the rows that are left, and the seconds that it took.
    pub(crate) fn retrain(&self, seed: u64) -> Result<(Model, f64)> {
        train(self.model.plan(), &self.rows, seed)
    }
}

fn train(plan: &TrainingPlan, rows: &MemoryRows, seed: u64) -> Result<(Model, f64)> {
    try_timed(|| Ok(plan.train(rows, &mut NoiseSource::danger_fixed_seed(seed), &mut |_| {})?.model))
}

/// The secret weights, one vector per problem.
pub fn weights(model: &Model) -> Vec<Vec<f64>> {
    model.state().fits.iter().map(|fit| fit.weights.to_vec()).collect()
}

/// Distance of two sets of weights, jointly over their problems.
pub(crate) fn distance(ours: &[Vec<f64>], theirs: &[Vec<f64>]) -> f64 {
    let squares = ours.iter().flatten().zip(theirs.iter().flatten()).map(|(a, b)| (a - b).powi(2));
    squares.sum::<f64>().sqrt()
}

/// The numbers below `n` in an order that the seed decides.
pub(crate) fn random_order(n: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    order
}

/// Positions by influence, the largest first.
pub(crate) fn hardest_first(influences: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..influences.len()).collect();
    order.sort_by(|a, b| influences[*b].total_cmp(&influences[*a]));
    order
}
