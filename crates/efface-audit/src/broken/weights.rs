//! Engines whose secret weights are not where they are claimed to be.

use efface_core::exact::ExactSums;
use efface_core::model::{Model, ReleaseAccount, TrainingConfig, TrainingPlan};
use efface_core::secret::SecretVector;

use crate::engine::{Case, remove_by_steps, retrain_each_time, train_exactly, weights_of, with_state};
use crate::error::AuditError;

/// Is four times as far from the retrained weights as it claims.
pub(super) fn understate_distance(case: &Case<'_>) -> Result<Vec<Model>, AuditError> {
    let retrained = retrain_each_time(case)?;
    let farther = |(ours, theirs): (&Model, &Model)| {
        let exact = weights_of(theirs);
        let mut exact = exact.iter();
        altered(ours, |weights| {
            weights.iter_mut().zip(&mut exact).for_each(|(w, exact)| *w = exact + 4.0 * (*w - exact));
        })
    };
    remove_by_steps(case)?.iter().zip(&retrained).map(farther).collect()
}

/// Claims what settling reached, and releases the weights as they were before it.
pub(super) fn leave_unsettled(case: &Case<'_>) -> Result<Vec<Model>, AuditError> {
    let unsettled = remove_by_steps(&Case { tolerance: Some(f64::MAX), ..case.clone() })?;
    let settled = remove_by_steps(case)?;
    unsettled.iter().zip(&settled).map(|(ours, claim)| with_claim_of(ours, claim)).collect()
}

/// Releases the weights of before the removal, and claims what the removal led to.
pub(crate) fn forget_removal(case: &Case<'_>) -> Result<Vec<Model>, AuditError> {
    let trained = case.trained.clone().with_account(ReleaseAccount::default());
    remove_by_steps(case)?.iter().map(|claim| with_claim_of(&trained, claim)).collect()
}

/// Trains with a ridge a fourth larger than the plan's. Where both worlds do, they agree with each other, and with no
/// minimiser.
pub(crate) fn train_with_wrong_ridge(case: &Case<'_>) -> Result<Vec<Model>, AuditError> {
    let trained = train_exactly(&wrong_plan(case)?, case.rows)?;
    remove_by_steps(&Case { trained: &trained, ..case.clone() })
}

/// The other world of [`train_with_wrong_ridge`].
pub(crate) fn retrain_with_wrong_ridge(case: &Case<'_>) -> Result<Vec<Model>, AuditError> {
    let trained = Model::from_state(wrong_plan(case)?, case.trained.state().clone()).ok_or(AuditError::State)?;
    retrain_each_time(&Case { trained: &trained, ..case.clone() })
}

fn wrong_plan(case: &Case<'_>) -> Result<TrainingPlan, AuditError> {
    let config = case.trained.plan().config().clone();
    let noise_std = Some(case.trained.plan().noise_std());
    Ok(TrainingPlan::new(TrainingConfig { ridge: config.ridge.times(1.25), noise_std, ..config })?)
}

/// Where there is no noise, leaves one sum off by a part in 2⁴⁰ after a removal: the last bits of some weights.
pub(crate) fn leave_last_bit_wrong(case: &Case<'_>) -> Result<Vec<Model>, AuditError> {
    let mut models = remove_by_steps(case)?;
    for model in &mut models {
        let mut state = model.state().clone();
        let Some(sums) = &state.sums else { continue };
        let (ranges, integers) = sums.parts();
        let integers = integers.map(|integers| {
            let mut integers = integers.to_vec();
            integers.iter_mut().take(1).for_each(|first| *first += *first >> 40);
            integers
        });
        state.sums = ExactSums::from_parts(sums.dim(), sums.problems().to_vec(), ranges.clone(), integers);
        *model = with_state(model, state)?;
    }
    Ok(models)
}

/// The weights of one model under the claim of another.
fn with_claim_of(weights: &Model, claim: &Model) -> Result<Model, AuditError> {
    // Exact models have no weights but those of their sums, and all claim the same.
    if claim.state().sums.is_some() {
        return Ok(weights.clone());
    }
    let mut weights = weights.state().fits.iter().map(|fit| fit.weights.clone());
    altered(claim, |of| {
        if let Some(weights) = weights.next() {
            *of = weights;
        }
    })
}

/// A model with other weights in each problem, and all else as it is.
fn altered(model: &Model, mut change: impl FnMut(&mut SecretVector)) -> Result<Model, AuditError> {
    let mut state = model.state().clone();
    for fit in &mut state.fits {
        change(&mut fit.weights);
    }
    with_state(model, state)
}
