//! Everything that leaves beside noise: the fields of a claim, and the weights themselves where there is no noise. Whatever
//! of it differs between the worlds tells them apart, however small the difference.

use efface_core::model::{Release, ReleaseClaim};
use efface_core::residual::Rung;

/// What the releases of a life published, and whether every life published the same.
#[derive(Clone)]
pub(in crate::distribution) struct Published {
    claims: Vec<ReleaseClaim>,
    rungs: Vec<Rung>,
    /// Fields that differed between lives of one world: the claim depends on the noise.
    unsteady: Vec<&'static str>,
}

impl Published {
    pub(in crate::distribution) fn new(releases: &[Release], rungs: Vec<Rung>) -> Self {
        Self { claims: releases.iter().map(|release| release.claim).collect(), rungs, unsteady: Vec::new() }
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
    }

    /// Takes lives of the same world into account that were compared with the same first one.
    pub(in crate::distribution) fn merge(&mut self, other: Self) {
        note(&mut self.unsteady, other.unsteady);
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
