//! Ids as keyed hashes: enough to find a row again, and no id in clear.
//!
//! A model directory keeps no id at all. Rows and subjects are looked up by the first 16 bytes of
//!
//! ```text
//! HMAC-SHA-256(key, kind ‖ type ‖ id)      kind: r(ow) or s(ubject); type: i(nteger) or t(ext); key: 32 random bytes
//! ```
//!
//! Whoever holds the key can test whether a given id is there, so the key belongs with the model's secrets. Among a
//! million rows two digests are equal with a chance of 2⁻⁸⁸.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use zeroize::Zeroizing;

use super::{IdKind, RowId};
use crate::table::{RawLabels, TableParts};

/// The keyed hash of a row's or a subject's id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct IdDigest(pub [u8; IdDigest::BYTES]);

impl IdDigest {
    /// Length of a digest.
    pub const BYTES: usize = 16;

    /// The first 8 bytes as a number, little-endian, which a row's record carries: it tells whose record it is. Rules that
    /// choose rows look at it, too, so that they do not change when others leave.
    pub fn selector(self) -> u64 {
        let [first, _] = bytemuck::cast::<_, [[u8; 8]; 2]>(self.0);
        u64::from_le_bytes(first)
    }
}

/// The key of a model's digests.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct IdKey(Zeroizing<[u8; 32]>);

impl IdKey {
    /// A key, which must be random and secret.
    pub fn new(key: [u8; 32]) -> Self {
        Self(Zeroizing::new(key))
    }

    /// The digest under which an id is looked up.
    pub fn digest(&self, kind: IdKind, id: &RowId) -> IdDigest {
        let kind: &[u8] = match kind {
            IdKind::Row => b"r",
            IdKind::Subject => b"s",
        };
        let (type_, id) = id.type_and_text();
        let mut digest = [0; IdDigest::BYTES];
        digest.copy_from_slice(&self.keyed(&[kind, type_, id.as_bytes()])[..IdDigest::BYTES]);
        IdDigest(digest)
    }

    /// A commitment to a row that left: nobody can tell from it which row that was, or that two of them are of the same
    /// row; whoever holds the key can show it.
    ///
    /// ```text
    /// HMAC-SHA-256(key, "efface row" ‖ change ‖ index ‖ id digest)      change, index: u64, big-endian
    /// ```
    pub fn row_commitment(&self, change: u64, index: u64, id: IdDigest) -> [u8; 32] {
        self.keyed(&[b"efface row", &change.to_be_bytes(), &index.to_be_bytes(), &id.0])
    }

    /// A fingerprint of what a request asks for.
    ///
    /// ```text
    /// HMAC-SHA-256(key, "efface selection" ‖ selection)
    /// ```
    pub fn fingerprint(&self, selection: &[u8]) -> [u8; 32] {
        self.keyed(&[b"efface selection", selection])
    }

    /// A fingerprint of all that stands in rows but their ids.
    ///
    /// ```text
    /// HMAC-SHA-256(key, "efface cells" ‖ features ‖ row weights ‖ labels ‖ subjects)
    ///     numbers: as they are stored; texts: each after its length
    /// ```
    pub fn fingerprint_of_cells(&self, table: &TableParts) -> [u8; 32] {
        let TableParts { features, labels, subjects, row_weights, .. } = table;
        let mut mac = self.mac();
        mac.update(b"efface cells");
        mac.update(features.bytes(0..features.len()));
        mac.update(bytemuck::cast_slice(row_weights.as_deref().unwrap_or_default()));
        let mut texts: Vec<String> = Vec::new();
        match labels.as_ref().map(|labels| &labels.values) {
            Some(RawLabels::Numbers(labels)) => mac.update(bytemuck::cast_slice(labels)),
            Some(RawLabels::Text(labels)) => texts.clone_from(labels),
            None => {}
        }
        texts.extend(subjects.iter().flatten().map(ToString::to_string));
        for text in texts {
            mac.update(&(text.len() as u64).to_le_bytes());
            mac.update(text.as_bytes());
        }
        mac.finalize().into_bytes().into()
    }

    /// A salt for the commitment to the id of the request that a change was.
    ///
    /// ```text
    /// HMAC-SHA-256(key, "efface request" ‖ change)
    /// ```
    pub fn request_salt(&self, change: u64) -> [u8; 32] {
        self.keyed(&[b"efface request", &change.to_be_bytes()])
    }

    fn keyed(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut mac = self.mac();
        for part in parts {
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }

    fn mac(&self) -> Hmac<Sha256> {
        Hmac::new_from_slice(&*self.0).expect("a key of any length is taken")
    }
}

impl fmt::Debug for IdDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IdDigest({})", hex::encode(self.0))
    }
}

/// The key stays out of logs.
impl fmt::Debug for IdKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdKey(…)")
    }
}

impl From<IdDigest> for String {
    fn from(digest: IdDigest) -> Self {
        hex::encode(digest.0)
    }
}

impl TryFrom<String> for IdDigest {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let mut digest = [0; Self::BYTES];
        hex::decode_to_slice(text, &mut digest).map_err(|_| "a digest must be 32 hexadecimal digits")?;
        Ok(Self(digest))
    }
}

impl From<IdKey> for String {
    fn from(key: IdKey) -> Self {
        hex::encode(*key.0)
    }
}

impl TryFrom<String> for IdKey {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let mut key = Zeroizing::new([0; 32]);
        hex::decode_to_slice(&*Zeroizing::new(text), &mut *key).map_err(|_| "a key must be 64 hexadecimal digits")?;
        Ok(Self(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_depends_on_kind_type_and_key() {
        let key = IdKey::new([7; 32]);
        let five = key.digest(IdKind::Row, &RowId::Integer(5));
        assert_eq!(five, key.digest(IdKind::Row, &RowId::parse("5")));
        for other in [
            key.digest(IdKind::Row, &RowId::Text("5".into())),
            key.digest(IdKind::Subject, &RowId::Integer(5)),
            key.digest(IdKind::Row, &RowId::Integer(6)),
            IdKey::new([8; 32]).digest(IdKind::Row, &RowId::Integer(5)),
        ] {
            assert_ne!(five, other);
        }
    }

    #[test]
    fn commitments_to_the_same_row_have_nothing_in_common() {
        let key = IdKey::new([7; 32]);
        let id = key.digest(IdKind::Row, &RowId::Integer(5));
        let commitments = [
            key.row_commitment(1, 0, id),
            key.row_commitment(1, 1, id),
            key.row_commitment(2, 0, id),
            key.row_commitment(1, 0, key.digest(IdKind::Row, &RowId::Integer(6))),
            IdKey::new([8; 32]).row_commitment(1, 0, id),
            key.request_salt(1),
            key.request_salt(2),
        ];
        for (i, one) in commitments.iter().enumerate() {
            assert!(commitments[..i].iter().all(|other| other != one));
        }
    }

    #[test]
    fn digests_and_keys_survive_json_and_only_in_full() {
        let key = IdKey::new([7; 32]);
        let digest = key.digest(IdKind::Subject, &RowId::parse("u-17@example.org"));
        let json = serde_json::to_string(&(key.clone(), digest)).expect("serializable");
        assert!(!json.contains("u-17"), "{json}");
        assert_eq!(serde_json::from_str::<(IdKey, IdDigest)>(&json).expect("readable"), (key.clone(), digest));
        assert!(!format!("{key:?}").contains("07"));
        for bad in [json.replace("0707", "07"), json.replace("0707", "0x07"), json.replace("07", "é7")] {
            assert!(serde_json::from_str::<(IdKey, IdDigest)>(&bad).is_err(), "{bad}");
        }
    }
}
