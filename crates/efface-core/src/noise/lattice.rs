#![doc = include_str!("lattice.md")]

use zeroize::Zeroizing;

use super::NoiseSource;
use super::normal::RoundedNormal;
use super::scaling::{MAGNITUDE_BITS, parts};
use crate::rounding::{LowerBound, UpperBound};

/// The multiples of h, a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lattice {
    exponent: i32,
}

/// Integers that must not leave: rounded weights and noise, in units of h. Wiped when dropped.
pub type SecretIntegers = Zeroizing<Vec<i128>>;

/// A weight, or a draw of the noise, is too long for the integers that count the steps of the lattice, or no number.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("`{value}` does not fit a lattice of step {step:e}: it counts up to {limit:e}")]
pub struct OffLattice {
    /// What does not fit; infinite for the noise.
    pub value: f64,
    /// h.
    pub step: f64,
    /// The least magnitude that does not fit, 2¹²⁶·h.
    pub limit: f64,
}

/// The smallest positive double is 2⁻¹⁰⁷⁴.
const LEAST_EXPONENT: i32 = -1074;

/// 2¹²⁷ steps of 2⁸⁹⁶ are still a finite double.
const LARGEST_EXPONENT: i32 = 896;

impl Lattice {
    /// The multiples of 2^exponent; `None` when doubles cannot hold them.
    pub fn new(exponent: i32) -> Option<Self> {
        (LEAST_EXPONENT..=LARGEST_EXPONENT).contains(&exponent).then_some(Self { exponent })
    }

    /// The coarsest lattice on which rounding n weights costs at most `limit`: `√n·h ≤ limit`. `None` where doubles
    /// cannot hold it.
    pub fn with_charge_within(limit: LowerBound, n_weights: usize) -> Option<Self> {
        let most = limit.over(UpperBound::count(n_weights.max(1)).sqrt()).get();
        let (mantissa, exponent) = parts(most);
        Self::new(exponent + mantissa.checked_ilog2()?.cast_signed())
    }

    /// k, where h = 2^k.
    pub fn exponent(self) -> i32 {
        self.exponent
    }

    /// h.
    pub fn step(self) -> f64 {
        match u64::try_from(self.exponent + 1022) {
            Ok(above_least_normal) => f64::from_bits((above_least_normal + 1) << 52),
            Err(_) => f64::from_bits(1 << (self.exponent - LEAST_EXPONENT)),
        }
    }

    /// √n·h, rounded up: what rounding both of two vectors may add to their distance.
    pub fn rounding_charge(self, n_weights: usize) -> UpperBound {
        UpperBound::count(n_weights).sqrt() * UpperBound::new(self.step())
    }

    /// The lattice point nearest to each weight, in units of h; halves away from zero.
    pub fn round(self, weights: &[f64]) -> Result<SecretIntegers, OffLattice> {
        let mut integers = Zeroizing::new(Vec::with_capacity(weights.len()));
        for weight in weights {
            integers.push(self.nearest(*weight).ok_or_else(|| self.off(*weight))?);
        }
        Ok(integers)
    }

    /// Fresh normal noise of standard deviation s, rounded to the lattice, in units of h.
    pub fn noise(self, std: f64, n_weights: usize, source: &mut NoiseSource) -> Result<SecretIntegers, OffLattice> {
        let law = RoundedNormal::new(std, self).ok_or_else(|| self.off(std))?;
        let mut integers = Zeroizing::new(Vec::with_capacity(n_weights));
        for _ in 0..n_weights {
            integers.push(law.sample(source).ok_or_else(|| self.off(f64::INFINITY))?);
        }
        Ok(integers)
    }

    /// `h·(round(ŵ/h) + round(s·ξ/h))` with fresh ξ.
    pub fn publish(self, weights: &[f64], std: f64, source: &mut NoiseSource) -> Result<Vec<f64>, OffLattice> {
        let centres = self.round(weights)?;
        let noise = self.noise(std, weights.len(), source)?;
        // Both are below 2¹²⁶ in magnitude.
        Ok(centres.iter().zip(noise.iter()).map(|(centre, noise)| self.point(centre + noise)).collect())
    }

    /// The double nearest to `steps·h`, itself a multiple of h.
    pub fn point(self, steps: i128) -> f64 {
        // A result too small to be a normal number has few digits, and is exact.
        steps as f64 * self.step()
    }

    fn nearest(self, weight: f64) -> Option<i128> {
        if !weight.is_finite() {
            return None;
        }
        let (mantissa, exponent) = parts(weight);
        let magnitude = match exponent - self.exponent {
            shift @ 0.. => {
                let bits = 64 - mantissa.leading_zeros().cast_signed();
                if bits > 0 && bits + shift > MAGNITUDE_BITS.cast_signed() {
                    return None;
                }
                u128::from(mantissa).checked_shl(shift.cast_unsigned()).unwrap_or(0)
            }
            // A mantissa has 53 bits: less than half a step is left of it.
            ..-53 => 0,
            shift => (u128::from(mantissa) + (1 << (-shift - 1))) >> -shift,
        };
        let magnitude = magnitude.cast_signed();
        Some(if weight < 0.0 { -magnitude } else { magnitude })
    }

    fn off(self, value: f64) -> OffLattice {
        OffLattice { value, step: self.step(), limit: self.point(1 << MAGNITUDE_BITS) }
    }
}

#[cfg(test)]
mod tests;
