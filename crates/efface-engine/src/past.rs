//! What a model went through before it had a directory, as far as the directory has to know of it.

use efface_data::IdDigest;
use efface_ledger::entry::{Entry, Event};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use crate::database::{Head, PastRequest, ReleaseEntry, ledger};

/// The life of a model in memory. The next certificate speaks of what no release covers yet, and requests get the
/// answers that they got before.
#[derive(Clone, Debug, Default)]
pub struct AdoptedPast {
    /// Rows removed on request so far.
    pub n_removed: usize,
    /// Rows that were offered again after their removal, and left out.
    pub n_suppressed: usize,
    /// The latest release; `None`: there was none, or nothing is known of it but what the account counts.
    pub latest_release: Option<AdoptedRelease>,
    /// Changes of the rows since then, in order and numbered on.
    pub changes: Vec<Entry>,
    /// Whose rows left or changed by them.
    pub people: Vec<IdDigest>,
    /// Answers to requests that had an id.
    pub answers: Vec<AnsweredRequest>,
}

/// A release of a model in memory, as its directory remembers it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct AdoptedRelease {
    /// k.
    pub release: usize,
    /// When, in seconds since 1970.
    pub time: u64,
    /// Rows removed on request before it.
    pub n_removed: usize,
    /// r, as claimed.
    pub distance_bound: f64,
    /// Whether its randomness was unpredictable.
    pub certified: bool,
    /// Changes of the rows before it.
    pub n_changes: u64,
}

/// A request and what was answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AnsweredRequest {
    /// Its id.
    pub id: String,
    /// Which change of the model it was.
    pub change: u64,
    /// What was asked and answered.
    pub answer: PastRequest,
}

/// Rows that changes took out, corrected and brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChangeTally {
    pub(crate) removed: usize,
    pub(crate) corrected: usize,
    pub(crate) added: usize,
}

impl ChangeTally {
    pub(crate) fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut tally = Self::default();
        for event in events {
            match event {
                Event::Removal(change) => tally.removed += change.n_rows,
                Event::Correction(change) => tally.corrected += change.n_rows,
                Event::Addition(change) => tally.added += change.n_rows,
                _ => {}
            }
        }
        tally
    }
}

impl AdoptedPast {
    /// Changes of the rows that no log of the directory has: those that a release covers.
    pub(crate) fn n_covered(&self) -> u64 {
        self.latest_release.map_or(0, |release| release.n_changes)
    }

    /// All changes of the rows.
    pub(crate) fn n_changes(&self) -> u64 {
        self.n_covered() + self.changes.len() as u64
    }

    /// Writes it down behind the first entry of a log.
    pub(crate) fn write(&self, tables: &Connection, head: &mut Head) -> rusqlite::Result<()> {
        if let Some(AdoptedRelease { release, time, n_removed, distance_bound, certified, n_changes }) =
            self.latest_release
        {
            let (time, sequence) = (Some(time), Some(n_changes));
            ReleaseEntry { release, time, n_removed, distance_bound, certified, certificate: None, sequence }
                .insert(tables)?;
        }
        for AnsweredRequest { id, change, answer } in &self.answers {
            answer.insert(tables, id, *change)?;
        }
        self.changes.iter().try_for_each(|entry| ledger::append(tables, &mut head.ledger, entry))?;
        ledger::touch(tables, &mut head.ledger, self.people.iter().copied())
    }
}
