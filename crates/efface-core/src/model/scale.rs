//! The scales that releases live on, fixed by the plan and never by the rows: the coarse one that distances are claimed
//! on, and the fine lattice that weights and noise are rounded to.

use super::TrainingPlan;
use crate::noise::lattice::Lattice;
use crate::noise::{NoiseArithmetic, NoiseLaw};
use crate::rounding::{LowerBound, UpperBound};

/// Every release claims at least this fraction of the whole promise, and is settled first where that is not enough:
/// 65,536 releases then fit. A little below 2⁻⁸, so that eight doublings stay within the promise after rounding.
const SHARE_PER_RELEASE: f64 = 0.999_999 / 256.0;

/// Rounding to the lattice costs at most this fraction, 2⁻⁴⁰, of what every release claims at least.
const SHARE_OF_ROUNDING: f64 = 1.0 / (1_u64 << 40) as f64;

impl TrainingPlan {
    /// Under mechanism `release`, the distance bound above which a model is settled before it is released; what
    /// rounding to the lattice costs is part of it.
    pub fn settle_above(&self) -> f64 {
        match self.config().law {
            _ if self.is_exact() => 0.0,
            NoiseLaw::Gaussian => SHARE_PER_RELEASE * self.noise_std() * self.mu_limit().get(),
            // Under the gamma law distances add up, not their squares.
            NoiseLaw::Gamma => SHARE_PER_RELEASE.powi(2) * self.noise_std() * self.config().epsilon,
        }
    }

    /// The verified distance up to which no release of any number of weights is settled first: what rounding may cost
    /// at most is taken off [`Self::settle_above`].
    pub fn verified_limit(&self) -> f64 {
        match self.noise_arithmetic() {
            NoiseArithmetic::Exact => self.settle_above() * (1.0 - 2.0 * SHARE_OF_ROUNDING),
            NoiseArithmetic::Idealized | NoiseArithmetic::None => self.settle_above(),
        }
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
    /// costs at most 2⁻⁴⁰ of [`Self::settle_above`]. `None` where noise is not exact, or where doubles cannot
    /// hold the lattice.
    pub fn lattice(&self, n_weights: usize) -> Option<Lattice> {
        let limit = LowerBound::new(self.settle_above()).times(LowerBound::new(SHARE_OF_ROUNDING));
        (self.noise_arithmetic() == NoiseArithmetic::Exact)
            .then(|| Lattice::with_charge_within(limit, n_weights))
            .flatten()
    }
}

/// The least `unit · 2^k` that is at least `value`, k ≥ 0; without a unit, the least power of two.
pub(super) fn coarse(value: UpperBound, unit: f64) -> UpperBound {
    if !value.is_finite() || value == UpperBound::ZERO && unit == 0.0 {
        return value;
    }
    let mut step = if unit > 0.0 { unit } else { 2f64.powi(-60) };
    while step < value.get() {
        step *= 2.0;
    }
    UpperBound::new(step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::Logistic;
    use crate::model::TrainingConfig;

    #[test]
    fn a_claim_is_the_next_step_of_its_scale_and_never_below_the_value() {
        assert_eq!(coarse(UpperBound::new(1e-9), 1e-6).get(), 1e-6);
        assert_eq!(coarse(UpperBound::new(1e-6), 1e-6).get(), 1e-6);
        assert_eq!(coarse(UpperBound::new(1.1e-6), 1e-6).get(), 2e-6);
        assert_eq!(coarse(UpperBound::new(0.3), 0.0).get(), 0.5);
        assert_eq!(coarse(UpperBound::ZERO, 1e-6).get(), 1e-6);
        assert_eq!(coarse(UpperBound::INFINITE, 1e-6), UpperBound::INFINITE);
    }

    #[test]
    fn rounding_costs_what_it_may_and_half_of_that_at_least() {
        for noise_std in [1e-280, 1e-9, 1e-3, 0.7, 1e100] {
            for (epsilon, delta) in [(1.0, 1e-4), (1e-6, 1e-9), (20.0, 0.1)] {
                let config = TrainingConfig { epsilon, delta, ..TrainingConfig::new(&Logistic, 0.1, Some(2)) };
                let plan = TrainingPlan::new(TrainingConfig { noise_std: Some(noise_std), ..config }).expect("valid");
                for n_weights in [1, 2, 3, 784, 1_000_000] {
                    let lattice = plan.lattice(n_weights).expect("the noise is exact");
                    let charge = lattice.rounding_charge(n_weights).get();
                    let fraction = charge / plan.settle_above() / SHARE_OF_ROUNDING;
                    assert!((0.49..=1.000_001).contains(&fraction), "{noise_std:e}, {n_weights}: {fraction}");
                    assert!(
                        coarse(UpperBound::new(plan.verified_limit() + charge), plan.settle_above()).get()
                            == plan.settle_above()
                    );
                }
            }
        }
    }
}
