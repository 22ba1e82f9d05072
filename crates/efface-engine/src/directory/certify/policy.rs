//! When releases are made. Whoever has two releases can work out what left between them, for every method of unlearning
//! and for exact retraining too; the fewer people left in between, the better. So an operator may ask for so many
//! removals per release, or for a schedule.

use efface_ledger::certificate::ReleasePolicy;
use efface_ledger::entry::{Entry, Event};

use crate::certify::HeldBack;
use crate::clock;
use crate::directory::database::{Head, Tables, ledger};
use crate::directory::{DirectoryKeeper, ModelDirectory};
use crate::error::{CertifyError, EngineError};
use crate::history::Kept;
use crate::life::Keeper;

impl ModelDirectory {
    /// When releases of this model are made.
    pub fn policy(&self) -> ReleasePolicy {
        self.keeper.head.ledger.policy
    }

    /// Decides when releases are made. Recorded in the log.
    pub fn set_policy(&mut self, policy: ReleasePolicy) -> Result<(), EngineError> {
        let of = Kept { settings: &self.settings, model: &self.model, preparation: self.rows.preparation() };
        self.keeper.set_policy(of, policy)
    }

    pub(crate) fn commit_head(
        &mut self,
        change: impl FnOnce(&Tables<'_>, &mut Head) -> rusqlite::Result<()>,
    ) -> Result<(), EngineError> {
        let of = Kept { settings: &self.settings, model: &self.model, preparation: self.rows.preparation() };
        self.keeper.commit_head(of, change)
    }
}

impl DirectoryKeeper {
    pub(in crate::directory) fn set_policy(&mut self, of: Kept<'_>, policy: ReleasePolicy) -> Result<(), EngineError> {
        if policy.min_removals == Some(0) || policy.every_seconds == Some(0) {
            return Err(CertifyError::Policy.into());
        }
        let entry = Entry::new(clock::timestamp(clock::now()), Event::Policy(policy));
        self.commit_head(of, |tables, head| {
            head.ledger.policy = policy;
            ledger::append(tables, &mut head.ledger, &entry)
        })
    }

    /// Whether a release has to wait, by the policy and what has happened since the release before.
    pub(in crate::directory) fn held_back(&self) -> Result<Option<HeldBack>, EngineError> {
        let ReleasePolicy { min_removals, every_seconds } = self.head.ledger.policy;
        let n_people = self.head.history.n_people;
        let Some(previous) = self.latest_release()? else { return Ok(None) };
        // A time that is still to come was told by a clock that was ahead: then nobody knows when it was.
        let released = previous.time.filter(|time| *time <= clock::now());
        let due = every_seconds.zip(released).map(|(every, released)| released.saturating_add(every));
        let free = min_removals.is_none() && every_seconds.is_none();
        let enough = min_removals.is_some_and(|least| n_people >= least);
        // A release of unknown time is as old as can be.
        let in_time = every_seconds.is_some() && due.is_none_or(|due| clock::now() >= due);
        if free || n_people == 0 || enough || in_time {
            return Ok(None);
        }
        Ok(Some(HeldBack { n_people, min_removals, due }))
    }
}
