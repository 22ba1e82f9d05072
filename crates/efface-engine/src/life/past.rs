//! What happened to a model in memory: enough for a directory that it moves into.

use std::collections::{HashMap, HashSet};

use efface_data::IdDigest;
use efface_ledger::entry::Entry;
use serde::{Deserialize, Serialize};

use super::keeper::{History, PastRequest, ReleaseEntry};

/// What happened to a model in memory, as far as a directory has to know of it that the model moves into. The next certificate speaks
/// of what no release covers yet, and requests get the answers that they got before.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Past {
    pub(crate) history: History,
    pub(crate) latest_release: Option<ReleaseEntry>,
    /// Changes of the rows since then, as a log has them.
    pub(crate) changes: Vec<Entry>,
    /// Whose rows left or changed by them.
    pub(crate) people: HashSet<IdDigest>,
    /// Answers to requests that had an id.
    pub(crate) requests: HashMap<String, AnsweredRequest>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct AnsweredRequest {
    pub(crate) change: u64,
    pub(crate) answer: PastRequest,
}
