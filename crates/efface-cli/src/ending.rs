//! How the program ends when it cannot go on: without memory, without threads, or by a mistake of its own. With one line and
//! code 2, as every error does.

use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use efface_engine::ModelDirectory;

use crate::output::Output;
use crate::whole_file;

/// Whether machines are told, too. Memory can run out anywhere.
static JSON: AtomicBool = AtomicBool::new(false);

/// What the latest panic said, and where.
static PANIC: Mutex<Option<(String, String)>> = Mutex::new(None);

/// From here on whatever stops the program is said in its own words.
pub(crate) fn prepare() {
    efface_memory::on_exhaustion(out_of_memory);
    set_hook(Box::new(|panic| {
        let said = panic.payload_as_str().unwrap_or("no reason given").to_owned();
        if is_about_threads(&said) {
            out_of_threads();
        }
        let place = panic.location().map_or_else(String::new, ToString::to_string);
        *PANIC.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some((said, place));
    }));
}

/// Does the work of a command; `None`: it gave up, and has said why.
pub(crate) fn caught<T>(output: &Output, work: impl FnOnce() -> T) -> Option<T> {
    JSON.store(!output.is_text(), Ordering::Relaxed);
    if let Ok(answer) = catch_unwind(AssertUnwindSafe(work)) {
        return Some(answer);
    }
    let said = PANIC.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
    let (said, place) = said.unwrap_or_default();
    if said == "capacity overflow" {
        output.error("out-of-memory", "out of memory: more was asked for than a machine can address", None);
    } else {
        output.error("internal", &format!("internal error at {place}: {said}"), Some("please report this as a bug"));
    }
    None
}

/// Whether a panic is that of a thread that could not be started: the pool of threads and the standard library tell it by
/// a panic only.
fn is_about_threads(said: &str) -> bool {
    ["ThreadPoolBuildError", "failed to spawn thread"].iter().any(|part| said.contains(part))
}

const FEWER_THREADS: &str = "RAYON_NUM_THREADS=1 in the environment makes do with one";

/// Where threads cannot be had, memory for unwinding a stack may be short, too.
fn out_of_threads() -> ! {
    abandon_unfinished().error("no-thread", "cannot start a thread: the system allows no more", Some(FEWER_THREADS));
    std::process::exit(2);
}

fn out_of_memory(n_bytes: usize) {
    let said = format!("out of memory: cannot allocate {n_bytes} more bytes");
    abandon_unfinished().error("out-of-memory", &said, None);
}

/// Removes rows of a model that gets no name. The thread at hand may be the one that is about to give it one: no long wait.
fn abandon_unfinished() -> Output {
    ModelDirectory::abandon_unfinished(Duration::from_millis(100));
    whole_file::abandon_unfinished();
    Output::new(JSON.load(Ordering::Relaxed))
}
