//! One quantity, where it has to lie, and the list of them.

use serde::Serialize;

use super::Power;

/// The checks of one case.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DirectChecks {
    /// Each of them; of those that look at many directions, coordinates or releases the one closest to its limit.
    pub checks: Vec<DirectCheck>,
    /// Published fields that differ between the worlds.
    pub differing: Vec<&'static str>,
    /// How rare a failure is still seen; `None` without noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power: Option<Power>,
}

impl DirectChecks {
    /// Whether all of them hold.
    pub fn hold(&self) -> bool {
        self.checks.iter().all(|check| check.held)
    }

    /// The names of those that do not.
    pub fn failed(&self) -> Vec<&'static str> {
        self.checks.iter().filter(|check| !check.held).map(|check| check.name).collect()
    }
}

/// One quantity, and where it has to lie.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DirectCheck {
    /// Stable name, as in docs/audit.md.
    pub name: &'static str,
    /// What was found.
    pub found: f64,
    /// The least that is allowed.
    pub at_least: f64,
    /// The most that is allowed.
    pub at_most: f64,
    /// Whether it is allowed.
    pub held: bool,
}

impl DirectCheck {
    pub(super) fn between(name: &'static str, found: f64, at_least: f64, at_most: f64) -> Self {
        Self { name, found, at_least, at_most, held: (at_least..=at_most).contains(&found) }
    }

    pub(super) fn at_most(name: &'static str, found: f64, at_most: f64) -> Self {
        Self::between(name, found, 0.0, at_most)
    }

    pub(super) fn count(name: &'static str, found: usize, at_most: usize) -> Self {
        Self::at_most(name, found as f64, at_most as f64)
    }

    /// How much of what is allowed is used up: above 1 where the check fails.
    pub fn strain(&self) -> f64 {
        let middle = if self.at_least == 0.0 { 0.0 } else { 0.5 * (self.at_least + self.at_most) };
        let off = (self.found - middle).abs();
        // What allows nothing is either untouched or beyond all measure.
        if off == 0.0 { 0.0 } else { off / (self.at_most - middle).max(f64::MIN_POSITIVE) }
    }
}

/// Of many checks of one kind the one that is closest to its limit, or farthest beyond it.
pub(super) fn closest(checks: impl Iterator<Item = DirectCheck>) -> Option<DirectCheck> {
    // A quantity that is no number has failed.
    checks.max_by(|a, b| b.held.cmp(&a.held).then(a.strain().total_cmp(&b.strain())))
}
