//! Changing the rows: remove, add, correct. Each is one step of the model; after an error the model is as before.

use std::time::Instant;

use efface_core::model::Model;
use efface_core::removal::Change;
use efface_core::residual::Rung;
use efface_core::rows::{Features, RowStore, WeightSum};
use efface_data::{AppendError, FeatureValues, IdKind, LookupError, RowId};
use efface_ledger::entry::Entry;

use zeroize::Zeroize;

use super::checks::check_weights;
use super::index::numbered;
use super::rows::{Arriving, LentRows, RowTable, len_of};
use super::training::{numbered_selectors, selectors};
use super::view::Batch;
use super::{MemoryModel, RowsError};
use crate::change_report::ChangeReport;
use crate::database::{PastRequest, RowKeys, now, timestamp};
use crate::error::EngineError;
use crate::past::AnsweredRequest;
use crate::remaining::{RowTally, check_classes, check_enough_remain, count_classes};
use crate::requests::numbered_change;
use crate::selection::Selection;
use crate::step::{Counts, StepKind};

/// Rows that come later. Features are copied.
#[derive(Clone, Copy)]
pub struct NewRows<'a> {
    /// Values, row-major, without the intercept's constant.
    pub features: Features<'a>,
    /// One per row: the index of a class, or a number.
    pub labels: &'a [f64],
    /// One per row: as how many rows it counts. `None`: as one (`add`), or as before (`correct`).
    pub row_weights: Option<&'a [f64]>,
    /// One per row: whose it is.
    pub subjects: Option<&'a [RowId]>,
}

impl MemoryModel {
    /// Removes rows: the weights follow and the claim is updated.
    ///
    /// A row or subject that is not there is an error, and nothing is removed; with `skip_missing` it is counted instead.
    pub fn remove(
        &mut self,
        lent: &LentRows<'_>,
        selection: &Selection,
        request_id: Option<&str>,
        skip_missing: bool,
    ) -> Result<ChangeReport, EngineError> {
        let start = Instant::now();
        if let Some(request_id) = request_id.filter(|id| numbered_change(id).is_some()) {
            return Err(EngineError::RequestReserved { request_id: request_id.into() });
        }
        let fingerprint = self.settings.fingerprint(selection);
        if let Some(request_id) = request_id
            && let Some(past) = self.requests.get(request_id)
        {
            return past.answer.clone().repeated(request_id, &fingerprint);
        }
        if matches!(selection, Selection::Ids(_)) {
            self.settings.check_has_ids()?;
        }
        let present = &self.rows.present;
        let (sifted, n_missing) =
            if skip_missing { self.index.present(selection, present) } else { (selection.clone(), 0) };
        let positions = match &sifted {
            Selection::Ids(ids) => self.index.positions_of(ids, present)?,
            Selection::Subjects(subjects) => self.index.positions_of_subjects(subjects, present)?,
        };
        if positions.is_empty() && n_missing == 0 {
            return Err(EngineError::NothingNamed);
        }
        let leaving = self.rows.unchanged_batch(lent, &positions)?;
        self.check_enough_remain(&leaving, None)?;

        let stepping = Instant::now();
        self.rows.set_present(&positions, false);
        if let Err(error) = step(&mut self.model, &self.rows, lent, Some(&leaving), None) {
            self.rows.set_present(&positions, true);
            return Err(error);
        }
        let counts = Counts { changed: positions.len(), missing: n_missing };
        let mut report = self.report(counts, stepping);
        self.note_change(StepKind::Removal, positions.len(), &positions, request_id);
        self.index.remove(&positions);
        self.rows.forget(&positions);
        self.n_removed += positions.len();
        report.seconds = start.elapsed().as_secs_f64();
        if let Some(id) = request_id {
            let answer = PastRequest { fingerprint, report: report.clone() };
            self.requests.insert(id.into(), AnsweredRequest { id: id.into(), change: self.sequence, answer });
        }
        Ok(report)
    }

    /// Adds rows. Those that were removed before, by themselves or with their subject, are left out and counted. Without
    /// ids, rows of a model that numbers its rows are numbered on.
    pub fn add(
        &mut self,
        lent: &LentRows<'_>,
        rows: NewRows<'_>,
        ids: Option<&[RowId]>,
    ) -> Result<ChangeReport, EngineError> {
        let start = Instant::now();
        let n_given = self.check_counts(&rows, ids)?;
        let first = self.rows.len();
        let (id_digests, mut selectors) = match ids {
            Some(ids) => {
                self.settings.check_has_ids()?;
                crate::selection::refuse_repeated(IdKind::Row, ids)?;
                (self.index.digests(IdKind::Row, ids), selectors(ids, &self.settings.salt))
            }
            None if self.index.is_numbered() => {
                let numbers: Vec<RowId> = (first..first + n_given).map(numbered).collect();
                let selectors = numbered_selectors(first..first + n_given, &self.settings.salt);
                (self.index.digests(IdKind::Row, &numbers), selectors)
            }
            None => return Err(RowsError::NoIds.into()),
        };
        let subjects = rows.subjects.map(|subjects| self.index.digests(IdKind::Subject, subjects));
        let mut keys: Vec<RowKeys> = (0..n_given)
            .map(|i| RowKeys { id: id_digests[i], subject: subjects.as_ref().map(|subjects| subjects[i]) })
            .collect();
        let kept: Vec<bool> = keys.iter().map(|keys| !keys.is_among(|digest| self.index.is_removed(digest))).collect();
        for (id, _) in ids.unwrap_or_default().iter().zip(&kept).filter(|(_, kept)| **kept) {
            if self.index.position_of(id, &self.rows.present).is_some() {
                return Err(AppendError::AlreadyPresent { id: id.clone() }.into());
            }
        }
        let n_suppressed = kept.iter().filter(|kept| !**kept).count();
        let sifted = (n_suppressed > 0).then(|| Sifted::of(&rows, self.rows.n_features, &kept));
        retain(&mut keys, &kept);
        retain(&mut selectors, &kept);
        let (features, labels) = match &sifted {
            Some(sifted) => (sifted.features.slice(0..sifted.features.len()), &sifted.labels[..]),
            None => (rows.features, rows.labels),
        };
        let mut row_weights = check_weights(rows.row_weights, n_given, self.settings.max_row_weight)?;
        if let Some(weights) = &mut row_weights {
            retain(weights, &kept);
        }
        let arriving = self.rows.arriving(features, labels, selectors, row_weights, lent.cancel)?;
        let coming = count_classes(labels, self.settings.n_classes());
        check_classes(self.settings.codec.classes(), &self.rows.class_counts, &coming)?;

        let stepping = Instant::now();
        let positions = self.rows.append(&arriving);
        if !positions.is_empty() {
            let coming = self.rows.batch(lent, &positions.clone().collect::<Vec<_>>());
            let stepped = coming
                .map_err(EngineError::from)
                .and_then(|coming| step(&mut self.model, &self.rows, lent, None, Some(&coming)));
            if let Err(error) = stepped {
                self.rows.truncate(first);
                return Err(error);
            }
            self.note_change(StepKind::Addition, positions.len(), &[], None);
            if ids.is_some() {
                self.index.give_ids(&self.rows.present[..first]);
            }
        }
        self.index.append(positions.start, &keys);
        self.n_suppressed += n_suppressed;
        let counts = Counts { changed: positions.len(), missing: 0 };
        let report = ChangeReport::of(&self.model, counts, stepping.elapsed().as_secs_f64());
        Ok(ChangeReport { n_suppressed, seconds: start.elapsed().as_secs_f64(), ..report })
    }

    /// Replaces the rows of these ids: one removal and one addition in one step. Without subjects, rows stay whose they
    /// were.
    pub fn correct(
        &mut self,
        lent: &LentRows<'_>,
        ids: &[RowId],
        rows: NewRows<'_>,
    ) -> Result<ChangeReport, EngineError> {
        let start = Instant::now();
        self.settings.check_has_ids()?;
        if let Some(subjects) = rows.subjects {
            if !self.index.has_subjects() {
                return Err(EngineError::NoSubjects);
            }
            check_count("subjects", subjects.len(), ids.len())?;
        }
        check_count("labels", rows.labels.len(), ids.len())?;
        let positions = self.index.positions_of(ids, &self.rows.present)?;
        if positions.is_empty() {
            return Err(EngineError::NothingNamed);
        }
        let subjects = rows.subjects.map(|subjects| self.index.digests(IdKind::Subject, subjects));
        for (digest, subject) in subjects.iter().flatten().zip(rows.subjects.unwrap_or_default()) {
            if self.index.is_removed(*digest) {
                return Err(LookupError::AlreadyRemoved { kind: IdKind::Subject, id: subject.clone() }.into());
            }
        }
        let selectors = positions.iter().map(|position| self.rows.selectors[*position]).collect();
        let row_weights = match rows.row_weights {
            // Weights of 1 are weights too: they take the place of others.
            Some(weights) => {
                let checked = check_weights(Some(weights), ids.len(), self.settings.max_row_weight)?;
                Some(checked.unwrap_or_else(|| vec![1.0; ids.len()]))
            }
            None => None,
        };
        let arriving = self.rows.arriving(rows.features, rows.labels, selectors, row_weights, lent.cancel)?;
        let leaving = self.rows.unchanged_batch(lent, &positions)?;
        self.check_enough_remain(&leaving, Some(&arriving))?;

        let stepping = Instant::now();
        let before = self.rows.replace(&positions, &arriving);
        let coming = self.rows.batch(lent, &positions);
        let stepped = coming
            .map_err(EngineError::from)
            .and_then(|coming| step(&mut self.model, &self.rows, lent, Some(&leaving), Some(&coming)));
        if let Err(error) = stepped {
            self.rows.put_back(&before);
            return Err(error);
        }
        let counts = Counts { changed: positions.len(), missing: 0 };
        let report = self.report(counts, stepping);
        self.rows.erase(&before);
        self.note_change(StepKind::Correction, positions.len(), &positions, None);
        if let Some(subjects) = subjects {
            self.index.hand_over(&positions, &subjects);
        }
        Ok(ChangeReport { seconds: start.elapsed().as_secs_f64(), ..report })
    }

    /// Lets classes go that have no rows any more, and tells what the step led to.
    fn report(&mut self, counts: Counts, stepping: Instant) -> ChangeReport {
        let classes_gone = self.settings.drop_classes(&mut self.model, &self.rows.class_counts);
        ChangeReport { classes_gone, ..ChangeReport::of(&self.model, counts, stepping.elapsed().as_secs_f64()) }
    }

    /// Notes a change of `n_rows` rows as a log has it. Those that left or were replaced must still be in the index.
    fn note_change(&mut self, kind: StepKind, n_rows: usize, left: &[usize], request_id: Option<&str>) {
        self.sequence += 1;
        self.since.is_stale |= n_rows > 0;
        let left: Vec<RowKeys> = left.iter().map(|position| self.index.keys_at(*position)).collect();
        let change = self.settings.logged_change(self.sequence, n_rows, &left, request_id);
        self.since.changes.push(Entry::new(timestamp(now()), kind.event(change)));
        self.since.people.extend(left.iter().map(RowKeys::person));
    }

    /// Refuses a removal that would leave no row, counting the rows that come in the same step.
    fn check_enough_remain(&self, leaving: &Batch, coming: Option<&Arriving<'_>>) -> Result<(), EngineError> {
        let classes = self.settings.codec.classes();
        let RowTable { n_present, weight_sum, class_counts, .. } = &self.rows;
        let before = RowTally { n_rows: *n_present, weight_sum: *weight_sum, class_counts: class_counts.clone() };
        let tally = |labels: &[f64], weight_sum| RowTally {
            n_rows: labels.len(),
            weight_sum,
            class_counts: count_classes(labels, classes.len()),
        };
        let coming = coming.map(|coming| {
            // Corrected rows without weights of their own keep those they had.
            let of_rows = |weights: &Vec<f64>| weights.iter().map(|weight| WeightSum::of_row(*weight)).sum();
            tally(coming.labels, coming.row_weights.as_ref().map_or_else(|| leaving.weight_sum(), of_rows))
        });
        check_enough_remain(classes, &before, &tally(&leaving.labels, leaving.weight_sum()), coming.as_ref())
    }

    /// Number of rows that come, with one of everything each.
    fn check_counts(&self, rows: &NewRows<'_>, ids: Option<&[RowId]>) -> Result<usize, EngineError> {
        let (n_features, found) = (self.rows.n_features, len_of(rows.features));
        if !found.is_multiple_of(n_features) {
            return Err(RowsError::Shape { found, n_features }.into());
        }
        let expected = found / n_features;
        check_count("labels", rows.labels.len(), expected)?;
        if let Some(ids) = ids {
            check_count("ids", ids.len(), expected)?;
        }
        match rows.subjects {
            Some(_) if !self.index.has_subjects() => return Err(EngineError::NoSubjects),
            Some(subjects) => check_count("subjects", subjects.len(), expected)?,
            None if self.index.has_subjects() => return Err(RowsError::NoSubjects.into()),
            None => {}
        }
        Ok(expected)
    }
}

/// Takes one step. A bound that reads all rows may fail half-way: the model is then put back as it was.
fn step(
    model: &mut Model,
    rows: &RowTable,
    lent: &LentRows<'_>,
    leaving: Option<&Batch>,
    coming: Option<&Batch>,
) -> Result<(), EngineError> {
    let change = Change {
        removed: leaving.filter(|rows| rows.n_rows() > 0).map(|rows| rows as &dyn RowStore),
        added: coming.filter(|rows| rows.n_rows() > 0).map(|rows| rows as &dyn RowStore),
    };
    if model.plan().rung() == Rung::Stale {
        model.change(&change, &rows.view(lent)?)?;
        return Ok(());
    }
    let mut changed = model.clone();
    rows.read(lent, |rows| Ok(changed.change(&change, rows)?))?;
    *model = changed;
    Ok(())
}

/// Rows of which some were left out. Overwritten with zeros when dropped.
struct Sifted {
    features: FeatureValues,
    labels: Vec<f64>,
}

impl Sifted {
    fn of(rows: &NewRows<'_>, n_features: usize, kept: &[bool]) -> Self {
        fn sift<T: Copy>(values: &[T], n_features: usize, kept: &[bool]) -> Vec<T> {
            let rows = values.chunks_exact(n_features).zip(kept);
            // Room for all of it: what grows leaves copies behind.
            let mut sifted = Vec::with_capacity(values.len());
            rows.filter(|(_, kept)| **kept).for_each(|(row, _)| sifted.extend_from_slice(row));
            sifted
        }
        let features = match rows.features {
            Features::F32(values) => FeatureValues::F32(sift(values, n_features, kept)),
            Features::F64(values) => FeatureValues::F64(sift(values, n_features, kept)),
        };
        Self { features, labels: sift(rows.labels, 1, kept) }
    }
}

impl Drop for Sifted {
    fn drop(&mut self) {
        self.features.zeroize();
        self.labels.zeroize();
    }
}

/// Keeps the entries for which `kept` is true.
fn retain<T>(entries: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    entries.retain(|_| kept.next().copied().unwrap_or(false));
}

fn check_count(what: &'static str, found: usize, expected: usize) -> Result<(), RowsError> {
    if found == expected { Ok(()) } else { Err(RowsError::Count { what, found, expected }) }
}
