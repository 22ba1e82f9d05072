//! Engines whose noise is not the one that they claim. What they release stays on the lattice: a fault is to be seen for
//! what it is.

use efface_core::model::{Model, Release};
use efface_core::noise::NoiseSource;

use crate::choice::below;
use crate::engine::{release_in_order, weights_of};
use crate::error::AuditError;

/// Adds half of the noise that it claims.
pub(super) fn halve(models: &mut [Model], noise: &mut NoiseSource) -> Result<Vec<Release>, AuditError> {
    with_other_noise(models, noise, |_, noise| noise.iter_mut().for_each(|z| *z *= 0.5))
}

/// Draws noise for the first release only, and uses it again for the later ones.
pub(super) fn reuse(models: &mut [Model], noise: &mut NoiseSource) -> Result<Vec<Release>, AuditError> {
    let mut first: Option<Vec<f64>> = None;
    with_other_noise(models, noise, |_, noise| {
        let first = first.get_or_insert_with(|| noise.to_vec());
        noise.copy_from_slice(first);
    })
}

/// Adds no noise along (1, …, 1): the mean of the weights is published as it is.
pub(super) fn miss_ones(models: &mut [Model], noise: &mut NoiseSource) -> Result<Vec<Release>, AuditError> {
    with_other_noise(models, noise, |_, noise| {
        let mean = noise.iter().sum::<f64>() / noise.len() as f64;
        for z in noise {
            *z -= mean;
        }
    })
}

/// Forgets the noise of one release in a thousand.
pub(super) fn miss_sometimes(models: &mut [Model], noise: &mut NoiseSource) -> Result<Vec<Release>, AuditError> {
    with_other_noise(models, noise, |source, noise| {
        if below(1_000, source) == 0 {
            noise.fill(0.0);
        }
    })
}

/// Bits that [`tell_low_bits`] writes.
const LOW_BITS: u32 = 24;

/// Writes a hash of the secret weights into the low bits of what it releases.
pub(super) fn tell_low_bits(models: &mut [Model], noise: &mut NoiseSource) -> Result<Vec<Release>, AuditError> {
    let mut releases = release_in_order(models, noise)?;
    for (release, model) in releases.iter_mut().zip(models) {
        let Some(step) = release.claim.lattice_step else { continue };
        // FNV-1a over the bits of the secret weights.
        let mix = |hash: u64, w: &f64| (hash ^ w.to_bits()).wrapping_mul(0x0000_0100_0000_01b3);
        let mut hash = weights_of(model).iter().fold(0xcbf2_9ce4_8422_2325, mix);
        for released in release.weights.iter_mut().flatten() {
            // The last digits of the double, where those are coarser than the lattice.
            let exponent = (*released / step).abs().log2().floor() as i32;
            let unit = step * 2f64.powi((exponent - 52).max(0));
            let index = (*released / unit) as i64;
            hash = mix(hash, &1.0);
            let told = (index >> LOW_BITS << LOW_BITS) | (hash >> (64 - LOW_BITS)).cast_signed();
            *released = told as f64 * unit;
        }
    }
    Ok(releases)
}

/// Releases with the noise of each changed, on the lattice that is claimed.
fn with_other_noise(
    models: &mut [Model],
    source: &mut NoiseSource,
    mut change: impl FnMut(&mut NoiseSource, &mut [f64]),
) -> Result<Vec<Release>, AuditError> {
    let mut releases = release_in_order(models, source)?;
    for (release, model) in releases.iter_mut().zip(models) {
        let weights = weights_of(model);
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
