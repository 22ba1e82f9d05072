//! Exact numbers of the form integer · 2^exponent, of any length: every double is one, and so is every sum, product and
//! lattice point made from doubles.

use num_bigint::{BigInt, BigUint, Sign};

/// `integer · 2^exponent`.
#[derive(Clone, Debug)]
pub struct Dyadic {
    integer: BigInt,
    exponent: isize,
}

impl Dyadic {
    /// A finite double, exactly.
    ///
    /// # Panics
    ///
    /// When it is not finite.
    pub fn from_f64(value: f64) -> Self {
        assert!(value.is_finite(), "only finite numbers have a value");
        let mut magnitude = value.abs();
        let mut exponent = 0;
        // Doubling and halving are exact until the number is an integer of 53 bits.
        while magnitude != 0.0 && magnitude < 2_f64.powi(52) {
            magnitude *= 2.0;
            exponent -= 1;
        }
        while magnitude >= 2_f64.powi(53) {
            magnitude *= 0.5;
            exponent += 1;
        }
        let integer = BigInt::from(magnitude as u64);
        Self { integer: if value < 0.0 { -integer } else { integer }, exponent }
    }

    /// An integer.
    pub fn from_integer(value: i128) -> Self {
        Self { integer: value.into(), exponent: 0 }
    }

    /// A number in [0, 1) from its binary digits, in words of 64 from the most significant on.
    pub fn from_digits(words: &[u64]) -> Self {
        let integer = words.iter().fold(BigInt::ZERO, |integer, word| (integer << 64) + *word);
        Self { integer, exponent: -(64 * words.len()).cast_signed() }
    }

    /// `self · 2^power`.
    #[must_use]
    pub fn times_power_of_two(&self, power: isize) -> Self {
        Self { exponent: self.exponent + power, ..self.clone() }
    }

    /// The product.
    #[must_use]
    pub fn times(&self, other: &Self) -> Self {
        Self { integer: &self.integer * &other.integer, exponent: self.exponent + other.exponent }
    }

    /// The sum.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let exponent = self.exponent.min(other.exponent);
        Self { integer: self.in_units(exponent) + other.in_units(exponent), exponent }
    }

    /// The nearest integer, halves away from zero; `None` when it does not fit.
    pub fn round(&self) -> Option<i128> {
        let half = Self { integer: 1.into(), exponent: -1 };
        let magnitude = Self { integer: self.integer.magnitude().clone().into(), ..self.clone() }.plus(&half);
        let rounded: BigInt = match usize::try_from(magnitude.exponent) {
            Ok(shift) => magnitude.integer << shift,
            Err(_) => magnitude.integer >> magnitude.exponent.unsigned_abs(),
        };
        i128::try_from(if self.integer.sign() == Sign::Minus { -rounded } else { rounded }).ok()
    }

    /// Whether both are the same number.
    pub fn equals(&self, other: &Self) -> bool {
        let exponent = self.exponent.min(other.exponent);
        self.in_units(exponent) == other.in_units(exponent)
    }

    /// Whether it is an integer.
    pub fn is_integer(&self) -> bool {
        self.integer.trailing_zeros().is_none_or(|zeros| zeros.cast_signed() + self.exponent as i64 >= 0)
    }

    /// |self| as a double, cut off after some 60 digits: an estimate, for comparisons of size.
    pub fn magnitude(&self) -> f64 {
        let magnitude: &BigUint = self.integer.magnitude();
        let cut = magnitude.bits().saturating_sub(60);
        let leading = (magnitude >> cut).iter_u64_digits().next().unwrap_or(0) as f64;
        let power = self.exponent as i64 + cut.cast_signed();
        // In two steps: the power alone may be out of range.
        leading * 2_f64.powi((power / 2) as i32) * 2_f64.powi((power - power / 2) as i32)
    }

    /// How often 2^exponent, which is no larger than the own one.
    fn in_units(&self, exponent: isize) -> BigInt {
        &self.integer << (self.exponent - exponent).cast_unsigned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_and_integers_agree() {
        for value in [0, 1, -1, 12_345, -(1 << 53), 3 << 60] {
            assert!(Dyadic::from_f64(value as f64).equals(&Dyadic::from_integer(value)));
            assert_eq!(Dyadic::from_integer(value).round(), Some(value));
        }
        assert!(Dyadic::from_f64(0.375).times_power_of_two(3).equals(&Dyadic::from_integer(3)));
        assert_eq!(Dyadic::from_f64(5e-324).times_power_of_two(1074).round(), Some(1));
    }

    #[test]
    fn sums_and_products_are_exact() {
        let (a, b) = (Dyadic::from_f64(1e300), Dyadic::from_f64(-1e-300));
        let difference = a.plus(&b).plus(&Dyadic::from_f64(-1e300));
        assert!(difference.equals(&b), "nothing of the small one is lost");
        let square = (1_i128 << 53) - 1;
        let product = Dyadic::from_f64(square as f64).times(&Dyadic::from_f64(-(square as f64)));
        assert_eq!(product.round(), Some(-square * square));
        assert_eq!(Dyadic::from_integer(5).plus(&Dyadic::from_integer(-7)).round(), Some(-2));
    }

    #[test]
    fn halves_are_rounded_away_from_zero() {
        let rounded = [0.5, -0.5, 1.5, -2.5, 0.499_999_999_999_999_94, 2.0].map(|x| Dyadic::from_f64(x).round());
        assert_eq!(rounded, [1, -1, 2, -3, 0, 2].map(Some));
        assert_eq!(Dyadic::from_f64(1e39).round(), None);
        assert!(Dyadic::from_f64(4.0).is_integer() && !Dyadic::from_f64(4.5).is_integer());
    }

    #[test]
    fn digits_follow_the_point() {
        let quarter = Dyadic::from_digits(&[1 << 62, 0]);
        assert!(quarter.equals(&Dyadic::from_f64(0.25)));
        assert_eq!(Dyadic::from_digits(&[0, 1]).times_power_of_two(128).round(), Some(1));
        assert!((Dyadic::from_f64(-1e-310).magnitude() / 1e-310 - 1.0).abs() < 1e-12);
    }
}
