//! Exact numbers of the form integer · 2^exponent, of any length, bit by bit: every double is one, and so is every sum,
//! product and lattice point made from doubles. Slow.

/// `± magnitude · 2^exponent`.
#[derive(Clone, Debug)]
pub struct Dyadic {
    negative: bool,
    /// From the lowest to the highest.
    bits: Vec<bool>,
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
        Self { negative: value < 0.0, bits: bits_of(magnitude as u128), exponent }
    }

    /// An integer.
    pub fn from_integer(value: i128) -> Self {
        Self { negative: value < 0, bits: bits_of(value.unsigned_abs()), exponent: 0 }
    }

    /// A number in [0, 1) from its binary digits, in words of 64 from the most significant on.
    pub fn from_digits(words: &[u64]) -> Self {
        let bits = words.iter().rev().flat_map(|word| (0..64).map(move |place| word >> place & 1 == 1)).collect();
        Self { negative: false, bits, exponent: -(64 * words.len()).cast_signed() }
    }

    /// `self · 2^power`.
    #[must_use]
    pub fn times_power_of_two(&self, power: isize) -> Self {
        Self { exponent: self.exponent + power, ..self.clone() }
    }

    /// The product.
    #[must_use]
    pub fn times(&self, other: &Self) -> Self {
        let mut product = Self { negative: false, bits: Vec::new(), exponent: 0 };
        for (place, _) in self.bits.iter().enumerate().filter(|(_, bit)| **bit) {
            let shifted = Self { negative: false, bits: other.bits.clone(), exponent: place.cast_signed() };
            product = product.plus(&shifted);
        }
        Self {
            negative: self.negative != other.negative,
            exponent: product.exponent + self.exponent + other.exponent,
            ..product
        }
    }

    /// The sum.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let exponent = self.exponent.min(other.exponent);
        let (a, b) = (self.aligned(exponent), other.aligned(exponent));
        if self.negative == other.negative {
            return Self { negative: self.negative, bits: add(&a, &b), exponent };
        }
        if at_least(&a, &b) {
            Self { negative: self.negative, bits: subtract(&a, &b), exponent }
        } else {
            Self { negative: other.negative, bits: subtract(&b, &a), exponent }
        }
    }

    /// The nearest integer, halves away from zero; `None` when it does not fit.
    pub fn round(&self) -> Option<i128> {
        let half = Self { negative: false, bits: vec![true], exponent: -1 };
        let magnitude = Self { negative: false, ..self.clone() }.plus(&half);
        let mut integer = 0_i128;
        for (place, bit) in magnitude.bits.iter().enumerate() {
            let place = place.cast_signed() + magnitude.exponent;
            if *bit && place >= 0 {
                integer =
                    integer.checked_add(1_i128.checked_shl(u32::try_from(place).ok()?).filter(|bit| *bit > 0)?)?;
            }
        }
        Some(if self.negative { -integer } else { integer })
    }

    /// Whether both are the same number.
    pub fn equals(&self, other: &Self) -> bool {
        let difference = self.plus(&Self { negative: !other.negative, ..other.clone() });
        difference.bits.iter().all(|bit| !bit)
    }

    /// Whether it is an integer.
    pub fn is_integer(&self) -> bool {
        self.bits.iter().enumerate().all(|(place, bit)| !bit || place.cast_signed() + self.exponent >= 0)
    }

    /// |self| as a double, cut off after some 60 digits: an estimate, for comparisons of size.
    pub fn magnitude(&self) -> f64 {
        let highest = self.bits.iter().rposition(|bit| *bit).map_or(0, |place| place + 1);
        let start = highest.saturating_sub(60);
        let leading =
            self.bits[start..highest].iter().rev().fold(0.0, |sum, bit| 2.0 * sum + f64::from(u8::from(*bit)));
        let power = self.exponent + start.cast_signed();
        // In two steps: the power alone may be out of range.
        leading * 2_f64.powi((power / 2) as i32) * 2_f64.powi((power - power / 2) as i32)
    }

    fn aligned(&self, exponent: isize) -> Vec<bool> {
        let zeros = (self.exponent - exponent).cast_unsigned();
        std::iter::repeat_n(false, zeros).chain(self.bits.iter().copied()).collect()
    }
}

fn bits_of(value: u128) -> Vec<bool> {
    (0..128).map(|place| value >> place & 1 == 1).collect()
}

fn bit(bits: &[bool], place: usize) -> u8 {
    u8::from(bits.get(place).copied().unwrap_or(false))
}

fn add(a: &[bool], b: &[bool]) -> Vec<bool> {
    let mut carry = 0;
    let sum = |place: usize| {
        let sum = bit(a, place) + bit(b, place) + carry;
        carry = sum >> 1;
        sum & 1 == 1
    };
    (0..=a.len().max(b.len())).map(sum).collect()
}

/// a − b, where a is not the smaller one.
fn subtract(a: &[bool], b: &[bool]) -> Vec<bool> {
    let mut borrow = 0;
    let difference = |place: usize| {
        let (taken, here) = (bit(b, place) + borrow, bit(a, place));
        borrow = u8::from(taken > here);
        (here + 2 * borrow - taken) == 1
    };
    (0..a.len().max(b.len())).map(difference).collect()
}

fn at_least(a: &[bool], b: &[bool]) -> bool {
    let places = (0..a.len().max(b.len())).rev();
    places
        .map(|place| bit(a, place).cmp(&bit(b, place)))
        .find(|order| order.is_ne())
        .is_none_or(std::cmp::Ordering::is_gt)
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
