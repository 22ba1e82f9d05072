//! Signals that end a training: what it has written is removed before the program ends. Every other command can be killed
//! at any moment, and what it leaves is put right by the next one.

use std::path::Path;

/// Removes what a training has written when somebody interrupts it (Ctrl-C, a signal to terminate, a terminal that closes).
/// A second signal does not wait for that.
#[cfg(unix)]
pub(crate) fn clean_up_after(out: &Path, json: bool) -> std::io::Result<()> {
    use std::sync::Arc;
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
    let (mut signals, out) = (Signals::new(ending)?, out.to_path_buf());
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            say(&out, json);
            std::process::exit(SIGNALLED + signal);
        }
    })?;
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn clean_up_after(_: &Path, _: bool) -> std::io::Result<()> {
    Ok(())
}

/// Removes what is there of a model without a name, and says how the training ended.
#[cfg(unix)]
fn say(out: &Path, json: bool) {
    use std::time::Duration;

    use efface_engine::ModelDirectory;

    use crate::output::{Output, quoted};

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
