//! Work that is stopped half-way: the model is as before, or still one of which the truth is claimed, and lives on.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use efface_core::model::{BudgetRule, Mechanism, TrainError};
use efface_core::residual::Rung;
use efface_core::rows::{RowShape, RowStore, StoreError};
use efface_core::sums::{SumRequest, Sums};
use efface_data::{EncodedRows, Interrupted, VaultError};

use super::*;

/// Rows with which somebody meddles: after so many passes work is to stop, after so many checks a row has changed.
pub(super) struct Meddled<'a> {
    rows: LentVault<'a>,
    passes: AtomicUsize,
    checks: AtomicUsize,
    stop: &'a AtomicBool,
}

impl<'a> Meddled<'a> {
    /// The row that has changed.
    pub(super) const CHANGED: usize = 400;

    /// Rows of which one has changed after so many checks.
    pub(super) fn checked(rows: LentVault<'a>, n_checks: usize) -> Self {
        Self { rows, passes: AtomicUsize::new(usize::MAX), checks: AtomicUsize::new(n_checks), stop: &GO_ON }
    }

    /// Rows that are lent until `stop` is set: after so many passes.
    fn stopped(rows: LentVault<'a>, stop: &'a AtomicBool, n_passes: usize) -> Self {
        Self { rows, passes: AtomicUsize::new(n_passes), checks: AtomicUsize::new(usize::MAX), stop }
    }
}

/// Whether none is left; otherwise there is one less.
fn is_spent(left: &AtomicUsize) -> bool {
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err()
}

impl Vault for Meddled<'_> {
    fn n_positions(&self) -> usize {
        self.rows.n_positions()
    }

    fn is_present(&self, position: usize) -> bool {
        self.rows.is_present(position)
    }

    fn pass(&self, passes: &mut dyn FnMut(&dyn RowStore)) {
        self.rows.pass(&mut |rows| passes(&Passes { rows, left: &self.passes, stop: self.stop }));
    }

    fn check(&self) -> Result<(), VaultError> {
        self.rows.check()?;
        if is_spent(&self.checks) { Err(RowsError::Changed { row: Self::CHANGED }.into()) } else { Ok(()) }
    }

    fn batch(&self, positions: &[usize]) -> Result<MemoryRows, VaultError> {
        self.rows.batch(positions)
    }

    fn arrive(&mut self, rows: &EncodedRows, selectors: &[u64]) -> Result<Range<usize>, VaultError> {
        self.rows.arrive(rows, selectors)
    }

    fn leave(&mut self, positions: &[usize]) -> Result<(), VaultError> {
        self.rows.leave(positions)
    }

    fn undo(&mut self, left: &[usize], arrived: Range<usize>) -> Result<(), VaultError> {
        self.rows.undo(left, arrived)
    }

    fn purge(&mut self, positions: &[usize]) -> Result<(), VaultError> {
        self.rows.purge(positions)
    }
}

/// Rows that set a flag when their passes are spent.
struct Passes<'a> {
    rows: &'a dyn RowStore,
    left: &'a AtomicUsize,
    stop: &'a AtomicBool,
}

impl RowStore for Passes<'_> {
    fn shape(&self) -> RowShape {
        self.rows.shape()
    }

    fn sum(&self, request: &SumRequest<'_>) -> Result<Sums, StoreError> {
        if is_spent(self.left) {
            self.stop.store(true, Ordering::Relaxed);
        }
        self.rows.sum(request)
    }
}

fn is_interrupted(error: &EngineError) -> bool {
    match error {
        EngineError::InMemory(RowsError::Interrupted(_)) => true,
        EngineError::Store(StoreError(source)) | EngineError::Train(TrainError::Store(StoreError(source))) => {
            source.is::<Interrupted>()
        }
        _ => false,
    }
}

#[test]
fn training_stops_when_asked_to() {
    let (sample, stop) = (Sample::usual(), AtomicBool::new(true));
    let request = || MemoryRequest {
        rows: LentRows { features: Features::F64(&sample.values), cancel: &stop },
        ..sample.request()
    };
    assert!(is_interrupted(&refused(request())));
    stop.store(false, Ordering::Relaxed);
    let error = MemoryModel::train(&request(), &mut NoiseSource::danger_fixed_seed(1), &mut |_| {
        stop.store(true, Ordering::Relaxed);
    })
    .err()
    .expect("stopped after the first pass");
    assert!(matches!(error, EngineError::Train(TrainError::Store(_))) && is_interrupted(&error), "{error}");
}

/// What can be stopped.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Operation {
    Remove,
    Correct,
    Settle,
    Retrain,
    Release,
}

impl Operation {
    fn run(self, life: &mut Life<'_>, sample: &Sample) -> Result<(), EngineError> {
        match self {
            Self::Remove => life.remove(&ids([5, 6]), Some("ticket"), Missing::Refuse).map(drop),
            Self::Correct => {
                let rows = TableParts { ids: Some(vec![RowId::Integer(5)]), ..sample.parts(&[9]) };
                life.correct_table(rows, None).map(drop)
            }
            Self::Settle => life.settle(Some(TIGHT)).map(drop),
            Self::Retrain => life.retrain(&mut randomness(), &mut |_| {}).map(drop),
            Self::Release => life.release(&mut randomness()).map(drop),
        }
    }
}

const TIGHT: f64 = 1e-9;

/// Stops one operation after every number of passes that it makes, and looks at what is left each time: of a model that was
/// stepped, or that was `loosely` trained and knows of a gradient that is left. Returns at how many places it could be stopped.
fn stop_everywhere(sample: &Sample, config: TrainingConfig, loosely: bool, operation: Operation) -> usize {
    let is_objective = matches!(config.mechanism, Mechanism::Objective { .. });
    let config = TrainingConfig { gradient_tolerance: if loosely { 1.0 } else { TIGHT }, ..config };
    let mut start = trained(MemoryRequest { config, ..sample.request() });
    start.remove(&ids([1, 2])).expect("removable");
    if loosely {
        start.live(|life| life.retrain(&mut randomness(), &mut |_| {})).expect("trainable");
    }
    let before = weights(&start.model.model);
    let bytes = start.bytes().expect("unchanged");
    let left: Vec<usize> = (0..N_ROWS).filter(|row| ![1, 2, 5].contains(row)).collect();
    let (never_there, _) = sample.train_kept(&left, false);
    // Retraining touches nothing before it is done: a few places, of every kind, will do.
    let stride = if operation == Operation::Retrain { 7 } else { 1 };
    for n_passes in (0..).step_by(stride) {
        let mut held = Held::from_bytes(&bytes).expect("whole");
        let stop = AtomicBool::new(false);
        let (model, vault) = held.lend(&stop);
        let mut meddled = Meddled::stopped(vault, &stop, n_passes);
        let done = model.live(&mut meddled, |life| operation.run(life, sample));
        let Err(error) = done else { return n_passes };
        assert!(is_interrupted(&error), "{error}");
        if operation != Operation::Settle && operation != Operation::Release {
            assert_eq!(weights(&held.model.model), before, "{operation:?} stopped after {n_passes} passes");
        }
        let assert_true = |held: &mut Held| {
            let (found, claimed) = (held.measure().residual_at_least.get(), held.model.model.claim());
            assert!(found <= claimed.gradient_residual.get(), "{operation:?} after {n_passes}: {found:e}, {claimed:?}");
        };
        let status = held.model.view().status().expect("known");
        assert_eq!((status.n_rows, status.n_removed, status.n_releases), (N_ROWS - 2, 2, 0));
        assert_eq!((status.n_left, held.table.n_positions(), held.table.count().n_rows), (2, N_ROWS, N_ROWS - 2));
        assert_true(&mut held);

        // It lives on as if nothing had happened.
        let report = held.remove_as("ticket", &ids([5])).expect("still there");
        assert_eq!((report.n_rows, report.repeated), (N_ROWS - 3, false));
        assert_true(&mut held);
        held.live(|life| life.settle(Some(TIGHT))).expect("readable");
        assert_true(&mut held);
        assert_eq!(held.release().release, 1);
        if !is_objective {
            assert_near(&held.model.model, &never_there);
        }
    }
    unreachable!("some number of passes is enough")
}

/// Stops every operation everywhere. `reads_all`: the bound reads all rows to remove one; `settles`: before a release.
fn stop_all(sample: &Sample, config: &TrainingConfig, reads_all: bool, settles: bool) {
    use Operation::{Correct, Release, Remove, Retrain, Settle};

    for (operation, is_stopped) in
        [(Remove, reads_all), (Correct, reads_all), (Settle, true), (Retrain, true), (Release, settles)]
    {
        for loosely in [false, true] {
            let n_places = stop_everywhere(sample, config.clone(), loosely, operation);
            assert_eq!(n_places > 0, is_stopped, "{operation:?}: {n_places}");
        }
    }
}

#[test]
fn a_model_lives_on_wherever_an_operation_was_stopped() {
    let sample = Sample::new(Scale::Unit, true, 3);
    stop_all(&sample, &sample.config(), false, true);
}

#[test]
fn a_model_without_matrices_lives_on_wherever_an_operation_was_stopped() {
    let sample = Sample::new(Scale::Unit, true, 3);
    stop_all(&sample, &TrainingConfig { max_matrix_dim: 0, ..sample.config() }, false, true);
}

#[test]
fn a_model_whose_bound_reads_all_rows_lives_on_wherever_an_operation_was_stopped() {
    let sample = Sample::new(Scale::Unit, true, 3);
    stop_all(&sample, &TrainingConfig { bound: Some(Rung::PerRow), ..sample.config() }, true, true);
}

#[test]
fn a_perturbed_model_lives_on_wherever_an_operation_was_stopped() {
    let sample = Sample::new(Scale::Unit, true, 3);
    let mechanism = Mechanism::Objective { budget: BudgetRule::Analytic };
    stop_all(&sample, &TrainingConfig { mechanism, ..sample.config() }, true, false);
}
