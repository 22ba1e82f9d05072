//! What the binaries of `cargo fuzz` have in common: they run a target of `efface-fuzz` under a limit of memory.
//!
//! The limit needs an allocator of our own, and an allocator needs `unsafe`, which the workspace of the project forbids.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Runs a target; the process ends if it panics, or holds more memory than the size of the input calls for.
pub fn run(name: &str, bytes: &[u8]) {
    // libFuzzer's hook ends the process at every panic, also at those of the Parquet decoder, which its reader catches.
    // A panic that is not caught still ends it.
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            if panic.location().is_none_or(|place| !place.file().contains("/registry/")) {
                eprintln!("{panic}");
            }
        }));
    });
    LIMIT.store(LIVE.load(Relaxed) + ALLOWED_BYTES + ALLOWED_PER_BYTE * bytes.len(), Relaxed);
    (efface_fuzz::target(name).run)(bytes);
    LIMIT.store(usize::MAX, Relaxed);
}

/// Makes the entry point of a target.
#[macro_export]
macro_rules! target {
    ($name:literal) => {
        libfuzzer_sys::fuzz_target!(|bytes: &[u8]| $crate::run($name, bytes));
    };
}

#[global_allocator]
static ALLOCATOR: Limited = Limited;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);

const ALLOWED_BYTES: usize = 256 << 20;
const ALLOWED_PER_BYTE: usize = 64;

/// The system's allocator, which ends the process beyond the limit.
struct Limited;

impl Limited {
    fn count(&self, n_bytes: usize) {
        let live = LIVE.fetch_add(n_bytes, Relaxed).saturating_add(n_bytes);
        if live > LIMIT.load(Relaxed) {
            LIMIT.store(usize::MAX, Relaxed);
            eprintln!("{n_bytes} bytes asked for; {live} are more than the input calls for");
            eprintln!("{}", std::backtrace::Backtrace::force_capture());
            std::process::abort();
        }
    }
}

// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.count(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.count(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        self.count(new_size);
        LIVE.fetch_sub(layout.size(), Relaxed);
        unsafe { System.realloc(pointer, layout, new_size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}
