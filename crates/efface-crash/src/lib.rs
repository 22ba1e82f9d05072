//! What the crash test asks of the engine, as a process of its own that can be stopped anywhere.
//!
//! `tests/crash` runs the binary of this crate with a recorder below it, which is written in C, builds every directory that a
//! stop can leave, and opens each with the engine. Both sides share the [requests](request) and the calls of the
//! [engine].

pub mod engine;
pub mod request;
