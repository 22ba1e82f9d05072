//! Which rows a request means: from ids and subjects as people write them to positions.

use std::collections::HashSet;

use efface_data::{IdKind, LookupError, MemoryRows, RowId};
use serde::{Deserialize, Serialize};

use super::Life;
use super::keeper::Found;
use crate::error::{ChangeError, EngineError, StorageError};
use crate::history::RowKeys;
use crate::settings::Settings;

/// Which rows to remove.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Selection {
    /// Rows by their ids.
    Ids(Vec<RowId>),
    /// All rows of these subjects.
    Subjects(Vec<RowId>),
    /// Rows whose records are damaged, whoever they belong to.
    Damaged,
}

/// What happens to rows of a request that are not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The request is refused, and nothing is removed.
    Refuse,
    /// They are left out and counted.
    Skip,
}

/// Rows that are to leave: where they are, under what they are found, and a copy of them.
pub(super) struct Leaving {
    pub(super) positions: Vec<usize>,
    pub(super) keys: Vec<RowKeys>,
    /// Without those whose records are damaged: what they were is not known.
    pub(super) rows: MemoryRows,
    pub(super) n_damaged: usize,
}

impl Life<'_> {
    /// The positions that a selection means, and how many of its ids or subjects are not there.
    pub(super) fn select(&self, selection: &Selection, missing: Missing) -> Result<(Vec<usize>, usize), EngineError> {
        let (kind, ids) = match selection {
            Selection::Ids(ids) => (IdKind::Row, ids),
            Selection::Subjects(subjects) => (IdKind::Subject, subjects),
            Selection::Damaged => return Ok((self.rows.damaged()?, 0)),
        };
        if kind == IdKind::Row {
            self.settings.check_has_ids()?;
        }
        let mut seen = HashSet::with_capacity(ids.len());
        let (mut positions, mut n_missing) = (Vec::with_capacity(ids.len()), 0);
        for id in ids.iter().filter(|id| seen.insert(*id)) {
            match (self.find(kind, id)?, missing) {
                (Found::At(found), _) => positions.extend(found),
                (_, Missing::Skip) => n_missing += 1,
                (absent, Missing::Refuse) => return Err(self.absent(kind, id, &absent)?),
            }
        }
        Ok((positions, n_missing))
    }

    /// The position of each row, in the order of `ids`, of which none is given twice.
    pub(crate) fn positions_of(&self, ids: &[RowId]) -> Result<Vec<usize>, EngineError> {
        let mut seen = HashSet::with_capacity(ids.len());
        if let Some(id) = ids.iter().find(|id| !seen.insert(*id)) {
            return Err(LookupError::Repeated { kind: IdKind::Row, id: id.clone() }.into());
        }
        Ok(self.select(&Selection::Ids(ids.to_vec()), Missing::Refuse)?.0)
    }

    pub(super) fn leaving(&self, positions: Vec<usize>) -> Result<Leaving, EngineError> {
        let (mut whole, keys) = (positions.clone(), self.keeper.keys_at(&positions)?);
        let rows = loop {
            match self.rows.batch(&whole) {
                Ok(rows) => break rows,
                Err(error) => match error.damaged_row() {
                    Some(damaged) => whole.retain(|position| *position != damaged),
                    None => return Err(error.into()),
                },
            }
        };
        // What is known of a row and its record are kept apart: they must be of the same row before it leaves.
        let known: HashSet<&usize> = whole.iter().collect();
        let expected = positions.iter().zip(&keys).filter(|(position, _)| known.contains(position));
        let mut found = expected.zip(rows.selectors());
        if let Some(((position, _), _)) = found.find(|((_, keys), selector)| **selector != keys.id.selector()) {
            return Err(StorageError::OtherRow { position: *position }.into());
        }
        let n_damaged = positions.len() - whole.len();
        Ok(Leaving { positions, keys, rows, n_damaged })
    }

    pub(super) fn find(&self, kind: IdKind, id: &RowId) -> Result<Found, EngineError> {
        self.keeper.find(kind, id, self.settings.id_key.digest(kind, id))
    }

    fn absent(&self, kind: IdKind, id: &RowId, found: &Found) -> Result<EngineError, EngineError> {
        let id = id.clone();
        Ok(match found {
            Found::Removed => LookupError::AlreadyRemoved { kind, id }.into(),
            _ if kind == IdKind::Subject && !self.keeper.has_subjects()? => {
                EngineError::Change(ChangeError::NoSubjects)
            }
            _ => LookupError::Unknown { kind, id }.into(),
        })
    }
}

impl Settings {
    /// A keyed hash of what a request asks for: the same for the same ids in any order and number, and no id in clear.
    pub(crate) fn fingerprint_of(&self, selection: &Selection) -> String {
        let mut selection = selection.clone();
        match &mut selection {
            Selection::Ids(ids) | Selection::Subjects(ids) => {
                ids.sort_unstable();
                ids.dedup();
            }
            Selection::Damaged => {}
        }
        self.fingerprint(&selection)
    }
    /// A keyed hash of what is asked for.
    pub(super) fn fingerprint(&self, asked: &impl Serialize) -> String {
        let text = serde_json::to_vec(asked).expect("ids are numbers or strings");
        hex::encode(self.id_key.fingerprint(&text))
    }
}
