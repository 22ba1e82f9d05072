//! σ·(k + x) rounded to an integer, exactly: σ is a double divided by a power of two, k an integer, and x a uniform
//! number that is drawn further until both ends of what is known of it round alike.

use zeroize::Zeroizing;

use super::digits::{RandomBits, Uniform};

/// σ = mantissa · 2^exponent, positive, below 2¹¹⁰.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scale {
    mantissa: u64,
    exponent: i32,
}

/// Magnitudes on a lattice stay below 2¹²⁶, so that the sum of two fits 128 bits with a sign.
pub(super) const MAGNITUDE_BITS: u32 = 126;

/// σ stays below 2¹¹⁰: a deviate would have to exceed 2¹⁶ standard deviations to reach 2¹²⁶.
const SCALE_BITS: i32 = 110;

/// A product of the mantissa (53 bits) and k + x, with 64 digits of x, fits 127 bits for k below this.
const FAST_WHOLE: u64 = 1 << 10;

impl Scale {
    /// `value / 2^step_exponent`; `None` unless it is positive and below 2¹¹⁰.
    pub(super) fn new(value: f64, step_exponent: i32) -> Option<Self> {
        if !(value > 0.0 && value.is_finite()) {
            return None;
        }
        let (mantissa, exponent) = parts(value);
        let exponent = exponent - step_exponent;
        let bits = 64 - mantissa.leading_zeros().cast_signed();
        (bits + exponent <= SCALE_BITS).then_some(Self { mantissa, exponent })
    }

    /// σ·(whole + fraction) rounded to nearest; `None` from 2¹²⁶ on. A tie has probability zero.
    #[inline]
    pub(super) fn round(self, whole: u64, fraction: &mut Uniform, bits: &mut impl RandomBits) -> Option<u128> {
        // With one word known, σ·(k + x) lies between low and low + mantissa in units of 2^−shift.
        let shift = 64 - self.exponent;
        if whole < FAST_WHOLE && shift >= 1 {
            let known = u128::from(whole) << 64 | u128::from(fraction.first());
            let low = u128::from(self.mantissa) * known;
            if shift >= 128 {
                // Below 2¹²⁷ at both ends, and so below one half.
                return Some(0);
            }
            let half = 1_u128 << (shift - 1);
            let [low, high] = [low, low + u128::from(self.mantissa)].map(|end| (end + half) >> shift);
            if low == high {
                return (low >> MAGNITUDE_BITS == 0).then_some(low);
            }
        }
        self.round_with_more_digits(whole, fraction, bits)
    }

    /// The same for any k, with as many words of x as it takes.
    #[cold]
    fn round_with_more_digits(self, whole: u64, fraction: &mut Uniform, bits: &mut impl RandomBits) -> Option<u128> {
        let mut n = 2_usize;
        loop {
            let shift = (64 * n).saturating_add_signed(-(self.exponent as isize));
            if shift > 0 {
                let first = fraction.first();
                let mut end = self.product(whole, first, fraction.digits(n, bits));
                let low = rounded(&end, shift);
                add(&mut end, self.mantissa);
                let high = rounded(&end, shift);
                if low == high {
                    return low;
                }
            }
            n += 1;
        }
    }

    /// mantissa · (whole + 0.first rest…) without its point: words from the lowest to the highest, none of them lost.
    fn product(self, whole: u64, first: u64, rest: &[u64]) -> Zeroizing<Vec<u64>> {
        let mut words = Zeroizing::new(Vec::with_capacity(rest.len() + 3));
        let mut carry = 0;
        for digit in rest.iter().rev().copied().chain([first, whole]) {
            let sum = u128::from(self.mantissa) * u128::from(digit) + carry;
            words.push(sum as u64);
            carry = sum >> 64;
        }
        words.push(carry as u64);
        words
    }
}

/// Adds one word. The highest word has room: it is the carry of a product with 53 bits.
fn add(words: &mut [u64], word: u64) {
    let mut carry = word;
    for word in words {
        let (sum, overflow) = word.overflowing_add(carry);
        *word = sum;
        carry = u64::from(overflow);
    }
}

/// ⌊words / 2^shift + ½⌋ for shift ≥ 1; `None` from 2¹²⁶ on.
fn rounded(words: &[u64], shift: usize) -> Option<u128> {
    let word = |i: usize| words.get(i).copied().unwrap_or(0);
    let (start, offset) = (shift / 64, shift % 64);
    let beyond = word(start + 2);
    if beyond >> offset != 0 || words.iter().skip(start + 3).any(|word| *word != 0) {
        return None;
    }
    let pair = u128::from(word(start + 1)) << 64 | u128::from(word(start));
    let integer = if offset == 0 { pair } else { pair >> offset | u128::from(beyond) << (128 - offset) };
    let half = word((shift - 1) / 64) >> ((shift - 1) % 64) & 1;
    let integer = integer.checked_add(u128::from(half))?;
    (integer >> MAGNITUDE_BITS == 0).then_some(integer)
}

/// |value| = mantissa · 2^exponent exactly, for a finite value.
pub(super) fn parts(value: f64) -> (u64, i32) {
    let bits = value.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    match (bits >> 52 & 0x7ff) as i32 {
        0 => (fraction, -1074),
        biased => (fraction | 1 << 52, biased - 1075),
    }
}

#[cfg(test)]
mod tests;
