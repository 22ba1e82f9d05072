//! Signals that end a training, or predictions, scaled rows and exported models on their way into a file: what was written is
//! removed before the program ends, but for the checkpoint of a network that somebody asked for. Every other command can be
//! killed at any moment, and what it leaves is put right by the next one.

use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

#[cfg(unix)]
use anyhow::Context;
use efface_engine::ModelDirectory;

use crate::output::{Output, quoted};
use crate::whole_file;

/// Removes what a training has written when somebody interrupts it (Ctrl-C, a signal to terminate, a terminal that closes).
pub(crate) fn clean_up_after(out: &Path, json: bool) -> anyhow::Result<()> {
    let out = out.to_path_buf();
    at_signal(move || say(&out, json))
}

/// Removes what has been written of a file when somebody interrupts the program.
pub(crate) fn abandon_after(out: &Path, output: &Output) -> anyhow::Result<()> {
    let (place, json) = (quoted(out), !output.is_text());
    at_signal(move || {
        let end = if whole_file::abandon_unfinished() { "was not written" } else { "is complete" };
        Output::new(json).error("interrupted", &format!("interrupted; {place} {end}"), None);
    })
}

/// Does this when somebody interrupts the program, which then ends. A second signal does not wait for that.
#[cfg(unix)]
pub(crate) fn at_signal(clean_up: impl FnOnce() + Send + 'static) -> anyhow::Result<()> {
    register(clean_up).context("signals cannot be waited for")
}

#[cfg(not(unix))]
pub(crate) fn at_signal(_: impl FnOnce() + Send + 'static) -> anyhow::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn register(clean_up: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    use std::sync::atomic::AtomicBool;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::flag;
    use signal_hook::iterator::Signals;

    let ending: Vec<i32> = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal)).collect();
    let is_second = Arc::new(AtomicBool::new(false));
    for signal in &ending {
        flag::register_conditional_shutdown(*signal, SIGNALLED + signal, Arc::clone(&is_second))?;
        flag::register(*signal, Arc::clone(&is_second))?;
    }
    let mut signals = Signals::new(ending)?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            clean_up();
            std::process::exit(SIGNALLED + signal);
        }
    })?;
    Ok(())
}

/// Work that ends between two of its steps when somebody interrupts it, and then says itself what became of it.
pub(crate) struct Stop {
    signal: Arc<Mutex<Signal>>,
    ended: Sender<String>,
}

#[derive(Default)]
struct Signal {
    has_come: bool,
    /// The work says how it ends. Until then there is nothing to wait for.
    is_waited_for: bool,
}

impl Stop {
    pub(crate) fn at_signal(json: bool) -> anyhow::Result<Self> {
        let (signal, (ended, end)) = (Arc::<Mutex<Signal>>::default(), channel::<String>());
        let here = Arc::clone(&signal);
        at_signal(move || {
            let is_waited_for = {
                let mut signal = here.lock().unwrap_or_else(PoisonError::into_inner);
                signal.has_come = true;
                signal.is_waited_for
            };
            let line = match is_waited_for.then(|| end.recv()) {
                None => "interrupted; nothing was written".into(),
                Some(Ok(line)) => line,
                // The work was done, or failed: the program ends with its answer.
                Some(Err(_)) => wait_for_ever(),
            };
            Output::new(json).error("interrupted", &line, None);
        })?;
        Ok(Self { signal, ended })
    }

    pub(crate) fn is_asked_for(&self) -> bool {
        self.signal.lock().unwrap_or_else(PoisonError::into_inner).has_come
    }

    /// From here on a signal waits until the work has ended; a second one does not.
    pub(crate) fn wait_for_end(&self) {
        let mut signal = self.signal.lock().unwrap_or_else(PoisonError::into_inner);
        if signal.has_come && !signal.is_waited_for {
            drop(signal);
            // The program is ending already.
            wait_for_ever();
        }
        signal.is_waited_for = true;
    }

    /// The program ends with this line, and the code of the signal.
    pub(crate) fn end(&self, line: &str) -> ! {
        // Nobody listens where the program is ending already.
        let _ = self.ended.send(line.to_owned());
        wait_for_ever()
    }
}

fn wait_for_ever() -> ! {
    loop {
        std::thread::park();
    }
}

/// Removes what is there of a model without a name, and says how the training ended.
fn say(out: &Path, json: bool) {
    let left = ModelDirectory::abandon_unfinished(Duration::from_secs(5));
    let place = quoted(out);
    let line = match left.iter().find(|left| left.exists()) {
        Some(left) => format!("interrupted; {} could not be removed, and holds rows", quoted(left)),
        None if out.exists() => format!("interrupted; {place} is complete"),
        None => format!("interrupted; nothing is left of {place}"),
    };
    Output::new(json).error("interrupted", &line, None);
}

/// Whether whoever started the program wants it to go on after a signal, as `nohup` does.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

/// Shells tell a program that a signal has ended by this and the number of the signal.
#[cfg(unix)]
const SIGNALLED: i32 = 128;
