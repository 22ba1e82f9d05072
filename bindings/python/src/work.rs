//! Long work beside the interpreter: a worker thread computes, the calling thread waits without the interpreter's lock,
//! wakes now and then to see whether Ctrl-C was pressed, and hands on progress.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use efface_core::model::Phase;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use serde_json::json;

use crate::errors::bad_parameter;

/// How often the calling thread wakes.
const WAKE: Duration = Duration::from_millis(50);

/// What a worker sees of its surroundings.
pub(crate) struct Worker<'a> {
    /// Set when the work should stop.
    pub(crate) cancel: &'a AtomicBool,
    phases: Sender<Phase>,
}

impl Worker<'_> {
    /// Reports how training goes on.
    pub(crate) fn report(&self, phase: Phase) {
        // Nobody listens any more: the work is being stopped.
        let _ = self.phases.send(phase);
    }
}

/// Runs a job on a worker thread, with `n_threads` threads under it (`None`: as many as there are processors).
///
/// An exception of a signal handler or of `progress` stops the job and is raised.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    n_threads: Option<usize>,
    progress: Option<&Py<PyAny>>,
    job: impl FnOnce(&Worker<'_>) -> T + Send,
) -> PyResult<T> {
    let pool = n_threads.map(|n| pool_of(py, n)).transpose()?;
    let cancel = AtomicBool::new(false);
    py.detach(|| {
        thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            let worker = Worker { cancel: &cancel, phases: sender };
            let job = move || {
                let worker = worker;
                match pool {
                    Some(pool) => pool.install(|| job(&worker)),
                    None => job(&worker),
                }
            };
            let handle = scope.spawn(job);
            let mut stopped_by = None;
            loop {
                let heard = match receiver.recv_timeout(WAKE) {
                    Ok(phase) => progress.map_or(Ok(()), |progress| hand_on(progress, &phase)),
                    Err(RecvTimeoutError::Timeout) => heed_signals(),
                    Err(RecvTimeoutError::Disconnected) => break,
                };
                if let Err(error) = heard
                    && stopped_by.is_none()
                {
                    cancel.store(true, Ordering::Relaxed);
                    stopped_by = Some(error);
                }
            }
            let done = handle.join().map_err(|_| PyRuntimeError::new_err("the engine panicked; this is a bug"))?;
            stopped_by.map_or(Ok(done), Err)
        })
    })
}

/// Lets handlers of signals run: after Ctrl-C this is an error.
fn heed_signals() -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        Ok(())
    })
}

fn hand_on(progress: &Py<PyAny>, phase: &Phase) -> PyResult<()> {
    let Phase { problem, n_problems, passes, gradient_norm } = phase;
    let text = json!({
        "problem": problem, "n_problems": n_problems, "passes": passes, "gradient_norm": gradient_norm
    });
    Python::attach(|py| {
        py.check_signals()?;
        progress.call1(py, (text.to_string(),)).map(drop)
    })
}

/// The pool of so many threads, made when it is first asked for.
fn pool_of(py: Python<'_>, n_threads: usize) -> PyResult<Arc<ThreadPool>> {
    static POOLS: OnceLock<Mutex<HashMap<usize, Arc<ThreadPool>>>> = OnceLock::new();
    if n_threads == 0 {
        return Err(bad_parameter(py, "n_threads must be at least 1, got `0`"));
    }
    let mut pools = POOLS.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pool) = pools.get(&n_threads) {
        return Ok(pool.clone());
    }
    let made = ThreadPoolBuilder::new().num_threads(n_threads).build();
    let pool = Arc::new(made.map_err(|error| PyRuntimeError::new_err(error.to_string()))?);
    pools.insert(n_threads, pool.clone());
    Ok(pool)
}
