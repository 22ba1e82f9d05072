//! The claim looked at from inside the trust boundary, where the secret weights can be seen: are they as close to the
//! retrained ones as claimed, is what was added to them the noise that is claimed, and is everything else that leaves the
//! same in both worlds?
//!
//! On an ordinary model the claimed distance is far above the true one, and no attack from outside could see that some
//! of the noise is missing. These checks do. Each is in a file of its own.

mod check;
mod directions;
mod gradient;
mod law;
mod low_bits;
mod published;
mod rare;

use efface_core::model::{Model, ReleaseClaim, TrainingPlan};
use efface_core::noise::{NoiseLaw, NoiseSource};

use self::check::closest;
pub use self::check::{DirectCheck, DirectChecks};
use self::directions::Directions;
use self::law::LawSums;
use self::low_bits::LowBits;
pub(super) use self::published::Published;
use self::rare::Lengths;
pub use self::rare::Power;
use super::distance;
use crate::engine::{Case, distance_bound_of, weights_of};
use crate::error::AuditError;

/// What was added to the secret weights of one world, in units of its claimed scale.
#[derive(Clone)]
pub(super) struct NoiseSample {
    scale: f64,
    law: LawSums,
    lengths: Lengths,
    /// One for each release of a life: each has secret weights of its own.
    releases: Vec<ReleaseSample>,
}

/// What depends on the secret weights themselves, which differ from release to release.
#[derive(Clone)]
struct ReleaseSample {
    secret: Vec<f64>,
    directions: Directions,
    low_bits: LowBits,
}

impl NoiseSample {
    /// An empty sample for releases of these secret weights under these claims; directions are drawn from `noise`.
    pub(super) fn new(
        plan: &TrainingPlan,
        secrets: &[Vec<f64>],
        claims: &[ReleaseClaim],
        draws: usize,
        noise: &mut NoiseSource,
    ) -> Self {
        let law = plan.config().law;
        let scale = claims.first().map_or(0.0, |claim| claim.noise_std);
        let of_release = |(secret, claim): (&Vec<f64>, &ReleaseClaim)| ReleaseSample {
            secret: secret.clone(),
            directions: Directions::new(secret, noise),
            low_bits: LowBits::new(secret, claim.noise_std, claim.lattice_step),
        };
        Self {
            scale,
            law: LawSums::new(law, draws),
            lengths: Lengths::new(law, secrets.first().map_or(0, Vec::len)),
            releases: secrets.iter().zip(claims).map(of_release).collect(),
        }
    }

    /// Adds the releases of one life.
    pub(super) fn add(&mut self, released: &[Vec<f64>]) {
        if self.scale == 0.0 {
            return;
        }
        for (released, sample) in released.iter().zip(&mut self.releases) {
            let noise: Vec<f64> = released.iter().zip(&sample.secret).map(|(w, a)| (w - a) / self.scale).collect();
            self.lengths.add(&noise);
            if self.law.law() == NoiseLaw::Gaussian {
                sample.directions.add(&noise);
                sample.low_bits.add(released);
            }
            self.law.add(noise);
        }
    }

    /// Adds more lives of the same world.
    pub(super) fn merge(&mut self, other: Self) {
        self.law.merge(other.law);
        self.lengths.merge(other.lengths);
        for (sample, other) in self.releases.iter_mut().zip(other.releases) {
            sample.directions.merge(other.directions);
            sample.low_bits.merge(other.low_bits);
        }
    }
}

/// What is looked at: the secret models of the two worlds, what they published, and what was added to them.
pub(super) struct Worlds<'a> {
    pub(super) case: &'a Case<'a>,
    pub(super) removed: &'a [Model],
    pub(super) retrained: &'a [Model],
    pub(super) published: [Published; 2],
    pub(super) noise: [NoiseSample; 2],
}

/// Checks in which chance has a part, under the Gaussian law; they share the rate.
pub(super) const N_RANDOM: f64 = 9.0;

/// All checks; one of them fails for a sound engine with probability at most `false_alarm_rate`.
pub(super) fn checks(worlds: Worlds<'_>, false_alarm_rate: f64) -> Result<DirectChecks, AuditError> {
    let plan = worlds.case.trained.plan();
    let [ours, theirs] = &worlds.published;
    let mut checks = vec![gradient::check(worlds.case, worlds.removed, worlds.retrained, ours.claims())?];
    // Without noise it is not enough to be close.
    checks.push(ours.differing_weights(theirs).map_or_else(
        || closest_call(worlds.removed, worlds.retrained, ours.claims()),
        |n| DirectCheck::count("released-bits", n, 0),
    ));
    let differing = ours.differing_fields(theirs);
    checks.push(DirectCheck::count("published-fields", differing.len(), 0));
    if plan.is_exact() {
        return Ok(DirectChecks { checks, differing, power: None });
    }
    let rate = false_alarm_rate / N_RANDOM;
    let [mut noise, other] = worlds.noise;
    noise.releases.extend(other.releases);
    // What does not depend on the secret weights is pooled over the worlds.
    noise.law.merge(other.law);
    noise.lengths.merge(other.lengths);
    checks.extend(noise.lengths.checks(rate));
    let power = noise.lengths.power(rate);
    checks.extend(noise.law.checks(rate));
    if noise.law.law() == NoiseLaw::Gaussian {
        let directions: Vec<&Directions> = noise.releases.iter().map(|sample| &sample.directions).collect();
        checks.extend(directions::checks(&directions, rate));
        let mut low_bits: Vec<LowBits> = noise.releases.into_iter().map(|sample| sample.low_bits).collect();
        checks.extend(low_bits::checks(&mut low_bits, rate));
    }
    Ok(DirectChecks { checks, differing, power: Some(power) })
}

/// The release whose secret weights are farthest from the retrained ones, measured by what it claims.
fn closest_call(removed: &[Model], retrained: &[Model], claims: &[ReleaseClaim]) -> DirectCheck {
    let found = removed.iter().zip(retrained).zip(claims).map(|((ours, theirs), claim)| {
        // The retrained weights are themselves known up to their own bound only.
        let limit = claim.distance_bound.get() + distance_bound_of(theirs);
        DirectCheck::at_most("distance", distance(&weights_of(ours), &weights_of(theirs)), limit * (1.0 + 1e-12))
    });
    closest(found).unwrap_or(DirectCheck::count("distance", 0, 0))
}
