//! Images per second of private and of plain training, on noise that looks like SVHN: 32 × 32 × 3, ten classes.
//!
//! `cargo run --release -p efface-extractor --example throughput -- [rows] [batch] [features]`
#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use std::ops::ControlFlow;
use std::time::Instant;

use efface_core::noise::NoiseSource;
use efface_extractor::{Architecture, Images, Privacy, Randomness, TrainingConfig, TrainingPlan, train};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let numbers: Result<Vec<usize>, _> = std::env::args().skip(1).map(|text| text.parse()).collect();
    let numbers = numbers?;
    let number = |place: usize, otherwise| numbers.get(place).copied().unwrap_or(otherwise);
    let (n_rows, expected_batch, n_features) = (number(0, 8192), number(1, 1024), number(2, 256));
    let mut pixels = vec![0; n_rows * 32 * 32 * 3];
    NoiseSource::danger_fixed_seed(1).fill(&mut pixels);
    let labels: Vec<u8> = (0..n_rows).map(|row| (row % 10) as u8).collect();
    let images = Images::new(32, 32, 3, &pixels)?;
    for privacy in [Privacy::None, Privacy::Noise { noise_multiplier: 1.0, clip: 1.0 }] {
        let plan = TrainingPlan::new(TrainingConfig {
            architecture: Architecture::new(32, 32, 3, 10, n_features),
            n_rows,
            expected_batch,
            epochs: 1.0,
            learning_rate: 0.1,
            momentum: 0.9,
            privacy,
            randomness: Randomness::DangerFixedSeed(2),
        })?;
        let started = Instant::now();
        let trained = train(&images, &labels, &plan, &mut |_| ControlFlow::Continue(()))?;
        let seconds = started.elapsed().as_secs_f64();
        let n_weights = trained.network.weights().len();
        println!("{privacy:?}: {n_weights} weights, {seconds:.2} s, {:.0} images/s", n_rows as f64 / seconds);
    }
    Ok(())
}
