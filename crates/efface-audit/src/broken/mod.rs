//! Engines that are broken on purpose: what an audit is worth is shown by what it catches.
//!
//! Each differs from the sound one in one function, and exists for the audit's self-test only. Nothing here can be reached
//! by training, removing or releasing a model.

mod noise;
mod weights;

use efface_core::model::{Model, Release};
use efface_core::noise::NoiseSource;
use efface_core::rounding::LowerBound;
#[cfg(test)]
pub(crate) use weights::{forget_removal, leave_last_bit_wrong, retrain_with_wrong_ridge, train_with_wrong_ridge};

use crate::engine::{Engine, SOUND, release_in_order};
use crate::error::AuditError;

/// All of them.
pub(crate) const ALL: [Engine; 11] = [
    Engine { name: "half of the claimed noise", release: noise::halve, ..SOUND },
    Engine { name: "a fourth of the distance is claimed", remove: weights::understate_distance, ..SOUND },
    Engine { name: "one noise for all releases", release: noise::reuse, ..SOUND },
    Engine { name: "unsettled weights, claimed as settled", remove: weights::leave_unsettled, ..SOUND },
    Engine { name: "rows are not removed, and claimed to be", remove: weights::forget_removal, ..SOUND },
    Engine { name: "no noise along (1, …, 1)", release: noise::miss_ones, ..SOUND },
    Engine { name: "24 low bits are a hash of the secret weights", release: noise::tell_low_bits, ..SOUND },
    Engine { name: "one release in 1,000 without noise", release: noise::miss_sometimes, ..SOUND },
    Engine {
        name: "a wrong ridge in both worlds",
        remove: weights::train_with_wrong_ridge,
        retrain: weights::retrain_with_wrong_ridge,
        ..SOUND
    },
    Engine { name: "the verified distance is published", release: tell_verified_distance, ..SOUND },
    Engine { name: "the last bit of an exact weight differs", remove: weights::leave_last_bit_wrong, ..SOUND },
];

/// Publishes the distance as it was verified, a function of the rows that left, and not the step of the scale above it.
fn tell_verified_distance(models: &mut [Model], noise: &mut NoiseSource) -> Result<Vec<Release>, AuditError> {
    let mut releases = release_in_order(models, noise)?;
    for claim in releases.iter_mut().map(|release| &mut release.claim) {
        claim.distance_bound = claim.verified_distance + claim.rounding_charge;
        claim.mu = claim.distance_bound.over(LowerBound::new(claim.noise_std));
    }
    Ok(releases)
}
