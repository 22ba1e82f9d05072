//! A model in memory: the sibling of a [model directory](crate::ModelDirectory) for rows that somebody else owns.
//!
//! The rows that a model is trained on are not copied. They are lent to every call that needs them, and a checksum per row
//! notices when one has changed meanwhile. Everything else that must be kept to remove rows later is in the
//! [`MemoryModel`], and is gone with it: nothing is written anywhere, and certificates are not signed.

mod bytes;
mod changes;
mod checks;
mod divisors;
mod error;
mod index;
mod keeping;
mod releases;
mod rows;
mod scores;
mod state;
mod training;
mod view;

#[cfg(test)]
mod tests;

pub use changes::NewRows;
pub use error::{Interrupted, RowsError};
pub use keeping::KeepOptions;
pub use releases::{MemoryRelease, ReleaseMade};
pub use rows::LentRows;
pub use scores::{longest_row, scores};
pub use training::MemoryRequest;

use std::collections::{HashMap, HashSet};
use std::fmt;

use efface_core::model::Model;
use efface_data::IdDigest;
use efface_ledger::entry::Entry;
use serde::{Deserialize, Serialize};

use self::index::RowIndex;
use self::rows::RowTable;
use crate::past::{AdoptedRelease, AnsweredRequest};
use crate::settings::Settings;

/// A trained model in memory, with everything that removing its rows takes. Secret, but for its latest release.
pub struct MemoryModel {
    settings: Settings,
    model: Model,
    rows: RowTable,
    index: RowIndex,
    /// A random name that tells this model from others.
    name: String,
    /// Passes over the rows that the latest training took.
    iterations: usize,
    /// Changes of the rows so far.
    sequence: u64,
    n_removed: usize,
    n_suppressed: usize,
    /// Answers to requests that had an id.
    requests: HashMap<String, AnsweredRequest>,
    since: SinceRelease,
    latest: Option<MemoryRelease>,
}

/// What happened since the latest release.
#[derive(Clone, Default, Serialize, Deserialize)]
struct SinceRelease {
    /// Whether rows changed, or the model was trained again.
    is_stale: bool,
    /// That release.
    previous: Option<AdoptedRelease>,
    /// Changes of the rows, as a log has them.
    changes: Vec<Entry>,
    /// Whose rows left or changed.
    people: HashSet<IdDigest>,
}

/// Shape only: the state is secret.
impl fmt::Debug for MemoryModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shape = f.debug_struct("MemoryModel");
        shape.field("n_rows", &self.rows.n_present).field("dim", &self.rows.dim()).finish_non_exhaustive()
    }
}
