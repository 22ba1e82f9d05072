//! Changing the rows: remove, add, correct. Each is one step of the model and one commit of the journal.

use std::time::Instant;

use efface_core::rows::{RowStore, WeightSum};
use efface_data::{AppendError, EncodedRows, IdKind, LookupError, MemoryRows, TableParts};

use crate::change_report::ChangeReport;
use crate::checkpoint::CHANGES_PER_CHECKPOINT;
use crate::database::RowKeys;
use crate::error::EngineError;
use crate::model_directory::ModelDirectory;
use crate::remaining::{RowTally, check_classes, check_enough_remain, count_classes};
use crate::requests::numbered_change;
use crate::row_source::{RowPurpose, RowSource};
use crate::selection::Selection;
use crate::step::{Arrivals, Counts, Step, StepKind};

/// What happens to rows of a request that are not there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    /// The request is refused.
    Refuse,
    /// They are left out and counted.
    Skip,
}

impl ModelDirectory {
    /// Removes rows: the weights follow and the claim is updated. Durable when this returns; the bytes of the rows are
    /// overwritten by the next checkpoint.
    ///
    /// A row or subject that is not there is an error, and nothing is removed.
    pub fn remove(&mut self, selection: &Selection, request_id: Option<&str>) -> Result<ChangeReport, EngineError> {
        self.remove_selected(selection, request_id, Missing::Refuse)
    }

    /// Removes those of the rows that are there, and counts those that are not, or not any more.
    pub fn remove_present(
        &mut self,
        selection: &Selection,
        request_id: Option<&str>,
    ) -> Result<ChangeReport, EngineError> {
        self.remove_selected(selection, request_id, Missing::Skip)
    }

    fn remove_selected(
        &mut self,
        selection: &Selection,
        request_id: Option<&str>,
        missing: Missing,
    ) -> Result<ChangeReport, EngineError> {
        let start = Instant::now();
        if let Some(request_id) = request_id.filter(|id| numbered_change(id).is_some()) {
            return Err(EngineError::RequestReserved { request_id: request_id.into() });
        }
        let fingerprint = self.settings.fingerprint(selection);
        if let Some(request_id) = request_id
            && let Some(past) = self.database.past_request(request_id)?
        {
            return past.repeated(request_id, &fingerprint);
        }
        let (selection, n_missing) = match missing {
            Missing::Refuse => (selection.clone(), 0),
            Missing::Skip => self.present(selection)?,
        };
        let positions = match &selection {
            Selection::Ids(ids) => self.positions_of(ids)?,
            Selection::Subjects(subjects) => self.positions_of_subjects(subjects)?,
        };
        if positions.is_empty() && n_missing == 0 {
            return Err(EngineError::NothingNamed);
        }
        self.check_enough_remain(&self.rows.batch(&positions)?, None)?;
        let request = request_id.map(|id| (id, fingerprint));
        let report = self.transaction(|this| this.remove_positions(&positions, n_missing, request))?;
        self.checkpoint_if_due()?;
        Ok(ChangeReport { seconds: start.elapsed().as_secs_f64(), ..report })
    }

    /// Adds the rows of a file, read in the way the model's own rows were read. Rows that were removed before, by
    /// themselves or with their subject, are left out.
    pub fn add(&mut self, source: &RowSource<'_>) -> Result<ChangeReport, EngineError> {
        let start = Instant::now();
        let (rows, keys) = self.read_rows(source, RowPurpose::Add)?;
        self.add_encoded(rows, keys, start)
    }

    /// Adds the rows of a table in memory, with labels. Without ids they are numbered on; without weights each counts once.
    /// Rows that were removed before, by themselves or with their subject, are left out.
    pub fn add_table(&mut self, table: TableParts, row_weights: Option<Vec<f64>>) -> Result<ChangeReport, EngineError> {
        let start = Instant::now();
        let (rows, keys) = self.encode_rows(table, row_weights, RowPurpose::Add)?;
        self.add_encoded(rows, keys, start)
    }

    fn add_encoded(
        &mut self,
        mut rows: EncodedRows,
        mut keys: Vec<RowKeys>,
        start: Instant,
    ) -> Result<ChangeReport, EngineError> {
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
        let n_classes = self.settings.n_classes();
        let coming = count_classes(rows.labels(), n_classes);
        check_classes(self.settings.codec.classes(), &self.head.class_counts, &coming)?;
        let report = self.transaction(|this| {
            this.head.n_suppressed += n_suppressed;
            let n_added = rows.n_rows();
            let added = (n_added > 0).then_some(Arrivals { rows, keys });
            let step = Step { removed: Vec::new(), kind: StepKind::Addition, added };
            this.take_step(step, Counts { changed: n_added, missing: 0 }, None)
        })?;
        self.checkpoint_if_due()?;
        Ok(ChangeReport { n_suppressed, seconds: start.elapsed().as_secs_f64(), ..report })
    }

    /// Replaces rows by the rows of the same ids in a file: one removal and one addition in one step.
    pub fn correct(&mut self, source: &RowSource<'_>) -> Result<ChangeReport, EngineError> {
        let start = Instant::now();
        let (rows, keys) = self.read_rows(source, RowPurpose::Correct)?;
        self.correct_encoded(rows, keys, start)
    }

    /// Replaces rows by the rows of the same ids in a table in memory, with labels. Without subjects and weights they keep
    /// those they had.
    pub fn correct_table(
        &mut self,
        table: TableParts,
        row_weights: Option<Vec<f64>>,
    ) -> Result<ChangeReport, EngineError> {
        let start = Instant::now();
        if table.ids.is_none() {
            return Err(EngineError::NoIdNamed { path: table.origin.file().into() });
        }
        let (rows, keys) = self.encode_rows(table, row_weights, RowPurpose::Correct)?;
        self.correct_encoded(rows, keys, start)
    }

    fn correct_encoded(
        &mut self,
        rows: EncodedRows,
        keys: Vec<RowKeys>,
        start: Instant,
    ) -> Result<ChangeReport, EngineError> {
        let removed = self.positions_of(rows.ids())?;
        for (keys, subject) in keys.iter().zip(rows.subjects().unwrap_or_default()) {
            let (kind, id) = (IdKind::Subject, subject.clone());
            if keys.subject.map_or(Ok(false), |subject| self.database.is_suppressed(subject))? {
                return Err(LookupError::AlreadyRemoved { kind, id }.into());
            }
        }
        self.check_enough_remain(&self.rows.batch(&removed)?, Some(&rows))?;
        let report = self.transaction(|this| {
            let n_changed = removed.len();
            let step = Step { removed, kind: StepKind::Correction, added: Some(Arrivals { rows, keys }) };
            this.take_step(step, Counts { changed: n_changed, missing: 0 }, None)
        })?;
        self.checkpoint_if_due()?;
        Ok(ChangeReport { seconds: start.elapsed().as_secs_f64(), ..report })
    }

    fn checkpoint_if_due(&mut self) -> Result<(), EngineError> {
        if self.n_intents < CHANGES_PER_CHECKPOINT { Ok(()) } else { self.checkpoint() }
    }

    /// Refuses a removal that would leave no row, counting the rows that come in the same step.
    fn check_enough_remain(&self, batch: &MemoryRows, coming: Option<&EncodedRows>) -> Result<(), EngineError> {
        let classes = self.settings.codec.classes();
        let (n_rows, weight_sum) = (self.rows.n_rows(), self.rows.weight_sum());
        let before = RowTally { n_rows, weight_sum, class_counts: self.head.class_counts.clone() };
        let (n_rows, weight_sum) = (batch.n_rows(), batch.weight_sum());
        let leaving = RowTally { n_rows, weight_sum, class_counts: batch.class_counts(classes.len()) };
        let coming = coming.map(|rows| RowTally {
            n_rows: rows.n_rows(),
            weight_sum: match rows.row_weights() {
                None => WeightSum::of_rows(rows.n_rows()),
                Some(weights) => weights.iter().map(|weight| WeightSum::of_row(*weight)).sum(),
            },
            class_counts: count_classes(rows.labels(), classes.len()),
        });
        check_enough_remain(classes, &before, &leaving, coming.as_ref())
    }
}
