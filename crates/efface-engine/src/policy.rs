//! When releases are made. Whoever has two releases can work out what left between them, for every method of unlearning
//! and for exact retraining too; the fewer people left in between, the better. So an operator may ask for so many
//! removals per release, or for a schedule.

use efface_ledger::certificate::ReleasePolicy;
use efface_ledger::entry::{Entry, Event};
use serde::Serialize;

use crate::database::{ledger, now, timestamp};
use crate::error::EngineError;
use crate::model_directory::ModelDirectory;
use crate::status::Status;

/// Why a release is not made yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HeldBack {
    /// `held-back`.
    pub outcome: &'static str,
    /// People whose rows left or changed since the release before.
    pub n_people: usize,
    /// So many there must be.
    pub min_removals: Option<usize>,
    /// When it will be made in any case, in seconds since 1970.
    pub due: Option<u64>,
}

impl ModelDirectory {
    /// When releases of this model are made.
    pub fn policy(&self) -> ReleasePolicy {
        self.head.ledger.policy
    }

    /// Decides when releases are made. Recorded in the log.
    pub fn set_policy(&mut self, policy: ReleasePolicy) -> Result<(), EngineError> {
        if policy.min_removals == Some(0) || policy.every_seconds == Some(0) {
            return Err(EngineError::Policy);
        }
        let entry = Entry::new(timestamp(now()), Event::Policy(policy));
        self.commit_head(|tables, head| {
            head.ledger.policy = policy;
            ledger::append(tables, &mut head.ledger, &entry)
        })
    }

    /// Whether a release has to wait, by the policy and what has happened since the release before.
    pub(crate) fn held_back(&self) -> Result<Option<HeldBack>, EngineError> {
        let ReleasePolicy { min_removals, every_seconds } = self.policy();
        let n_people = self.head.ledger.n_people;
        let Some(previous) = self.previous_release()? else { return Ok(None) };
        let due = every_seconds.zip(previous.time).map(|(every, previous)| previous.saturating_add(every));
        let free = min_removals.is_none() && every_seconds.is_none();
        let enough = min_removals.is_some_and(|least| n_people >= least);
        // A release of unknown time is as old as can be.
        let in_time = every_seconds.is_some() && due.is_none_or(|due| now() >= due);
        if free || n_people == 0 || enough || in_time {
            return Ok(None);
        }
        Ok(Some(HeldBack { outcome: "held-back", n_people, min_removals, due }))
    }

    /// One commit of what concerns the history alone: neither rows nor weights.
    pub(crate) fn commit_head<T>(
        &mut self,
        change: impl FnOnce(&crate::database::Tables<'_>, &mut crate::database::Head) -> rusqlite::Result<T>,
    ) -> Result<T, EngineError> {
        self.transaction(|this| {
            let mut head = this.head.clone();
            let Self { settings, model, database, .. } = this;
            let done = database.commit(|tables| {
                let done = change(tables, &mut head)?;
                Status::of(settings, model, &head).write(tables)?;
                head.write(tables)?;
                Ok(done)
            })?;
            this.head = head;
            this.tell_witness([])?;
            Ok(done)
        })
    }
}
