//! Bytes as base64: in text, and in fields of JSON files. Strict: one spelling per value.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

pub(crate) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The bytes of a padded standard base64 text without anything else in it, or nothing.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// Exactly `N` bytes, or nothing.
pub(crate) fn decode_array<const N: usize>(text: &str) -> Option<[u8; N]> {
    decode(text)?.try_into().ok()
}

/// `#[serde(with = "encoding::bytes")]`: bytes, or a fixed number of them, as one string.
pub(crate) mod bytes {
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(crate) fn serialize<S: Serializer>(bytes: impl AsRef<[u8]>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::encode(bytes.as_ref()))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, B: TryFrom<Vec<u8>>>(deserializer: D) -> Result<B, D::Error> {
        let bytes = super::decode(&String::deserialize(deserializer)?).and_then(|bytes| bytes.try_into().ok());
        bytes.ok_or_else(|| de::Error::custom("not base64 of the right length"))
    }
}

/// `#[serde(with = "encoding::hashes")]`: hashes as a list of strings.
pub(crate) mod hashes {
    use serde::{Deserialize, Deserializer, Serializer, de};

    use crate::merkle::Hash;

    pub(crate) fn serialize<S: Serializer>(hashes: &[Hash], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(hashes.iter().map(|hash| super::encode(hash)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Hash>, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        let hashes = texts.iter().map(|text| super::decode_array(text)).collect::<Option<_>>();
        hashes.ok_or_else(|| de::Error::custom("not hashes of 32 bytes in standard base64"))
    }
}
