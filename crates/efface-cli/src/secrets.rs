//! Rows, weights and keys are in memory while a command runs: a crash must not write them to a file.

/// Switches core dumps off, and on Linux also lets no other process of the same user look into the memory. Best effort: a
/// system that refuses is no reason not to remove a row.
#[cfg(unix)]
pub(crate) fn keep_out_of_core_dumps() {
    use rustix::process::{Resource, Rlimit, setrlimit};

    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    // A limit of 0 does not keep a dump from a program that the kernel pipes it to.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

#[cfg(not(unix))]
pub(crate) fn keep_out_of_core_dumps() {}
