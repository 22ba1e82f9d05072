//! How much memory rows may take when nobody says so.

use std::fs;

/// A quarter of the memory that this process may use; a gibibyte where that is not known.
pub(crate) fn default_bytes() -> u64 {
    const UNKNOWN: u64 = 4 << 30;
    let known = [machine_bytes(), container_bytes()].into_iter().flatten().min();
    known.unwrap_or(UNKNOWN) / 4
}

fn machine_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// The limit of the container that the process runs in, where there is one.
fn container_bytes() -> Option<u64> {
    fs::read_to_string("/sys/fs/cgroup/memory.max").ok()?.trim().parse().ok()
}
