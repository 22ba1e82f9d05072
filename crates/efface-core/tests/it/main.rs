//! The claims of the crate against an independent truth in higher precision (`efface-testkit`).
//!
//! Random problems come from fixed seeds: every run checks the same cases, and a failure names its seed.

mod accounting;
mod bounds;
mod claim;
mod exact;
mod exact_noise;
mod extractor;
mod ladder;
mod matrices;
mod passes;
mod plan;
mod release;
mod rows;
mod samplers;
mod secrecy;
mod store;
mod sums;
mod weights;
mod world;
