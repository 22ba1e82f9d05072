//! The parameters of a network: the digests of its files, and what it takes. It is run elsewhere.

use serde::{Deserialize, Serialize};

use crate::error::{BuildError, in_range};
use crate::scattering::ImageShape;

/// A network, whose features are divided by their norm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkSpec {
    /// SHA-256 of the ONNX file, in hexadecimal digits.
    pub onnx: String,
    /// Number of features.
    pub features: usize,
    /// What it takes.
    pub input: NetworkInput,
}

/// What a network takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum NetworkInput {
    /// Images: `(pixel / 255 − mean) / deviation`, pixels from 0 to 255.
    Image {
        /// The size of images.
        shape: ImageShape,
        /// One number per channel.
        mean: Vec<f32>,
        /// One number per channel.
        deviation: Vec<f32>,
    },
    /// Texts.
    Text {
        /// SHA-256 of the file that says how texts become tokens, in hexadecimal digits.
        tokenizer: String,
        /// Longer texts are cut off.
        max_tokens: usize,
    },
}

impl NetworkSpec {
    /// Whether there is such a network, as far as its files need not be looked at.
    pub(crate) fn check(&self) -> Result<(), BuildError> {
        in_range("features", self.features, 1, MOST_FEATURES)?;
        let digests = match &self.input {
            NetworkInput::Image { .. } => vec![&self.onnx],
            NetworkInput::Text { tokenizer, .. } => vec![&self.onnx, tokenizer],
        };
        match digests.into_iter().find(|digest| !is_digest(digest)) {
            Some(found) => Err(BuildError::Digest { found: found.clone() }),
            None => Ok(()),
        }
    }
}

pub(crate) fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

pub(crate) const MOST_FEATURES: usize = 1 << 20;
