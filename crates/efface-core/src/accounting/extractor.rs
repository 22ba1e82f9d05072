//! Private feature extractors, for a group of rows.

use serde::{Deserialize, Serialize};

use super::Guarantee;
use crate::rounding::{LowerBound, UpperBound};

/// A feature extractor that is (ε, δ)-differentially private per row, and the group of rows that a claim covers.
///
#[doc = include_str!("extractor.md")]
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Extractor {
    /// ε_DP for one row.
    pub epsilon: f64,
    /// δ_DP for one row.
    pub delta: f64,
    /// k: so many rows may leave, together; for more there is no claim.
    pub group: usize,
}

impl Extractor {
    /// The extractor of a promise for one row.
    pub fn per_row(epsilon: f64, delta: f64) -> Self {
        Self { epsilon, delta, group: 1 }
    }

    /// Whether so many rows may have left.
    pub fn covers(&self, n_left: usize) -> bool {
        n_left <= self.group
    }

    /// Whether it is a promise at all: ε ≥ 0, 0 ≤ δ < 1, for one row or more.
    pub fn is_possible(&self) -> bool {
        self.epsilon >= 0.0 && self.epsilon.is_finite() && (0.0..1.0).contains(&self.delta) && self.group >= 1
    }

    /// What the extractor promises to the whole group, rounded up.
    ///
    /// ```text
    /// (k ε, δ Σ_{i<k} e^{iε})
    /// ```
    pub fn cost(&self) -> Guarantee {
        if self.group <= 1 {
            return Guarantee { epsilon: self.epsilon, delta: self.delta };
        }
        let n = UpperBound::count(self.group);
        let epsilon = n * UpperBound::new(self.epsilon);
        let factor = if self.epsilon == 0.0 {
            n
        } else {
            let above = UpperBound::new(epsilon.get().exp_m1() * (1.0 + LIBRARY_ERROR));
            above.over(LowerBound::new(self.epsilon.exp_m1() * (1.0 - LIBRARY_ERROR)))
        };
        // A pure promise stays pure, however large the factor.
        let delta = if self.delta == 0.0 { UpperBound::ZERO } else { UpperBound::new(self.delta) * factor };
        Guarantee { epsilon: epsilon.get(), delta: delta.get() }
    }

    /// The same rounded down: nothing below it can have been claimed honestly.
    pub fn least_cost(&self) -> Guarantee {
        if self.group <= 1 {
            return Guarantee { epsilon: self.epsilon, delta: self.delta };
        }
        let n = LowerBound::new((self.group as f64).next_down());
        let epsilon = n.times(LowerBound::new(self.epsilon));
        let factor = if self.epsilon == 0.0 {
            n
        } else {
            let below = LowerBound::new(epsilon.get().exp_m1() * (1.0 - LIBRARY_ERROR));
            below.over(UpperBound::new(self.epsilon.exp_m1() * (1.0 + LIBRARY_ERROR)))
        };
        Guarantee { epsilon: epsilon.get(), delta: factor.times(LowerBound::new(self.delta)).get() }
    }
}

/// Relative error of `exp_m1` and of the product with its own correction: a few units in the last place of any library.
const LIBRARY_ERROR: f64 = 16.0 * f64::EPSILON;
