//! Which id is at which position. Ids are kept as keyed hashes, as in a model directory; rows without ids of their own are
//! numbered, and nothing is kept of them at all.

use std::collections::{BTreeSet, HashMap, HashSet};

use efface_data::{IdDigest, IdKey, IdKind, LookupError, RowId};
use rayon::prelude::*;

use crate::database::RowKeys;
use crate::error::EngineError;
use crate::selection::{Selection, refuse_repeated};

/// Ids and subjects of the rows of a model in memory.
pub(super) struct RowIndex {
    key: IdKey,
    ids: Ids,
    subjects: Option<Subjects>,
    /// Ids and subjects that were removed on request.
    removed: HashSet<IdDigest>,
}

enum Ids {
    /// Rows are called by their positions.
    Numbered,
    /// Rows are called by ids of their own.
    Keyed {
        /// Where a row is, as long as it is there.
        positions: HashMap<IdDigest, usize>,
        /// The id of every position.
        digests: Vec<IdDigest>,
    },
}

struct Subjects {
    /// The rows of each, as long as there are any.
    positions: HashMap<IdDigest, Vec<usize>>,
    /// Whose row is at each position.
    digests: Vec<IdDigest>,
}

impl RowIndex {
    /// An index of `n_rows` rows. Ids must be distinct.
    pub(super) fn new(
        key: IdKey,
        n_rows: usize,
        ids: Option<&[RowId]>,
        subjects: Option<&[RowId]>,
    ) -> Result<Self, EngineError> {
        let mut index = Self { key, ids: Ids::Numbered, subjects: None, removed: HashSet::new() };
        if let Some(ids) = ids {
            let digests = index.digests(IdKind::Row, ids);
            let mut positions = HashMap::with_capacity(n_rows);
            for (second, digest) in digests.iter().enumerate() {
                if let Some(first) = positions.insert(*digest, second) {
                    return Err(EngineError::RepeatedId { first, second });
                }
            }
            index.ids = Ids::Keyed { positions, digests };
        }
        if let Some(subjects) = subjects {
            let digests = index.digests(IdKind::Subject, subjects);
            let mut positions: HashMap<IdDigest, Vec<usize>> = HashMap::new();
            for (position, digest) in digests.iter().enumerate() {
                positions.entry(*digest).or_default().push(position);
            }
            index.subjects = Some(Subjects { positions, digests });
        }
        Ok(index)
    }

    /// Whether rows are called by their positions.
    pub(super) fn is_numbered(&self) -> bool {
        matches!(self.ids, Ids::Numbered)
    }

    /// Whether it is known whose rows they are.
    pub(super) fn has_subjects(&self) -> bool {
        self.subjects.is_some()
    }

    /// The digests of ids, in parallel.
    pub(super) fn digests(&self, kind: IdKind, ids: &[RowId]) -> Vec<IdDigest> {
        ids.par_iter().with_min_len(256).map(|id| self.key.digest(kind, id)).collect()
    }

    /// The position of each row, in the order of `ids`; `present` says which positions have a row.
    pub(super) fn positions_of(&self, ids: &[RowId], present: &[bool]) -> Result<Vec<usize>, LookupError> {
        refuse_repeated(IdKind::Row, ids)?;
        let position = |id: &RowId| self.position_of(id, present).ok_or_else(|| self.absent(IdKind::Row, id, present));
        ids.iter().map(position).collect()
    }

    /// The positions of all rows of these subjects, ascending.
    pub(super) fn positions_of_subjects(
        &self,
        subjects: &[RowId],
        present: &[bool],
    ) -> Result<Vec<usize>, EngineError> {
        refuse_repeated(IdKind::Subject, subjects)?;
        let Some(known) = &self.subjects else { return Err(EngineError::NoSubjects) };
        let mut positions = Vec::new();
        for subject in subjects {
            match known.positions.get(&self.key.digest(IdKind::Subject, subject)) {
                Some(rows) => positions.extend(rows),
                None => return Err(self.absent(IdKind::Subject, subject, present).into()),
            }
        }
        positions.sort_unstable();
        Ok(positions)
    }

    /// Those of a selection that are there, each once, and how many are not.
    pub(super) fn present(&self, selection: &Selection, present: &[bool]) -> (Selection, usize) {
        let is_subject = |id: &RowId| {
            let digest = self.key.digest(IdKind::Subject, id);
            self.subjects.as_ref().is_some_and(|known| known.positions.contains_key(&digest))
        };
        let sift = |ids: &[RowId], is_there: &dyn Fn(&RowId) -> bool| {
            let distinct: BTreeSet<&RowId> = ids.iter().collect();
            let n_distinct = distinct.len();
            let there: Vec<RowId> = distinct.into_iter().filter(|id| is_there(id)).cloned().collect();
            let n_missing = n_distinct - there.len();
            (there, n_missing)
        };
        match selection {
            Selection::Ids(ids) => {
                let (there, n_missing) = sift(ids, &|id| self.position_of(id, present).is_some());
                (Selection::Ids(there), n_missing)
            }
            Selection::Subjects(subjects) => {
                let (there, n_missing) = sift(subjects, &is_subject);
                (Selection::Subjects(there), n_missing)
            }
        }
    }

    /// Where the row of an id is, if it is there.
    pub(super) fn position_of(&self, id: &RowId, present: &[bool]) -> Option<usize> {
        match (&self.ids, id) {
            (Ids::Keyed { positions, .. }, id) => positions.get(&self.key.digest(IdKind::Row, id)).copied(),
            (Ids::Numbered, RowId::Integer(number)) => {
                usize::try_from(*number).ok().filter(|position| present.get(*position).is_some_and(|there| *there))
            }
            (Ids::Numbered, RowId::Text(_)) => None,
        }
    }

    fn absent(&self, kind: IdKind, id: &RowId, present: &[bool]) -> LookupError {
        let left = match (&self.ids, kind, id) {
            (Ids::Numbered, IdKind::Row, RowId::Integer(number)) => {
                usize::try_from(*number).is_ok_and(|position| position < present.len())
            }
            _ => self.removed.contains(&self.key.digest(kind, id)),
        };
        let id = id.clone();
        if left { LookupError::AlreadyRemoved { kind, id } } else { LookupError::Unknown { kind, id } }
    }

    /// Under what the row at a position is found.
    pub(super) fn keys_at(&self, position: usize) -> RowKeys {
        let id = match &self.ids {
            Ids::Numbered => self.key.digest(IdKind::Row, &numbered(position)),
            Ids::Keyed { digests, .. } => digests[position],
        };
        RowKeys { id, subject: self.subjects.as_ref().map(|subjects| subjects.digests[position]) }
    }

    /// Whether a digest was removed on request.
    pub(super) fn is_removed(&self, digest: IdDigest) -> bool {
        self.removed.contains(&digest)
    }

    /// What was removed on request.
    pub(super) fn removed(&self) -> impl Iterator<Item = IdDigest> {
        self.removed.iter().copied()
    }

    /// Ids and subjects of all positions; none where rows are numbered, or belong to nobody.
    pub(super) fn digests_by_position(&self) -> (&[IdDigest], &[IdDigest]) {
        let ids = match &self.ids {
            Ids::Numbered => &[][..],
            Ids::Keyed { digests, .. } => digests,
        };
        (ids, self.subjects.as_ref().map_or(&[], |subjects| &subjects.digests))
    }

    /// The index of rows of which some have left, from the digests of all positions.
    pub(super) fn restore(
        key: IdKey,
        ids: Vec<IdDigest>,
        subjects: Vec<IdDigest>,
        present: &[bool],
        removed: Vec<IdDigest>,
    ) -> Self {
        let there = |position: &usize| present[*position];
        let ids = if ids.is_empty() {
            Ids::Numbered
        } else {
            let positions = (0..present.len()).filter(there).map(|position| (ids[position], position)).collect();
            Ids::Keyed { positions, digests: ids }
        };
        let subjects = (!subjects.is_empty()).then(|| {
            let mut positions: HashMap<IdDigest, Vec<usize>> = HashMap::new();
            for position in (0..present.len()).filter(there) {
                positions.entry(subjects[position]).or_default().push(position);
            }
            Subjects { positions, digests: subjects }
        });
        Self { key, ids, subjects, removed: removed.into_iter().collect() }
    }

    /// Forgets rows that were removed on request, and remembers that they were. A subject whose last row leaves counts as
    /// removed.
    pub(super) fn remove(&mut self, positions: &[usize]) {
        for position in positions {
            let id = self.keys_at(*position).id;
            self.removed.insert(id);
            if let Ids::Keyed { positions, .. } = &mut self.ids {
                positions.remove(&id);
            }
        }
        let without_rows = self.leave_subjects(positions);
        self.removed.extend(without_rows);
        // Whose row it was is not kept: what must not come back is known by itself.
        let nobody = IdDigest([0; IdDigest::BYTES]);
        for position in positions {
            if let Ids::Keyed { digests, .. } = &mut self.ids {
                digests[*position] = nobody;
            }
            if let Some(subjects) = &mut self.subjects {
                subjects.digests[*position] = nobody;
            }
        }
    }

    /// Takes note of rows that came, at the positions from `start` on.
    pub(super) fn append(&mut self, start: usize, keys: &[RowKeys]) {
        for (position, RowKeys { id, subject }) in (start..).zip(keys) {
            if let Ids::Keyed { positions, digests } = &mut self.ids {
                positions.insert(*id, position);
                digests.push(*id);
            }
            if let (Some(subjects), Some(subject)) = (&mut self.subjects, subject) {
                subjects.positions.entry(*subject).or_default().push(position);
                subjects.digests.push(*subject);
            }
        }
    }

    /// The rows at these positions belong to other subjects now.
    pub(super) fn hand_over(&mut self, positions: &[usize], to: &[IdDigest]) {
        self.leave_subjects(positions);
        let Some(subjects) = &mut self.subjects else { return };
        for (position, to) in positions.iter().zip(to) {
            subjects.positions.entry(*to).or_default().push(*position);
            subjects.digests[*position] = *to;
        }
    }

    /// Numbered rows get their numbers as ids, so that rows with other ids can join them.
    pub(super) fn give_ids(&mut self, present: &[bool]) {
        if !self.is_numbered() {
            return;
        }
        let digests: Vec<IdDigest> = (0..present.len())
            .into_par_iter()
            .with_min_len(256)
            .map(|position| self.key.digest(IdKind::Row, &numbered(position)))
            .collect();
        let there = digests.iter().copied().zip(0..).filter(|(_, position)| present[*position]);
        self.ids = Ids::Keyed { positions: there.collect(), digests };
    }

    /// Takes rows from the subjects they belong to, and returns those of whom no row is left. Each subject's rows are gone
    /// through once, however many of them leave.
    fn leave_subjects(&mut self, positions: &[usize]) -> Vec<IdDigest> {
        let Some(Subjects { positions: rows_of, digests }) = &mut self.subjects else { return Vec::new() };
        let leaving: HashSet<usize> = positions.iter().copied().collect();
        let subjects: HashSet<IdDigest> = positions.iter().map(|position| digests[*position]).collect();
        let mut without_rows = Vec::new();
        for subject in subjects {
            let Some(rows) = rows_of.get_mut(&subject) else { continue };
            rows.retain(|row| !leaving.contains(row));
            if rows.is_empty() {
                rows_of.remove(&subject);
                without_rows.push(subject);
            }
        }
        without_rows
    }
}

/// The id of a row that is called by its position.
pub(super) fn numbered(position: usize) -> RowId {
    RowId::Integer(i64::try_from(position).unwrap_or(i64::MAX))
}
