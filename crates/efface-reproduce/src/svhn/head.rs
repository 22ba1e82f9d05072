//! A removable head: trained, ten rows leave, it is settled and released.

use efface_core::accounting::{Extractor, Guarantee};
use efface_core::loss::Logistic;
use efface_core::model::{PlanError, ReleaseOutcome, TrainingConfig, TrainingPlan};
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
        let dim = train.dim();
        let plan = plan(dim, n_classes, l2_per_row, Guarantee { epsilon, delta: DELTA }, extractor)?;
        let order = random_order(train.len(), setting.seed);
        setting.begin(format!("SVHN: head of {dim} features"), 1 + GROUP);
        let mut life = Life::begin(&plan, train, setting.seed)?;
        setting.step();
        let removals = life.remove_each(order.into_iter().take(GROUP), setting)?;
        let (_, settle_seconds) = try_timed(|| life.model.settle_before_release(&life.rows))?;
        let what = format!("a head of {dim} features at ε = {epsilon}");
        let mut noise = NoiseSource::danger_fixed_seed(setting.seed);
        let ReleaseOutcome::Published(release) = life.model.release(&mut noise) else {
            return Err(ExperimentError::NotReleased { what });
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

/// A plan whose promise is `all`, of which the extractor has its share already.
fn plan(
    dim: usize,
    n_classes: u32,
    l2_per_row: f64,
    all: Guarantee,
    extractor: Option<Extractor>,
) -> Result<TrainingPlan, PlanError> {
    let share = extractor.map_or(Guarantee { epsilon: 0.0, delta: 0.0 }, |extractor| extractor.cost());
    let usual = TrainingConfig::new(&Logistic, l2_per_row, Some(n_classes));
    TrainingPlan::new(TrainingConfig {
        // Below what is left by more than the sum of both is rounded up.
        epsilon: (all.epsilon.next_down().next_down() - share.epsilon).next_down(),
        delta: (all.delta.next_down().next_down() - share.delta).next_down(),
        noise_std: Some(NOISE_STD),
        max_releases: MAX_RELEASES,
        extractor,
        max_matrix_dim: dim.max(usual.max_matrix_dim),
        ..usual
    })
}

/// Releases that share the promise. A ridge as small as that of the fixed features is known less exactly than each of 4,096 would
/// have to be.
const MAX_RELEASES: u64 = 64;

/// Noise of releases: a fiftieth in a score, where scores are tens.
const NOISE_STD: f64 = 0.02;

#[cfg(test)]
mod tests {
    use super::*;

    /// The extractor's share once came on top of all of ε.
    #[test]
    fn extractor_and_head_together_promise_what_the_figure_says() {
        for epsilon in super::super::EPSILONS {
            let extractor = Extractor { epsilon: 0.09 * epsilon, delta: 1e-9, group: GROUP };
            let all = Guarantee { epsilon, delta: DELTA };
            for extractor in [Some(extractor), None] {
                let promised = plan(8, 10, 1e-3, all, extractor).expect("a plan").claimed_guarantee();
                assert!(promised.epsilon <= epsilon && promised.epsilon > 0.999 * epsilon, "{promised:?}");
                assert!(promised.delta <= DELTA && promised.delta > 0.9 * DELTA, "{promised:?}");
            }
        }
    }
}
