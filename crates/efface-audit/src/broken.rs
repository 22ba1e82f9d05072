//! Engines that are broken on purpose: what an audit is worth is shown by what it catches.
//!
//! They wrap the sound one and exist for the audit's self-test only. Nothing here can be reached by training, removing or
//! releasing a model.

use efface_core::model::{Model, Release, ReleaseAccount};
use efface_core::noise::NoiseSource;
use efface_core::secret::SecretVector;

use crate::engine::{Case, Engine, Secret, release_in_order, remove_by_steps, retrain_each_time};
use crate::error::AuditError;

/// All of them.
pub const ALL: [&dyn Engine; 5] =
    [&NoiseTooSmall, &DistanceUnderstated, &NoiseReused, &UnsettledWeights, &RemovalForgotten];

/// Adds half of the noise that it claims.
pub struct NoiseTooSmall;

impl Engine for NoiseTooSmall {
    fn name(&self) -> &'static str {
        "half of the claimed noise"
    }

    fn release(&self, secrets: &mut [Secret], noise: &mut NoiseSource) -> Result<Vec<Release>, AuditError> {
        let mut releases = release_in_order(secrets, noise)?;
        for (release, secret) in releases.iter_mut().zip(secrets) {
            for (released, secret) in release.weights.iter_mut().flatten().zip(secret.weights()) {
                *released = secret + 0.5 * (*released - secret);
            }
        }
        Ok(releases)
    }
}

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

/// Draws noise for the first release only, and uses it again for the later ones.
pub struct NoiseReused;

impl Engine for NoiseReused {
    fn name(&self) -> &'static str {
        "one noise for all releases"
    }

    fn release(&self, secrets: &mut [Secret], noise: &mut NoiseSource) -> Result<Vec<Release>, AuditError> {
        let mut releases = release_in_order(secrets, noise)?;
        let (first, later) = releases.split_at_mut(1);
        let drawn: Vec<f64> =
            first[0].weights.iter().flatten().zip(secrets[0].weights()).map(|(released, w)| released - w).collect();
        for (release, secret) in later.iter_mut().zip(&secrets[1..]) {
            for ((released, secret), noise) in release.weights.iter_mut().flatten().zip(secret.weights()).zip(&drawn) {
                *released = secret + noise;
            }
        }
        Ok(releases)
    }
}

/// Claims what settling reached, and releases the weights as they were before it.
pub struct UnsettledWeights;

impl Engine for UnsettledWeights {
    fn name(&self) -> &'static str {
        "unsettled weights, claimed as settled"
    }

    fn remove(&self, case: &Case<'_>) -> Result<Vec<Secret>, AuditError> {
        let unsettled = remove_by_steps(&Case {
            tolerance: Some(f64::MAX),
            name: String::new(),
            removals: case.removals.clone(),
            ..*case
        })?;
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

/// The weights of one model under the claim of another.
fn with_claim_of(weights: &Model, claim: &Model) -> Result<Secret, AuditError> {
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
