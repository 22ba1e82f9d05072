//! Which row is where: from row and subject ids to positions and back.
//!
//! A position is never used again. Finding a row, and forgetting one, takes the same time however many there are.

use std::collections::{HashMap, HashSet};

use zeroize::Zeroize;

use crate::error::{AppendError, LookupError};
use crate::id::{IdKind, RowId};
use crate::removed::RemovedIds;

/// Ids and subjects of all positions.
pub(super) struct Index {
    /// `None`: the row has been removed, or came without an id.
    ids: Vec<Option<RowId>>,
    /// `None`: removed, or of no subject.
    subjects: Vec<Option<RowId>>,
    by_id: HashMap<RowId, usize>,
    by_subject: HashMap<RowId, SubjectRows>,
    removed: RemovedIds,
}

/// All rows that a subject ever had; those of removed rows are skipped when they are listed.
#[derive(Default)]
struct SubjectRows {
    positions: Vec<usize>,
    n_present: usize,
}

/// Whether a row that leaves may come back under its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Departure {
    /// It has been removed: its id is remembered as such.
    Removed,
    /// It is about to be replaced by a row with the same id.
    Replaced,
}

impl Index {
    pub(super) fn new(removed: RemovedIds) -> Self {
        let (by_id, by_subject) = (HashMap::new(), HashMap::new());
        Self { ids: Vec::new(), subjects: Vec::new(), by_id, by_subject, removed }
    }

    /// Number of positions.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(super) fn id(&self, position: usize) -> Option<&RowId> {
        self.ids.get(position)?.as_ref()
    }

    pub(super) fn subject(&self, position: usize) -> Option<&RowId> {
        self.subjects.get(position)?.as_ref()
    }

    pub(super) fn removed(&self) -> &RemovedIds {
        &self.removed
    }

    /// Whether rows with these ids could be added.
    pub(super) fn check_new(&self, ids: &[RowId]) -> Result<(), AppendError> {
        let mut fresh = HashSet::with_capacity(ids.len());
        for id in ids {
            if self.by_id.contains_key(id) {
                return Err(AppendError::AlreadyPresent { id: id.clone() });
            }
            if self.removed.contains(IdKind::Row, id) {
                return Err(AppendError::WasRemoved { id: id.clone() });
            }
            if !fresh.insert(id) {
                return Err(AppendError::Repeated { id: id.clone() });
            }
        }
        Ok(())
    }

    /// Makes room for more rows.
    pub(super) fn reserve(&mut self, additional: usize) {
        self.ids.reserve(additional);
        self.subjects.reserve(additional);
        self.by_id.reserve(additional);
    }

    /// Adds the next position; `id` is `None` for a row that was removed before or has none. False: the id is present already.
    pub(super) fn push(&mut self, id: Option<RowId>, subject: Option<RowId>) -> bool {
        let position = self.len();
        if let Some(id) = &id
            && self.by_id.insert(id.clone(), position).is_some()
        {
            return false;
        }
        let subject = subject.filter(|_| id.is_some());
        if let Some(subject) = &subject {
            let rows = match self.by_subject.get_mut(subject) {
                Some(rows) => rows,
                None => self.by_subject.entry(subject.clone()).or_default(),
            };
            rows.positions.push(position);
            rows.n_present += 1;
        }
        self.ids.push(id);
        self.subjects.push(subject);
        true
    }

    /// The position of each row, in the order of `ids`.
    pub(super) fn positions_of(&self, ids: &[RowId]) -> Result<Vec<usize>, LookupError> {
        refuse_repeated(IdKind::Row, ids)?;
        ids.iter().map(|id| self.by_id.get(id).copied().ok_or_else(|| self.absent(IdKind::Row, id))).collect()
    }

    /// The positions of all rows of these subjects, ascending.
    pub(super) fn positions_of_subjects(&self, subjects: &[RowId]) -> Result<Vec<usize>, LookupError> {
        refuse_repeated(IdKind::Subject, subjects)?;
        let mut positions = Vec::new();
        for subject in subjects {
            let rows = self.by_subject.get(subject).ok_or_else(|| self.absent(IdKind::Subject, subject))?;
            positions.extend(rows.positions.iter().filter(|position| self.ids[**position].is_some()));
        }
        positions.sort_unstable();
        Ok(positions)
    }

    /// Forgets the row at a position, and its subject when no row of it is left.
    pub(super) fn forget(&mut self, position: usize, departure: Departure) {
        let Some(mut id) = self.ids[position].take() else { return };
        if departure == Departure::Removed {
            self.removed.insert(IdKind::Row, &id);
        }
        zeroize_entry(self.by_id.remove_entry(&id));
        id.zeroize();
        let Some(mut subject) = self.subjects[position].take() else { return };
        if let Some(rows) = self.by_subject.get_mut(&subject) {
            rows.n_present -= 1;
            if rows.n_present == 0 {
                if departure == Departure::Removed {
                    self.removed.insert(IdKind::Subject, &subject);
                }
                zeroize_entry(self.by_subject.remove_entry(&subject));
            }
        }
        subject.zeroize();
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let per_position = 2 * size_of::<Option<RowId>>();
        let per_id = size_of::<(RowId, usize)>() + 1;
        let per_subject = size_of::<(RowId, SubjectRows)>() + 1;
        let texts = |ids: &[Option<RowId>]| -> usize {
            ids.iter().map(|id| if let Some(RowId::Text(text)) = id { 2 * text.len() } else { 0 }).sum()
        };
        self.ids.capacity() * per_position
            + self.by_id.capacity() * per_id
            + self.by_subject.capacity() * per_subject
            + self.by_subject.values().map(|rows| rows.positions.capacity() * size_of::<usize>()).sum::<usize>()
            + texts(&self.ids)
            + texts(&self.subjects)
    }

    fn absent(&self, kind: IdKind, id: &RowId) -> LookupError {
        let id = id.clone();
        if self.removed.contains(kind, &id) {
            LookupError::AlreadyRemoved { kind, id }
        } else {
            LookupError::Unknown { kind, id }
        }
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        self.by_id.drain().for_each(|(mut id, _)| id.zeroize());
        self.by_subject.drain().for_each(|(mut subject, _)| subject.zeroize());
        self.ids.iter_mut().chain(&mut self.subjects).flatten().for_each(Zeroize::zeroize);
    }
}

fn zeroize_entry<T>(entry: Option<(RowId, T)>) {
    if let Some((mut id, _)) = entry {
        id.zeroize();
    }
}

fn refuse_repeated(kind: IdKind, ids: &[RowId]) -> Result<(), LookupError> {
    let mut seen = HashSet::with_capacity(ids.len());
    match ids.iter().find(|id| !seen.insert(*id)) {
        Some(id) => Err(LookupError::Repeated { kind, id: id.clone() }),
        None => Ok(()),
    }
}
