//! How strongly an objective pulls its weights towards zero: with every row, or all in all.

use serde::{Deserialize, Serialize};

use crate::rounding::{LowerBound, UpperBound};
use crate::rows::WeightSum;

/// The ridge of an objective over rows of weight n.
///
/// ```text
/// per row   (λ n / 2) ‖w‖²     grows with the rows: Guo et al. 2020, Section 3
/// total     (α / 2) ‖w‖²       is the same whatever rows there are: scikit-learn's `alpha`, and the 1/C of its classifiers
/// ```
///
/// Both are the same rule with and without the rows that leave. A λ of 1/n that was fixed at training would not be: it
/// remembers how many rows there were.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Ridge {
    /// λ.
    #[serde(rename = "l2")]
    PerRow(f64),
    /// α.
    #[serde(rename = "alpha")]
    Total(f64),
}

impl Ridge {
    /// What the number is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::PerRow(_) => "l2",
            Self::Total(_) => "alpha",
        }
    }

    /// λ or α.
    pub fn strength(self) -> f64 {
        let (Self::PerRow(strength) | Self::Total(strength)) = self;
        strength
    }

    /// The same rule, so many times as strong.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        match self {
            Self::PerRow(lambda) => Self::PerRow(factor * lambda),
            Self::Total(alpha) => Self::Total(factor * alpha),
        }
    }

    /// λ·n or α (within two roundings): the ridge over rows of weight n.
    pub fn over(self, n: WeightSum) -> f64 {
        match self {
            Self::PerRow(lambda) => lambda * n.get(),
            Self::Total(alpha) => alpha,
        }
    }

    /// How much of the ridge comes and goes with rows of this weight.
    pub fn of_rows(self, weight: WeightSum) -> f64 {
        match self {
            Self::PerRow(lambda) => lambda * weight.get(),
            Self::Total(_) => 0.0,
        }
    }

    /// The ridge over rows of weight n, rounded down: the objective is strongly convex with at least this modulus.
    pub fn lower(self, n: WeightSum) -> LowerBound {
        match self {
            Self::PerRow(lambda) => LowerBound::new(lambda).times(n.lower()),
            Self::Total(alpha) => LowerBound::new(alpha),
        }
    }

    /// The same, rounded up.
    pub fn upper(self, n: WeightSum) -> UpperBound {
        match self {
            Self::PerRow(lambda) => UpperBound::new(lambda) * n.upper(),
            Self::Total(alpha) => UpperBound::new(alpha),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_ridge_does_not_know_the_rows() {
        let (few, many) = (WeightSum::of_rows(3), WeightSum::of_rows(3_000));
        let total = Ridge::Total(0.1);
        assert_eq!((total.over(few), total.of_rows(many)), (total.over(many), 0.0));
        assert_eq!((total.lower(few).get(), total.upper(many).get()), (0.1, 0.1));
        let per_row = Ridge::PerRow(0.1);
        assert_eq!((per_row.over(few), per_row.of_rows(few)), (0.1 * 3.0, 0.1 * 3.0));
        assert!(per_row.lower(many).get() < 300.0 && 300.0 < per_row.upper(many).get());
    }

    #[test]
    fn the_name_of_the_number_is_its_key() {
        for (ridge, text) in [(Ridge::PerRow(0.5), r#"{"l2":0.5}"#), (Ridge::Total(2.0), r#"{"alpha":2.0}"#)] {
            assert_eq!(serde_json::to_string(&ridge).expect("plain"), text);
            assert_eq!(serde_json::from_str::<Ridge>(text).expect("plain"), ridge);
        }
    }
}
