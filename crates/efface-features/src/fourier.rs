//! Random Fourier features: a kernel machine as a linear model.

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::{ApplyError, BuildError, in_range};
use crate::norm::equal_share;
use crate::product::{LANES, Packed};

/// Cosines of random projections; their inner products approximate a Gaussian kernel.
///
/// ```text
/// φ_j(x) = √(1/width) · cos(p_jᵀx / ℓ + b_j)      p_j ~ N(0, I),  b_j ~ U[0, 2π),  ℓ the length scale
///
/// E[φ(x)ᵀφ(y)] = ½ · exp(−‖x − y‖² / 2ℓ²)         ‖φ(x)‖ ≤ 1
/// ```
///
/// Rahimi and Recht 2007; they have √(2/width), which makes the kernel 1 at x = y and the norm as large as √2.
///
/// p_j and b_j are public: ChaCha20 with the 24 bytes `efface fourier features1` and the seed (little-endian) as key, and
/// j as stream. A word u of 64 bits gives the uniform number `(u >> 11) · 2⁻⁵³`. The first word gives b_j; each two after
/// it, u and v, give two entries of p_j by Box and Muller: `r cos t` and `r sin t`, `r = √(−2 ln(1 − u))`, `t = 2πv`. So
/// feature j is the same for every width.
pub struct FourierMap {
    n_inputs: usize,
    layer: FourierLayer,
    /// p_j / ℓ, column by column.
    projection: Packed,
    phases: Vec<f32>,
    share: f32,
}

/// What random Fourier features need to know besides the number of their inputs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FourierLayer {
    /// Number of features.
    pub width: usize,
    /// The distance at which two rows become unlike each other.
    pub length_scale: f64,
    /// Public.
    pub seed: u64,
}

impl FourierMap {
    /// Draws the projection.
    pub fn new(n_inputs: usize, width: usize, length_scale: f64, seed: u64) -> Result<Self, BuildError> {
        let layer = FourierLayer { width, length_scale, seed };
        layer.check(n_inputs)?;
        let mut projection = Packed::zeros(n_inputs, width);
        let panels: Vec<_> = projection.panels_mut().enumerate().collect();
        let phases = panels.into_par_iter().flat_map_iter(|(panel, lines)| {
            (0..LANES.min(width - panel * LANES)).map(move |lane| {
                let mut stream = Stream::new(seed, panel * LANES + lane);
                let phase = stream.uniform() * std::f64::consts::TAU;
                for pair in lines.chunks_mut(2) {
                    let (first, second) = stream.normals();
                    pair[0][lane] = (first / length_scale) as f32;
                    if let Some(line) = pair.get_mut(1) {
                        line[lane] = (second / length_scale) as f32;
                    }
                }
                phase as f32
            })
        });
        let phases = phases.collect();
        Ok(Self { n_inputs, layer, projection, phases, share: equal_share(width) })
    }

    /// Numbers per row.
    pub fn n_inputs(&self) -> usize {
        self.n_inputs
    }

    /// Number of features.
    pub fn n_features(&self) -> usize {
        self.layer.width
    }

    /// The parameters.
    pub fn layer(&self) -> FourierLayer {
        self.layer
    }

    /// The entries of p_j / ℓ, as columns: for each input, [`FourierMap::n_features`] numbers.
    pub fn projection(&self) -> Vec<f32> {
        self.projection.dense()
    }

    /// b_j.
    pub fn phases(&self) -> &[f32] {
        &self.phases
    }

    /// What cosines are multiplied by, √(1/width).
    pub fn share(&self) -> f32 {
        self.share
    }

    /// Writes the features of rows that follow one another, [`FourierMap::n_features`] for each. Rows are worked with in
    /// single precision.
    pub fn apply_block<T>(&self, rows: &[T], out: &mut [f32]) -> Result<(), ApplyError>
    where
        T: Copy + Into<f64> + Sync,
    {
        ApplyError::check(rows.len(), self.n_inputs, out.len(), self.layer.width)?;
        let blocks = rows.par_chunks(BLOCK * self.n_inputs).zip(out.par_chunks_mut(BLOCK * self.layer.width));
        let failed = blocks.enumerate().find_map_first(|(block, (rows, out))| {
            let narrow: Vec<f32> = rows.iter().map(|v| (*v).into() as f32).collect();
            if let Some(at) = narrow.iter().position(|v| !v.is_finite()) {
                let (row, column) = (block * BLOCK + at / self.n_inputs, at % self.n_inputs);
                return Some(ApplyError::NotFinite { row, column, value: rows[at].into() });
            }
            let row = self.project(&narrow, out)?;
            Some(ApplyError::Overflow { row: block * BLOCK + row, length_scale: self.layer.length_scale })
        });
        failed.map_or(Ok(()), Err)
    }

    /// The features of a block on this thread, or the first row whose angles are not finite.
    pub(crate) fn project(&self, rows: &[f32], out: &mut [f32]) -> Option<usize> {
        self.projection.apply(rows, out);
        for (row, out) in out.chunks_exact_mut(self.layer.width).enumerate() {
            for (value, phase) in out.iter_mut().zip(&self.phases) {
                let angle = *value + phase;
                if !angle.is_finite() {
                    return Some(row);
                }
                *value = self.share * libm::cosf(angle);
            }
        }
        None
    }
}

impl FourierLayer {
    /// Whether there is such a map.
    pub(crate) fn check(&self, n_inputs: usize) -> Result<(), BuildError> {
        let Self { width, length_scale, .. } = *self;
        in_range("number of inputs", n_inputs, 1, MOST_FEATURES)?;
        in_range("width", width, 1, MOST_FEATURES)?;
        if n_inputs * width.next_multiple_of(LANES) > MOST_NUMBERS {
            return Err(BuildError::Matrix { n_inputs, width, most: MOST_NUMBERS });
        }
        let (least, most) = (1e-9, 1e9);
        if !(least..=most).contains(&length_scale) {
            return Err(BuildError::LengthScale { value: length_scale, least, most });
        }
        Ok(())
    }
}

/// The random numbers of one feature.
struct Stream(ChaCha20Rng);

impl Stream {
    fn new(seed: u64, feature: usize) -> Self {
        let mut key = [0; 32];
        key[..24].copy_from_slice(b"efface fourier features1");
        key[24..].copy_from_slice(&seed.to_le_bytes());
        let mut generator = ChaCha20Rng::from_seed(key);
        generator.set_stream(feature as u64);
        Self(generator)
    }

    /// In [0, 1).
    fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normals(&mut self) -> (f64, f64) {
        let radius = (-2.0 * libm::log(1.0 - self.uniform())).sqrt();
        let (sin, cos) = libm::sincos(self.uniform() * std::f64::consts::TAU);
        (radius * cos, radius * sin)
    }
}

/// Rows that one thread works with at a time.
pub(crate) const BLOCK: usize = 32;

/// In or out.
const MOST_FEATURES: usize = 1 << 20;

/// A gibibyte.
const MOST_NUMBERS: usize = 1 << 28;

#[cfg(test)]
mod tests;
