//! Changing the rows: remove, add, correct. Each is one step of the model and one commit of the journal.

use std::collections::HashSet;
use std::path::Path;
use std::time::Instant;

use efface_core::model::Outcome;
use efface_core::removal::Change;
use efface_core::rounding::{LowerBound, UpperBound};
use efface_core::rows::RowStore;
use efface_data::{
    AppendError, EncodedRows, FeatureOrder, IdDigest, IdKind, LookupError, MemoryRows, RowId, Table, TableParts,
    carries_labels, encode_table, hex, is_array, read_table_with,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::checkpoint::CHANGES_PER_CHECKPOINT;
use crate::database::{Intent, NewRow, PastRequest, RowKeys, index};
use crate::error::EngineError;
use crate::import::row_keys;
use crate::model_directory::ModelDirectory;
use crate::status::Status;

/// Which rows to remove.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Selection {
    /// Rows by their ids.
    Ids(Vec<RowId>),
    /// All rows of these subjects.
    Subjects(Vec<RowId>),
}

/// Rows to add, or to put in the place of others.
#[derive(Clone, Copy, Debug)]
pub struct RowSource<'a> {
    /// The file.
    pub data: &'a Path,
    /// Column or file with the labels; `None`: the column that the model was trained with.
    pub label: Option<&'a str>,
    /// Column or file with the ids; `None`: likewise.
    pub id: Option<&'a str>,
    /// Column or file with the subjects; `None`: likewise.
    pub subject: Option<&'a str>,
}

impl<'a> RowSource<'a> {
    /// A file whose columns are called as those of training.
    pub fn of(data: &'a Path) -> Self {
        Self { data, label: None, id: None, subject: None }
    }
}

/// What rows from a file are for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NewRows {
    /// They join the others.
    Add,
    /// They take the place of the rows of the same ids.
    Correct,
}

/// What a change led to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangeReport {
    /// Rows now.
    pub n_rows: usize,
    /// Rows that left or came; a corrected row counts once.
    pub n_changed: usize,
    /// Upper bound of the gradient left behind.
    pub gradient_residual: UpperBound,
    /// Upper bound of the distance to the retrained weights.
    pub distance_bound: UpperBound,
    /// What the bounds rest on.
    pub rung: String,
    /// Whether the model still stands.
    pub outcome: OutcomeTag,
    /// Largest residual that the perturbation covers (mechanism `objective`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// Residual so far (mechanism `objective`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spent: Option<UpperBound>,
    /// Time of the step alone.
    pub step_seconds: f64,
    /// Time of the whole call, durable write included.
    pub seconds: f64,
    /// Rows left out, because they had been removed before (`add`).
    #[serde(default)]
    pub n_suppressed: usize,
    /// Whether this is the answer to an earlier request of the same id, and nothing was done now.
    pub repeated: bool,
}

/// Whether a model still stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutcomeTag {
    /// It does.
    Done,
    /// Train again.
    RetrainRequired,
}

impl From<Outcome> for OutcomeTag {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => Self::Done,
            Outcome::RetrainRequired => Self::RetrainRequired,
        }
    }
}

/// Rows that leave and rows that come, in one step.
struct Step {
    removed: Vec<usize>,
    /// Whether the ids of the rows that leave must not come back.
    departure: Departure,
    added: Option<Arrivals>,
}

/// Why rows leave.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Departure {
    /// They are removed: their ids are remembered as such.
    Removed,
    /// They are replaced by rows with the same ids.
    Replaced,
}

/// Rows that come.
struct Arrivals {
    rows: EncodedRows,
    keys: Vec<RowKeys>,
}

impl ModelDirectory {
    /// Removes rows: the weights follow and the claim is updated. Durable when this returns; the bytes of the rows are
    /// overwritten by the next checkpoint.
    pub fn remove(&mut self, selection: &Selection, request_id: Option<&str>) -> Result<ChangeReport, EngineError> {
        let start = Instant::now();
        let fingerprint = self.fingerprint(selection);
        if let Some(request_id) = request_id
            && let Some(past) = self.database.past_request(request_id)?
        {
            if past.fingerprint != fingerprint {
                return Err(EngineError::RequestReused { request_id: request_id.into() });
            }
            return Ok(ChangeReport { repeated: true, ..past.report });
        }
        let positions = match selection {
            Selection::Ids(ids) => self.positions_of(ids)?,
            Selection::Subjects(subjects) => self.positions_of_subjects(subjects)?,
        };
        if positions.is_empty() {
            return Err(EngineError::NothingNamed);
        }
        self.check_enough_remain(&self.rows.batch(&positions)?, None)?;
        let request = request_id.map(|id| (id, fingerprint));
        let report = self.transaction(|this| this.remove_positions(&positions, request))?;
        self.checkpoint_if_due()?;
        Ok(ChangeReport { seconds: start.elapsed().as_secs_f64(), ..report })
    }

    /// Adds the rows of a file, read in the way the model's own rows were read. Rows that were removed before, by
    /// themselves or with their subject, are left out.
    pub fn add(&mut self, source: &RowSource<'_>) -> Result<ChangeReport, EngineError> {
        let start = Instant::now();
        let (mut rows, mut keys) = self.read_rows(source, NewRows::Add)?;
        let mut kept = Vec::with_capacity(keys.len());
        for (keys, id) in keys.iter().zip(rows.ids()) {
            let mut known = self.database.is_suppressed(keys.id)?;
            if let Some(subject) = keys.subject {
                known |= self.database.is_suppressed(subject)?;
            }
            if !known && self.database.position_of(keys.id)?.is_some() {
                return Err(AppendError::AlreadyPresent { id: id.clone() }.into());
            }
            kept.push(!known);
        }
        let n_suppressed = rows.retain(&kept);
        let mut kept = kept.into_iter();
        keys.retain(|_| kept.next().unwrap_or(true));
        let report = self.transaction(|this| {
            this.head.n_suppressed += n_suppressed;
            let n_added = rows.n_rows();
            let added = (n_added > 0).then_some(Arrivals { rows, keys });
            let step = Step { removed: Vec::new(), departure: Departure::Removed, added };
            this.take_step(step, n_added, None)
        })?;
        self.checkpoint_if_due()?;
        Ok(ChangeReport { n_suppressed, seconds: start.elapsed().as_secs_f64(), ..report })
    }

    /// Replaces rows by the rows of the same ids in a file: one removal and one addition in one step.
    pub fn correct(&mut self, source: &RowSource<'_>) -> Result<ChangeReport, EngineError> {
        let start = Instant::now();
        let (rows, keys) = self.read_rows(source, NewRows::Correct)?;
        let removed = self.positions_of(rows.ids())?;
        self.check_enough_remain(&self.rows.batch(&removed)?, Some(&rows))?;
        let report = self.transaction(|this| {
            let n_changed = removed.len();
            let step = Step { removed, departure: Departure::Replaced, added: Some(Arrivals { rows, keys }) };
            this.take_step(step, n_changed, None)
        })?;
        self.checkpoint_if_due()?;
        Ok(ChangeReport { seconds: start.elapsed().as_secs_f64(), ..report })
    }

    /// Removes the rows at these positions, within a transaction of the handle.
    pub(crate) fn remove_positions(
        &mut self,
        positions: &[usize],
        request: Option<(&str, String)>,
    ) -> Result<ChangeReport, EngineError> {
        let step = Step { removed: positions.to_vec(), departure: Departure::Removed, added: None };
        self.take_step(step, positions.len(), request)
    }

    /// Takes one step in memory and writes it to the journal.
    ///
    /// New rows are on disk before the commit and do not count without it; old rows are on disk until the next
    /// checkpoint. So the step can be taken again from the journal until a state that includes it is on disk.
    fn take_step(
        &mut self,
        step: Step,
        n_changed: usize,
        request: Option<(&str, String)>,
    ) -> Result<ChangeReport, EngineError> {
        let start = Instant::now();
        let Step { removed, departure, added } = step;
        let leaving = self.rows.batch(&removed)?;
        let removed_keys = self.database.keys_at(&removed)?;
        self.rows.remove(&removed)?;
        let (positions, added_keys) = match added {
            None => (self.rows.len()..self.rows.len(), Vec::new()),
            Some(Arrivals { rows, keys }) => (self.append(&rows)?, keys),
        };
        let arriving = self.rows.batch(&positions.clone().collect::<Vec<_>>())?;
        let stepping = Instant::now();
        let change = Change {
            removed: (!removed.is_empty()).then_some(&leaving as &dyn RowStore),
            added: (!positions.is_empty()).then_some(&arriving as &dyn RowStore),
        };
        self.model.change(&change, &self.rows)?;
        let mut report = self.report(n_changed, stepping.elapsed().as_secs_f64());
        report.seconds = start.elapsed().as_secs_f64();

        let mut head = self.head.clone();
        head.sequence += 1;
        let intent = Intent { sequence: head.sequence, removed, added: positions };
        head.chain = head.chain.after(&intent, &removed_keys, &added_keys);
        head.n_positions = self.rows.len();
        count_classes(&mut head.class_counts, &leaving, &arriving);
        if departure == Departure::Removed {
            head.n_removed += intent.removed.len();
        }
        let status = Status::of(&self.settings, &self.model, &head);
        let request = request.map(|(id, fingerprint)| (id, PastRequest { fingerprint, report: report.clone() }));
        let suppressed = self.database.commit(|tables| {
            for position in &intent.removed {
                index::forget(tables, *position)?;
            }
            for (position, keys) in intent.added.clone().zip(&added_keys) {
                NewRow { position, keys: *keys }.insert(tables)?;
            }
            let mut suppressed = Vec::new();
            if departure == Departure::Removed {
                for keys in &removed_keys {
                    suppressed.push(keys.id);
                    if let Some(subject) = keys.subject
                        && !index::has_rows(tables, subject)?
                    {
                        suppressed.push(subject);
                    }
                }
            }
            suppressed.iter().try_for_each(|digest| index::suppress(tables, *digest))?;
            if let Some((id, past)) = &request {
                past.insert(tables, id)?;
            }
            intent.insert(tables)?;
            status.write(tables)?;
            head.write(tables)?;
            Ok(suppressed)
        })?;
        self.head = head;
        self.n_intents += 1;
        self.tell_witness(suppressed)?;
        Ok(report)
    }

    fn checkpoint_if_due(&mut self) -> Result<(), EngineError> {
        if self.n_intents < CHANGES_PER_CHECKPOINT { Ok(()) } else { self.checkpoint() }
    }

    fn positions_of(&self, ids: &[RowId]) -> Result<Vec<usize>, EngineError> {
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

    fn positions_of_subjects(&self, subjects: &[RowId]) -> Result<Vec<usize>, EngineError> {
        refuse_repeated(IdKind::Subject, subjects)?;
        let mut positions = Vec::new();
        for subject in subjects {
            let digest = self.settings.id_key.digest(IdKind::Subject, subject);
            let found = self.database.positions_of_subject(digest)?;
            if found.is_empty() {
                return Err(self.absent(IdKind::Subject, subject, digest)?.into());
            }
            positions.extend(found);
        }
        positions.sort_unstable();
        Ok(positions)
    }

    fn absent(&self, kind: IdKind, id: &RowId, digest: IdDigest) -> Result<LookupError, EngineError> {
        let id = id.clone();
        Ok(if self.database.is_suppressed(digest)? {
            LookupError::AlreadyRemoved { kind, id }
        } else {
            LookupError::Unknown { kind, id }
        })
    }

    /// Reads rows that come, and under what they will be found.
    fn read_rows(&self, source: &RowSource<'_>, role: NewRows) -> Result<(EncodedRows, Vec<RowKeys>), EngineError> {
        let settings = &self.settings;
        let own_labels = carries_labels(source.data);
        let mut columns = settings.columns_for(is_array(source.data) || own_labels);
        columns.label = source.label.map(String::from).or(columns.label);
        columns.id = source.id.map(String::from).or(columns.id);
        columns.subject = source.subject.map(String::from).or(columns.subject);
        let path = || source.data.into();
        if columns.label.is_none() && !own_labels {
            return Err(EngineError::NoLabelNamed { path: path() });
        }
        let numbered = columns.id.is_none();
        if numbered && (role == NewRows::Correct || settings.columns.id.is_some()) {
            return Err(EngineError::NoIdNamed { path: path() });
        }
        if role == NewRows::Add && columns.subject.is_none() && settings.columns.subject.is_some() {
            return Err(EngineError::NoSubjectNamed { path: path() });
        }
        let mut parts = read_table_with(source.data, &columns, settings.schema.as_ref())?.into_parts();
        if numbered {
            self.number_on(&mut parts);
        }
        let table = Table::new(parts)?;
        let order = FeatureOrder::Named(&settings.features);
        let rows = encode_table(table, &settings.transform, Some(&settings.codec), order, settings.precision)?;
        let mut keys = row_keys(&settings.id_key, &rows);
        if role == NewRows::Correct && rows.subjects().is_none() {
            // A corrected row stays with its subject unless another one is named.
            let old = self.database.keys_at(&self.positions_of(rows.ids())?)?;
            keys.iter_mut().zip(old).for_each(|(keys, old)| keys.subject = old.subject);
        }
        Ok((rows, keys))
    }

    /// Rows without ids of their own get numbers that no row has had: positions never repeat.
    fn number_on(&self, parts: &mut TableParts) {
        let first = self.rows.len();
        let n_new = parts.ids.as_ref().map_or(0, Vec::len);
        parts.ids = Some((first..first + n_new).map(|number| RowId::parse(&number.to_string())).collect());
    }

    /// Writes rows at the end of the segments, where they count only after the commit.
    fn append(&mut self, rows: &EncodedRows) -> Result<std::ops::Range<usize>, EngineError> {
        let positions = self.rows.append(rows, &rows.selectors(&self.settings.salt))?;
        self.rows.sync()?;
        Ok(positions)
    }

    /// Refuses a removal that would leave no row, or none of a class, counting the rows that come in the same step.
    fn check_enough_remain(&self, batch: &MemoryRows, coming: Option<&EncodedRows>) -> Result<(), EngineError> {
        let (n_removed, n_rows) = (batch.n_rows(), self.rows.n_rows());
        if n_removed >= n_rows && coming.is_none() {
            return Err(EngineError::LastRow { n_removed, n_rows });
        }
        let classes = self.settings.codec.classes();
        let leaving = batch.class_counts(classes.len());
        for (index, class) in classes.iter().enumerate() {
            let arriving =
                coming.map_or(0, |rows| rows.labels().iter().filter(|label| **label == index as f64).count());
            let (n_removed, n_rows) = (leaving[index], self.head.class_counts[index]);
            if n_removed > 0 && n_removed >= n_rows + arriving {
                return Err(EngineError::LastOfClass { class: class.clone(), n_removed, n_rows });
            }
        }
        Ok(())
    }

    fn report(&self, n_changed: usize, step_seconds: f64) -> ChangeReport {
        let report = ChangeReport {
            n_rows: 0,
            n_changed,
            gradient_residual: UpperBound::INFINITE,
            distance_bound: UpperBound::INFINITE,
            rung: String::new(),
            outcome: OutcomeTag::Done,
            budget: None,
            spent: None,
            step_seconds,
            seconds: step_seconds,
            n_suppressed: 0,
            repeated: false,
        };
        self.brought_up_to_date(&report)
    }

    /// The report of a change with what the model claims now: after settling, the settled values.
    #[must_use]
    pub fn brought_up_to_date(&self, report: &ChangeReport) -> ChangeReport {
        let claim = self.model.claim();
        let budget = self.model.removal_budget();
        ChangeReport {
            n_rows: self.rows.n_rows(),
            gradient_residual: claim.gradient_residual,
            distance_bound: claim.distance_bound,
            rung: claim.rung.tag().into(),
            outcome: self.model.outcome().into(),
            budget: budget.map(LowerBound::get),
            spent: budget.map(|_| claim.gradient_residual),
            ..report.clone()
        }
    }

    /// A keyed hash of what a request asks for: the same for the same ids in any order, and no id in clear.
    fn fingerprint(&self, selection: &Selection) -> String {
        let mut selection = selection.clone();
        match &mut selection {
            Selection::Ids(ids) | Selection::Subjects(ids) => ids.sort_unstable(),
        }
        let text = serde_json::to_vec(&selection).expect("ids are numbers or strings");
        hex::encode(&Sha256::new().chain_update(self.settings.salt).chain_update(text).finalize())
    }
}

fn refuse_repeated(kind: IdKind, ids: &[RowId]) -> Result<(), LookupError> {
    let mut seen = HashSet::with_capacity(ids.len());
    match ids.iter().find(|id| !seen.insert(*id)) {
        Some(id) => Err(LookupError::Repeated { kind, id: id.clone() }),
        None => Ok(()),
    }
}

/// Rows present of each class, after some left and some came.
fn count_classes(counts: &mut [usize], leaving: &MemoryRows, arriving: &MemoryRows) {
    let (leaving, arriving) = (leaving.class_counts(counts.len()), arriving.class_counts(counts.len()));
    for ((count, leaving), arriving) in counts.iter_mut().zip(leaving).zip(arriving) {
        *count = (*count + arriving).saturating_sub(leaving);
    }
}
