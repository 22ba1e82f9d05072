//! The network against a slow one, the mechanism against its claim, training against itself.

mod gradients;
mod mechanism;
mod reference;
mod training;

use efface_core::noise::NoiseSource;

use crate::architecture::{Activation, Architecture};
use crate::network::Network;

/// A network of a few hundred weights, whose sides are no multiples of anything.
fn small(activation: Activation) -> Architecture {
    Architecture { filters: [3, 5], kernel: 3, activation, ..Architecture::new(11, 12, 2, 4, 6) }
}

/// Random weights, biases too, `size` times as large as usual.
fn random_network(architecture: Architecture, size: f32, seed: u64) -> Network {
    let mut source = NoiseSource::danger_fixed_seed(seed);
    let layout = architecture.layout().expect("possible");
    let mut network = Network::random(architecture, layout, &mut source);
    for weight in &mut network.weights {
        let mut byte = [0];
        source.fill(&mut byte);
        *weight = size * (*weight + (f32::from(byte[0]) - 127.5) / 1000.0);
    }
    network
}

fn random_bytes(n: usize, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; n];
    NoiseSource::danger_fixed_seed(seed).fill(&mut bytes);
    bytes
}
