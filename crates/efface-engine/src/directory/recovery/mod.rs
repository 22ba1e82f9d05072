//! A directory of which a part, or all, was restored from an older backup: what had been removed is removed again.
//!
//! | older part | noticed by | mended by |
//! |---|---|---|
//! | row segments | the epoch in their header is behind the database | overwriting all rows that left once more |
//! | state | it is not the one that the database names | training again on the rows that are left |
//! | database and state | rows that they have as present are overwritten | removing those again, and training again |
//! | database | a state that knows a later change, or its own state gone | removing again what the state says was removed, and training again |
//! | all but the releases | a release that the account does not count | counting what its certificate says it spent |
//! | all but the withdrawals | one that the database does not know | counting it as withdrawn |
//! | everything | the witness knows more | removing again what the witness says was removed |
//!
//! What releases have spent is the most that any part remembers.

mod inspection;
mod releases;
mod segments;
mod state;
mod witness;

pub(super) use inspection::out_of_step;
pub(super) use state::{Found, find_newer_rows, find_state, train_again};

use std::collections::BTreeSet;

use efface_core::model::ReleaseAccount;
use efface_data::IdDigest;

use super::database::{Database, Mending};
use crate::clock;
use crate::error::EngineError;

/// Where rows are that ought to have gone.
fn positions_of_removed(database: &Database, suppressed: &[IdDigest]) -> Result<Vec<usize>, EngineError> {
    let mut positions = BTreeSet::new();
    for digest in suppressed {
        positions.extend(database.position_of(*digest)?);
        positions.extend(database.positions_of_subject(*digest)?);
    }
    Ok(positions.into_iter().collect())
}

/// What was spent at most.
pub(super) fn most_spent(one: ReleaseAccount, other: ReleaseAccount) -> ReleaseAccount {
    ReleaseAccount {
        n_releases: one.n_releases.max(other.n_releases),
        distance_squares: one.distance_squares.max(other.distance_squares),
        distances: one.distances.max(other.distances),
        certified: one.certified && other.certified,
        n_left: one.n_left.max(other.n_left),
    }
}

/// What was mended so far and now.
pub(super) fn note(
    database: &Database,
    found: &str,
    n_removed_again: usize,
    n_lost: usize,
) -> Result<Vec<Mending>, EngineError> {
    let mut mended = database.mended()?;
    mended.push(Mending { time: clock::now(), found: found.into(), n_removed_again, n_lost });
    Ok(mended)
}
