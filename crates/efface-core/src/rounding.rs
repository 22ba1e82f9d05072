//! Directed rounding: numbers that enter a guarantee carry their direction in the type.
//!
//! An [`UpperBound`] is never below the exact quantity it stands for, a [`LowerBound`] never above. Each operation is one
//! correctly rounded floating-point operation followed by one step to the next number in the safe direction, so the
//! result is safe whatever the rounding of the operation was. What is not a number fails closed: an upper bound becomes
//! infinite, a lower bound zero.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul};

use serde::{Deserialize, Serialize};

/// A non-negative number that is at least the exact quantity it stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UpperBound(#[serde(with = "maybe_infinite")] f64);

impl UpperBound {
    /// Nothing at all, exactly.
    pub const ZERO: Self = Self(0.0);
    /// No bound is known.
    pub const INFINITE: Self = Self(f64::INFINITY);

    /// Takes `value` as it is: the caller knows it to be exact or an upper bound already. Negative or NaN becomes infinite.
    pub fn new(value: f64) -> Self {
        if value >= 0.0 { Self(value) } else { Self::INFINITE }
    }

    /// A count, exact up to 2⁵³ and rounded up beyond.
    pub fn count(n: usize) -> Self {
        let float = n as f64;
        if n < 1 << 53 { Self(float) } else { Self(float.next_up()) }
    }

    /// The number itself.
    pub fn get(self) -> f64 {
        self.0
    }

    /// Square root, rounded up.
    #[must_use]
    pub fn sqrt(self) -> Self {
        if self.0 == 0.0 { self } else { up(self.0.sqrt()) }
    }

    /// `self²`, rounded up.
    #[must_use]
    pub fn squared(self) -> Self {
        self * self
    }

    /// Quotient with a lower bound, rounded up; infinite when the divisor is zero.
    #[must_use]
    pub fn over(self, divisor: LowerBound) -> Self {
        if self.0 == 0.0 && divisor.0 > 0.0 { self } else { up(self.0 / divisor.0) }
    }

    /// Difference with a lower bound, rounded up; infinite when that is the larger one.
    #[must_use]
    pub fn minus(self, other: LowerBound) -> Self {
        up(self.0 - other.0)
    }

    /// The larger of the two.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }

    /// The smaller of the two: both bound the same quantity.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        Self(self.0.min(other.0))
    }

    /// Whether a finite bound is known.
    pub fn is_finite(self) -> bool {
        self.0.is_finite()
    }
}

impl Add for UpperBound {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        if self.0 == 0.0 {
            other
        } else if other.0 == 0.0 {
            self
        } else {
            up(self.0 + other.0)
        }
    }
}

impl AddAssign for UpperBound {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul for UpperBound {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        if !self.is_finite() || !other.is_finite() {
            Self::INFINITE
        } else if self.0 == 0.0 || other.0 == 0.0 {
            Self::ZERO
        } else {
            up(self.0 * other.0)
        }
    }
}

impl Sum for UpperBound {
    fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
        terms.fold(Self::ZERO, Add::add)
    }
}

/// A non-negative number that is at most the exact quantity it stands for.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LowerBound(f64);

impl LowerBound {
    /// Takes `value` as it is: the caller knows it to be exact or a lower bound already. Negative or NaN becomes zero.
    pub fn new(value: f64) -> Self {
        if value >= 0.0 { Self(value) } else { Self(0.0) }
    }

    /// The number itself.
    pub fn get(self) -> f64 {
        self.0
    }

    /// Product, rounded down.
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        down(self.0 * other.0)
    }

    /// Quotient with an upper bound, rounded down.
    #[must_use]
    pub fn over(self, divisor: UpperBound) -> Self {
        down(self.0 / divisor.0)
    }

    /// Difference with an upper bound, rounded down; zero when negative.
    #[must_use]
    pub fn minus(self, other: UpperBound) -> Self {
        down(self.0 - other.0)
    }
}

/// Unit roundoff of `f64`, u = 2⁻⁵³: a rounded result is within a relative u of the exact one.
pub const UNIT_ROUNDOFF: f64 = f64::EPSILON / 2.0;

/// Relative error of `k` rounded operations in a row.
///
/// ```text
/// γ_k = k·u / (1 − k·u)
/// ```
///
/// Higham 2002, Lemma 3.1. Holds for a sum of k + 1 terms in any order, and for products and fused operations alike.
pub fn operations(k: usize) -> UpperBound {
    let ku = UpperBound::count(k) * UpperBound::new(UNIT_ROUNDOFF);
    ku.over(LowerBound::new(1.0).minus(ku))
}

/// Upper bound of the Euclidean norm of `v`.
pub fn norm(v: &[f64]) -> UpperBound {
    // A square may underflow; each then loses at most the smallest normal number.
    let squares: f64 = v.iter().map(|x| x * x).sum();
    let lost = UpperBound::count(v.len()) * UpperBound::new(f64::MIN_POSITIVE);
    if v.iter().all(|x| *x == 0.0) {
        return UpperBound::ZERO;
    }
    let relative = UpperBound::new(1.0) + operations(v.len() + 1);
    (UpperBound::new(squares) * relative + lost).sqrt()
}

fn up(value: f64) -> UpperBound {
    UpperBound::new(value.next_up())
}

fn down(value: f64) -> LowerBound {
    LowerBound::new(value.next_down())
}

/// JSON has no infinity: it is written as `null`.
mod maybe_infinite {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
    pub(super) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        value.is_finite().then_some(*value).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        let value = Option::<f64>::deserialize(deserializer)?.unwrap_or(f64::INFINITY);
        Ok(super::UpperBound::new(value).get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_third_is_enclosed() {
        let above = UpperBound::new(1.0).over(LowerBound::new(3.0));
        let below = LowerBound::new(1.0).over(UpperBound::new(3.0));
        assert!(below.get() < above.get());
        assert!(below.get() * 3.0 <= 1.0 && above.get() * 3.0 >= 1.0);
    }

    #[test]
    fn not_a_number_fails_closed() {
        assert_eq!(UpperBound::new(f64::NAN), UpperBound::INFINITE);
        assert_eq!(UpperBound::new(-1.0), UpperBound::INFINITE);
        assert_eq!(LowerBound::new(f64::NAN).get(), 0.0);
        assert_eq!(UpperBound::INFINITE * UpperBound::ZERO, UpperBound::INFINITE);
        assert_eq!(UpperBound::new(1.0).over(LowerBound::new(0.0)), UpperBound::INFINITE);
        assert_eq!(UpperBound::new(1.0).minus(LowerBound::new(2.0)), UpperBound::INFINITE);
        assert_eq!(UpperBound::INFINITE.minus(LowerBound::new(f64::INFINITY)), UpperBound::INFINITE);
        assert_eq!(norm(&[f64::NAN, 1.0]), UpperBound::INFINITE);
        assert_eq!(norm(&[f64::INFINITY]), UpperBound::INFINITE);
    }

    #[test]
    fn zero_stays_exact() {
        assert_eq!(UpperBound::ZERO + UpperBound::ZERO, UpperBound::ZERO);
        assert_eq!(UpperBound::ZERO * UpperBound::new(7.0), UpperBound::ZERO);
        assert_eq!(norm(&[0.0; 4]), UpperBound::ZERO);
    }

    #[test]
    fn norm_covers_rounding_and_underflow() {
        // The squares add up to exactly 1 + 2⁻⁶⁰, which a plain sum rounds down to 1.
        let v = [1.0, 2f64.powi(-30)];
        assert!(norm(&v).get() > 1.0);
        assert!(norm(&[1e-200; 9]).get() >= 3e-200);
        let huge = norm(&[1e200, 1e200]);
        assert_eq!(huge, UpperBound::INFINITE);
    }

    #[test]
    fn infinite_bounds_survive_json() {
        let text = serde_json::to_string(&UpperBound::INFINITE).expect("serializable");
        assert_eq!(text, "null");
        let back: UpperBound = serde_json::from_str(&text).expect("readable");
        assert_eq!(back, UpperBound::INFINITE);
    }
}
