//! Which id is at which position. Ids are kept as keyed hashes, as in a model directory; rows without ids of their own are
//! numbered, and nothing is kept of them but whether they are there.

use std::collections::{HashMap, HashSet};

use efface_data::{IdDigest, IdKey, IdKind, RowId};
use rayon::prelude::*;

use crate::error::{ChangeError, EngineError};
use crate::history::RowKeys;
use crate::life::{CommittedChange, Found, StepKind};

pub(super) struct RowIndex {
    key: IdKey,
    ids: Ids,
    pub(super) subjects: Option<Subjects>,
    pub(super) removed: HashSet<IdDigest>,
}

enum Ids {
    /// Rows are called by their positions; which of them are there.
    Numbered(Vec<bool>),
    /// Rows are called by ids of their own.
    Keyed {
        /// Where a row is, as long as it is there.
        positions: HashMap<IdDigest, usize>,
        digests: Vec<IdDigest>,
    },
}

pub(super) struct Subjects {
    /// The rows of each, as long as there are any.
    positions: HashMap<IdDigest, Vec<usize>>,
    digests: Vec<IdDigest>,
}

/// In the place of the id or the subject of a row that left: what must not come back is known by itself.
const NOBODY: IdDigest = IdDigest([0; IdDigest::BYTES]);

impl RowIndex {
    /// An index of `n_rows` rows. Ids must be distinct.
    pub(super) fn new(
        key: IdKey,
        n_rows: usize,
        ids: Option<&[RowId]>,
        subjects: Option<&[RowId]>,
    ) -> Result<Self, EngineError> {
        let ids = ids.map_or_else(Vec::new, |ids| digests(&key, IdKind::Row, ids));
        let mut first_at = HashMap::with_capacity(ids.len());
        for (second, digest) in ids.iter().enumerate() {
            if let Some(first) = first_at.insert(*digest, second) {
                return Err(ChangeError::RepeatedId { first, second }.into());
            }
        }
        let subjects = subjects.map_or_else(Vec::new, |subjects| digests(&key, IdKind::Subject, subjects));
        Ok(Self::restore(key, ids, subjects, vec![true; n_rows], []))
    }

    /// The index of rows of which some have left, from the digests of all positions: none where rows are numbered, or
    /// belong to nobody.
    pub(super) fn restore(
        key: IdKey,
        ids: Vec<IdDigest>,
        subjects: Vec<IdDigest>,
        present: Vec<bool>,
        removed: impl IntoIterator<Item = IdDigest>,
    ) -> Self {
        let there = || (0..present.len()).filter(|position| present[*position]);
        let subjects = (!subjects.is_empty()).then(|| {
            let mut positions: HashMap<IdDigest, Vec<usize>> = HashMap::new();
            there().for_each(|position| positions.entry(subjects[position]).or_default().push(position));
            Subjects { positions, digests: subjects }
        });
        let ids = if ids.is_empty() {
            Ids::Numbered(present)
        } else {
            Ids::Keyed { positions: there().map(|position| (ids[position], position)).collect(), digests: ids }
        };
        Self { key, ids, subjects, removed: removed.into_iter().collect() }
    }

    /// Ids and subjects of all positions; none where rows are numbered, or belong to nobody.
    pub(super) fn digests_by_position(&self) -> (&[IdDigest], &[IdDigest]) {
        let ids = match &self.ids {
            Ids::Numbered(_) => &[][..],
            Ids::Keyed { digests, .. } => digests,
        };
        (ids, self.subjects.as_ref().map_or(&[], |subjects| &subjects.digests))
    }

    pub(super) fn find(&self, kind: IdKind, id: &RowId, digest: IdDigest) -> Found {
        let found = match (kind, &self.ids, id) {
            (IdKind::Row, Ids::Numbered(present), RowId::Integer(number)) => {
                let position = usize::try_from(*number).ok().filter(|position| *position < present.len());
                return match position {
                    Some(position) if present[position] => Found::At(vec![position]),
                    Some(_) => Found::Removed,
                    None => Found::Unknown,
                };
            }
            (IdKind::Row, Ids::Numbered(_), RowId::Text(_)) => None,
            (IdKind::Row, Ids::Keyed { positions, .. }, _) => positions.get(&digest).map(|position| vec![*position]),
            (IdKind::Subject, ..) => {
                self.subjects.as_ref().and_then(|subjects| subjects.positions.get(&digest)).cloned()
            }
        };
        match found {
            Some(positions) => Found::At(positions),
            None if self.removed.contains(&digest) => Found::Removed,
            None => Found::Unknown,
        }
    }

    pub(super) fn keys_at(&self, position: usize) -> RowKeys {
        let id = match &self.ids {
            Ids::Numbered(_) => self.number(position),
            Ids::Keyed { digests, .. } => digests[position],
        };
        RowKeys { id, subject: self.subjects.as_ref().map(|subjects| subjects.digests[position]) }
    }

    /// What was removed on request, in the order of the digests.
    pub(super) fn removed(&self) -> Vec<IdDigest> {
        let mut removed: Vec<IdDigest> = self.removed.iter().copied().collect();
        removed.sort_unstable();
        removed
    }

    /// Follows a change: rows that left are forgotten, and remembered as removed if they were removed on request. A subject
    /// whose last row leaves counts as removed.
    pub(super) fn commit(&mut self, change: &CommittedChange<'_>) {
        let CommittedChange { kind, removed, removed_keys, added, added_keys, .. } = change;
        let are_numbers = || added.clone().zip(added_keys).all(|(position, keys)| keys.id == self.number(position));
        if !are_numbers() {
            self.give_ids();
        }
        let without_rows = self.leave_subjects(removed);
        if *kind == StepKind::Removal {
            self.removed.extend(removed_keys.iter().map(|keys| keys.id).chain(without_rows));
        }
        for (position, keys) in removed.iter().zip(removed_keys) {
            match &mut self.ids {
                Ids::Numbered(present) => present[*position] = false,
                Ids::Keyed { positions, digests } => {
                    positions.remove(&keys.id);
                    digests[*position] = NOBODY;
                }
            }
            if let Some(subjects) = &mut self.subjects {
                subjects.digests[*position] = NOBODY;
            }
        }
        for (position, RowKeys { id, subject }) in added.clone().zip(added_keys) {
            match &mut self.ids {
                Ids::Numbered(present) => present.push(true),
                Ids::Keyed { positions, digests } => {
                    positions.insert(*id, position);
                    digests.push(*id);
                }
            }
            if let (Some(subjects), Some(subject)) = (&mut self.subjects, subject) {
                subjects.positions.entry(*subject).or_default().push(position);
                subjects.digests.push(*subject);
            }
        }
    }

    fn number(&self, position: usize) -> IdDigest {
        self.key.digest(IdKind::Row, &RowId::numbered(position))
    }

    /// Numbered rows get their numbers as ids, so that a number can stay with a row that is corrected, and rows with other
    /// ids can join them.
    fn give_ids(&mut self) {
        let Ids::Numbered(present) = &self.ids else { return };
        let numbers = (0..present.len()).into_par_iter().with_min_len(256);
        let number = |position: usize| if present[position] { self.number(position) } else { NOBODY };
        let digests: Vec<IdDigest> = numbers.map(number).collect();
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

fn digests(key: &IdKey, kind: IdKind, ids: &[RowId]) -> Vec<IdDigest> {
    ids.par_iter().with_min_len(256).map(|id| key.digest(kind, id)).collect()
}
