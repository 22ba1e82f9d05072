//! Attacks on what Efface claims, made by whoever runs it: each is a plain function over the types of `efface-core`, with
//! the randomness passed in.
//!
//! - [`distribution`]: can releases after removal be told from releases after retraining, better than claimed?
//! - [`membership`]: does a model still know an example that was removed?
//! - [`reconstruction`]: what do two releases around a removal say about the row that left? A limit of every method.
//! - [`broken`]: engines that are broken on purpose, which the distribution test must catch.
//!

pub mod broken;
mod choice;
mod dense;
pub mod distribution;
pub mod engine;
mod error;
pub mod membership;
pub mod reconstruction;
pub mod rows;
pub mod statistics;

pub use error::AuditError;
