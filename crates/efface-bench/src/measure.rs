//! Timing: repeats, medians, and the peak of memory.

use std::time::Instant;

use anyhow::Context;

/// Seconds that `work` takes, and what it returns.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let done = work();
    (done, start.elapsed().as_secs_f64())
}

/// Middle value.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Value below which this fraction of the values lies.
pub(crate) fn quantile(mut values: Vec<f64>, fraction: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * fraction).round() as usize]
}

/// Peak resident memory of this process in bytes, where the system tells.
pub(crate) fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// Starts the peak of memory afresh at what is resident now, where the system allows it.
pub(crate) fn forget_peak_memory() -> anyhow::Result<()> {
    std::fs::write("/proc/self/clear_refs", "5").context("the peak of memory cannot be started afresh here")
}
