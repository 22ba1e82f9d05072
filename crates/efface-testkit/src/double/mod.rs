//! Double-double arithmetic: a number as the unevaluated sum of two doubles, about 32 decimal digits.
//!
//! The reference trainer needs gradients that are right to 1e-25, which a plain double cannot give and an arbitrary
//! precision library gives slowly. The crate `twofloat` (0.8.4) is not enough: measured against 60 digits its quotients
//! are right to 1e-16 and its exponentials to 1e-18 (1e-12 at −37).
//!
//! Products are made exact by Dekker's splitting, so no fused multiply-add is needed (a generic build turns that into a
//! library call). Elementary functions live in `functions`.
//!
//! Range: exact products need operands below about 1e290 and results above about 1e-290. Closer to underflow the low
//! part is lost first and the value degrades to a plain double.

mod functions;

use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// The sum `hi + lo`, with `|lo|` at most half a unit in the last place of `hi`.
///
/// Relative error of one operation: at most 2⁻¹⁰⁴ for `+`, `-`, `*` and 2⁻¹⁰² for `/`.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct DoubleDouble {
    hi: f64,
    lo: f64,
}

impl DoubleDouble {
    /// Zero.
    pub const ZERO: Self = Self { hi: 0.0, lo: 0.0 };
    /// One.
    pub const ONE: Self = Self { hi: 1.0, lo: 0.0 };

    /// The exact sum of two doubles.
    #[inline]
    pub fn from_sum(a: f64, b: f64) -> Self {
        let hi = a + b;
        let b_seen = hi - a;
        let lo = (a - (hi - b_seen)) + (b - b_seen);
        Self { hi, lo }
    }

    /// The exact product of two doubles.
    #[inline]
    pub fn from_product(a: f64, b: f64) -> Self {
        let hi = a * b;
        let (a_high, a_low) = split(a);
        let (b_high, b_low) = split(b);
        let lo = ((a_high * b_high - hi) + a_high * b_low + a_low * b_high) + a_low * b_low;
        Self { hi, lo }
    }

    /// The trailing part: what rounding to a double leaves out.
    #[inline]
    pub fn lo(self) -> f64 {
        self.lo
    }

    /// The value rounded to the nearest double.
    #[inline]
    pub fn to_f64(self) -> f64 {
        self.hi
    }

    /// The absolute value.
    #[inline]
    #[must_use]
    pub fn abs(self) -> Self {
        if self.hi < 0.0 { -self } else { self }
    }

    /// The larger of two numbers.
    #[inline]
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        if other > self { other } else { self }
    }

    /// Exact product with `2^exponent`, for results and intermediate values in range.
    pub(crate) fn scale_by_power_of_two(self, exponent: i32) -> Self {
        // Two factors, because 2^1024 and 2^−1074 are not normal doubles.
        let half = exponent / 2;
        let (first, second) = (2.0_f64.powi(half), 2.0_f64.powi(exponent - half));
        Self { hi: self.hi * first * second, lo: self.lo * first * second }
    }

    /// Restores the invariant for parts with `|hi| ≥ |lo|`.
    #[inline]
    fn normalized(hi: f64, lo: f64) -> Self {
        let sum = hi + lo;
        Self { hi: sum, lo: lo - (sum - hi) }
    }
}

impl From<f64> for DoubleDouble {
    #[inline]
    fn from(value: f64) -> Self {
        Self { hi: value, lo: 0.0 }
    }
}

impl Neg for DoubleDouble {
    type Output = Self;

    #[inline]
    fn neg(self) -> Self {
        Self { hi: -self.hi, lo: -self.lo }
    }
}

impl Add for DoubleDouble {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        let high = Self::from_sum(self.hi, other.hi);
        let low = Self::from_sum(self.lo, other.lo);
        let sum = Self::normalized(high.hi, high.lo + low.hi);
        Self::normalized(sum.hi, sum.lo + low.lo)
    }
}

impl Mul for DoubleDouble {
    type Output = Self;

    #[inline]
    fn mul(self, other: Self) -> Self {
        let product = Self::from_product(self.hi, other.hi);
        Self::normalized(product.hi, product.lo + (self.hi * other.lo + self.lo * other.hi))
    }
}

impl Div for DoubleDouble {
    type Output = Self;

    /// Long division with three quotient digits of 53 bits each.
    #[inline]
    fn div(self, other: Self) -> Self {
        let first = self.hi / other.hi;
        if !first.is_finite() || first == 0.0 {
            return first.into();
        }
        let rest = self - other * Self::from(first);
        let second = rest.hi / other.hi;
        let rest = rest - other * Self::from(second);
        let third = rest.hi / other.hi;
        Self::normalized(first, second) + third
    }
}

impl Sub for DoubleDouble {
    type Output = Self;

    #[inline]
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

/// Operators with a plain double on either side, and the assigning forms.
macro_rules! mixed_operators {
    ($($operator:ident $method:ident $assign:ident $assign_method:ident;)*) => {$(
        impl $operator<f64> for DoubleDouble {
            type Output = Self;

            #[inline]
            fn $method(self, other: f64) -> Self {
                $operator::$method(self, Self::from(other))
            }
        }

        impl $operator<DoubleDouble> for f64 {
            type Output = DoubleDouble;

            #[inline]
            fn $method(self, other: DoubleDouble) -> DoubleDouble {
                $operator::$method(DoubleDouble::from(self), other)
            }
        }

        impl<T: Into<DoubleDouble>> $assign<T> for DoubleDouble {
            #[inline]
            fn $assign_method(&mut self, other: T) {
                *self = $operator::$method(*self, other.into());
            }
        }
    )*};
}

mixed_operators! {
    Add add AddAssign add_assign;
    Sub sub SubAssign sub_assign;
    Mul mul MulAssign mul_assign;
    Div div DivAssign div_assign;
}

impl Sum for DoubleDouble {
    fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
        terms.fold(Self::ZERO, Add::add)
    }
}

/// Two halves of 26 bits whose sum is `a`, so that products of halves are exact.
#[inline]
fn split(a: f64) -> (f64, f64) {
    let scaled = SPLITTER * a;
    let high = scaled - (scaled - a);
    (high, a - high)
}

/// 2²⁷ + 1.
const SPLITTER: f64 = 134_217_729.0;

#[cfg(test)]
mod tests {
    use super::DoubleDouble;

    #[test]
    fn sums_and_products_of_doubles_are_exact() {
        let sum = DoubleDouble::from_sum(1.0, 1e-30);
        assert_eq!((sum.to_f64(), sum.lo()), (1.0, 1e-30));
        // (2^53 − 1)² = 2^106 − 2^54 + 1 needs 106 bits.
        let largest_odd = 9_007_199_254_740_991.0;
        let square = DoubleDouble::from_product(largest_odd, largest_odd);
        assert_eq!(square - 2.0_f64.powi(106) + 2.0_f64.powi(54), DoubleDouble::ONE);
    }

    #[test]
    fn division_undoes_multiplication() {
        for divisor in [3.0, 7.0, 0.1, -1e10, 1e-10, 49.0] {
            let quotient = 1.0 / DoubleDouble::from(divisor);
            let error = (quotient * divisor - 1.0).abs();
            assert!(error.to_f64() < 4e-32, "1/{divisor} is wrong by {error:?}");
        }
    }

    #[test]
    fn close_numbers_subtract_without_loss() {
        let third = DoubleDouble::ONE / 3.0;
        let shifted = third + 1e-25;
        let error = ((shifted - third) / 1e-25 - 1.0).abs();
        assert!(error.to_f64() < 1e-6, "wrong by {error:?}");
        assert!(((third + 0.25) - third - 0.25).abs().to_f64() < 1e-32);
    }

    #[test]
    fn comparison_looks_at_the_low_part() {
        let one_and_a_bit = DoubleDouble::from_sum(1.0, 1e-25);
        assert!(one_and_a_bit > DoubleDouble::ONE);
        assert!(-one_and_a_bit < -DoubleDouble::ONE);
        assert_eq!((-one_and_a_bit).abs().max(DoubleDouble::ONE), one_and_a_bit);
    }

    #[test]
    fn mixed_operators_agree_with_converted_operands() {
        let mut value = DoubleDouble::from(2.0);
        value *= 3.0;
        value -= DoubleDouble::ONE;
        value /= 2.0;
        value += 0.5;
        assert_eq!(value.to_f64(), 3.0);
        assert_eq!(1.0 - value, DoubleDouble::from(-2.0));
        let thirds: DoubleDouble = (0..3).map(|_| DoubleDouble::ONE / 3.0).sum();
        assert!((thirds - 1.0).abs().to_f64() < 1e-31);
    }
}
