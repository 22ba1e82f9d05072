//! Timing: seconds, medians, and the peak of memory.

use std::time::Instant;

/// What `work` returns, and the seconds that it took.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let done = work();
    (done, start.elapsed().as_secs_f64())
}

/// The same of work that may fail.
pub fn try_timed<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<(T, f64), E> {
    let (done, seconds) = timed(work);
    Ok((done?, seconds))
}

/// Middle value, the upper one of two; NaN of none.
pub fn median(values: Vec<f64>) -> f64 {
    quantile(values, 0.5)
}

/// Mean; NaN of none.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Value that this fraction of the values does not exceed; NaN of none.
pub fn quantile(mut values: Vec<f64>, fraction: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let index = (values.len().saturating_sub(1) as f64 * fraction).round() as usize;
    values.get(index).copied().unwrap_or(f64::NAN)
}

/// Peak resident memory of this process in bytes, where the system tells.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// Resets the peak-memory counter to what is resident now, where the system allows it (Linux).
pub fn reset_peak_memory() -> std::io::Result<()> {
    std::fs::write("/proc/self/clear_refs", "5")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_one_of_the_values() {
        assert_eq!(quantile((1..=101).rev().map(f64::from).collect(), 0.95), 96.0);
        assert_eq!(quantile(vec![3.0], 0.95), 3.0);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert!(median(Vec::new()).is_nan() && quantile(Vec::new(), 0.5).is_nan());
    }
}
