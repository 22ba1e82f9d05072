//! One step: rows leave and rows come, the weights follow, and one commit of the journal makes it durable.

use std::ops::Range;
use std::time::Instant;

use efface_core::removal::Change;
use efface_core::rows::RowStore;
use efface_data::{EncodedRows, MemoryRows};
use efface_ledger::entry::{Change as LoggedChange, Entry, Event};

use crate::change_report::ChangeReport;
use crate::database::{Intent, NewRow, PastRequest, RowKeys, index, ledger, now, timestamp};
use crate::error::EngineError;
use crate::model_directory::ModelDirectory;
use crate::status::Status;

/// Rows that leave and rows that come, in one step.
pub(crate) struct Step {
    /// Positions of rows that leave.
    pub(crate) removed: Vec<usize>,
    /// What kind of change it is.
    pub(crate) kind: StepKind,
    pub(crate) added: Option<Arrivals>,
}

/// Rows of a request.
#[derive(Clone, Copy)]
pub(crate) struct Counts {
    /// Rows that left or came; a corrected row counts once.
    pub(crate) changed: usize,
    /// Rows or subjects that were not there.
    pub(crate) missing: usize,
}

/// What kind of change a step is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepKind {
    /// Rows are removed on request: their ids are remembered as such.
    Removal,
    /// Rows come.
    Addition,
    /// Rows are replaced by rows with the same ids.
    Correction,
}

impl StepKind {
    /// What the log says of it.
    pub(crate) fn event(self, change: LoggedChange) -> Event {
        match self {
            Self::Removal => Event::Removal(change),
            Self::Addition => Event::Addition(change),
            Self::Correction => Event::Correction(change),
        }
    }
}

/// Rows that come.
pub(crate) struct Arrivals {
    pub(crate) rows: EncodedRows,
    pub(crate) keys: Vec<RowKeys>,
}

impl ModelDirectory {
    /// Removes the rows at these positions, within a transaction of the handle.
    pub(crate) fn remove_positions(
        &mut self,
        positions: &[usize],
        n_missing: usize,
        request: Option<(&str, String)>,
    ) -> Result<ChangeReport, EngineError> {
        let step = Step { removed: positions.to_vec(), kind: StepKind::Removal, added: None };
        self.take_step(step, Counts { changed: positions.len(), missing: n_missing }, request)
    }

    /// Takes one step in memory and writes it to the journal.
    ///
    /// New rows are on disk before the commit and do not count without it; old rows are on disk until the next
    /// checkpoint. So the step can be taken again from the journal until a state that includes it is on disk.
    pub(crate) fn take_step(
        &mut self,
        step: Step,
        counts: Counts,
        request: Option<(&str, String)>,
    ) -> Result<ChangeReport, EngineError> {
        let start = Instant::now();
        let Step { removed, kind, added } = step;
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
        let mut head = self.head.clone();
        count_classes(&mut head.class_counts, &leaving, &arriving);
        let classes_gone = self.settings.drop_classes(&mut self.model, &head.class_counts);
        let report = ChangeReport::of(&self.model, counts, stepping.elapsed().as_secs_f64());
        let report = ChangeReport { seconds: start.elapsed().as_secs_f64(), classes_gone, ..report };

        head.sequence += 1;
        let intent = Intent { sequence: head.sequence, removed, added: positions };
        head.chain = head.chain.after(&intent, &removed_keys, &added_keys);
        head.n_positions = self.rows.len();
        head.account = self.model.state().account;
        if kind == StepKind::Removal {
            head.n_removed += intent.removed.len();
        }
        let request_id = request.as_ref().map(|(id, _)| *id);
        let change = self.settings.logged_change(head.sequence, counts.changed, &removed_keys, request_id);
        let entry = Entry::new(timestamp(now()), kind.event(change));
        let request = request.map(|(id, fingerprint)| (id, PastRequest { fingerprint, report: report.clone() }));
        let Self { settings, model, database, .. } = self;
        let suppressed = database.commit(|tables| {
            for position in &intent.removed {
                index::forget(tables, *position)?;
            }
            for (position, keys) in intent.added.clone().zip(&added_keys) {
                NewRow { position, keys: *keys }.insert(tables)?;
            }
            let mut suppressed = Vec::new();
            if kind == StepKind::Removal {
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
                past.insert(tables, id, intent.sequence)?;
            }
            intent.insert(tables)?;
            ledger::append(tables, &mut head.ledger, &entry)?;
            ledger::touch(tables, &mut head.ledger, removed_keys.iter().map(RowKeys::person))?;
            Status::of(settings, model, &head).write(tables)?;
            head.write(tables)?;
            Ok(suppressed)
        })?;
        self.head = head;
        self.n_intents += 1;
        self.tell_witness(suppressed)?;
        Ok(report)
    }

    /// Writes rows at the end of the segments, where they count only after the commit.
    fn append(&mut self, rows: &EncodedRows) -> Result<Range<usize>, EngineError> {
        let positions = self.rows.append(rows, &rows.selectors(&self.settings.salt))?;
        self.rows.sync()?;
        Ok(positions)
    }
}

/// Rows present of each class, after some left and some came.
fn count_classes(counts: &mut [usize], leaving: &MemoryRows, arriving: &MemoryRows) {
    let (leaving, arriving) = (leaving.class_counts(counts.len()), arriving.class_counts(counts.len()));
    for ((count, leaving), arriving) in counts.iter_mut().zip(leaving).zip(arriving) {
        *count = (*count + arriving).saturating_sub(leaving);
    }
}
