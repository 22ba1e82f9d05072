//! How a call from Python runs: with the rows lent, the state locked, without the interpreter's lock.

use std::sync::atomic::AtomicBool;
use std::sync::{MutexGuard, PoisonError};

use efface_core::rows::Features;
use efface_data::{LentRows, Scale, TableParts};
use efface_engine::{ChangeReport, EngineError, Life, StorageError};
use pyo3::prelude::*;
use serde::Serialize;

use super::{Engine, json};
use crate::errors::raised;
use crate::rows::Given;
use crate::state::State;
use crate::work::{self, Worker};

impl Engine {
    /// Lends the rows of a model in memory; of another there are none.
    fn with_rows<T>(&self, py: Python<'_>, run: impl FnOnce(Features<'_>) -> PyResult<T>) -> PyResult<T> {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match rows {
            Some(rows) => rows.with(py, run)?,
            None => run(Features::F64(&[])),
        }
    }

    /// Runs an operation on a worker thread, with the rows of a model in memory at hand.
    pub(super) fn run<T: Send>(
        &self,
        py: Python<'_>,
        operation: impl FnOnce(&mut State, &LentRows<'_>, &Worker<'_>) -> Result<T, EngineError> + Send,
    ) -> PyResult<T> {
        let done = self.with_rows(py, |features| {
            work::run(py, self.n_threads, None, |worker| {
                let mut state = self.lock()?;
                let (state, lent) = (&mut *state, LentRows { features, cancel: worker.cancel });
                worker.install(|| operation(state, &lent, worker))
            })
        })?;
        done.or_raise(py, |error| raised(py, &error))
    }

    /// The same for a step of a few milliseconds, on the calling thread: starting another would take a tenth of the time.
    pub(super) fn report_here<T: Send + Serialize>(
        &self,
        py: Python<'_>,
        operation: impl FnOnce(&mut State, &LentRows<'_>) -> Result<T, EngineError> + Send,
    ) -> PyResult<String> {
        let done = self.with_rows(py, |features| {
            work::run_here(py, self.n_threads, |pool| {
                let mut state = self.lock()?;
                let (state, cancel) = (&mut *state, AtomicBool::new(false));
                pool.install(|| operation(state, &LentRows { features, cancel: &cancel }))
            })
        })?;
        done.map(|report| json(&report)).map_err(|error| raised(py, &error))
    }

    /// The state, once no other thread works on it. One that a panic left half changed is not used again.
    fn lock(&self) -> Result<MutexGuard<'_, State>, EngineError> {
        self.state.lock().map_err(|_| EngineError::Storage(StorageError::Damaged))
    }

    /// The same for operations that end in a report.
    pub(super) fn report<T: Send + Serialize>(
        &self,
        py: Python<'_>,
        operation: impl FnOnce(&mut State, &LentRows<'_>, &Worker<'_>) -> Result<T, EngineError> + Send,
    ) -> PyResult<String> {
        Ok(json(&self.run(py, operation)?))
    }

    /// The same for operations that take rows.
    pub(super) fn report_with(
        &self,
        py: Python<'_>,
        given: Given,
        operation: impl FnOnce(&mut Life<'_>, TableParts, Option<Vec<f64>>) -> Result<ChangeReport, EngineError> + Send,
    ) -> PyResult<String> {
        given.rows.with(py, |features| {
            self.report(py, |state, lent, _| {
                let table = given.table(features, state.view()?.settings())?;
                state.live(lent, |life| operation(life, table, given.row_weights.clone()))
            })
        })?
    }

    /// How rows of the model are scaled.
    pub(super) fn scale(&self, py: Python<'_>) -> PyResult<Scale> {
        self.read(py, |state| Ok(state.view()?.settings().transform.scale))
    }

    /// Looks at the state, as soon as no other thread works on it.
    pub(super) fn read<T: Send>(
        &self,
        py: Python<'_>,
        look: impl FnOnce(&State) -> Result<T, EngineError> + Send,
    ) -> PyResult<T> {
        py.detach(|| look(&*self.lock()?)).map_err(|error| raised(py, &error))
    }
}
