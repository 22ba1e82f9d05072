//! The claims of the crate against an independent truth in higher precision (`efface-testkit`).
//!
//! Random problems come from fixed seeds: every run checks the same cases, and a failure names its seed.

mod claims;
mod exact;
mod noise;
mod passes;
mod plan;
mod store;
mod sums;
mod world;
