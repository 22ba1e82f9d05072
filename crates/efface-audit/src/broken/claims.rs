//! Engines whose claim itself tells something.

use efface_core::model::Release;
use efface_core::noise::NoiseSource;
use efface_core::rounding::LowerBound;

use crate::engine::{Engine, Secret, release_in_order};
use crate::error::AuditError;

/// Publishes the distance as it was verified, a function of the rows that left, and not the step of the scale above it.
pub struct VerifiedDistanceTold;

impl Engine for VerifiedDistanceTold {
    fn name(&self) -> &'static str {
        "the verified distance is published"
    }

    fn release(&self, secrets: &mut [Secret], noise: &mut NoiseSource) -> Result<Vec<Release>, AuditError> {
        let mut releases = release_in_order(secrets, noise)?;
        for claim in releases.iter_mut().map(|release| &mut release.claim) {
            claim.distance_bound = claim.verified_distance + claim.rounding_charge;
            claim.mu = claim.distance_bound.over(LowerBound::new(claim.noise_std));
        }
        Ok(releases)
    }
}
