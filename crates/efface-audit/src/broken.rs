//! Engines that are broken on purpose: what an audit is worth is shown by what it catches.
//!
//! They wrap the sound one and exist for the audit's self-test only. Nothing here can be reached by training, removing or
//! releasing a model.

use efface_core::model::{Model, Release, ReleaseAccount};
use efface_core::noise::NoiseSource;
use efface_core::rounding::UpperBound;
use efface_core::secret::SecretVector;

use crate::engine::{Case, Engine, Secret, release_in_order, remove_by_steps};
use crate::error::AuditError;
use crate::rows::HiddenRows;

/// All of them.
pub const ALL: [&dyn Engine; 5] =
    [&NoiseTooSmall, &ResidualUnderstated, &NoiseReused, &UnsettledWeights, &RemovalForgotten];

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

/// Claims a fourth of the gradient that it measured.
pub struct ResidualUnderstated;

impl Engine for ResidualUnderstated {
    fn name(&self) -> &'static str {
        "a fourth of the residual is claimed"
    }

    fn remove(&self, case: &Case<'_>) -> Result<Vec<Secret>, AuditError> {
        let quarter = |secret: &Secret| {
            altered(secret.model(), |_, gradient, error| {
                gradient.iter_mut().for_each(|g| *g *= 0.25);
                *error = UpperBound::new(0.25 * error.get());
            })
        };
        remove_by_steps(case)?.iter().map(quarter).collect()
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

/// Settles a copy, claims what that reached, and releases the weights as they were before.
pub struct UnsettledWeights;

impl Engine for UnsettledWeights {
    fn name(&self) -> &'static str {
        "unsettled weights, claimed as settled"
    }

    fn remove(&self, case: &Case<'_>) -> Result<Vec<Secret>, AuditError> {
        let mut gone = Vec::new();
        let mut secrets = remove_by_steps(case)?;
        for (secret, removal) in secrets.iter_mut().zip(&case.removals) {
            gone.extend(removal);
            let left = HiddenRows::new(case.rows, &gone)?;
            let mut settled = secret.model().clone();
            settled.settle(&left, Some(f64::MIN_POSITIVE))?;
            *secret = with_claim_of(secret.model(), &settled)?;
        }
        Ok(secrets)
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
    altered(claim, |of, _, _| {
        if let Some(weights) = weights.next() {
            *of = weights;
        }
    })
}

/// A model with other weights, gradient or gradient error in each problem.
fn altered(
    model: &Model,
    mut change: impl FnMut(&mut SecretVector, &mut SecretVector, &mut UpperBound),
) -> Result<Secret, AuditError> {
    let mut state = model.state().clone();
    for fit in &mut state.fits {
        change(&mut fit.weights, &mut fit.gradient, &mut fit.gradient_error);
    }
    Model::from_state(model.plan().clone(), state).map(Secret::new).ok_or(AuditError::State)
}
