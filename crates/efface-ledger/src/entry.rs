//! What the log holds: one line of JSON per event, without personal data.
//!
//! Rows appear as counts and commitments, requests as commitments, certificates as digests. So the log can be shown to
//! anybody, and nothing in it has to be forgotten later.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// One leaf of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Tag of this form. Its meaning never changes.
    pub entry: String,
    /// When, in UTC (RFC 3339, whole seconds).
    pub time: String,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Event {
    /// The log begins: a model was trained, or an older directory began to keep a log.
    Start {
        /// The model.
        model: String,
        /// Who signs.
        key_id: String,
        /// Rows present.
        n_rows: usize,
        /// Changes of the model before this log: the first one in it is the next.
        changes: u64,
    },
    /// The log begins anew, because entries of the log before it were lost.
    Restart {
        /// The model.
        model: String,
        /// Who signs.
        key_id: String,
        /// Origin of the log before.
        previous_origin: String,
        /// Entries of it that are known here.
        previous_size: u64,
        /// Their root, in hexadecimal.
        previous_root: String,
        /// Changes of the model before this log: the first one in it is the next.
        changes: u64,
    },
    /// Rows were removed on request.
    Removal(Change),
    /// Rows were replaced by corrected ones.
    Correction(Change),
    /// Rows were added.
    Addition(Change),
    /// A release was certified.
    Release {
        /// k.
        release: usize,
        /// SHA-256 of the certificate's payload, in hexadecimal.
        certificate: String,
    },
    /// A request was certified.
    Request {
        /// SHA-256 of the certificate's payload, in hexadecimal.
        certificate: String,
    },
    /// A release was withdrawn.
    Revocation {
        /// k.
        release: usize,
        /// SHA-256 of the revocation's payload, in hexadecimal.
        certificate: String,
    },
    /// When releases are made was decided anew.
    Policy(ReleasePolicy),
    /// All releases of a promise were made, or nearly so, and another one was added to it.
    Renewal {
        /// Promises so far, this one included.
        lives: u32,
        /// ε of all of them together, the extractor's share not included.
        epsilon: f64,
        /// δ likewise.
        delta: f64,
        /// Releases that all of them are shared out among.
        max_releases: u64,
    },
    /// Another key signs from here on.
    Key {
        /// Its id.
        key_id: String,
    },
}

/// A change of the rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Which change of the model it is, counted from 1.
    pub change: u64,
    /// Rows that left, came, or were corrected.
    pub n_rows: usize,
    /// A keyed, salted commitment to the rows that left: the root of a Merkle tree over one commitment per row.
    pub rows: Option<String>,
    /// A salted commitment to the id of the request.
    pub request: Option<String>,
}

/// When releases are made. Without either, whenever one is asked for; with both, when the first of them is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleasePolicy {
    /// So many people's rows must have left or changed since the release before.
    pub min_removals: Option<usize>,
    /// So many seconds must have passed since the release before.
    pub every_seconds: Option<u64>,
}

/// The log's commitment to the id of a request, which whoever has the salt can check.
///
/// ```text
/// SHA-256("efface request" ‖ salt ‖ id)      salt: 64 hexadecimal digits, as they are
/// ```
pub fn request_commitment(salt: &str, id: &str) -> String {
    let hasher = Sha256::new().chain_update(b"efface request").chain_update(salt).chain_update(id);
    hex::encode(hasher.finalize())
}

/// Whether a text is a salt. Of another length it could be cut differently from the id that follows it, and one
/// commitment opened to two ids.
pub(crate) fn is_salt(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

impl Event {
    /// Which change of the model it is, where it is one.
    pub fn change(&self) -> Option<u64> {
        match self {
            Self::Removal(change) | Self::Correction(change) | Self::Addition(change) => Some(change.change),
            _ => None,
        }
    }
}

impl Entry {
    const TAG: &str = "efface-entry-1";

    /// An entry.
    pub fn new(time: impl Into<String>, event: Event) -> Self {
        Self { entry: Self::TAG.into(), time: time.into(), event }
    }

    /// The bytes that are hashed into the log: one line of JSON, its fields in the order above.
    #[expect(clippy::missing_panics_doc, reason = "strings and integers are always JSON")]
    pub fn to_leaf(&self) -> String {
        serde_json::to_string(self).expect("strings and integers are always JSON")
    }

    /// Reads an entry; `None` for one of another form.
    pub fn from_leaf(leaf: &str) -> Option<Self> {
        serde_json::from_str::<Self>(leaf).ok().filter(|entry| entry.entry == Self::TAG)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_survive_their_leaf_and_their_bytes_are_fixed() {
        let change = Change { change: 7, n_rows: 2, rows: Some("ab".into()), request: None };
        let entry = Entry::new("2026-01-31T00:00:00Z", Event::Removal(change));
        let leaf = r#"{"entry":"efface-entry-1","time":"2026-01-31T00:00:00Z","kind":"removal","change":7,"n_rows":2,"rows":"ab","request":null}"#;
        assert_eq!(entry.to_leaf(), leaf);
        assert_eq!(Entry::from_leaf(leaf), Some(entry));
    }

    #[test]
    fn an_entry_of_another_form_is_not_read() {
        let entry = Entry::new("2026-01-31T00:00:00Z", Event::Key { key_id: "k".into() });
        assert_eq!(Entry::from_leaf(&entry.to_leaf().replace("entry-1", "entry-2")), None);
        assert_eq!(Entry::from_leaf(&entry.to_leaf().replace("\"key\"", "\"quay\"")), None);
        assert_eq!(Entry::from_leaf("{}"), None);
    }
}
