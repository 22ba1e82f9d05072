//! Randomness: the operating system's entropy through ChaCha20, and the laws that noise is drawn from.
//!
//! Gaussian noise of a release is exact: a normal deviate rounded to a lattice, sampled with integers ([`normal`]),
//! added to weights on the same lattice ([`lattice`]). [`NoiseLaw::sample`] draws in double precision and is idealized:
//! the gamma law, and the perturbation of mechanism `objective`.

mod digits;
pub mod lattice;
pub mod normal;
mod scaling;

use rand::rngs::SysRng;
use rand::{Rng, SeedableRng, TryRng};
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, Gamma, StandardNormal};
use zeroize::Zeroize;

use crate::secret::SecretVector;
use crate::tagged;

/// A cryptographic generator that knows whether anybody could predict it.
pub struct NoiseSource {
    generator: ChaCha20Rng,
    certified: bool,
}

impl NoiseSource {
    /// Seeded by the operating system: the only source that certificates accept.
    pub fn from_system() -> Result<Self, NoiseError> {
        let mut seed = [0_u8; 32];
        SysRng.try_fill_bytes(&mut seed).map_err(|error| NoiseError(error.to_string()))?;
        let generator = ChaCha20Rng::from_seed(seed);
        seed.zeroize();
        Ok(Self { generator, certified: true })
    }

    /// Seeded by a number that somebody chose: whoever knows it can take the noise off again. For tests and
    /// demonstrations; everything drawn from it is marked as uncertified.
    pub fn danger_fixed_seed(seed: u64) -> Self {
        Self { generator: ChaCha20Rng::seed_from_u64(seed), certified: false }
    }

    /// Whether the seed came from the operating system.
    pub fn is_certified(&self) -> bool {
        self.certified
    }

    /// Fills `bytes` with random bytes, for keys and salts.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.generator.fill_bytes(bytes);
    }

    #[inline]
    fn next_word(&mut self) -> u64 {
        self.generator.next_u64()
    }
}

/// The operating system gave no entropy.
#[derive(Debug, thiserror::Error)]
#[error("the operating system's random source failed: {0}")]
pub struct NoiseError(String);

tagged! {
    /// Law of the noise. `scale` is the standard deviation of each coordinate (Gaussian) or of the exponent (gamma).
    pub enum NoiseLaw {
        /// N(0, scale²) in each coordinate. Guo et al. 2020, Theorem 3 (ii): (ε, δ).
        Gaussian = "gaussian",
        /// Density ∝ exp(−‖b‖/scale): uniform direction, norm ~ Gamma(d, scale). Theorem 3 (i): pure ε.
        Gamma = "gamma",
    }
}

tagged! {
    /// How the noise of a plan is drawn, as certificates name it.
    pub enum NoiseArithmetic {
        /// From the very law of the claim, by integer arithmetic on random bits.
        Exact = "exact",
        /// In double precision, taken for the ideal law.
        Idealized = "idealized",
        /// There is no noise.
        None = "none",
    }
}

impl NoiseLaw {
    /// One vector of `dim` numbers, drawn in double precision: idealized.
    #[expect(clippy::missing_panics_doc, reason = "a shape of at least 1 is always valid")]
    pub fn sample(self, dim: usize, scale: f64, source: &mut NoiseSource) -> SecretVector {
        let mut noise: Vec<f64> = StandardNormal.sample_iter(&mut source.generator).take(dim).collect();
        let factor = match self {
            Self::Gaussian => scale,
            Self::Gamma => {
                let law = Gamma::new(dim.max(1) as f64, 1.0).expect("the shape is a positive number");
                let length = law.sample(&mut source.generator);
                let normal_length = noise.iter().map(|x: &f64| x * x).sum::<f64>().sqrt();
                scale * length / normal_length
            }
        };
        for x in &mut noise {
            *x *= factor;
        }
        SecretVector::from(noise)
    }
}
