//! The independent truth that the other crates are tested against.
//!
//! Objectives, derivatives and minimizers are written a second time, slowly and in double-double arithmetic, on plain
//! slices: they share nothing with what they test. Slow and right is the point; do not use any of it outside tests.
//!
//! - [`reference`](mod@reference): the objective, its gradient, Hessian and minimizer to about 1e-26.
//! - [`problems`]: seeded random problems of several shapes.
//! - [`statistics`], [`counts`] and [`special`]: Kolmogorov–Smirnov and χ² tests, and the distribution functions they need.
//! - [`rounded_normal`]: the law of a rounded normal deviate.
//! - [`hockey_stick`](mod@hockey_stick): the true δ between two laws on the line, and the Gaussian trade-off.
//! - [`dyadic`]: integers times powers of two, of any length, exactly.
//! - [`golden`]: tables made with 60-digit arithmetic.
//! - [`real_data`](mod@real_data): where the real data sets are.
//! - [`watched`]: rows that count the passes over them, and fail where they are told to.
//! - [`store`]: what every store of rows promises, checked against the rows themselves.

pub mod counts;
pub mod dense;
pub mod double;
pub mod dyadic;
pub mod golden;
pub mod hockey_stick;
pub mod problems;
pub mod real_data;
pub mod reference;
pub mod rounded_normal;
pub mod special;
pub mod statistics;
pub mod store;
pub mod watched;

pub use dense::design_norm;
pub use double::DoubleDouble;
pub use problems::{Shape, random_problem};
pub use real_data::real_data;
pub use reference::{Reference, ReferenceLoss, distance_to};
pub use statistics::{kolmogorov_smirnov, ks_threshold};
pub use store::store_conformance;
pub use watched::WatchedRows;
