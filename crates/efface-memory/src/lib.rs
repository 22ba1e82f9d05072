//! Memory that runs out ends a program with a message of its own, not with an abort.
//!
//! When an allocation fails, Rust aborts the process, and what stands in between is not stable (`alloc_error_hook`). The
//! allocator is: this one passes every request on to the operating system's, and calls [what was set](on_exhaustion) when
//! that has nothing left.
//!
//! ```no_run
//! #[global_allocator]
//! static ALLOCATOR: efface_memory::Allocator = efface_memory::Allocator;
//!
//! fn main() {
//!     efface_memory::on_exhaustion(|n_bytes| eprintln!("error: out of memory ({n_bytes} bytes asked for)"));
//! }
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::panic::catch_unwind;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The system's allocator, with an end to the program where it fails.
pub struct Allocator;

/// Sets what is done when memory runs out, once: `end` is given the number of bytes that were asked for, and should say so. Small
/// allocations usually still succeed in it. The program then ends with code 2, whatever `end` does.
pub fn on_exhaustion(end: fn(usize)) {
    // Whoever was first stays.
    let _ = END.set(end);
}

static END: OnceLock<fn(usize)> = OnceLock::new();

static IS_ENDING: AtomicBool = AtomicBool::new(false);

thread_local! {
    static ENDS_HERE: Cell<bool> = const { Cell::new(false) };
}

/// What a program ends with whose memory ran out.
const EXIT_CODE: i32 = 2;

// SAFETY: every request is the system allocator's to answer, with the layout and the pointer it was made with, and its answer
// is returned unchanged. What happens when it is null either does not return or returns that null; no panic gets out.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's layout, for which the caller answers.
        checked(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's layout, for which the caller answers.
        checked(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, n_bytes: usize) -> *mut u8 {
        // SAFETY: all memory of this allocator is the system's, and the caller answers for layout and size.
        checked(unsafe { System.realloc(memory, layout, n_bytes) }, n_bytes)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: all memory of this allocator is the system's.
        unsafe { System.dealloc(memory, layout) }
    }
}

fn checked(memory: *mut u8, n_bytes: usize) -> *mut u8 {
    if memory.is_null() {
        exhausted(n_bytes);
    }
    memory
}

#[cold]
fn exhausted(n_bytes: usize) {
    let Some(end) = END.get() else { return };
    if ENDS_HERE.get() {
        // Not even the message can be made.
        std::process::exit(EXIT_CODE);
    }
    if IS_ENDING.swap(true, Ordering::SeqCst) {
        // Another thread is at it, and ends the process.
        loop {
            std::thread::sleep(Duration::from_secs(1));
        }
    }
    ENDS_HERE.set(true);
    // Nothing more can be done about a message that cannot be shown.
    let _ = catch_unwind(|| end(n_bytes));
    std::process::exit(EXIT_CODE);
}
