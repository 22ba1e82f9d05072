#![doc = include_str!("normal.md")]

use super::NoiseSource;
use super::digits::{RandomBits, Uniform};
use super::lattice::Lattice;
use super::scaling::Scale;

/// The law of `round(s·ξ/h)` for a standard normal ξ: a normal deviate rounded to the nearest multiple of h, in steps.
///
/// ```text
/// P(j) = Φ((j + ½)·h/s) − Φ((j − ½)·h/s)
/// ```
///
/// Karney 2016, "Sampling exactly from the normal distribution", Algorithm N; exact for every s and h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundedNormal {
    scale: Scale,
}

impl RoundedNormal {
    /// The law for a standard deviation s; `None` unless s is positive and below 2¹¹⁰ steps.
    pub fn new(std: f64, lattice: Lattice) -> Option<Self> {
        Scale::new(std, lattice.exponent()).map(|scale| Self { scale })
    }

    /// One draw; `None` when it is 2¹²⁶ steps long or more, which takes 2¹⁶ standard deviations.
    #[inline]
    pub fn sample(&self, source: &mut NoiseSource) -> Option<i128> {
        self.draw(source)
    }

    #[inline]
    fn draw(self, bits: &mut impl RandomBits) -> Option<i128> {
        let (whole, mut fraction) = half_normal(bits);
        let magnitude = self.scale.round(whole, &mut fraction, bits)?.cast_signed();
        Some(if coin(bits) { -magnitude } else { magnitude })
    }
}

/// |ξ| = k + x for a standard normal ξ.
fn half_normal(bits: &mut impl RandomBits) -> (u64, Uniform) {
    loop {
        let whole = successes_of_exp_half(bits);
        if !exp_half_power(whole * whole.saturating_sub(1), bits) {
            continue;
        }
        let mut fraction = Uniform::draw(bits);
        if (0..=whole).all(|_| exp_of_share(whole, &mut fraction, bits)) {
            return (whole, fraction);
        }
    }
}

/// A fair coin.
#[inline]
fn coin(bits: &mut impl RandomBits) -> bool {
    bits.word() >> 63 == 1
}

/// True with probability e^(−½): whether a falling chain of uniform numbers that starts below ½ has even length.
#[inline]
fn exp_half(bits: &mut impl RandomBits) -> bool {
    let mut last = Uniform::draw(bits);
    if !last.is_below_half() {
        return true;
    }
    let mut even = false;
    loop {
        let mut next = Uniform::draw(bits);
        if !next.is_below(&mut last, bits) {
            return even;
        }
        (last, even) = (next, !even);
    }
}

/// k with probability `(1 − e^(−½))·e^(−k/2)`.
#[inline]
fn successes_of_exp_half(bits: &mut impl RandomBits) -> u64 {
    let mut k = 0;
    while exp_half(bits) {
        k += 1;
    }
    k
}

/// True with probability e^(−n/2).
#[inline]
fn exp_half_power(n: u64, bits: &mut impl RandomBits) -> bool {
    (0..n).all(|_| exp_half(bits))
}

/// True with probability e^(−x·p), `p = (2k + x)/(2k + 2)`: whether a falling chain of uniform numbers that starts
/// below x, with a coin of p for every link, has even length.
#[inline]
fn exp_of_share(k: u64, x: &mut Uniform, bits: &mut impl RandomBits) -> bool {
    let mut last = Uniform::draw(bits);
    if !(last.is_below(x, bits) && share(k, x, bits)) {
        return true;
    }
    let mut even = false;
    loop {
        let mut next = Uniform::draw(bits);
        if !(next.is_below(&mut last, bits) && share(k, x, bits)) {
            return even;
        }
        (last, even) = (next, !even);
    }
}

/// True with probability p = (2k + x)/(2k + 2).
#[inline]
fn share(k: u64, x: &mut Uniform, bits: &mut impl RandomBits) -> bool {
    let part = if k == 0 { u64::from(coin(bits)) } else { bits.below(2 * k + 2) };
    part < 2 * k || part == 2 * k && Uniform::draw(bits).is_below(x, bits)
}

#[cfg(test)]
mod tests;
