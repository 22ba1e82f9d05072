//! Long work beside the interpreter: a worker thread computes, the calling thread waits without the interpreter's lock,
//! wakes now and then to see whether Ctrl-C was pressed, and hands on progress.

use std::collections::HashMap;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use serde::Serialize;

use crate::errors::bad_parameter;

/// How often the calling thread wakes.
const WAKE: Duration = Duration::from_millis(50);

/// What a worker sees of its surroundings.
pub(crate) struct Worker<'a> {
    /// Set when the work should stop.
    pub(crate) cancel: &'a AtomicBool,
    reports: Sender<String>,
    pool: Arc<ThreadPool>,
}

impl Worker<'_> {
    /// Reports how the work goes on.
    pub(crate) fn report(&self, report: &impl Serialize) {
        // Nobody listens any more: the work is being stopped.
        let _ = self.reports.send(serde_json::to_string(report).expect("plain numbers"));
    }

    /// Runs a part with as many threads as were asked for. Locks are taken before, outside of the pool: one of its threads
    /// that waits for others takes up whatever work there is, that of another call too.
    pub(crate) fn install<T: Send>(&self, part: impl FnOnce() -> T + Send) -> T {
        self.pool.install(part)
    }
}

/// What a job led to, and what came up meanwhile.
pub(crate) struct Done<T> {
    value: T,
    /// The exception of a signal handler or of `progress`; the job was told to stop.
    stopped_by: Option<PyErr>,
}

impl<T> Done<T> {
    /// The value of a job that has no effect if nobody takes it.
    pub(crate) fn unless_stopped(self) -> PyResult<T> {
        self.stopped_by.map_or(Ok(self.value), Err)
    }
}

impl<T, E> Done<Result<T, E>> {
    /// The value of a job that may have changed something. If it did in spite of Ctrl-C, that is not hidden: the
    /// value is returned, and the interrupt comes right after.
    pub(crate) fn or_raise(self, py: Python<'_>, raised: impl FnOnce(E) -> PyErr) -> PyResult<T> {
        match (self.value, self.stopped_by) {
            (Ok(value), Some(error)) if error.is_instance_of::<PyKeyboardInterrupt>(py) => {
                py.import("_thread")?.call_method0("interrupt_main")?;
                Ok(value)
            }
            (_, Some(error)) => Err(error),
            (value, None) => value.map_err(raised),
        }
    }
}

/// Runs a job on a worker thread, with `n_threads` threads under it (`None`: as many as there are processors).
///
/// An exception of a signal handler or of `progress` tells the job to stop.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    n_threads: Option<usize>,
    progress: Option<&Py<PyAny>>,
    job: impl FnOnce(&Worker<'_>) -> T + Send,
) -> PyResult<Done<T>> {
    let pool = pool_of(py, n_threads)?;
    let cancel = AtomicBool::new(false);
    py.detach(|| {
        thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            let worker = Worker { cancel: &cancel, reports: sender, pool };
            let handle = scope.spawn(move || {
                let worker = worker;
                job(&worker)
            });
            let (mut stopped_by, mut heeded) = (None, Instant::now());
            loop {
                let heard = match (receiver.recv_timeout(WAKE), progress) {
                    (Ok(report), Some(progress)) => hand_on(progress, report),
                    (Ok(_), None) if heeded.elapsed() < WAKE => continue,
                    (Ok(_), None) | (Err(RecvTimeoutError::Timeout), _) => heed_signals(),
                    (Err(RecvTimeoutError::Disconnected), _) => break,
                };
                heeded = Instant::now();
                if let Err(error) = heard
                    && stopped_by.is_none()
                {
                    cancel.store(true, Ordering::Relaxed);
                    stopped_by = Some(error);
                }
            }
            let value = handle.join().map_err(|_| PyRuntimeError::new_err("the engine panicked; this is a bug"))?;
            Ok(Done { value, stopped_by })
        })
    })
}

/// Runs a job that takes a few milliseconds on the calling thread, without the interpreter's lock.
pub(crate) fn run_here<T: Send>(
    py: Python<'_>,
    n_threads: Option<usize>,
    job: impl FnOnce(&ThreadPool) -> T + Send,
) -> PyResult<T> {
    let pool = pool_of(py, n_threads)?;
    Ok(py.detach(|| job(&pool)))
}

/// Lets handlers of signals run: after Ctrl-C this is an error.
fn heed_signals() -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        Ok(())
    })
}

fn hand_on(progress: &Py<PyAny>, report: String) -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        progress.call1(py, (report,)).map(drop)
    })
}

/// By process and number of threads.
type Pools = HashMap<(u32, usize), Arc<ThreadPool>>;

/// The pool of so many threads, made when it is first asked for. Each process has its own: threads do not survive a fork.
fn pool_of(py: Python<'_>, n_threads: Option<usize>) -> PyResult<Arc<ThreadPool>> {
    static POOLS: OnceLock<Mutex<Pools>> = OnceLock::new();
    let n_threads = n_threads.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    if n_threads == 0 {
        return Err(bad_parameter(py, "n_threads must be at least 1, got `0`"));
    }
    let mut pools = POOLS.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    let key = (process::id(), n_threads);
    if let Some(pool) = pools.get(&key) {
        return Ok(pool.clone());
    }
    let made = ThreadPoolBuilder::new().num_threads(n_threads).build();
    let pool = Arc::new(made.map_err(|error| PyRuntimeError::new_err(error.to_string()))?);
    pools.insert(key, pool.clone());
    Ok(pool)
}
