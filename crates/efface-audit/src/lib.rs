//! Attacks on what Efface claims, made by whoever runs it: each is a plain function over the types of `efface-core`, with
//! the randomness passed in.
//!
//! - [`distribution`]: can releases after removal be told from releases after retraining, better than claimed?
//! - [`membership`]: does a model still know an example that was removed?
//! - [`reconstruction`]: what do two releases around a removal say about the row that left? A limit of every method.
//! - `broken`: engines that are broken on purpose, which the distribution test must catch.
//!
//! [`built_in`] and [`of_model`] make all of them and come to one verdict. An audit sits inside the trust boundary: it
//! looks at secret weights and at rows, and what it reports identifies no row. [`Audit::page`] says what a report shows.

mod audit;
mod broken;
mod choice;
mod dense;
pub mod distribution;
mod engine;
mod error;
pub mod membership;
mod model;
mod page;
mod public_rows;
pub mod reconstruction;
mod rows;
mod statistics;
mod work;

pub use audit::{Audit, Distribution, Settings, Subject, Verdict, built_in};
pub use error::AuditError;
pub use model::of_model;
