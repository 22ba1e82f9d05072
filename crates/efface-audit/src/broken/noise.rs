//! Engines whose noise is not the one that they claim. What they release stays on the lattice: a fault is to be seen for
//! what it is.

use efface_core::model::Release;
use efface_core::noise::NoiseSource;

use crate::engine::{Engine, Secret, release_in_order};
use crate::error::AuditError;

/// Adds half of the noise that it claims.
pub struct NoiseTooSmall;

impl Engine for NoiseTooSmall {
    fn name(&self) -> &'static str {
        "half of the claimed noise"
    }

    fn release(&self, secrets: &mut [Secret], noise: &mut NoiseSource) -> Result<Vec<Release>, AuditError> {
        with_other_noise(secrets, noise, |_, noise| noise.iter_mut().for_each(|z| *z *= 0.5))
    }
}

/// Draws noise for the first release only, and uses it again for the later ones.
pub struct NoiseReused;

impl Engine for NoiseReused {
    fn name(&self) -> &'static str {
        "one noise for all releases"
    }

    fn release(&self, secrets: &mut [Secret], noise: &mut NoiseSource) -> Result<Vec<Release>, AuditError> {
        let mut first: Option<Vec<f64>> = None;
        with_other_noise(secrets, noise, |_, noise| {
            let first = first.get_or_insert_with(|| noise.to_vec());
            noise.copy_from_slice(first);
        })
    }
}

/// Releases with the noise of each changed, on the lattice that is claimed.
fn with_other_noise(
    secrets: &mut [Secret],
    source: &mut NoiseSource,
    mut change: impl FnMut(&mut NoiseSource, &mut [f64]),
) -> Result<Vec<Release>, AuditError> {
    let mut releases = release_in_order(secrets, source)?;
    for (release, secret) in releases.iter_mut().zip(secrets) {
        let weights = secret.weights();
        let mut noise: Vec<f64> =
            release.weights.iter().flatten().zip(&weights).map(|(w, secret)| w - secret).collect();
        change(source, &mut noise);
        let step = release.claim.lattice_step;
        for ((released, secret), noise) in release.weights.iter_mut().flatten().zip(&weights).zip(&noise) {
            let value = secret + noise;
            *released = step.map_or(value, |step| (value / step).round_ties_even() * step);
        }
    }
    Ok(releases)
}
