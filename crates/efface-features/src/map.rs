//! All kinds of maps under one name, and their parameters as they are written down.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{ApplyError, BuildError};
use crate::fourier::{BLOCK, FourierLayer, FourierMap};
use crate::ngrams::{NgramMap, NgramSpec};
use crate::scattering::{ScatteringMap, Scratch};

/// The parameters of a map. A kind never changes its meaning: what computes other features gets another name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum FeatureSpec {
    /// [`FourierMap`] of rows of numbers.
    Fourier {
        /// Numbers per row.
        n_inputs: usize,
        /// Number of features.
        width: usize,
        /// The distance at which two rows become unlike each other.
        length_scale: f64,
        /// Public.
        seed: u64,
    },
    /// [`NgramMap`] of texts.
    Ngrams(NgramSpec),
    /// [`ScatteringMap`] of images, and a [`FourierMap`] on top of it if one is given.
    Scattering {
        /// Rows of pixels.
        height: usize,
        /// Pixels per row.
        width: usize,
        /// Numbers per pixel.
        channels: usize,
        /// The layer on top.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fourier: Option<FourierLayer>,
    },
}

impl FeatureSpec {
    /// SHA-256 of `efface-features/1`, a newline, and the parameters as JSON without blanks, fields in the order of their
    /// declaration.
    #[expect(clippy::missing_panics_doc, reason = "it cannot")]
    pub fn digest(&self) -> [u8; 32] {
        let json = serde_json::to_vec(self).expect("numbers under names can be written as JSON");
        Sha256::new().chain_update(b"efface-features/1\n").chain_update(json).finalize().into()
    }
}

/// A map that is ready to use.
pub enum FeatureMap {
    /// Rows of numbers.
    Fourier(FourierMap),
    /// Texts.
    Ngrams(NgramMap),
    /// Images.
    Scattering(Box<ImageMap>),
}

impl FeatureMap {
    /// Checks the parameters and draws what is random.
    pub fn new(spec: &FeatureSpec) -> Result<Self, BuildError> {
        Ok(match *spec {
            FeatureSpec::Fourier { n_inputs, width, length_scale, seed } => {
                Self::Fourier(FourierMap::new(n_inputs, width, length_scale, seed)?)
            }
            FeatureSpec::Ngrams(spec) => Self::Ngrams(NgramMap::new(spec)?),
            FeatureSpec::Scattering { height, width, channels, fourier } => {
                let scattering = ScatteringMap::new(height, width, channels)?;
                Self::Scattering(Box::new(ImageMap::new(scattering, fourier)?))
            }
        })
    }

    /// The parameters it was built from.
    pub fn spec(&self) -> FeatureSpec {
        match self {
            Self::Fourier(map) => {
                let FourierLayer { width, length_scale, seed } = map.layer();
                FeatureSpec::Fourier { n_inputs: map.n_inputs(), width, length_scale, seed }
            }
            Self::Ngrams(map) => FeatureSpec::Ngrams(*map.spec()),
            Self::Scattering(map) => {
                let (height, width, channels) = map.scattering.shape();
                let fourier = map.fourier.as_ref().map(FourierMap::layer);
                FeatureSpec::Scattering { height, width, channels, fourier }
            }
        }
    }

    /// Number of features.
    pub fn n_features(&self) -> usize {
        match self {
            Self::Fourier(map) => map.n_features(),
            Self::Ngrams(map) => map.n_features(),
            Self::Scattering(map) => map.n_features(),
        }
    }

    /// What the norm of no row exceeds: 1, by the claim page in [`crate::norm`].
    pub fn row_norm(&self) -> f64 {
        1.0
    }

    /// [`FeatureSpec::digest`] of the parameters.
    pub fn digest(&self) -> [u8; 32] {
        self.spec().digest()
    }
}

/// Scattering, and random Fourier features of it if there is such a layer.
pub struct ImageMap {
    scattering: ScatteringMap,
    fourier: Option<FourierMap>,
}

impl ImageMap {
    /// Puts the layer on top.
    pub fn new(scattering: ScatteringMap, fourier: Option<FourierLayer>) -> Result<Self, BuildError> {
        let draw =
            |layer: FourierLayer| FourierMap::new(scattering.n_features(), layer.width, layer.length_scale, layer.seed);
        let fourier = fourier.map(draw).transpose()?;
        Ok(Self { scattering, fourier })
    }

    /// What is below.
    pub fn scattering(&self) -> &ScatteringMap {
        &self.scattering
    }

    /// The layer on top.
    pub fn fourier(&self) -> Option<&FourierMap> {
        self.fourier.as_ref()
    }

    /// Numbers per image.
    pub fn n_inputs(&self) -> usize {
        self.scattering.n_inputs()
    }

    /// Number of features.
    pub fn n_features(&self) -> usize {
        self.fourier.as_ref().map_or(self.scattering.n_features(), FourierMap::n_features)
    }

    /// Writes the features of images, as [`ScatteringMap::apply_block`] takes them.
    pub fn apply_block<T>(&self, images: &[T], out: &mut [f32]) -> Result<(), ApplyError>
    where
        T: Copy + Into<f32> + Sync,
    {
        let Some(fourier) = &self.fourier else { return self.scattering.apply_block(images, out) };
        let (n_inputs, n_middle) = (self.n_inputs(), self.scattering.n_features());
        ApplyError::check(images.len(), n_inputs, out.len(), self.n_features())?;
        let blocks = images.par_chunks(BLOCK * n_inputs).zip(out.par_chunks_mut(BLOCK * self.n_features()));
        let done = blocks.enumerate().map_init(
            || (Scratch::default(), vec![0.0; BLOCK * n_middle]),
            |(scratch, middle), (block, (images, out))| {
                let rows = images.chunks_exact(n_inputs).zip(middle.chunks_exact_mut(n_middle)).enumerate();
                for (i, (image, row)) in rows {
                    self.scattering.scatter(block * BLOCK + i, image, scratch, row)?;
                }
                let row = fourier.project(&middle[..images.len() / n_inputs * n_middle], out);
                let length_scale = fourier.layer().length_scale;
                row.map_or(Ok(()), |row| Err(ApplyError::Overflow { row: block * BLOCK + row, length_scale }))
            },
        );
        done.find_map_first(Result::err).map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests;
