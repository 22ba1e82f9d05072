//! Engines that are broken on purpose: what an audit is worth is shown by what it catches.
//!
//! They wrap the sound one and exist for the audit's self-test only. Nothing here can be reached by training, removing or
//! releasing a model.

mod claims;
mod noise;
mod weights;

pub use claims::VerifiedDistanceTold;
pub use noise::{LowBitsTold, NoiseMissingAlongOnes, NoiseReused, NoiseSometimesMissing, NoiseTooSmall};
pub use weights::{DistanceUnderstated, LastBitWrong, RemovalForgotten, RidgeWrong, UnsettledWeights};

use crate::engine::Engine;

/// All of them.
pub const ALL: [&dyn Engine; 11] = [
    &NoiseTooSmall,
    &DistanceUnderstated,
    &NoiseReused,
    &UnsettledWeights,
    &RemovalForgotten,
    &NoiseMissingAlongOnes,
    &LowBitsTold,
    &NoiseSometimesMissing,
    &RidgeWrong,
    &VerifiedDistanceTold,
    &LastBitWrong,
];
