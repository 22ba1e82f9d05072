//! What is remembered of a model: where its history stands, under what its rows are found, and what was released.

use efface_core::model::Model;
use efface_data::derived::Preparation;
use efface_data::{IdDigest, IdKey, IdKind, RowId};
use serde::{Deserialize, Serialize};

use crate::settings::Settings;

/// A model as it is now, and what was decided at its training.
#[derive(Clone, Copy)]
pub(crate) struct Kept<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) model: &'a Model,
    /// How raw rows became those that the model was trained on.
    pub(crate) preparation: Option<&'a Preparation>,
}

/// Where the history of a model stands. Changes with every commit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct History {
    /// A random name that tells this model from others.
    pub(crate) model: String,
    pub(crate) n_changes: u64,
    pub(crate) class_counts: Vec<usize>,
    pub(crate) n_removed: usize,
    /// Rows that were offered again after their removal, and left out.
    pub(crate) n_suppressed: usize,
    /// People whose rows left or changed since the latest release.
    pub(crate) n_people: usize,
    /// Whether rows changed, or the model was trained again, since the latest release.
    pub(crate) is_stale: bool,
}

/// Under what a row is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowKeys {
    pub(crate) id: IdDigest,
    pub(crate) subject: Option<IdDigest>,
}

impl RowKeys {
    /// Whose row it is: its subject, or itself where rows belong to nobody.
    pub(crate) fn person(&self) -> IdDigest {
        self.subject.unwrap_or(self.id)
    }

    pub(crate) fn is_among(&self, contains: impl Fn(IdDigest) -> bool) -> bool {
        contains(self.id) || self.subject.is_some_and(contains)
    }
}

pub(crate) fn row_keys(key: &IdKey, ids: &[RowId], subjects: Option<&[RowId]>) -> Vec<RowKeys> {
    let subject = |i: usize| subjects.map(|subjects| key.digest(IdKind::Subject, &subjects[i]));
    let ids = ids.iter().enumerate();
    ids.map(|(i, id)| RowKeys { id: key.digest(IdKind::Row, id), subject: subject(i) }).collect()
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReleaseEntry {
    pub(crate) release: usize,
    /// When it was published, in seconds since 1970; as far as it is known.
    pub(crate) time: Option<u64>,
    pub(crate) n_removed: usize,
    /// Whether its randomness was unpredictable.
    pub(crate) certified: bool,
    /// SHA-256 of the payload of its certificate, where it was signed and is known.
    pub(crate) certificate: Option<String>,
    /// Changes of the rows before it; none where that is not known.
    pub(crate) n_changes: Option<u64>,
}
