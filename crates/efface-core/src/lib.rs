//! The mathematics of certified removal: losses, sums over rows, training, the removal step, the residual ladder,
//! release noise and accounting. No I/O, no clock; randomness is passed in.
//!
//! Where to look: the removal step is in [`removal`], the bounds on what it leaves behind in [`residual`], what may be
//! promised in [`accounting`], sums without rounding in [`exact`], how good
//! predictions are in [`metrics`], and the model that ties them together in [`model`].

// The macro for tags names this crate by its name, here too.
extern crate self as efface_core;

pub mod accounting;
pub mod curvature;
pub mod exact;
pub mod linalg;
pub mod loss;
pub mod metrics;
pub mod model;
pub mod noise;
pub mod objective;
pub mod predict;
pub mod removal;
pub mod residual;
pub mod ridge;
pub mod rounding;
pub mod rows;
pub mod secret;
pub mod sums;
pub mod tags;
mod train;
