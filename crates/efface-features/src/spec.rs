//! The parameters of all kinds of maps, as they are written down.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::BuildError;
use crate::fourier::FourierLayer;
use crate::network::NetworkSpec;
use crate::ngrams::NgramSpec;
use crate::scattering::ImageShape;
use crate::transformer::TransformerSpec;

/// The parameters of a map. A kind never changes its meaning: what computes other features gets another name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum FeatureSpec {
    /// [`FourierMap`](crate::FourierMap) of rows of numbers.
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
    /// [`NgramMap`](crate::NgramMap) of texts.
    Ngrams(NgramSpec),
    /// [`ScatteringMap`](crate::ScatteringMap) of images.
    Scattering(ImageShape),
    /// A network of images or texts.
    Network(NetworkSpec),
    /// What another program computes.
    Transformer(TransformerSpec),
}

impl FeatureSpec {
    /// Random Fourier features of rows of `n_inputs` numbers.
    pub fn fourier(n_inputs: usize, FourierLayer { width, length_scale, seed }: FourierLayer) -> Self {
        Self::Fourier { n_inputs, width, length_scale, seed }
    }

    /// The tag of the kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Fourier { .. } => "fourier",
            Self::Ngrams(_) => "ngrams",
            Self::Scattering(_) => "scattering",
            Self::Network(_) => "network",
            Self::Transformer(_) => "transformer",
        }
    }

    /// Number of features.
    pub fn n_features(&self) -> usize {
        match self {
            Self::Fourier { width, .. } => *width,
            Self::Ngrams(spec) => spec.buckets,
            Self::Scattering(shape) => shape.n_features(),
            Self::Network(spec) => spec.features,
            Self::Transformer(spec) => spec.features,
        }
    }

    /// Whether there is such a map. Nothing is drawn yet.
    pub fn check(&self) -> Result<(), BuildError> {
        match self {
            Self::Fourier { n_inputs, width, length_scale, seed } => {
                FourierLayer { width: *width, length_scale: *length_scale, seed: *seed }.check(*n_inputs)
            }
            Self::Ngrams(spec) => spec.check(),
            Self::Scattering(shape) => shape.check(),
            Self::Network(spec) => spec.check(),
            Self::Transformer(spec) => spec.check(),
        }
    }

    /// SHA-256 of `efface-features/1`, a newline, and the parameters as JSON without blanks, fields in the order of their
    /// declaration.
    #[expect(clippy::missing_panics_doc, reason = "it cannot")]
    pub fn digest(&self) -> [u8; 32] {
        let json = serde_json::to_vec(self).expect("numbers under names can be written as JSON");
        Sha256::new().chain_update(b"efface-features/1\n").chain_update(json).finalize().into()
    }
}

#[cfg(test)]
mod tests;
