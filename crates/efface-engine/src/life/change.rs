//! Changing the rows: remove, add, correct. Each is one step of the model and one commit of its keeper.

use std::time::Instant;

use efface_core::removal::Change;
use efface_core::residual::Rung;
use efface_core::rows::{RowCount, RowStore};
use efface_data::derived::Texts;
use efface_data::{AppendError, EncodedRows, IdKind, LookupError, MemoryRows, TableParts};
use efface_ledger::entry::Entry;

use super::Life;
use super::guard::{RowTally, check_enough_remain};
use super::keeper::{CommittedChange, Found, PastRequest, StepKind};
use super::new_rows::{NewRows, RowPurpose};
use super::report::{ChangeReport, Counts};
use super::selection::{Leaving, Missing, Selection};
use super::settle::train_again;
use crate::clock;
use crate::error::{ChangeError, EngineError};
use crate::history::{Kept, RowKeys};
use crate::settings::absent_classes;

impl Life<'_> {
    /// Removes rows: the weights follow and the claim is updated. A request id makes it idempotent.
    pub fn remove(
        &mut self,
        selection: &Selection,
        request_id: Option<&str>,
        missing: Missing,
    ) -> Result<ChangeReport, EngineError> {
        let start = Instant::now();
        let fingerprint = self.settings.fingerprint_of(selection);
        if let Some(answered) = self.answered(request_id, &fingerprint, None)? {
            return Ok(answered);
        }
        let (mut removed, n_missing) = self.select(selection, missing)?;
        // The same rows asked for in another order are the same change.
        removed.sort_unstable();
        if removed.is_empty() && n_missing == 0 {
            let is_damaged = *selection == Selection::Damaged;
            return Err(if is_damaged { ChangeError::NothingDamaged } else { ChangeError::NothingNamed }.into());
        }
        let counts = Counts { changed: removed.len(), missing: n_missing, suppressed: 0 };
        let step = Step { kind: StepKind::Removal, leaving: Some(self.leaving(removed)?), added: None, counts };
        self.take(step, request_id.map(|id| Request { id, fingerprint, cells: None }), start)
    }

    /// The answer that a request got, if it was asked before.
    pub(super) fn answered(
        &self,
        request_id: Option<&str>,
        fingerprint: &str,
        cells: Option<&str>,
    ) -> Result<Option<ChangeReport>, EngineError> {
        let Some(request_id) = request_id else { return Ok(None) };
        if request_id.trim().is_empty() {
            return Err(ChangeError::RequestUnnamed.into());
        }
        if numbered_change(request_id).is_some() {
            return Err(ChangeError::RequestReserved { request_id: request_id.into() }.into());
        }
        let past = self.keeper.past_request(request_id)?;
        past.map(|past| past.repeated(request_id, fingerprint, cells)).transpose()
    }

    /// Adds the rows of a table in memory, with labels. Without ids, numbering continues; without weights each counts once.
    /// Rows that were removed before, by themselves or with their subject, are left out.
    pub fn add_table(&mut self, table: TableParts, row_weights: Option<Vec<f64>>) -> Result<ChangeReport, EngineError> {
        let start = Instant::now();
        let new = self.encode_rows(table, row_weights, RowPurpose::Add)?;
        self.add_rows(new, None, start)
    }

    pub(super) fn add_rows(
        &mut self,
        new: NewRows,
        request: Option<Request<'_>>,
        start: Instant,
    ) -> Result<ChangeReport, EngineError> {
        let NewRows { mut rows, mut keys, .. } = new;
        let mut kept = Vec::with_capacity(keys.len());
        for (keys, id) in keys.iter().zip(rows.ids()) {
            let mut removed = self.keeper.is_removed(keys.id)?;
            if let Some(subject) = keys.subject {
                removed |= self.keeper.is_removed(subject)?;
            }
            if !removed && matches!(self.keeper.find(IdKind::Row, id, keys.id)?, Found::At(_)) {
                return Err(AppendError::AlreadyPresent { id: id.clone() }.into());
            }
            kept.push(!removed);
        }
        let suppressed = rows.retain(&kept);
        let mut kept = kept.into_iter();
        keys.retain(|_| kept.next().unwrap_or(false));
        let counts = Counts { changed: rows.n_rows(), missing: 0, suppressed };
        let added = (rows.n_rows() > 0).then_some((rows, keys));
        self.take(Step { kind: StepKind::Addition, leaving: None, added, counts }, request, start)
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
            return Err(ChangeError::NoIdNamed { path: table.origin.file().into() }.into());
        }
        let new = self.encode_rows(table, row_weights, RowPurpose::Correct)?;
        self.correct_rows(new, None, start)
    }

    pub(super) fn correct_rows(
        &mut self,
        new: NewRows,
        request: Option<Request<'_>>,
        start: Instant,
    ) -> Result<ChangeReport, EngineError> {
        let NewRows { rows, keys, replaced } = new;
        for (keys, subject) in keys.iter().zip(rows.subjects().unwrap_or_default()) {
            if keys.subject.map_or(Ok(false), |subject| self.keeper.is_removed(subject))? {
                return Err(LookupError::AlreadyRemoved { kind: IdKind::Subject, id: subject.clone() }.into());
            }
        }
        let counts = Counts { changed: rows.n_rows(), ..Counts::default() };
        self.take(
            Step { kind: StepKind::Correction, leaving: replaced, added: Some((rows, keys)), counts },
            request,
            start,
        )
    }

    /// Takes one step and commits it.
    ///
    /// New rows are where they will stay before the commit, and do not count without it; old rows are where they were
    /// until they are purged. So a step can be taken again until a state that includes it has been kept.
    fn take(&mut self, step: Step, request: Option<Request<'_>>, start: Instant) -> Result<ChangeReport, EngineError> {
        let Step { kind, leaving, added, counts } = step;
        self.keeper.check_usable()?;
        self.check(leaving.as_ref(), added.as_ref().map(|(rows, _)| rows))?;
        let (removed, removed_keys, leaving, n_damaged) = match leaving {
            None => (Vec::new(), Vec::new(), None, 0),
            Some(Leaving { positions, keys, rows, n_damaged }) => (positions, keys, Some(rows), n_damaged),
        };
        let mut history = self.keeper.history().clone();
        let (stepping, mut texts, classes) = (Instant::now(), Texts::new(), self.model.plan().classes());
        let (arrived, added_keys, arriving) = match added {
            None => (self.rows.n_positions()..self.rows.n_positions(), Vec::new(), None),
            Some((rows, keys)) => {
                let selectors: Vec<u64> = keys.iter().map(|keys| keys.id.selector()).collect();
                let arrived = self.rows.arrive(&rows, &selectors)?;
                texts.clone_from(rows.texts());
                (arrived, keys, Some(self.rows.prepare(MemoryRows::of_selected(rows, selectors)?)))
            }
        };
        let stepped = self.rows.leave(&removed).map_err(EngineError::from).and_then(|()| {
            let change = Change {
                removed: leaving.as_ref().filter(|rows| rows.n_rows() > 0).map(|rows| rows as &dyn RowStore),
                added: arriving.as_ref().map(|rows| rows as &dyn RowStore),
            };
            if n_damaged > 0 {
                // Nobody knows of what class they were.
                history.class_counts = self.rows.recount(history.class_counts.len())?;
                return self.train_on_what_is_left(removed.len(), &history.class_counts);
            }
            count_classes(&mut history.class_counts, leaving.as_ref(), arriving.as_ref());
            if self.model.plan().must_train_without(absent_classes(&history.class_counts)) {
                return self.train_on_what_is_left(removed.len(), &history.class_counts);
            }
            self.step(&change)
        });
        if let Err(error) = stepped {
            self.rows.undo(&removed, arrived)?;
            return Err(error);
        }
        let classes_gone = self.settings.classes_gone(&classes, &history.class_counts);
        self.model.drop_classes(absent_classes(&history.class_counts));
        let step_seconds = stepping.elapsed().as_secs_f64();
        let report = ChangeReport { classes_gone, ..ChangeReport::of(self.model, counts, step_seconds) };
        let report = ChangeReport { seconds: start.elapsed().as_secs_f64(), ..report };

        history.n_changes += 1;
        history.n_suppressed += counts.suppressed;
        history.is_stale |= counts.changed > 0;
        if kind == StepKind::Removal {
            history.n_removed += removed.len();
        }
        let request_id = request.as_ref().map(|request| request.id);
        let logged = self.settings.logged_change(history.n_changes, counts.changed, &removed_keys, request_id);
        let entry = Entry::new(clock::timestamp(clock::now()), kind.event(logged));
        let change = history.n_changes;
        let request = request.map(|Request { id, fingerprint, cells }| {
            (id, PastRequest { change, fingerprint, cells, report: report.clone() })
        });
        let change =
            CommittedChange { kind, removed, removed_keys, added: arrived, added_keys, texts, history, entry, request };
        let of = Kept { settings: self.settings, model: self.model, preparation: self.rows.preparation() };
        self.keeper.commit_change(change, of)?;
        Ok(ChangeReport { seconds: start.elapsed().as_secs_f64(), ..report })
    }

    /// Trains again: what the weights owe to a row that is not known any more cannot be taken out of them, nor a class out of a
    /// problem that takes all of them together.
    fn train_on_what_is_left(&mut self, n_left: usize, class_counts: &[usize]) -> Result<(), EngineError> {
        let before = self.rows.derive()?;
        let mut account = self.model.state().account;
        account.n_left = account.n_left.saturating_add(n_left);
        let trained = self.rows.sum(|rows| train_again(self.settings, rows, class_counts, account));
        *self.model = self.or_encode_by(before, trained)?;
        Ok(())
    }

    /// Moves the weights. The bound of the default rung reads no row.
    fn step(&mut self, change: &Change<'_>) -> Result<(), EngineError> {
        if self.model.plan().rung() == Rung::Stale {
            self.pass(|model, rows| model.change(change, rows))??;
        } else {
            self.over_rows(|model, rows| model.change(change, rows))??;
        }
        Ok(())
    }

    /// Refuses a change that would leave no row, and rows of a class that went with its last row.
    fn check(&self, leaving: Option<&Leaving>, coming: Option<&EncodedRows>) -> Result<(), EngineError> {
        let classes = self.settings.codec.classes();
        let coming = coming.map(|rows| RowTally::of_encoded(rows, classes.len()));
        let leaving = leaving.map(|leaving| {
            let known = RowTally::of_rows(&leaving.rows, classes.len());
            RowTally { n_rows: leaving.positions.len(), ..known }
        });
        let RowCount { n_rows, weight_sum } = self.model.state().count;
        let before = RowTally { n_rows, weight_sum, class_counts: self.keeper.history().class_counts.clone() };
        check_enough_remain(classes, &before, leaving.as_ref(), coming.as_ref())
    }
}

/// A request by its id, and keyed hashes of what it asks for.
pub(super) struct Request<'a> {
    pub(super) id: &'a str,
    pub(super) fingerprint: String,
    pub(super) cells: Option<String>,
}

struct Step {
    kind: StepKind,
    leaving: Option<Leaving>,
    added: Option<(EncodedRows, Vec<RowKeys>)>,
    counts: Counts,
}

impl PastRequest {
    /// The same answer again, if the same is asked for. What stood in new rows is forgotten once any row has left; until
    /// then it is compared, too.
    fn repeated(self, request_id: &str, fingerprint: &str, cells: Option<&str>) -> Result<ChangeReport, EngineError> {
        let is_other = self.cells.as_deref().zip(cells).is_some_and(|(before, now)| before != now);
        if self.fingerprint != fingerprint || is_other {
            return Err(ChangeError::RequestReused { request_id: request_id.into() }.into());
        }
        Ok(ChangeReport { repeated: true, ..self.report })
    }
}

/// The number in `change-N`, as requests without an id of their own are called.
pub(crate) fn numbered_change(request_id: &str) -> Option<u64> {
    request_id.strip_prefix("change-")?.parse().ok()
}

fn count_classes(counts: &mut [usize], leaving: Option<&MemoryRows>, arriving: Option<&MemoryRows>) {
    let of =
        |rows: Option<&MemoryRows>| rows.map_or_else(|| vec![0; counts.len()], |rows| rows.class_counts(counts.len()));
    let (leaving, arriving) = (of(leaving), of(arriving));
    for ((count, leaving), arriving) in counts.iter_mut().zip(leaving).zip(arriving) {
        *count = (*count + arriving).saturating_sub(leaving);
    }
}
