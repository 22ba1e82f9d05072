//! What a release claims, and the lattice that weights and noise are rounded to: both fixed by the plan, never by the rows.

use super::TrainingPlan;
use crate::noise::lattice::Lattice;
use crate::noise::{NoiseArithmetic, NoiseLaw};
use crate::rounding::LowerBound;

/// All releases together stay a little below the promise, so that rounding in their account takes no release away.
const SHARE_OF_PROMISE: f64 = 0.999_999;

/// Rounding to the lattice costs at most this fraction, 2⁻⁴⁰, of what a release claims.
const SHARE_OF_ROUNDING: f64 = 1.0 / (1_u64 << 40) as f64;

impl TrainingPlan {
    /// r as every release under mechanism `release` claims it: an equal share of the promise for each of the N releases that
    /// were asked for, whatever the rows are. What rounding to the lattice costs is part of it.
    ///
    /// ```text
    /// r = s·μ(ε, δ)/√N  (Gaussian)      r = s·ε/N  (gamma: distances add up, not their squares)
    /// ```
    pub fn claimed_distance(&self) -> f64 {
        let n_releases = self.config().max_releases as f64;
        SHARE_OF_PROMISE
            * match self.config().law {
                _ if self.is_exact() => 0.0,
                NoiseLaw::Gaussian => self.noise_std() * self.mu_limit().get() / n_releases.sqrt(),
                NoiseLaw::Gamma => self.noise_std() * self.config().epsilon / n_releases,
            }
    }

    /// The verified distance up to which a model of any number of weights may be released: what rounding may cost at most
    /// is taken off [`Self::claimed_distance`].
    pub fn verified_limit(&self) -> LowerBound {
        LowerBound::new(match self.noise_arithmetic() {
            NoiseArithmetic::Exact => self.claimed_distance() * (1.0 - 2.0 * SHARE_OF_ROUNDING),
            NoiseArithmetic::Idealized | NoiseArithmetic::None => self.claimed_distance(),
        })
    }

    /// How the noise is drawn: exactly under the Gaussian law of mechanism `release`, and idealized elsewhere.
    pub fn noise_arithmetic(&self) -> NoiseArithmetic {
        match self.config().law {
            _ if self.is_exact() => NoiseArithmetic::None,
            NoiseLaw::Gaussian if !self.is_objective() => NoiseArithmetic::Exact,
            _ => NoiseArithmetic::Idealized,
        }
    }

    /// The lattice that releases of so many weights, over all problems, are rounded to: the coarsest on which rounding
    /// costs at most 2⁻⁴⁰ of [`Self::claimed_distance`]. `None` where noise is not exact, or where doubles cannot
    /// hold the lattice.
    pub fn lattice(&self, n_weights: usize) -> Option<Lattice> {
        let limit = LowerBound::new(self.claimed_distance()).times(LowerBound::new(SHARE_OF_ROUNDING));
        (self.noise_arithmetic() == NoiseArithmetic::Exact)
            .then(|| Lattice::with_charge_within(limit, n_weights))
            .flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::Logistic;
    use crate::model::TrainingConfig;

    #[test]
    fn rounding_costs_what_it_may_and_half_of_that_at_least() {
        for noise_std in [1e-280, 1e-9, 1e-3, 0.7, 1e100] {
            for (epsilon, delta) in [(1.0, 1e-4), (1e-6, 1e-9), (20.0, 0.1)] {
                let config = TrainingConfig { epsilon, delta, ..TrainingConfig::new(&Logistic, 0.1, Some(2)) };
                let plan = TrainingPlan::new(TrainingConfig { noise_std: Some(noise_std), ..config }).expect("valid");
                for n_weights in [1, 2, 3, 784, 1_000_000] {
                    let lattice = plan.lattice(n_weights).expect("the noise is exact");
                    let charge = lattice.rounding_charge(n_weights).get();
                    let fraction = charge / plan.claimed_distance() / SHARE_OF_ROUNDING;
                    assert!((0.49..=1.000_001).contains(&fraction), "{noise_std:e}, {n_weights}: {fraction}");
                    assert!(plan.verified_limit().get() + charge <= plan.claimed_distance());
                }
            }
        }
    }
}
