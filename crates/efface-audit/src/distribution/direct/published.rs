//! Everything that leaves beside noise: the fields of a claim, and the weights themselves where there is no noise. Whatever
//! of it differs between the worlds tells them apart, however small the difference.

use efface_core::model::{Release, ReleaseClaim};
use efface_core::residual::Rung;

/// What the releases of a life published, and whether every life published the same.
#[derive(Clone)]
pub(in crate::distribution) struct Published {
    claims: Vec<ReleaseClaim>,
    rungs: Vec<Rung>,
    /// The weights of each release, bit for bit, where no noise hides them.
    bits: Option<Vec<Vec<u64>>>,
    /// Weights that were released with other bits in another life.
    unsteady_bits: usize,
    /// Fields that differed between lives of one world: the claim depends on the noise.
    unsteady: Vec<&'static str>,
}

impl Published {
    /// What one life published. `exact`: there is no noise, so weights are compared, too.
    pub(in crate::distribution) fn new(releases: &[Release], rungs: Vec<Rung>, exact: bool) -> Self {
        Self {
            claims: releases.iter().map(|release| release.claim).collect(),
            rungs,
            bits: exact.then(|| bits(releases)),
            unsteady_bits: 0,
            unsteady: Vec::new(),
        }
    }

    /// The claims of a life, release by release.
    pub(in crate::distribution) fn claims(&self) -> &[ReleaseClaim] {
        &self.claims
    }

    /// Takes another life of the same world into account.
    pub(in crate::distribution) fn add(&mut self, releases: &[Release]) {
        for (claim, release) in self.claims.iter().zip(releases) {
            note(&mut self.unsteady, differing(claim, &release.claim));
        }
        if let Some(first) = &self.bits {
            self.unsteady_bits += n_differing(first, &bits(releases));
        }
    }

    /// Takes lives of the same world into account that were compared with the same first one.
    pub(in crate::distribution) fn merge(&mut self, other: Self) {
        note(&mut self.unsteady, other.unsteady);
        self.unsteady_bits += other.unsteady_bits;
    }

    /// Without noise: weights that are not, bit for bit, those of the other world. `None` where noise hides them.
    pub(super) fn differing_weights(&self, other: &Self) -> Option<usize> {
        let (ours, theirs) = (self.bits.as_ref()?, other.bits.as_ref()?);
        Some(n_differing(ours, theirs) + self.unsteady_bits + other.unsteady_bits)
    }

    /// The fields that are not the same in the other world, or not even from life to life.
    pub(super) fn differing_fields(&self, other: &Self) -> Vec<&'static str> {
        let mut all = self.unsteady.clone();
        note(&mut all, other.unsteady.iter().copied());
        for (ours, theirs) in self.claims.iter().zip(&other.claims) {
            note(&mut all, differing(ours, theirs));
        }
        if self.rungs != other.rungs {
            note(&mut all, ["rung"]);
        }
        if self.claims.len() != other.claims.len() {
            note(&mut all, ["releases"]);
        }
        all
    }
}

fn bits(releases: &[Release]) -> Vec<Vec<u64>> {
    let of = |release: &Release| release.weights.iter().flatten().map(|w| w.to_bits()).collect();
    releases.iter().map(of).collect()
}

/// Weights that differ in any bit; all of those that only one side has.
fn n_differing(ours: &[Vec<u64>], theirs: &[Vec<u64>]) -> usize {
    let n = |side: &[Vec<u64>]| side.iter().map(Vec::len).sum::<usize>();
    let pairs = ours.iter().zip(theirs).flat_map(|(a, b)| a.iter().zip(b));
    n(ours).max(n(theirs)) - pairs.filter(|(a, b)| a == b).count()
}

fn note(all: &mut Vec<&'static str>, more: impl IntoIterator<Item = &'static str>) {
    for name in more {
        if !all.contains(&name) {
            all.push(name);
        }
    }
}

/// The published fields in which two claims differ. Every field is named here, so that a new one cannot be forgotten.
fn differing(ours: &ReleaseClaim, theirs: &ReleaseClaim) -> Vec<&'static str> {
    let ReleaseClaim {
        release,
        distance_bound,
        // It is not published.
        verified_distance: _,
        lattice_step,
        rounding_charge,
        gradient_residual,
        noise_std,
        mu,
        mu_total,
        mu_limit,
        guarantee,
        epsilon_spent,
        certified,
    } = ours;
    let fields = [
        ("release", *release != theirs.release),
        ("distance_bound", distance_bound.get() != theirs.distance_bound.get()),
        ("lattice_step", *lattice_step != theirs.lattice_step),
        ("rounding_charge", rounding_charge.get() != theirs.rounding_charge.get()),
        ("gradient_residual", gradient_residual.get() != theirs.gradient_residual.get()),
        ("noise_std", *noise_std != theirs.noise_std),
        ("mu", mu.get() != theirs.mu.get()),
        ("mu_total", mu_total.get() != theirs.mu_total.get()),
        ("mu_limit", mu_limit.get() != theirs.mu_limit.get()),
        ("guarantee", *guarantee != theirs.guarantee),
        ("epsilon_spent", *epsilon_spent != theirs.epsilon_spent),
        ("certified", *certified != theirs.certified),
    ];
    fields.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bit_counts_and_so_does_a_missing_weight() {
        let of = |weights: &[f64]| vec![weights.iter().map(|w| w.to_bits()).collect::<Vec<u64>>()];
        let weights = of(&[0.25, 0.0, -3.0]);
        assert_eq!(n_differing(&weights, &weights), 0);
        assert_eq!(n_differing(&weights, &of(&[0.25_f64.next_up(), -0.0, -3.0])), 2);
        assert_eq!(n_differing(&weights, &of(&[0.25, 0.0])), 1);
        assert_eq!(n_differing(&weights, &[]), 3);
    }
}
