//! The laws of the noise.

mod exact_noise;
mod samplers;
