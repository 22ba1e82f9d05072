//! Which rows a request means: from ids and subjects as people write them to positions.

use std::collections::{BTreeSet, HashSet};

use efface_data::{IdDigest, IdKind, LookupError, RowId};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::EngineError;
use crate::model_directory::ModelDirectory;
use crate::settings::Settings;

/// Which rows to remove.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Selection {
    /// Rows by their ids.
    Ids(Vec<RowId>),
    /// All rows of these subjects.
    Subjects(Vec<RowId>),
}

impl ModelDirectory {
    /// The position of each row, in the order of `ids`.
    pub(crate) fn positions_of(&self, ids: &[RowId]) -> Result<Vec<usize>, EngineError> {
        self.settings.check_has_ids()?;
        refuse_repeated(IdKind::Row, ids)?;
        let mut positions = Vec::with_capacity(ids.len());
        for id in ids {
            let digest = self.settings.id_key.digest(IdKind::Row, id);
            match self.database.position_of(digest)? {
                Some(position) => positions.push(position),
                None => return Err(self.absent(IdKind::Row, id, digest)?.into()),
            }
        }
        Ok(positions)
    }

    /// The positions of all rows of these subjects, ascending.
    pub(crate) fn positions_of_subjects(&self, subjects: &[RowId]) -> Result<Vec<usize>, EngineError> {
        refuse_repeated(IdKind::Subject, subjects)?;
        let mut positions = Vec::new();
        for subject in subjects {
            let digest = self.settings.id_key.digest(IdKind::Subject, subject);
            let found = self.database.positions_of_subject(digest)?;
            if found.is_empty() && !self.database.has_subjects()? && !self.database.is_suppressed(digest)? {
                return Err(EngineError::NoSubjects);
            }
            if found.is_empty() {
                return Err(self.absent(IdKind::Subject, subject, digest)?.into());
            }
            positions.extend(found);
        }
        positions.sort_unstable();
        Ok(positions)
    }

    /// Those of a selection that are there, each once, and how many are not.
    pub(crate) fn present(&self, selection: &Selection) -> Result<(Selection, usize), EngineError> {
        let (kind, ids) = match selection {
            Selection::Ids(ids) => {
                self.settings.check_has_ids()?;
                (IdKind::Row, ids)
            }
            Selection::Subjects(subjects) => (IdKind::Subject, subjects),
        };
        let distinct: BTreeSet<&RowId> = ids.iter().collect();
        let mut present = Vec::new();
        for id in &distinct {
            let digest = self.settings.id_key.digest(kind, id);
            let is_there = match kind {
                IdKind::Row => self.database.position_of(digest)?.is_some(),
                IdKind::Subject => !self.database.positions_of_subject(digest)?.is_empty(),
            };
            if is_there {
                present.push((*id).clone());
            }
        }
        let n_missing = distinct.len() - present.len();
        let present = match kind {
            IdKind::Row => Selection::Ids(present),
            IdKind::Subject => Selection::Subjects(present),
        };
        Ok((present, n_missing))
    }

    fn absent(&self, kind: IdKind, id: &RowId, digest: IdDigest) -> Result<LookupError, EngineError> {
        let id = id.clone();
        Ok(if self.database.is_suppressed(digest)? {
            LookupError::AlreadyRemoved { kind, id }
        } else {
            LookupError::Unknown { kind, id }
        })
    }
}

impl Settings {
    /// A keyed hash of what a request asks for: the same for the same ids in any order, and no id in clear.
    pub(crate) fn fingerprint(&self, selection: &Selection) -> String {
        let mut selection = selection.clone();
        match &mut selection {
            Selection::Ids(ids) | Selection::Subjects(ids) => ids.sort_unstable(),
        }
        let text = serde_json::to_vec(&selection).expect("ids are numbers or strings");
        hex::encode(Sha256::new().chain_update(self.salt).chain_update(text).finalize())
    }
}

pub(crate) fn refuse_repeated(kind: IdKind, ids: &[RowId]) -> Result<(), LookupError> {
    let mut seen = HashSet::with_capacity(ids.len());
    match ids.iter().find(|id| !seen.insert(*id)) {
        Some(id) => Err(LookupError::Repeated { kind, id: id.clone() }),
        None => Ok(()),
    }
}
