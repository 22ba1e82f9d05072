//! How much memory rows may take when nobody says so.

/// A quarter of the machine's memory; a gibibyte where that is not known.
pub(crate) fn default_bytes() -> u64 {
    const UNKNOWN: u64 = 4 << 30;
    machine_bytes().unwrap_or(UNKNOWN) / 4
}

/// Memory of the machine, as Linux tells it.
fn machine_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}
