//! A removable head: trained, ten rows leave, it is settled and released.

use efface_core::accounting::Extractor;
use efface_core::loss::Logistic;
use efface_core::model::{ReleaseOutcome, TrainingConfig, TrainingPlan};
use efface_core::noise::NoiseSource;
use efface_core::rows::RowStore;
use serde::{Deserialize, Serialize};

use super::{DELTA, GROUP};
use crate::data::{DataSet, accuracy};
use crate::life::{Life, random_order};
use crate::measure::{median, try_timed};
use crate::{ExperimentError, Result, Setting};

/// What was measured of a head.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) dim: usize,
    /// ε of its promise, an extractor's share included.
    pub(super) epsilon: f64,
    /// Accuracy of the release after the removals.
    pub(super) accuracy: f64,
    /// ε that this release proves, an extractor's share included.
    pub(super) epsilon_spent: f64,
    pub(super) training_seconds: f64,
    /// Of one row, median.
    pub(super) removal_seconds: f64,
    pub(super) settle_seconds: f64,
}

impl Head {
    /// Ten one-vs-all problems with one joint guarantee, (ε, δ) with the extractor's share.
    pub(super) fn measure(
        set: DataSet,
        l2_per_row: f64,
        (epsilon, extractor): (f64, Option<Extractor>),
        setting: &Setting<'_>,
    ) -> Result<Self> {
        let DataSet { n_classes, train, test, .. } = set;
        let config = TrainingConfig::new(&Logistic, l2_per_row, Some(n_classes));
        let dim = train.dim();
        let plan = TrainingPlan::new(TrainingConfig {
            epsilon,
            delta: DELTA,
            noise_std: Some(NOISE_STD),
            extractor,
            max_matrix_dim: dim.max(config.max_matrix_dim),
            ..config
        })?;
        let order = random_order(train.len(), setting.seed);
        setting.begin(format!("SVHN: head of {dim} features"), 1 + GROUP);
        let mut life = Life::begin(&plan, train, setting.seed)?;
        setting.step();
        let removals = life.remove_each(order.into_iter().take(GROUP), setting)?;
        let (_, settle_seconds) = try_timed(|| life.model.settle_before_release(&life.rows))?;
        let release = match life.model.release(&mut NoiseSource::danger_fixed_seed(setting.seed)) {
            ReleaseOutcome::Published(release) => release,
            _ => {
                return Err(ExperimentError::NotReleased {
                    what: format!("a head of {dim} features at ε = {epsilon}"),
                });
            }
        };
        Ok(Self {
            dim,
            epsilon,
            accuracy: accuracy(&test, &release.weights)?,
            epsilon_spent: release.claim.epsilon_spent,
            training_seconds: life.training_seconds,
            removal_seconds: median(removals),
            settle_seconds,
        })
    }
}

/// Noise of releases: a hundredth of the length of a row in its score, where scores are tens.
const NOISE_STD: f64 = 0.01;
