//! The time, and how certificates write it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Now, in seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// A time in seconds since 1970, as certificates write it: RFC 3339 in UTC.
pub(crate) fn timestamp(seconds: u64) -> String {
    // Beyond the year 9999 there is no such form; no clock is there yet.
    const LATEST: u64 = 253_402_300_799;
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(seconds.min(LATEST))).to_string()
}
