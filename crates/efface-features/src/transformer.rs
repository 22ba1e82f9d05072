//! A map that another program computes: what it is called, and the digest that names it.

use serde::{Deserialize, Serialize};

use crate::error::{BuildError, in_range};
use crate::network::{MOST_FEATURES, is_digest};

/// A program's own map, whose features are divided by their norm. Nothing of it can be computed here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransformerSpec {
    /// What it is called where it runs.
    pub transformer: String,
    /// SHA-256 of what it is, by the program that runs it, in hexadecimal digits.
    pub sha256: String,
    /// Number of features.
    pub features: usize,
}

impl TransformerSpec {
    /// Whether there can be such a map.
    pub(crate) fn check(&self) -> Result<(), BuildError> {
        in_range("features", self.features, 1, MOST_FEATURES)?;
        if self.transformer.is_empty() || self.transformer.chars().any(char::is_control) {
            return Err(BuildError::Name { found: self.transformer.clone() });
        }
        if is_digest(&self.sha256) { Ok(()) } else { Err(BuildError::Digest { found: self.sha256.clone() }) }
    }
}
