//! Entrances for benchmarks, not for users.

use efface_ledger::entry::{Entry, Event};

use crate::directory::ModelDirectory;
use crate::directory::database::ledger;
use crate::error::EngineError;

/// Adds so many entries to the log of a model in one commit: a million commits would take an hour.
pub fn grow_log(model: &mut ModelDirectory, n_entries: u64) -> Result<(), EngineError> {
    let entry = Entry::new("2026-01-01T00:00:00Z", Event::Policy(model.policy()));
    model.commit_head(|tables, head| (0..n_entries).try_for_each(|_| ledger::append(tables, &mut head.ledger, &entry)))
}
