//! Releasing: the only way weights leave. Fresh noise under mechanism `release`; the perturbed weights themselves under
//! mechanism `objective`.
//!
//! A verified distance is a function of the rows, removed ones included, and its digits carry no noise. So what a release
//! claims, and what is accounted, is a number that the plan alone decides: a model whose verified distance is above it is
//! settled first, or not released. Certificates show that number only.

use serde::{Deserialize, Serialize};

use super::{Fit, Model, Outcome, PlanError, ReleaseOutcome};
use crate::accounting::{Extractor, Guarantee, gaussian};
use crate::noise::lattice::{Lattice, OffLattice};
use crate::noise::{NoiseArithmetic, NoiseLaw, NoiseSource};
use crate::residual::Rung;
use crate::rounding::{LowerBound, UpperBound};
use crate::rows::{RowStore, StoreError};
use crate::secret::SecretVector;

/// What the releases of a model have spent so far.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReleaseAccount {
    /// Number of releases.
    pub n_releases: usize,
    /// Σ r_j² of the claimed distances.
    pub distance_squares: UpperBound,
    /// Σ r_j.
    pub distances: UpperBound,
    /// Whether the noise of every release came from the operating system.
    pub certified: bool,
    /// Rows that have left over the model's life, old values of corrected ones included: a private feature extractor
    /// covers a number of them. Retraining brings none of them back.
    pub n_left: usize,
}

impl Default for ReleaseAccount {
    fn default() -> Self {
        let (distance_squares, distances) = (UpperBound::ZERO, UpperBound::ZERO);
        Self { n_releases: 0, distance_squares, distances, certified: true, n_left: 0 }
    }
}

impl ReleaseAccount {
    /// The most that either of two accounts of one model remembers: what was spent stays spent.
    #[must_use]
    pub fn most(self, other: Self) -> Self {
        Self {
            n_releases: self.n_releases.max(other.n_releases),
            distance_squares: self.distance_squares.max(other.distance_squares),
            distances: self.distances.max(other.distances),
            certified: self.certified && other.certified,
            n_left: self.n_left.max(other.n_left),
        }
    }
}

/// Published weights and what is claimed of them.
#[derive(Clone, Debug)]
pub struct Release {
    /// One vector per score: one for two classes and for numbers, beyond one per class.
    pub weights: Vec<Vec<f64>>,
    /// The claim.
    pub claim: ReleaseClaim,
}

/// Numbers of a certificate, each rounded the safe way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReleaseClaim {
    /// k: releases so far, this one included.
    pub release: usize,
    /// r: distance of the secret weights from the exactly retrained ones, as claimed; where weights are rounded to a
    /// lattice, the distance of the lattice points.
    pub distance_bound: UpperBound,
    /// The distance as verified, before rounding. Not to be published.
    pub verified_distance: UpperBound,
    /// h: weights and noise are multiples of it. `None` where noise is not exact, or absent.
    pub lattice_step: Option<f64>,
    /// √n·h for n weights: what rounding to the lattice adds to the distance. Zero without a lattice.
    pub rounding_charge: UpperBound,
    /// Gradient residual that the claimed distance allows.
    pub gradient_residual: UpperBound,
    /// Scale of the noise.
    pub noise_std: f64,
    /// μ of this release (Gaussian law); its ε under the gamma law.
    pub mu: UpperBound,
    /// The same for all releases of the model together.
    pub mu_total: UpperBound,
    /// The largest `mu_total` that the promise allows.
    pub mu_limit: LowerBound,
    /// The promise for the model's life, the feature extractor's share included.
    pub guarantee: Guarantee,
    /// The least ε that the releases so far prove at the promised δ, the extractor's share included.
    pub epsilon_spent: f64,
    /// Whether the randomness behind it was unpredictable.
    pub certified: bool,
}

/// Rounding must stay so many times below what a release claims: rows that leave later make the rounding of what remains a
/// little coarser, and must never put a release out of reach.
const MARGIN: f64 = 4.0;

/// Under mechanism `objective` claims are this fraction of the budget, or a power of two times it.
const SHARE_OF_BUDGET: f64 = 1.0 / 1024.0;

impl Model {
    /// Whether the current claim is so loose that a release should be settled first. Looks at the secret weights' claim
    /// only, never at a released model.
    pub fn should_settle_before_release(&self) -> bool {
        if let Some(sums) = &self.state.sums {
            return sums.needs_pass();
        }
        if self.plan.is_objective() {
            return false;
        }
        // A certificate names the rung. Whether a bound happens to be small enough is a bit about rows that left, which no
        // noise hides: so every release rests on a measurement.
        self.state.rung != Rung::Measured || self.out_of_reach().is_some()
    }

    /// The verified distance and the most that it may be, where the one exceeds the other under mechanism `release`.
    fn out_of_reach(&self) -> Option<(UpperBound, LowerBound)> {
        let (distance, limit) = (self.claim().distance_bound, self.plan.verified_limit());
        (!self.plan.is_objective() && distance.get() > limit.get()).then_some((distance, limit))
    }

    /// The distance that rounding alone may hide from whoever measures it, and the most that it may be for releases ever to
    /// be made, where the one exceeds the other. Settling does not help against it.
    pub(super) fn unreachable(&self) -> Option<(UpperBound, LowerBound)> {
        let objective = self.objective();
        let rounding = |fit: &Fit| fit.gradient_error.over(objective.ridge.lower(fit.count.weight_sum));
        // √(Σ r_k²) ≤ √K · max r_k, which does not overflow.
        let largest = self.state.fits.iter().map(rounding).fold(UpperBound::ZERO, UpperBound::max);
        let distance = UpperBound::count(self.state.fits.len()).sqrt() * largest;
        let limit = self.plan.verified_limit().over(UpperBound::new(MARGIN));
        let beyond = distance.is_finite() && distance.get() > limit.get();
        (!self.plan.is_objective() && beyond).then_some((distance, limit))
    }

    /// Settles if a release should be settled first; passes over the rows that it took.
    pub fn settle_before_release(&mut self, rows: &dyn RowStore) -> Result<usize, StoreError> {
        if !self.should_settle_before_release() {
            return Ok(0);
        }
        Ok(self.settle(rows, Some(self.release_tolerance()))?.passes)
    }

    /// The gradient norm that a release is settled to: the plan's tolerance, or less where the claim asks for it.
    fn release_tolerance(&self) -> f64 {
        // A residual of λn times the distance proves the distance; an eighth of it leaves room for rounding.
        let n_least = self.state.fits.iter().map(|fit| fit.count.weight_sum).min().unwrap_or_default();
        let strong_convexity = self.plan.config().ridge.lower(n_least).get();
        let allowed = 0.125 * self.plan.verified_limit().get() * strong_convexity;
        self.plan.config().gradient_tolerance.min(allowed).max(f64::MIN_POSITIVE)
    }

    /// Publishes the model, if the promise allows.
    ///
    /// Mechanism `release`: `w̃ = ŵ + s·ξ` with fresh ξ over all problems jointly, both rounded to a lattice. Given the
    /// requests so far, the lattice points of ŵ and of the exactly retrained weights are fixed vectors at most r apart, so
    /// this release is r/s-Gaussian-DP indistinguishable from one by retraining, and k of them `√(Σ r_j²)/s`. Under the
    /// gamma law there is no lattice, and ε = Σ r_j / scale.
    pub fn release(&mut self, noise: &mut NoiseSource) -> ReleaseOutcome {
        if self.plan.classes().len() == 1 {
            return ReleaseOutcome::OneClass;
        }
        if let Some(Extractor { group, .. }) = self.uncovered_extractor() {
            return ReleaseOutcome::ExtractorExhausted { n_left: self.state.account.n_left, group };
        }
        match &self.state.sums {
            Some(_) => self.release_exact(),
            None if self.plan.is_objective() => self.release_perturbed(),
            None => self.release_with_noise(noise),
        }
    }

    /// The weights that the sums give: bit for bit those of the same sums over rows that were never with removed ones.
    fn release_exact(&mut self) -> ReleaseOutcome {
        let weights = self.weights();
        if weights.is_empty() {
            return ReleaseOutcome::Singular { ridge: self.plan.config().ridge };
        }
        self.state.account = self.account_with(UpperBound::ZERO);
        let (nothing, limit) = (UpperBound::ZERO, LowerBound::new(0.0));
        let weights = weights.iter().map(|weights| weights.to_vec()).collect();
        ReleaseOutcome::Published(self.published(weights, (nothing, nothing), (nothing, nothing, limit)))
    }

    /// The private feature extractor, if more rows have left than it covers.
    pub(super) fn uncovered_extractor(&self) -> Option<Extractor> {
        self.plan.config().extractor.filter(|extractor| !extractor.covers(self.state.account.n_left))
    }

    /// What all releases together have spent, and the most that the promise allows: μ under the Gaussian law, ε under
    /// the gamma law. Under mechanism `objective` it is the residual over the perturbation's scale.
    pub fn spent_and_limit(&self) -> (UpperBound, LowerBound) {
        if self.plan.is_objective() {
            let scale = self.plan.noise_std();
            let Some(budget) = self.removal_budget() else { return (UpperBound::ZERO, LowerBound::new(0.0)) };
            let spent = self.claim().gradient_residual.over(LowerBound::new(scale));
            return (spent, budget.over(UpperBound::new(scale)));
        }
        self.spent_by(&self.state.account)
    }

    fn spent_by(&self, account: &ReleaseAccount) -> (UpperBound, LowerBound) {
        let scale = LowerBound::new(self.plan.noise_std());
        match self.plan.config().law {
            _ if self.plan.is_exact() => (UpperBound::ZERO, LowerBound::new(0.0)),
            NoiseLaw::Gaussian => (account.distance_squares.sqrt().over(scale), self.plan.mu_limit()),
            NoiseLaw::Gamma => (account.distances.over(scale), LowerBound::new(self.plan.config().epsilon)),
        }
    }

    /// How many more releases the promise allows; `None`: any number, where they carry no noise of their own.
    pub fn releases_left(&self) -> Option<u64> {
        if self.plan.is_exact() || self.plan.is_objective() {
            return None;
        }
        let (r, account) = (UpperBound::new(self.plan.claimed_distance()), self.state.account);
        let is_allowed = |n: u64| {
            let n = UpperBound::new(n as f64);
            let distance_squares = account.distance_squares + n * r.squared();
            let (spent, limit) =
                self.spent_by(&ReleaseAccount { distance_squares, distances: account.distances + n * r, ..account });
            spent.get() <= limit.get()
        };
        let (mut least, mut most) = (0, self.plan.config().max_releases + 1);
        while least + 1 < most {
            let middle = least.midpoint(most);
            if is_allowed(middle) { least = middle } else { most = middle }
        }
        Some(least)
    }

    /// Begins one more life, [as the plan says](crate::model::TrainingPlan::renewed). What was spent stays spent.
    pub fn renew(&mut self) -> Result<(), PlanError> {
        self.plan = self.plan.renewed()?;
        Ok(())
    }

    /// Weights over all problems: they are published jointly.
    fn n_weights(&self) -> usize {
        self.state.fits.iter().map(|fit| fit.weights.len()).sum()
    }

    fn lattice(&self) -> Option<Lattice> {
        self.plan.lattice(self.n_weights())
    }

    fn rounding_charge(&self) -> UpperBound {
        self.lattice().map_or(UpperBound::ZERO, |lattice| lattice.rounding_charge(self.n_weights()))
    }

    /// β as it is claimed under mechanism `objective`, where it is within the budget: so is the claim.
    fn claimed_residual(&self, budget: LowerBound) -> UpperBound {
        let residual = self.claim().gradient_residual;
        coarse(residual, SHARE_OF_BUDGET * budget.get()).min(UpperBound::new(budget.get()))
    }

    /// The account after one more release at distance r.
    fn account_with(&self, r: UpperBound) -> ReleaseAccount {
        let account = self.state.account;
        ReleaseAccount {
            n_releases: account.n_releases + 1,
            distance_squares: account.distance_squares + r.squared(),
            distances: account.distances + r,
            ..account
        }
    }

    fn release_with_noise(&mut self, noise: &mut NoiseSource) -> ReleaseOutcome {
        if let Some((distance, limit)) = self.out_of_reach() {
            return ReleaseOutcome::OutOfReach { distance, limit };
        }
        let r = UpperBound::new(self.plan.claimed_distance());
        let mut account = self.account_with(r);
        account.certified &= noise.is_certified();
        let (mu_total, mu_limit) = self.spent_by(&account);
        if mu_total.get() > mu_limit.get() {
            return ReleaseOutcome::BudgetExhausted { mu_total, mu_limit };
        }
        let std = self.plan.noise_std();
        let mu = r.over(LowerBound::new(std));
        let weights = match self.noisy_weights(noise) {
            Ok(weights) => weights,
            Err(OffLattice { value, limit, .. }) => return ReleaseOutcome::OffLattice { value, limit },
        };
        self.state.account = account;
        // √(Σ_k (λ n_k r_k)²) ≤ λ · n · r: how many rows of each class there are is nobody's business.
        let residual = r * self.plan.config().ridge.upper(self.state.count.weight_sum);
        ReleaseOutcome::Published(self.published(weights, (r, residual), (mu, mu_total, mu_limit)))
    }

    /// The secret weights with fresh noise over all problems jointly, where noise is asked for.
    fn noisy_weights(&self, noise: &mut NoiseSource) -> Result<Vec<Vec<f64>>, OffLattice> {
        let std = self.plan.noise_std();
        let mut joint = SecretVector::zeros(self.n_weights());
        let secret = self.state.fits.iter().flat_map(|fit| fit.weights.iter());
        joint.iter_mut().zip(secret).for_each(|(place, weight)| *place = *weight);
        let published = match self.plan.noise_arithmetic() {
            NoiseArithmetic::None => joint.to_vec(),
            NoiseArithmetic::Exact => {
                let none = OffLattice { value: std, step: 0.0, limit: 0.0 };
                self.lattice().ok_or(none)?.publish(&joint, std, noise)?
            }
            NoiseArithmetic::Idealized => {
                let deviates = self.plan.config().law.sample(joint.len(), std, noise);
                joint.iter().zip(deviates.iter()).map(|(weight, noise)| weight + noise).collect()
            }
        };
        let dim = self.dim();
        Ok(published.chunks_exact(dim).map(<[f64]>::to_vec).collect())
    }

    fn release_perturbed(&mut self) -> ReleaseOutcome {
        let budget = self.removal_budget().unwrap_or(LowerBound::new(0.0));
        if self.outcome() == Outcome::RetrainRequired {
            return ReleaseOutcome::RetrainRequired { spent: self.claim().gradient_residual, budget };
        }
        let residual = self.claimed_residual(budget);
        let (_, mu_limit) = self.spent_and_limit();
        let scale = LowerBound::new(self.plan.noise_std());
        let mu = residual.over(scale);
        let n_least = self.state.fits.iter().map(|fit| fit.count.weight_sum).min().unwrap_or_default();
        let r = residual.over(self.plan.config().ridge.lower(n_least));
        let dim = self.dim();
        let weights =
            self.state.fits.iter().flat_map(|fit| fit.weights.chunks_exact(dim)).map(<[f64]>::to_vec).collect();
        self.state.account.n_releases += 1;
        ReleaseOutcome::Published(self.published(weights, (r, residual), (mu, mu, mu_limit)))
    }

    fn published(
        &self,
        weights: Vec<Vec<f64>>,
        (distance_bound, gradient_residual): (UpperBound, UpperBound),
        (mu, mu_total, mu_limit): (UpperBound, UpperBound, LowerBound),
    ) -> Release {
        let config = self.plan.config();
        let epsilon = match config.law {
            _ if self.plan.is_exact() => 0.0,
            NoiseLaw::Gaussian => gaussian::epsilon_at(mu_total, config.delta),
            NoiseLaw::Gamma => mu_total.get(),
        };
        // Within the limit the promise itself is proved; rounding must not make it look exceeded.
        let epsilon = epsilon.min(config.epsilon);
        let nothing = Guarantee { epsilon: 0.0, delta: 0.0 };
        let extractor = config.extractor.map_or(nothing, |extractor| extractor.cost());
        let claim = ReleaseClaim {
            release: self.state.account.n_releases,
            distance_bound,
            verified_distance: self.claim().distance_bound,
            lattice_step: self.lattice().map(Lattice::step),
            rounding_charge: self.rounding_charge(),
            gradient_residual,
            noise_std: self.plan.noise_std(),
            mu,
            mu_total,
            mu_limit,
            guarantee: self.plan.claimed_guarantee(),
            epsilon_spent: Guarantee { epsilon, delta: 0.0 }.plus(extractor).epsilon,
            certified: self.state.certified && self.state.account.certified,
        };
        Release { weights, claim }
    }
}

/// The least `unit · 2^k` that is at least `value`, k ≥ 0 and `unit` positive.
fn coarse(value: UpperBound, unit: f64) -> UpperBound {
    let mut step = unit;
    while step < value.get() {
        step *= 2.0;
    }
    UpperBound::new(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_the_next_step_of_its_scale_and_never_below_the_value() {
        assert_eq!(coarse(UpperBound::new(1e-9), 1e-6).get(), 1e-6);
        assert_eq!(coarse(UpperBound::new(1e-6), 1e-6).get(), 1e-6);
        assert_eq!(coarse(UpperBound::new(1.1e-6), 1e-6).get(), 2e-6);
        assert_eq!(coarse(UpperBound::ZERO, 1e-6).get(), 1e-6);
        assert_eq!(coarse(UpperBound::INFINITE, 1e-6), UpperBound::INFINITE);
    }
}
