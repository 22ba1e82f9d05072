//! Which ids have been removed, without keeping them.
//!
//! Someone who asks for the same removal twice deserves the answer "already removed", and a removed id must not come
//! back unnoticed. Only a keyed hash of each id is kept, the first 16 bytes of
//!
//! ```text
//! SHA-256(key ‖ kind ‖ type ‖ id)      kind: r(ow) or s(ubject); type: i(nteger) or t(ext); key: 32 random bytes
//! ```
//!
//! Whoever holds the key can test whether a given id is in the set, so the key belongs with the model's secrets.

use std::collections::HashSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::hex;
use crate::id::{IdKind, RowId};

/// A set of removed row and subject ids, kept as keyed hashes.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Written", try_from = "Written")]
pub struct RemovedIds {
    key: Zeroizing<[u8; 32]>,
    digests: HashSet<[u8; DIGEST_BYTES]>,
}

const DIGEST_BYTES: usize = 16;

impl RemovedIds {
    /// No id has been removed yet. The key must be random and secret.
    pub fn new(key: [u8; 32]) -> Self {
        Self { key: Zeroizing::new(key), digests: HashSet::new() }
    }

    /// A set with the same key and nothing in it.
    #[must_use]
    pub fn emptied(&self) -> Self {
        Self { key: self.key.clone(), digests: HashSet::new() }
    }

    /// Notes that an id has been removed.
    pub fn insert(&mut self, kind: IdKind, id: &RowId) {
        self.digests.insert(self.digest(kind, id));
    }

    /// Whether an id has been removed.
    pub fn contains(&self, kind: IdKind, id: &RowId) -> bool {
        !self.digests.is_empty() && self.digests.contains(&self.digest(kind, id))
    }

    /// Number of rows and subjects removed.
    pub fn len(&self) -> usize {
        self.digests.len()
    }

    /// Whether nothing has been removed.
    pub fn is_empty(&self) -> bool {
        self.digests.is_empty()
    }

    fn digest(&self, kind: IdKind, id: &RowId) -> [u8; DIGEST_BYTES] {
        let mut hasher = Sha256::new();
        hasher.update(*self.key);
        hasher.update(match kind {
            IdKind::Row => b"r",
            IdKind::Subject => b"s",
        });
        id.feed(&mut hasher);
        let mut digest = [0; DIGEST_BYTES];
        digest.copy_from_slice(&hasher.finalize()[..DIGEST_BYTES]);
        digest
    }
}

impl fmt::Debug for RemovedIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemovedIds").field("len", &self.len()).finish_non_exhaustive()
    }
}

/// How the set is written: hexadecimal, digests sorted, so that the order of removals is not told.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    key: String,
    digests: Vec<String>,
}

impl From<RemovedIds> for Written {
    fn from(removed: RemovedIds) -> Self {
        let mut digests: Vec<String> = removed.digests.iter().map(|digest| hex::encode(digest)).collect();
        digests.sort_unstable();
        Self { key: hex::encode(&*removed.key), digests }
    }
}

impl TryFrom<Written> for RemovedIds {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        let key = hex::decode(&written.key).ok_or("key of removed ids must be 64 hexadecimal digits")?;
        let digests = written.digests.iter().map(|digest| hex::decode(digest)).collect::<Option<_>>();
        let digests = digests.ok_or("digests of removed ids must be 32 hexadecimal digits each")?;
        Ok(Self { key: Zeroizing::new(key), digests })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_found_under_its_own_kind_and_key_only() {
        let mut removed = RemovedIds::new([7; 32]);
        removed.insert(IdKind::Row, &RowId::Integer(5));
        assert!(removed.contains(IdKind::Row, &RowId::parse("5")));
        assert!(!removed.contains(IdKind::Row, &RowId::Text("5".into())));
        assert!(!removed.contains(IdKind::Subject, &RowId::Integer(5)));
        assert!(!removed.contains(IdKind::Row, &RowId::Integer(6)));
        let mut other = RemovedIds::new([8; 32]);
        other.insert(IdKind::Row, &RowId::Integer(5));
        assert!(removed.digests.is_disjoint(&other.digests));
        assert!(removed.emptied().is_empty());
    }

    #[test]
    fn the_set_survives_json_and_never_shows_an_id() {
        let mut removed = RemovedIds::new([7; 32]);
        for id in ["anna@example.org", "12345678"] {
            removed.insert(IdKind::Subject, &RowId::parse(id));
        }
        let json = serde_json::to_string(&removed).expect("serializable");
        assert!(!json.contains("anna") && !json.contains("12345678"), "{json}");
        assert_eq!(serde_json::from_str::<RemovedIds>(&json).expect("readable"), removed);
        assert!(!format!("{removed:?}").contains("07"));
        for bad in [json.replace("0707", "07"), json.replace("0707", "0x07")] {
            assert!(serde_json::from_str::<RemovedIds>(&bad).is_err());
        }
    }
}
