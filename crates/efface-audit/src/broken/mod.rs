//! Engines that are broken on purpose: what an audit is worth is shown by what it catches.
//!
//! They wrap the sound one and exist for the audit's self-test only. Nothing here can be reached by training, removing or
//! releasing a model.

mod noise;
mod weights;

pub use noise::{NoiseReused, NoiseTooSmall};
pub use weights::{DistanceUnderstated, RemovalForgotten, UnsettledWeights};

use crate::engine::Engine;

/// All of them.
pub const ALL: [&dyn Engine; 5] =
    [&NoiseTooSmall, &DistanceUnderstated, &NoiseReused, &UnsettledWeights, &RemovalForgotten];
