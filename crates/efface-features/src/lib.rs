//! Maps from raw rows to features that are fixed before any row is seen: random Fourier features of numbers, hashed
//! n-grams of texts, scattering of images. Pure functions, no I/O.
//!
//! A map reads one row at a time and nothing else, and its features have norm at most 1 (the claim page is in
//! [`norm`]). So a linear model on features is removable by the same theorems as one on raw rows, nothing is added to ε,
//! and the model may be far from linear in the raw row.
//!
//! Features are the same to the last bit for every number of threads, every size of block and every processor: sums are
//! added up in one order, without fused multiply-add, and transcendental functions come from `libm`. So what was stored
//! when a row came in can be made again when it is corrected or predicted for. What writes a model down keeps the
//! [`FeatureSpec`] and its digest.

mod error;
mod fourier;
mod network;
mod ngrams;
pub mod norm;
mod product;
mod scattering;
mod spec;
mod transformer;

pub use error::{ApplyError, BuildError};
pub use fourier::{FourierLayer, FourierMap};
pub use network::{NetworkInput, NetworkSpec};
pub use ngrams::{Grams, NgramMap, NgramSpec};
pub use scattering::{AxisMatrices, ImageShape, ScatteringMap, ScatteringMatrices};
pub use spec::FeatureSpec;
pub use transformer::TransformerSpec;

/// `work`, done by a pool of n threads.
#[cfg(test)]
fn in_threads<T: Send>(n: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(n).build().expect("threads can be had").install(work)
}
