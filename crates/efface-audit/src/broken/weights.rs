//! Engines whose secret weights are not where they are claimed to be.

use efface_core::exact::ExactSums;
use efface_core::model::{Model, ReleaseAccount, TrainingConfig, TrainingPlan};
use efface_core::secret::SecretVector;

use crate::engine::{Case, Engine, Secret, remove_by_steps, retrain_each_time, train_exactly};
use crate::error::AuditError;

/// Is four times as far from the retrained weights as it claims.
pub struct DistanceUnderstated;

impl Engine for DistanceUnderstated {
    fn name(&self) -> &'static str {
        "a fourth of the distance is claimed"
    }

    fn remove(&self, case: &Case<'_>) -> Result<Vec<Secret>, AuditError> {
        let retrained = retrain_each_time(case)?;
        let farther = |(ours, theirs): (&Secret, &Secret)| {
            let exact = theirs.weights();
            let mut exact = exact.iter();
            altered(ours.model(), |weights| {
                weights.iter_mut().zip(&mut exact).for_each(|(w, exact)| *w = exact + 4.0 * (*w - exact));
            })
        };
        remove_by_steps(case)?.iter().zip(&retrained).map(farther).collect()
    }
}

/// Claims what settling reached, and releases the weights as they were before it.
pub struct UnsettledWeights;

impl Engine for UnsettledWeights {
    fn name(&self) -> &'static str {
        "unsettled weights, claimed as settled"
    }

    fn remove(&self, case: &Case<'_>) -> Result<Vec<Secret>, AuditError> {
        let unsettled = remove_by_steps(&Case { tolerance: Some(f64::MAX), ..case.clone() })?;
        let settled = remove_by_steps(case)?;
        unsettled.iter().zip(&settled).map(|(ours, claim)| with_claim_of(ours.model(), claim.model())).collect()
    }
}

/// Releases the weights of before the removal, and claims what the removal led to.
pub struct RemovalForgotten;

impl Engine for RemovalForgotten {
    fn name(&self) -> &'static str {
        "rows are not removed, and claimed to be"
    }

    fn remove(&self, case: &Case<'_>) -> Result<Vec<Secret>, AuditError> {
        let secrets = remove_by_steps(case)?;
        let trained = case.trained.clone().with_account(ReleaseAccount::default());
        secrets.iter().map(|secret| with_claim_of(&trained, secret.model())).collect()
    }
}

/// Trains with a ridge a fourth larger than the plan's, in both worlds: they agree with each other, and with no minimiser.
pub struct RidgeWrong;

impl Engine for RidgeWrong {
    fn name(&self) -> &'static str {
        "a wrong ridge in both worlds"
    }

    fn remove(&self, case: &Case<'_>) -> Result<Vec<Secret>, AuditError> {
        let trained = train_exactly(&wrong_plan(case)?, case.rows)?;
        remove_by_steps(&Case { trained: &trained, ..case.clone() })
    }

    fn retrain(&self, case: &Case<'_>) -> Result<Vec<Secret>, AuditError> {
        let plan = wrong_plan(case)?;
        let trained = Model::from_state(plan, case.trained.state().clone()).ok_or(AuditError::State)?;
        retrain_each_time(&Case { trained: &trained, ..case.clone() })
    }
}

fn wrong_plan(case: &Case<'_>) -> Result<TrainingPlan, AuditError> {
    let config = case.trained.plan().config().clone();
    let noise_std = Some(case.trained.plan().noise_std());
    Ok(TrainingPlan::new(TrainingConfig { l2_per_row: 1.25 * config.l2_per_row, noise_std, ..config })?)
}

/// Where there is no noise, leaves one sum off by a part in 2⁴⁰ after a removal: the last bits of some weights.
pub struct LastBitWrong;

impl Engine for LastBitWrong {
    fn name(&self) -> &'static str {
        "the last bit of an exact weight differs"
    }

    fn remove(&self, case: &Case<'_>) -> Result<Vec<Secret>, AuditError> {
        let mut secrets = remove_by_steps(case)?;
        for secret in &mut secrets {
            let model = secret.model();
            let mut state = model.state().clone();
            let Some(sums) = &state.sums else { continue };
            let (ranges, integers) = sums.parts();
            let integers = integers.map(|integers| {
                let mut integers = integers.to_vec();
                integers.iter_mut().take(1).for_each(|first| *first += *first >> 40);
                integers
            });
            state.sums = ExactSums::from_parts(sums.dim(), sums.problems().to_vec(), ranges.clone(), integers);
            *secret = Model::from_state(model.plan().clone(), state).map(Secret::new).ok_or(AuditError::State)?;
        }
        Ok(secrets)
    }
}

/// The weights of one model under the claim of another.
fn with_claim_of(weights: &Model, claim: &Model) -> Result<Secret, AuditError> {
    // Exact models have no weights but those of their sums, and all claim the same.
    if claim.state().sums.is_some() {
        return Ok(Secret::new(weights.clone()));
    }
    let mut weights = weights.state().fits.iter().map(|fit| fit.weights.clone());
    altered(claim, |of| {
        if let Some(weights) = weights.next() {
            *of = weights;
        }
    })
}

/// A model with other weights in each problem, and all else as it is.
fn altered(model: &Model, mut change: impl FnMut(&mut SecretVector)) -> Result<Secret, AuditError> {
    let mut state = model.state().clone();
    for fit in &mut state.fits {
        change(&mut fit.weights);
    }
    Model::from_state(model.plan().clone(), state).map(Secret::new).ok_or(AuditError::State)
}
